package text

import (
	"errors"
	"io"
	"runtime"
	"slices"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// Entries is a coo.Stream over the lines of a Source from Start on, one entry a
// line. A format's reader makes one after it has read the header.
type Entries struct {
	Src   *Source
	Start int64 // the offset of the body in the content
	Line  int   // lines before it
	// Comment begins comments: '#' or '%'.
	Comment byte
	// Parse parses a block in a goroutine of its own; Layout.Parse, or a
	// function that does more to the block after that.
	Parse func(*Block)
	// Check, if not nil, sees every block in file order, before a mistake in it
	// is reported, and nil at the end of the file.
	Check func(*Block) error
	// Sizes of the modes: exact, or nil to find the largest coordinates.
	Sizes []int64
	Order int
	Value tcs.Type
	Opt   coo.Options

	// Bound makes Parse refuse coordinates past the sizes; nil where the file has
	// sizes of its own.
	Bound func(dims []int64, from []string)

	part *lineRange // nil for the whole file

	pipe *Pipe
	line int // lines before the next block; those before a part are not counted
	most []int64
	err  error
}

// Part restricts the stream to a share of the file: part k of n, the lines
// that begin in it. Parts cut the bytes from Start on evenly, and together
// have every line once. The Source must be Plain.
func (e *Entries) Part(k, n int) {
	if f, _ := e.Src.Plain(); f == nil {
		panic("BUG: text: part of a file that cannot be read at any offset")
	}
	size := max(e.Src.size-e.Start, 0)
	at := func(k int64) int64 { return e.Start + size/int64(n)*k + size%int64(n)*k/int64(n) }
	e.part = &lineRange{src: e.Src, start: e.Start, from: at(int64(k)), to: at(int64(k) + 1)}
}

// Keep says that the file will be read again: see Source.Keep.
func (e *Entries) Keep() { e.Src.Keep() }

// Dims are the sizes; where the file has none, the largest coordinates so far.
func (e *Entries) Dims() ([]int64, bool) {
	if e.Sizes != nil || e.Order == 0 {
		return slices.Clone(e.Sizes), true
	}
	dims := make([]int64, e.Order)
	for m := range dims {
		if m < len(e.most) {
			dims[m] = e.most[m] + 1
		}
		if e.Opt.Dims != nil {
			dims[m] = max(dims[m], e.Opt.Dims[m])
		}
	}
	return dims, false
}

// SetDims gives the sizes of a file that has none: see coo.Sizable.
func (e *Entries) SetDims(dims []int64, from []string) {
	if len(dims) != e.Order {
		panic("BUG: text: sizes of another order than the file's")
	}
	e.stop()
	e.err = nil
	if e.Bound != nil {
		e.Bound(dims, from)
		e.Sizes = slices.Clone(dims)
	}
}

// Type is the type of the values.
func (e *Entries) Type() tcs.Type { return e.Value }

// Progress is how much of the file, or the part, was read.
func (e *Entries) Progress() (done, total int64) {
	done, total = e.Src.Progress()
	if e.part != nil {
		total = e.part.to - e.part.from
	}
	return done, total
}

// LineBefore is the number of lines before the block that Check sees. Of a part
// it takes a reading of the file up to there, once: it is for messages.
func (e *Entries) LineBefore() int {
	if e.part == nil {
		return e.line
	}
	return e.line + e.part.linesAbove()
}

// Next yields the entries of the next block that has some.
func (e *Entries) Next(b *coo.Batch) error {
	for {
		blk, err := e.NextBlock()
		if err != nil {
			return err
		}
		if blk.N == 0 {
			continue
		}
		b.N, b.Vals = blk.N, blk.Vals
		b.Coords = b.Coords[:0]
		for m := range e.Order {
			b.Coords = append(b.Coords, blk.Coords[m][:blk.N])
		}
		return nil
	}
}

// NextBlock returns the next block, checked, and io.EOF after the last. An
// error stays.
func (e *Entries) NextBlock() (*Block, error) {
	if e.err != nil {
		return nil, e.err
	}
	blk, err := e.next()
	if err != nil {
		e.err = err
		e.stop()
	}
	return blk, err
}

func (e *Entries) next() (*Block, error) {
	if e.pipe == nil {
		if err := e.open(); err != nil {
			return nil, err
		}
	}
	blk, err := e.pipe.Next()
	if err == io.EOF && e.Check != nil {
		if cerr := e.Check(nil); cerr != nil {
			return nil, cerr
		}
	}
	if err != nil {
		var at *Error
		if errors.As(err, &at) && at.Line > 0 { // the pipe counts from the block before
			at.Line += e.LineBefore()
		}
		return nil, err
	}
	if e.Check != nil {
		if err := e.Check(blk); err != nil {
			return nil, err
		}
	}
	if blk.Err != nil {
		blk.Err.Line += e.LineBefore()
		return nil, blk.Err
	}
	e.line += blk.Lines
	if e.Sizes == nil && e.Order > 0 {
		for len(e.most) < e.Order {
			e.most = append(e.most, -1)
		}
		for m, c := range blk.Max {
			e.most[m] = max(e.most[m], c)
		}
	}
	return blk, nil
}

// body reads from Start on, or the part.
func (e *Entries) body() (io.ReadCloser, error) {
	if e.part != nil {
		return e.part.reader()
	}
	r, err := e.Src.Reader()
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, e.Start); err != nil {
		r.Close()
		if err == io.EOF {
			err = Dataf(e.Src.Name, 0, 0, "the file became shorter while it was read")
		}
		return nil, err
	}
	return r, nil
}

// open starts the pipe at the body.
func (e *Entries) open() error {
	r, err := e.body()
	if err != nil {
		return err
	}
	threads := e.Opt.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	size := int64(BlockSize)
	if _, total := e.Src.Progress(); total > 0 && e.Src.pack == plain {
		size = min(size, max(total-e.Start+1, 1<<12))
	}
	if e.Opt.Limit > 0 {
		// A block and what is parsed from it take about five times its text.
		size = min(size, max(e.Opt.Limit/int64(20*(threads+2)), 1<<14))
	}
	e.pipe = newPipe(r, e.Src.Name, threads, int(size), e.Parse)
	e.line = e.Line
	return nil
}

func (e *Entries) stop() {
	if e.pipe != nil {
		e.pipe.Close()
		e.pipe = nil
	}
}

// Rewind goes back to the first entry. What is known of sizes stays known.
func (e *Entries) Rewind() error {
	e.stop()
	e.err = nil
	return nil
}

// Close releases the file.
func (e *Entries) Close() error {
	e.stop()
	e.err = io.ErrClosedPipe
	return e.Src.Close()
}

package text

import (
	"errors"
	"io"
	"runtime"
	"slices"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// Entries is a coo.Stream over the lines of a Source, one entry a line. It starts at offset
// Start. The reader of a format makes it after reading the header.
type Entries struct {
	Src   *Source
	Start int64 // the offset of the first line in the content
	Line  int   // the number of lines before Start
	// Comment starts a comment: '#' or '%'.
	Comment byte
	// Parse parses a block; it is called in several goroutines. It is Layout.Parse, or a
	// function that calls Layout.Parse and then processes the block further.
	Parse func(*Block)
	// Check, if not nil, is called with every block in file order, even if the block has an error.
	// At the end of the file it is called with nil.
	Check func(*Block) error
	// Sizes are the sizes of the modes, if the file, the options or SetDims gave them. Otherwise
	// they are nil, and the largest coordinates determine the sizes.
	Sizes []int64
	Order int
	Value tensor.Type
	Opt   coo.Options

	// Bound makes Parse refuse coordinates that exceed dims. It is nil if the file or the options
	// have the sizes.
	Bound func(dims []int64, from []string)

	// Announced is the number of entries that the file announces, if AnnouncedAt, the number of the
	// line that does so, is not 0. Another number is an error.
	Announced   int64
	AnnouncedAt int

	part *lineRange // nil if the whole file is read
	seen int64      // the number of entries that were read

	pipe *Pipe
	line int // lines before the next block, without the lines before a part
	most []int64
	err  error
}

// Part restricts the stream to part k of n of the file. The bytes after Start are divided evenly
// into n ranges, and part k has the lines that begin in range k. The Source must be Plain.
func (e *Entries) Part(k, n int) {
	if f, _ := e.Src.Plain(); f == nil {
		panic("BUG: text: part of a file that cannot be read at any offset")
	}
	size := max(e.Src.size-e.Start, 0)
	at := func(k int64) int64 { return e.Start + size/int64(n)*k + size%int64(n)*k/int64(n) }
	e.part = &lineRange{src: e.Src, start: e.Start, from: at(int64(k)), to: at(int64(k) + 1)}
}

// Keep announces that the file will be read again; see Source.Keep.
func (e *Entries) Keep() { e.Src.Keep() }

// Dims returns the sizes and true if the sizes are known. Otherwise it returns false and lower
// bounds of the sizes. Each lower bound is larger than the coordinates read so far, and at least
// the size in Opt.Dims.
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

// SetDims sets the sizes of the tensor if the file does not contain them. sources says where each
// size comes from. See coo.Sizable.
func (e *Entries) SetDims(dims []int64, sources []string) {
	if len(dims) != e.Order {
		panic("BUG: text: sizes of another order than the file's")
	}
	e.stop()
	e.err = nil
	if e.Bound != nil {
		e.Bound(dims, sources)
		e.Sizes = slices.Clone(dims)
	}
}

// Type returns the type of the values.
func (e *Entries) Type() tensor.Type { return e.Value }

// Progress returns how many bytes of the file, or of the part, were read, and how many there
// are.
func (e *Entries) Progress() (done, total int64) {
	done, total = e.Src.Progress()
	if e.part != nil {
		total = e.part.to - e.part.from
	}
	return done, total
}

// LineBefore returns the number of lines before the block that the function Check gets. If e reads
// a part of a file, the first call reads the file from its first entry up to the part to count
// lines. Because this takes time, use LineBefore only for messages.
func (e *Entries) LineBefore() int {
	if e.part == nil {
		return e.line
	}
	return e.line + e.part.linesAbove()
}

// Next stores the entries of the next block in b. It skips blocks without entries.
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

// NextBlock returns the next block, after passing it to Check, or io.EOF after the last block.
// After an error it returns the same error until Rewind, SetDims or Close.
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
	if err == io.EOF && e.part == nil {
		if cerr := e.checkCount(e.seen); cerr != nil {
			return nil, cerr
		}
	}
	if err == io.EOF && e.Check != nil {
		if cerr := e.Check(nil); cerr != nil {
			return nil, cerr
		}
	}
	if err != nil {
		var at *Error
		if errors.As(err, &at) && at.Line > 0 { // lines are counted from e.line
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
	e.seen += int64(blk.Raw)
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

// body returns a reader of the lines from Start, or of the lines of the part.
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

// open starts a Pipe over the body.
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
	if _, total := e.Src.Progress(); total > 0 && !e.Src.packed() {
		size = min(size, max(total-e.Start+1, 1<<12))
	}
	if e.Opt.Limit > 0 {
		// A block with its parsed entries occupies about five times its text.
		size = min(size, max(e.Opt.Limit/int64(20*(threads+2)), 1<<14))
	}
	e.pipe = newPipe(r, e.Src.Name, threads, int(size), e.Parse)
	e.line, e.seen = e.Line, 0
	return nil
}

// checkCount returns an error if the file announces another number of entries than n.
func (e *Entries) checkCount(n int64) error {
	if e.AnnouncedAt == 0 || n == e.Announced {
		return nil
	}
	return Dataf(e.Src.Name, e.AnnouncedAt, 1, "the file announces %s, but has %d",
		Plural(e.Announced, "entry", "entries"), n)
}

func (e *Entries) stop() {
	if e.pipe != nil {
		e.pipe.Close()
		e.pipe = nil
	}
}

// Rewind returns to the first entry. Sizes that are known stay known.
func (e *Entries) Rewind() error {
	e.stop()
	e.err = nil
	return nil
}

// Close closes the file.
func (e *Entries) Close() error {
	e.stop()
	e.err = io.ErrClosedPipe
	return e.Src.Close()
}

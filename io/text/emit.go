package text

import (
	"io"
	"runtime"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// Piece is a copy of some consecutive entries of a stream. One goroutine formats one Piece at a
// time.
type Piece struct {
	Batch    coo.Batch
	Type     tensor.Type
	From, To int64   // of WriteSpan: the interval of positions of the piece
	At       []int64 // of WriteSpan: the position of each entry

	out      []byte
	capacity int // entries that the memory has room for
	done     chan struct{}
}

const (
	pieceEntries = 1 << 14 // entries of a piece
	pieceSpan    = 1 << 16 // positions of a piece
)

// extend makes room for n entries; n is at most pieceEntries. It doubles the room, so a short
// stream needs little memory.
func (p *Piece) extend(n int) {
	if n <= p.capacity {
		return
	}
	p.capacity = min(max(n, 2*p.capacity, 64), pieceEntries)
	for m, c := range p.Batch.Coords {
		p.Batch.Coords[m] = make([]int64, p.capacity)
		copy(p.Batch.Coords[m], c[:p.Batch.N])
	}
	size := int(p.Type.Size())
	words := make([]uint64, p.capacity*2) // an array of words aligns the values
	vals := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), p.capacity*size)
	copy(vals, p.Batch.Vals[:p.Batch.N*size])
	p.Batch.Vals = vals
}

// add appends entries [lo, hi) of b.
func (p *Piece) add(b *coo.Batch, lo, hi int) {
	p.extend(p.Batch.N + hi - lo)
	size := int(p.Type.Size())
	for m := range p.Batch.Coords {
		copy(p.Batch.Coords[m][p.Batch.N:], b.Coords[m][lo:hi])
	}
	copy(p.Batch.Vals[p.Batch.N*size:], b.Vals[lo*size:hi*size])
	p.Batch.N += hi - lo
}

// emitter gives pieces to goroutines that format them, and writes the results in order.
type emitter struct {
	free, queue, work chan *Piece
	finished          chan struct{}
	err               error // the writer's error; valid once finished is closed
	failed            chan struct{}
}

func newEmitter(w io.Writer, typ tensor.Type, order, threads int,
	format func([]byte, *Piece) []byte) *emitter {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	n := threads + 2
	e := &emitter{free: make(chan *Piece, n), queue: make(chan *Piece, n),
		work:     make(chan *Piece, n),
		finished: make(chan struct{}), failed: make(chan struct{})}
	for range n {
		p := &Piece{Type: typ, done: make(chan struct{}, 1)}
		p.Batch.Coords = make([][]int64, order)
		e.free <- p
	}
	for range threads {
		go func() {
			for p := range e.work {
				p.out = format(p.out[:0], p)
				p.done <- struct{}{}
			}
		}()
	}
	go func() {
		defer close(e.finished)
		for p := range e.queue {
			<-p.done
			if e.err == nil {
				if _, err := w.Write(p.out); err != nil {
					e.err = err
					close(e.failed)
				}
			}
			e.free <- p
		}
	}()
	return e
}

func (e *emitter) get() *Piece {
	p := <-e.free
	p.Batch.N, p.At = 0, p.At[:0]
	return p
}

func (e *emitter) put(p *Piece) {
	e.queue <- p
	e.work <- p
}

// broken reports whether the writer failed, so that further output is useless.
func (e *emitter) broken() bool {
	select {
	case <-e.failed:
		return true
	default:
		return false
	}
}

// close waits for all pieces to be written, and returns the writer's error.
func (e *emitter) close() error {
	close(e.queue)
	close(e.work)
	<-e.finished
	return e.err
}

// WriteEntries writes the rest of a stream to w, divided into pieces. The function appendText
// appends the text of one piece to dst. It is called from several goroutines at the same time. The
// texts are written in the order of the stream.
func WriteEntries(w io.Writer, in coo.Stream, threads int,
	appendText func(dst []byte, p *Piece) []byte) error {
	dims, _ := in.Dims()
	e := newEmitter(w, in.Type(), len(dims), threads, appendText)
	var b coo.Batch
	var err error
	p := e.get()
	for err == nil && !e.broken() {
		if err = in.Next(&b); err != nil {
			break
		}
		for lo := 0; lo < b.N; {
			hi := min(b.N, lo+pieceEntries-p.Batch.N)
			p.add(&b, lo, hi)
			if lo = hi; p.Batch.N == pieceEntries {
				e.put(p)
				p = e.get()
			}
		}
	}
	if p.Batch.N > 0 {
		e.put(p)
	}
	werr := e.close()
	if err != nil && err != io.EOF {
		return err
	}
	return werr
}

// WriteSpan writes the values at positions [from, to) to w, for a format that lists all positions,
// including positions without an entry. The position of an entry is the sum, over all modes m, of
// its coordinate times strides[m]. The entries of in must be in the interval and sorted by
// position. WriteSpan adds the values of entries with equal positions.
//
// As in WriteEntries, the function appendText makes the text of one piece. A piece has no
// coordinates here. It has the interval of positions that it covers, and the positions of its
// entries.
func WriteSpan(w io.Writer, in coo.Stream, strides []int64, from, to int64, threads int,
	appendText func(dst []byte, p *Piece) []byte) error {
	e := newEmitter(w, in.Type(), 0, threads, appendText)
	f := &filler{e: e, p: e.get(), size: int(in.Type().Size()), from: from, last: from - 1}
	var b coo.Batch
	var err error
	for err == nil && !e.broken() {
		if err = in.Next(&b); err != nil {
			break
		}
		for k := range b.N {
			at := int64(0)
			for m, s := range strides {
				at += b.Coords[m][k] * s
			}
			f.add(at, b.Vals[k*f.size:(k+1)*f.size])
		}
	}
	if err == io.EOF {
		err = nil
		if f.reach(to) && f.from < to {
			f.flush(to)
		}
	}
	werr := e.close()
	if err != nil {
		return err
	}
	return werr
}

// filler cuts an interval of positions into pieces and fills them with entries.
type filler struct {
	e    *emitter
	p    *Piece
	size int
	from int64 // the first position of the piece
	last int64 // the position of the last entry
}

func (f *filler) add(at int64, val []byte) {
	p := f.p
	if at == f.last && p.Batch.N > 0 {
		q := unsafe.Pointer(&p.Batch.Vals[(p.Batch.N-1)*f.size])
		p.Type.Store(q, p.Type.Add(p.Type.Load(q), p.Type.Load(unsafe.Pointer(&val[0]))))
		return
	}
	if at <= f.last {
		panic("BUG: text: entries out of order")
	}
	if !f.reach(at) {
		return
	}
	if f.p.Batch.N == pieceEntries {
		f.flush(f.last + 1)
	}
	p = f.p
	p.extend(p.Batch.N + 1)
	copy(p.Batch.Vals[p.Batch.N*f.size:], val)
	p.At = append(p.At, at)
	p.Batch.N++
	f.last = at
}

// reach submits finished pieces until the current piece contains the given position. It returns
// false if the writer failed.
func (f *filler) reach(position int64) bool {
	for position-f.from >= pieceSpan {
		if f.e.broken() {
			return false
		}
		f.flush(f.from + pieceSpan)
	}
	return true
}

func (f *filler) flush(to int64) {
	f.p.From, f.p.To = f.from, to
	f.e.put(f.p)
	f.p, f.from = f.e.get(), to
}

package gen

import (
	"io"
	"iter"
	"math"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// Share is one of several shares of a tensor that processes make side by side. Shares are
// disjoint, and together they are the tensor. The zero Share is the whole tensor.
type Share struct {
	K, N int // share K of N; N 0 for the whole
	// Sum adds numbers over all parts, in place; needed where N is above 1. A kind
	// that is drawn by all together (zipf) calls it at every part, as often.
	Sum func([]int64) error
	// Limit counts the memory that a part holds until its stream is closed.
	Limit *tcs.Limit
}

// sum adds numbers over all parts, in place.
func (p Share) sum(n []int64) error {
	if p.N == 1 {
		return nil
	}
	return p.Sum(n)
}

// owns tells whether an entry is this part's by its hash.
func (p Share) owns(hash uint64) bool { return p.N == 1 || hash%uint64(p.N) == uint64(p.K) }

// Stream is a part's entries, which the caller closes: of zipf those whose hash is the
// part's, in no order of modes; else an even range of mode 0, in order. Where memory is
// refused to one part (*tcs.MemoryError), it alone has the error, and the others' streams
// lack entries: the parts have to agree on it.
func (g *Generator) Stream(p Share) (coo.Stream, error) {
	if p.N == 0 {
		p.K, p.N = 0, 1
	}
	s := &stream{g: g}
	if g.name == "zipf" {
		d, err := g.draw(p)
		if err != nil {
			return nil, err
		}
		s.entries, s.drop = d.entries, d.drop
		return s, nil
	}
	size := int64(1)
	if len(g.dims) > 0 {
		size = g.dims[0]
	}
	lo, hi := cut(int64(p.K), size, int64(p.N)), cut(int64(p.K)+1, size, int64(p.N))
	s.entries = func(yield func([]int64) bool) { g.entries(lo, hi, yield) }
	return s, nil
}

// entries yields the coordinates whose mode 0 lies in [lo, hi), of a kind that makes any
// range by itself. The slice is reused.
func (g *Generator) entries(lo, hi int64, yield func([]int64) bool) {
	at := make([]int64, len(g.dims))
	if len(at) == 0 {
		if lo < hi && (g.name != "uniform" || g.nnz > 0) {
			yield(at)
		}
		return
	}
	if space, fits := tcs.Coordinates(g.dims); fits && space == 0 {
		return
	}
	switch g.name {
	case "dense":
		g.walk(at, 0, lo, hi, math.MaxInt64, yield)
	case "banded":
		g.walk(at, 0, lo, hi, g.width, yield)
	case "uniform":
		newUniform(g, at, yield).run(lo, hi)
	default:
		panic("BUG: gen: kind " + g.name + " has no entries")
	}
}

// stream is entries as a coo.Stream.
type stream struct {
	g       *Generator
	entries iter.Seq[[]int64] // coordinates
	drop    func()            // gives up what the part holds; nil for nothing
	next    func() ([]int64, bool)
	stop    func()
}

func (s *stream) Dims() ([]int64, bool) { return s.g.dims, true }
func (s *stream) Type() tcs.Type        { return s.g.typ }
func (s *stream) Dense() bool           { return s.g.Dense() }

func (s *stream) Next(b *coo.Batch) error {
	if s.next == nil {
		s.next, s.stop = iter.Pull(s.blocks())
	}
	block, ok := s.next()
	if !ok {
		return io.EOF
	}
	order, n := len(s.g.dims), 1
	if order > 0 {
		n = len(block) / order
	}
	size := s.g.typ.Size()
	b.Resize(order, n, size)
	for k := range n {
		at := block[k*order:][:order]
		for m, c := range at {
			b.Coords[m][k] = c
		}
		s.g.typ.Store(unsafe.Pointer(&b.Vals[k*size]), s.g.at(at))
	}
	return nil
}

// blocks yields the coordinates in runs: the switch between producer and
// consumer is paid once a run.
func (s *stream) blocks() iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		buf := make([]int64, 0, coo.BatchSize*max(len(s.g.dims), 1))
		n := 0
		for at := range s.entries {
			buf = append(buf, at...)
			if n++; n == coo.BatchSize {
				if !yield(buf) {
					return
				}
				buf, n = buf[:0], 0
			}
		}
		if n > 0 {
			yield(buf)
		}
	}
}

func (s *stream) Rewind() error {
	if s.stop != nil {
		s.stop()
	}
	s.next, s.stop = nil, nil
	return nil
}

// Close gives up what the part holds.
func (s *stream) Close() error {
	s.Rewind()
	if s.drop != nil {
		s.drop()
		s.drop = nil
	}
	return nil
}

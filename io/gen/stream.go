package gen

import (
	"io"
	"iter"
	"math"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Share selects one of several shares of a tensor that processes generate in parallel. Shares
// are disjoint, and all together are the tensor. The zero Share is the whole tensor.
type Share struct {
	K, N int // share K of N; N = 0 means the whole tensor
	// Sum adds numbers element by element over all processes, in place. It must be set if N > 1.
	// For a zipf kind, Stream calls it equally often in every process, so all processes must call
	// Stream.
	Sum func([]int64) error
	// Limit counts the memory of the share until its stream is closed.
	Limit *tcs.Limit
}

// sum replaces each element of n by its sum over all processes, by calling p.Sum. If there is only
// one process, it does nothing, and p.Sum may be nil.
func (p Share) sum(n []int64) error {
	if p.N == 1 {
		return nil
	}
	return p.Sum(n)
}

// owns reports whether the entry with that hash belongs to the share.
func (p Share) owns(hash uint64) bool { return p.N == 1 || hash%uint64(p.N) == uint64(p.K) }

// Stream returns the entries of a share. The caller closes the stream. For a zipf kind, the entries
// of a share are chosen by their hash or their number, and come in no particular order. For other
// kinds, each share has one range of the coordinates of mode 0. The ranges have about the same
// length, and the entries of a share are sorted.
//
// If one process exceeds its memory limit, only this process gets an error (*tcs.MemoryError), and
// the streams of the other processes lack entries. So the processes must tell each other whether
// all succeeded.
func (g *Generator) Stream(p Share) (coo.Stream, error) {
	if p.N == 0 {
		p.K, p.N = 0, 1
	}
	s := &stream{g: g}
	if g.Kind.name == "zipf" {
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

// entries calls yield with each coordinate whose mode 0 is in [lo, hi), for a kind other than zipf.
// It uses the same slice for every call.
func (g *Generator) entries(lo, hi int64, yield func([]int64) bool) {
	at := make([]int64, len(g.dims))
	if len(at) == 0 {
		if lo < hi && (g.Kind.name != "uniform" || g.Kind.nnz > 0) {
			yield(at)
		}
		return
	}
	if space, fits := tcs.Coordinates(g.dims); fits && space == 0 {
		return
	}
	switch g.Kind.name {
	case "pick":
		g.picks(at, lo, hi, yield)
	case "rest":
		g.rest(at, lo, hi, yield)
	case "dense", "coordinates":
		g.walk(at, 0, lo, hi, math.MaxInt64, yield)
	case "banded":
		g.walk(at, 0, lo, hi, g.Kind.width, yield)
	case "uniform":
		newUniform(g, at, yield).run(lo, hi)
	default:
		panic("BUG: gen: kind " + g.Kind.name + " has no entries")
	}
}

// stream implements coo.Stream over a sequence of coordinates.
type stream struct {
	g       *Generator
	entries iter.Seq[[]int64] // coordinates
	drop    func()            // releases the share's memory; may be nil
	next    func() ([]int64, bool)
	stop    func()
}

func (s *stream) Dims() ([]int64, bool) { return s.g.dims, true }
func (s *stream) Type() tensor.Type     { return s.g.typ }
func (s *stream) Dense() bool           { return s.g.Kind.Dense() }

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
	size := int(s.g.typ.Size())
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

// blocks yields the coordinates of many entries at a time, because each switch between producer and
// consumer has a cost.
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

// Close releases the share's memory.
func (s *stream) Close() error {
	s.Rewind()
	if s.drop != nil {
		s.drop()
		s.drop = nil
	}
	return nil
}

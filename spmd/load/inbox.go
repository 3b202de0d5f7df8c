package load

import (
	"io"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// entries are entries of one block from one rank, in the order of the input.
type entries struct {
	coords [][]int64
	vals   []byte
}

// inbox collects entries by block.
type inbox struct {
	order  int
	typ    tcs.Type
	blocks map[plan.Block]*entries
}

func newInbox(order int, typ tcs.Type, blocks []plan.Block) *inbox {
	in := &inbox{order: order, typ: typ, blocks: map[plan.Block]*entries{}}
	for _, b := range blocks {
		in.blocks[b] = &entries{coords: make([][]int64, order)}
	}
	return in
}

func (in *inbox) add(b plan.Block, from *coo.Batch, k, size int) {
	e := in.blocks[b]
	for m := range e.coords {
		e.coords[m] = append(e.coords[m], from.Coords[m][k])
	}
	e.vals = append(e.vals, from.Vals[k*size:(k+1)*size]...)
}

// memory is a stream over entries.
type memory struct {
	parts    []*entries
	dims     []int64
	typ      tcs.Type
	part, at int
}

func (s *memory) Dims() ([]int64, bool) { return s.dims, true }
func (s *memory) Type() tcs.Type        { return s.typ }
func (s *memory) Rewind() error         { s.part, s.at = 0, 0; return nil }
func (s *memory) Close() error          { return nil }

func (s *memory) Next(b *coo.Batch) error {
	size := s.typ.Size()
	for s.part < len(s.parts) {
		e := s.parts[s.part]
		n := min(len(e.vals)/size-s.at, coo.BatchSize)
		if n == 0 {
			s.part, s.at = s.part+1, 0
			continue
		}
		b.Coords = make([][]int64, len(e.coords))
		for m := range e.coords {
			b.Coords[m] = e.coords[m][s.at : s.at+n]
		}
		b.Vals, b.N = e.vals[s.at*size:(s.at+n)*size], n
		s.at += n
		return nil
	}
	return io.EOF
}

package spmd

import (
	"slices"

	"distaff/io/coo"
	"distaff/spmd/load"
	"distaff/spmd/plan"
)

// loading raises a rank's memory to what it takes while operands are loaded one
// after another: the blocks so far, and what the one that is being loaded takes.
func (x *planner) loading() {
	own := make([]int64, x.p.Ranks)
	for n := range x.k.operands {
		s := x.sizers[n]
		buffers, record, mark := x.beside(n)
		tensors, packed, most, marks := make([]int64, x.p.Ranks), make([]int64, x.p.Ranks), make([]int64, x.p.Ranks), make([]int64, x.p.Ranks)
		for b, rank := range x.out.Tensors[n].Owners {
			z := s.block(plan.Block(b))
			bytes := z.memory()
			if s.mapped {
				bytes = 0
			}
			tensors[rank] += bytes
			marks[rank] += mark * z.entries / 8
			packed[rank] += record * z.entries
			most[rank] += max(bytes, record*z.entries) // a block's entries go as it is filled
		}
		for rank := range own {
			peak := tensors[rank] + marks[rank]
			if packed[rank] > 0 {
				peak = max(most[rank], packed[rank]+coo.SortBytes(packed[rank]))
				if budget := x.k.r.job.MemoryLimit / 4; budget > 0 { // what passes it goes to disk
					peak = min(peak, tensors[rank]+budget+coo.SortBytes(budget))
				}
			}
			x.out.Memory[rank] = max(x.out.Memory[rank], own[rank]+buffers+peak)
			own[rank] += tensors[rank]
		}
	}
}

// beside is about what a rank takes beside its blocks while it loads an operand, and
// what it takes for each entry of those until they are sorted, in bytes; 0 where entries
// go to their places, and then how many bits.
func (x *planner) beside(n int) (buffers, record, mark int64) {
	s, r := x.sizers[n], x.k.r
	src := r.sources[x.k.operands[n].tensor]
	dense := sparseLevels(s.kinds) == 0
	switch {
	case src == nil || src.scalar != nil || src.gen != nil && src.gen.Dense() && dense:
		return 0, 0, 0
	case src.tensor != nil && r.asStored(src) && s.viewable(src.tensor):
		return 0, 0, 0
	}
	bytes, most := load.Buffers(x.p.Ranks, int64(len(x.out.Tensors[n].Owners)), len(s.dims), s.typ)
	on := int64(8*len(s.dims) + s.typ.Size())
	bytes += min(most, 4*on*max(round(s.entries), 1)) // a small tensor does not fill them
	switch {
	case src.tensor != nil && dense:
		return bytes, 0, 0
	case src.tensor != nil:
		if _, order := src.tensor.Format(); slices.Equal(order, s.order) {
			return bytes, 0, 0
		}
	case dense && (src.dense || src.gen != nil):
		return bytes, 0, 1
	}
	sizes := make([]int64, len(s.order))
	for l, m := range s.order {
		sizes[l] = s.dims[m]
	}
	return bytes, coo.RecordBytes(sizes, s.typ), 0
}

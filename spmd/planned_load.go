package spmd

import (
	"slices"

	"distaff/spmd/load"
	"distaff/spmd/plan"
)

// loading raises a rank's memory to what it takes while operands are loaded one
// after another: the blocks so far, and what the one that is being loaded takes
// beside its own.
func (x *planner) loading() {
	own := make([]int64, x.p.Ranks)
	for n := range x.k.operands {
		blocks := make([]int64, x.p.Ranks) // entries
		s := x.sizers[n]
		for b, rank := range x.out.Tensors[n].Owners {
			z := s.block(plan.Block(b))
			blocks[rank] += z.entries
			if !s.mapped {
				own[rank] += z.memory()
			}
		}
		for rank := range own {
			x.out.Memory[rank] = max(x.out.Memory[rank], own[rank]+x.beside(n, blocks[rank]))
		}
	}
}

// beside is about what a rank takes beside its blocks, which have that many
// entries, while it loads an operand.
func (x *planner) beside(n int, entries int64) int64 {
	s, r := x.sizers[n], x.k.r
	src := r.sources[x.k.operands[n].tensor]
	dense := sparseLevels(s.kinds) == 0
	switch {
	case src == nil || src.scalar != nil || src.gen != nil && src.gen.dense() && dense:
		return 0
	case src.tensor != nil && r.asStored(src) && s.viewable(src.tensor):
		return 0
	}
	bytes, most := load.Buffers(x.p.Ranks, int64(len(x.out.Tensors[n].Owners)), len(s.dims), s.typ)
	record := int64(8*len(s.dims) + s.typ.Size())
	bytes += min(most, 4*record*max(round(s.entries), 1)) // a small tensor does not fill them
	if src.tensor != nil {
		if _, order := src.tensor.Format(); dense || slices.Equal(order, s.order) {
			return bytes // entries go to their places
		}
	}
	// Entries are kept packed, and sorted into as much memory again; what passes
	// a quarter of the limit goes to disk.
	packed := entries * 8 * int64(1+(s.typ.Size()+7)/8)
	if most := r.job.MemoryLimit / 4; most > 0 {
		packed = min(packed, most)
	}
	return bytes + 2*packed
}

package spmd

import (
	"slices"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// converted is what the copies take that a rank's leaf reads in place of operands
// stored otherwise, and what making one takes more.
func (x *planner) converted(rank int) (held, beside int64) {
	for _, st := range x.k.statements {
		if st.unit == nil {
			continue
		}
		sum, most := int64(0), int64(0)
		for _, a := range st.unit.Args[1:] {
			n := slices.IndexFunc(x.k.operands, func(o operand) bool { return o.name == a.Tensor })
			if !a.Convert || n < 0 || x.needs[rank][n] < 0 {
				continue
			}
			s := *x.sizers[n]
			s.kinds, s.order, s.whole, s.known = a.Format.Letters(), a.Format.Order, nil, map[plan.Block]blockSize{}
			s.levels = slices.Repeat([]float64{-1}, len(s.kinds))
			z := s.block(x.needs[rank][n])
			bytes := z.memory()
			sum, most = sum+bytes, max(most, x.sorting(&s, z.entries, bytes))
		}
		held, beside = max(held, sum), max(beside, most)
	}
	return held, beside
}

// sorting is what the sort of so many entries of a tensor takes beside their
// block, which takes bytes: what passes a budget goes to disk.
func (x *planner) sorting(s *sizer, entries, bytes int64) int64 {
	sizes := make([]int64, len(s.order))
	for l, m := range s.order {
		sizes[l] = s.dims[m]
	}
	packed := coo.RecordBytes(sizes, s.typ) * entries
	if budget := x.k.r.job.MemoryLimit / 4; budget > 0 && packed > budget {
		return budget + coo.SortBytes(budget)
	}
	return max(packed+coo.SortBytes(packed)-bytes, 0)
}

// storing is what a rank takes beside its blocks while it writes the result
// together with others: buffers, but for blocks that stand in the file as they are, and
// copies of blocks that are to come in another order.
func (x *planner) storing(rank int, used int64) int64 {
	k, s := x.k, x.sizers[len(x.sizers)-1]
	levels := s.kinds
	order := s.order
	if len(k.statements) > 0 && k.statements[0].unit != nil { // as leaves make blocks
		f := k.statements[0].unit.Result.Format
		levels, order = f.Letters(), f.Order
	}
	free, most := int64(0), int64(0)
	if limit := k.r.job.MemoryLimit; limit > 0 {
		free = max(limit-used, 1)
	}
	share, entries, largest := int64(0), int64(0), int64(0)
	for b, owner := range x.out.Tensors[len(x.sizers)-1].Owners {
		if z := s.block(plan.Block(b)); owner == rank {
			share, entries, largest = share+z.memory(), entries+z.entries, max(largest, z.entries)
		}
	}
	for _, o := range k.r.job.Outputs {
		f, err := convert.FormatOf(o.File)
		if o.Tensor != k.r.p.result || err != nil {
			continue
		}
		wanted, text := s.order, int64(0)
		if f.Name != "tcs" {
			wanted = f.Order(len(s.dims), f.Options(sparseLevels(s.kinds) == 0, s.order, 1))
			if !f.Filled {
				text = entries
			}
		}
		n := int64(0)
		if text > 0 || levels != s.kinds || !slices.Equal(order, wanted) || !x.inRows(wanted) {
			n = store.Buffers(x.p.Ranks, share, free, text, len(s.dims))
		}
		if sparseLevels(s.kinds) > 0 && !slices.Equal(order, wanted) {
			copied := *s
			copied.order = wanted
			each := int64(s.typ.Size())
			for _, d := range s.dims {
				each += width(float64(d))
			}
			n += entries*each + x.sorting(&copied, largest, largest*each)
		}
		most = max(most, n)
	}
	return most
}

// inRows tells whether blocks of the result are cut in the outermost of modes only.
func (x *planner) inRows(modes []int) bool {
	for m, v := range x.p.Result {
		if v >= 0 && m != modes[0] && len(x.p.Vars[v].Cuts) > 2 {
			return false
		}
	}
	return true
}

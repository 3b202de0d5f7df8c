package place

import (
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// Nest is the block schedule as a nest. Each split variable has a loop, in their order; those of
// the mapping are distributed over a machine whose extents are their numbers of ranges, so that a
// point of the machine is the number that the mapping gives a block.
func (b *Blocking) Nest() *Nest {
	n := &Nest{Machine: &Machine{Name: "M", Grids: []Grid{{}}}}
	extents := &n.Machine.Grids[0].Extents
	for k := range b.Vars {
		v := &b.Vars[k]
		l := Loop{Var: v.Name, N: v.Ranges(), Dim: slices.Index(b.Map, k)}
		n.Loops = append(n.Loops, l)
		n.Chunks = append(n.Chunks, Chunks{Var: v.Name, Digits: []Digit{{Loop: k, N: l.N}}, Cuts: v.Cuts})
	}
	for _, k := range b.Map {
		*extents = append(*extents, b.Vars[k].Ranges())
	}
	return n
}

// Blocking is what a statement's blocks are under the nest: the variables that it cuts are split at
// its chunks, and the groups of terms are those of a block schedule with these variables. Which
// rank runs a block is the nest's to say, so that there is no mapping. Chunks of the entries of a
// tensor add to one block of the result where that has none of their variables; else each makes a
// block of its own. A nest that cuts the range of a sum inside a product or quotient is refused.
func (n *Nest) Blocking(norm *notation.Normal) (*Blocking, error) {
	b := &Blocking{}
	for _, c := range n.Chunks {
		if c.Positions != nil {
			// Every term has the tensor as a factor, and so sums its variables itself; but for the old value
			// of a +=.
			held := slices.ContainsFunc(c.Positions.Vars,
				func(v string) bool { return slices.Contains(norm.LHS.Vars, v) })
			b.Vars = append(b.Vars, BlockVar{Positions: c.Positions, Reduction: !held})
			continue
		}
		if why := Splittable(norm, c.Var); why != "" {
			return nil, diag.Errorf(diag.ScheduleRefused, "distribute: %s", why)
		}
		b.Vars = append(b.Vars, BlockVar{Name: c.Var, Cuts: c.Cuts,
			Reduction: !slices.Contains(norm.LHS.Vars, c.Var)})
	}
	b.group(norm)
	return b, nil
}

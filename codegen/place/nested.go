package place

import (
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// Nest returns the block schedule as a nest. Each split variable has a loop, in the same order. The
// loops of mapping variables are distributed over a machine whose extents are their numbers of
// ranges. The number of a point of the machine is then the number that the mapping gives to a
// block.
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

// Blocking returns the blocks into which the nest divides the statement. Its variables are split at
// the nest's chunks, and the groups of terms are the same as in a block schedule with these
// variables. There is no mapping, because the nest says which rank runs a block.
//
// Chunks of the entries of a tensor add to one block of the result if the result has none of their
// variables. Otherwise each chunk makes its own block. Blocking returns an error if the nest cuts
// the range of a sum inside a product or quotient.
func (n *Nest) Blocking(norm *notation.Normal) (*Blocking, error) {
	b := &Blocking{}
	for _, c := range n.Chunks {
		if c.Positions != nil {
			// Every term has the tensor as a factor and sums its variables, except the old value
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

package place

import (
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// Nest returns the block schedule as a nest. There is one loop for each split variable, in the same
// order. The loops of mapping variables are distributed over a machine. The machine has one
// dimension for each mapping variable. The extent of the dimension is the variable's number of
// ranges. The points of the machine therefore have the same numbers that the mapping gives to the
// blocks.
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

// Blocking returns the blocks into which the nest divides the statement. Each variable is split
// where the nest's chunks begin. The terms are grouped as in a block schedule with these variables.
// The blocks have no mapping, because the nest itself says which rank runs a block.
//
// A nest can divide the entries of a tensor into chunks. If the result has none of the variables
// that these chunks divide, all chunks add to the same block of the result. Otherwise each chunk
// makes a block of its own. Blocking returns an error if the nest divides the range of a sum inside
// a product or quotient.
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

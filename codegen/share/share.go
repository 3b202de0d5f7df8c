// Package share finds an operand whose level arrays the result of a statement can use as its own,
// down to the result's last compressed level.
package share

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// Problem describes the result of a statement and the operands.
type Problem struct {
	Vars     []string // the variables of the result
	Result   tensor.Format
	Operands []tree.Argument // without the result
	Size     func(v string) int64
	// PosWidth and CrdWidth are the widths that the result must have. nil means any widths.
	PosWidth, CrdWidth []uint8
}

// Find returns the access of statement s to the operand whose level arrays the result can share, or
// nil if there is none. An operand must meet three conditions:
//
//   - The operand's levels equal the result's levels, down to the result's last compressed level.
//     All levels of the operand are dense or compressed.
//   - Each loop over a compressed level visits exactly the coordinates that the operand stores, and
//     each loop over a dense level visits the whole range.
//   - The statement computes a value of the result for each entry of the operand. This check relies
//     on a rule for all stored tensors: a coordinate in a compressed level has entries below it.
//
// Find chooses the first operand that meets the conditions. It returns nil if the result may not
// have the widths of this operand's arrays.
func Find(s cin.Stmt, p *Problem) *cin.Access {
	var found *cin.Access
	lattices := map[*cin.Forall]*lattice.Lattice{} // computed once for all candidates
	cin.Accesses(s, func(a *cin.Access) {
		if found == nil && p.sharesLevels(a) && p.samePattern(s, a, nil, lattices) {
			found = a
		}
	})
	if found == nil || !p.takesWidths(tree.Find(p.Operands, found.Name)) {
		return nil
	}
	return found
}

// Verify checks that the result can share the levels of an operand. The argument shared is an
// access to this operand, or nil if the result shares no levels. Verify returns an error if
// statement s does not contain the access, or if the levels of the operand and the result differ.
func Verify(s cin.Stmt, p *Problem, shared *cin.Access) error {
	found := shared == nil
	cin.Accesses(s, func(a *cin.Access) {
		found = found || a.Key() == shared.Key() && p.sharesLevels(a)
	})
	if !found {
		return fmt.Errorf("the statement must read the levels of %s, because the result shares them",
			shared.Key())
	}
	return nil
}

// takesWidths reports whether the result may have the widths of operand o's level arrays. If p
// prescribes the widths of the result's arrays, o's arrays must have the same widths.
func (p *Problem) takesWidths(o *tree.Argument) bool {
	for l := range p.PosWidth {
		if p.Result.Levels[l] != tensor.Dense &&
			(p.PosWidth[l] != o.PosWidth[l] || p.CrdWidth[l] != o.CrdWidth[l]) {
			return false
		}
	}
	return true
}

// sharesLevels reports whether a's outer levels equal the result's levels down to its last
// compressed one, and all levels of a are dense or compressed.
func (p *Problem) sharesLevels(a *cin.Access) bool {
	o, result := tree.Find(p.Operands, a.Name), p.Result
	deep := len(result.Levels) - result.TrailingDense()
	if o == nil || len(o.Format.Levels) < deep {
		return false
	}
	f := o.Format
	for l, k := range f.Levels {
		if !k.IsDenseOrCompressed() {
			return false
		}
		if l < deep && (k != result.Levels[l] || a.Vars[f.Order[l]] != p.Vars[result.Order[l]]) {
			return false
		}
	}
	return true
}

// samePattern reports whether s assigns its target exactly once for each entry of a. bound lists
// the variables of the loops around s. lattices caches the lattice of each loop.
func (p *Problem) samePattern(s cin.Stmt, a *cin.Access, bound []string,
	lattices map[*cin.Forall]*lattice.Lattice) bool {
	switch s := s.(type) {
	case *cin.Forall:
		lat := lattices[s]
		if lat == nil {
			lat = lattice.Loop(s.Var, s.Body, p.place(s.Var, bound))
			lattices[s] = lat
		}
		if lat.Coarse || len(lat.Points) != 1 || p.Size(s.Var) == 0 {
			return false
		}
		at := lat.Points[0]
		walksA := at.Iters.Len() == 1 && lat.Iters[at.Iters.First()] == a.Key() && !at.Universe
		if !walksA && !(at.Iters.Len() == 0 && at.Universe) {
			return false
		}
		if slices.Contains(p.Vars, s.Var) && walksA != p.isCompressedAt(a, s.Var) {
			return false
		}
		return p.samePattern(s.Body, a, append(slices.Clone(bound), s.Var), lattices)
	case *cin.Where:
		return p.denseBelow(cin.Target(s.Producer)) && p.samePattern(s.Producer, a, bound, lattices) &&
			p.samePattern(s.Consumer, a, bound, lattices)
	case *cin.Assign:
		return isAlwaysPresent(s.RHS)
	}
	return false
}

// denseBelow reports whether temporary t belongs to one dense block of the result. This is so if t
// is a scalar, or if all its variables belong to levels of the result below the last compressed
// level.
func (p *Problem) denseBelow(t *cin.Access) bool {
	f := p.Result
	for _, v := range t.Vars {
		m := slices.Index(p.Vars, v)
		if m < 0 || f.Level(m) < len(f.Levels)-f.TrailingDense() {
			return false
		}
	}
	return true
}

// isCompressedAt reports whether v's level in a is compressed.
func (p *Problem) isCompressedAt(a *cin.Access, v string) bool {
	f := tree.Find(p.Operands, a.Name).Format
	m := slices.Index(a.Vars, v)
	return m >= 0 && f.Levels[f.Level(m)] == tensor.Compressed
}

// isAlwaysPresent reports whether no access in x has the same variable twice. An access with a
// repeated variable searches for its diagonal element, which may be missing.
func isAlwaysPresent(x cin.Expr) bool {
	ok := true
	cin.ExprAccesses(x, func(a *cin.Access) {
		for m, v := range a.Vars {
			ok = ok && !slices.Contains(a.Vars[:m], v)
		}
	})
	return ok
}

// place returns a function that says how a loop over v finds the values of an access. bound lists
// the variables of the loops around this loop.
//
// For an operand, the format of the operand determines the answer. A workspace is traversed by its
// list of coordinates, unless the workspace belongs to one dense block of the result. Such a
// workspace has no list, and may have a value at every coordinate.
func (p *Problem) place(v string, bound []string) func(a *cin.Access) lattice.Place {
	return func(a *cin.Access) lattice.Place {
		o := tree.Find(p.Operands, a.Name)
		switch {
		case o != nil:
			return lattice.Below(a, o.Format, func(u string) bool { return slices.Contains(bound, u) })
		case slices.Contains(a.Vars, v) && !p.denseBelow(a):
			return lattice.Place{Next: v, Walked: true}
		}
		return lattice.Place{}
	}
}

package codegen

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// shared finds an operand whose level arrays the result can use as its own, down to the result's
// last compressed level, and stores it in c.sharedWith. It finds none if the caller passes the
// level arrays of the result, or if an earlier run of the passes found that the result needs its
// own.
//
// The request must not ask for other widths than the operand's. Three more conditions must hold:
//
//   - The operand's levels equal the result's levels.
//   - Each loop over a compressed level visits exactly the coordinates that the operand stores, and
//     each loop over a dense level visits the whole range.
//   - The statement computes a value of the result for each entry of the operand. This check relies
//     on a rule for all stored tensors: a coordinate in a compressed level has entries below it.
func (c *compilation) shared() error {
	c.sharedWith = nil
	if c.unit.Result.Format.AllDense() || c.ownArrays || c.request.Ask.FixedPattern {
		return nil
	}
	var found *cin.Access
	lattices := map[*cin.Forall]*lattice.Lattice{} // computed once for all candidates
	cin.Accesses(c.plain, func(a *cin.Access) {
		if found == nil && c.sharesLevels(a) && c.samePattern(c.plain, a, nil, lattices) {
			found = a
		}
	})
	if found != nil && c.takesWidths(*c.operand(found.Name)) {
		c.sharedWith = found
	}
	return nil
}

// takesWidths reports whether the result may have the widths of an operand's level arrays. If the
// request asks for widths, they must be the same.
func (c *compilation) takesWidths(o tree.Argument) bool {
	want := c.tensor(c.request.Statement.Stmt.LHS.Name)
	for l := range want.PosWidth {
		if c.unit.Result.Format.Levels[l] != tensor.Dense &&
			(want.PosWidth[l] != o.PosWidth[l] || want.CrdWidth[l] != o.CrdWidth[l]) {
			return false
		}
	}
	return true
}

// sharedWidths returns the widths of the result's positions and coordinates, in bytes, for each
// level. The result uses the level arrays of operand o down to its last compressed level.
func (c *compilation) sharedWidths(o tree.Argument) (pos, crd []uint8) {
	f := c.unit.Result.Format
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	shared := len(f.Levels) - f.TrailingDense()
	copy(pos, o.PosWidth[:shared])
	copy(crd, o.CrdWidth[:shared])
	return pos, crd
}

// operand returns the operand called name in concrete index notation.
func (c *compilation) operand(name string) *tree.Argument {
	k := slices.IndexFunc(c.ops, func(o tree.Argument) bool { return o.Name == name })
	return &c.ops[k]
}

// formatOf returns the format of the operand called name in concrete index notation. The second
// result is false if there is none.
func (c *compilation) formatOf(name string) (tensor.Format, bool) {
	for _, op := range c.ops[1:] {
		if op.Name == name {
			return op.Format, true
		}
	}
	return tensor.Format{}, false
}

// sharesLevels reports whether a's outer levels equal the result's levels down to its last
// compressed one, and all levels of a are dense or compressed.
func (c *compilation) sharesLevels(a *cin.Access) bool {
	f, ok := c.formatOf(a.Name)
	result, lhs := c.unit.Result.Format, c.normal.LHS
	deep := len(result.Levels) - result.TrailingDense()
	if !ok || len(f.Levels) < deep {
		return false
	}
	for l, k := range f.Levels {
		if !k.IsDenseOrCompressed() {
			return false
		}
		if l < deep && (k != result.Levels[l] || a.Vars[f.Order[l]] != lhs.Vars[result.Order[l]]) {
			return false
		}
	}
	return true
}

// samePattern reports whether s, inside loops over bound, assigns its target once for each entry of
// a. lattices caches the lattices of loops.
func (c *compilation) samePattern(s cin.Stmt, a *cin.Access, bound []string,
	lattices map[*cin.Forall]*lattice.Lattice) bool {
	switch s := s.(type) {
	case *cin.Forall:
		lat := lattices[s]
		if lat == nil {
			lat = lattice.Loop(s.Var, s.Body, c.place(s.Var, bound))
			lattices[s] = lat
		}
		if lat.Coarse || len(lat.Points) != 1 || c.size(s.Var) == 0 {
			return false
		}
		p := lat.Points[0]
		walksA := p.Iters.Len() == 1 && lat.Iters[p.Iters.First()] == a.Key() && !p.Universe
		if !walksA && !(p.Iters.Len() == 0 && p.Universe) {
			return false
		}
		if slices.Contains(c.normal.LHS.Vars, s.Var) && walksA != c.isCompressedAt(a, s.Var) {
			return false
		}
		return c.samePattern(s.Body, a, append(slices.Clone(bound), s.Var), lattices)
	case *cin.Where:
		return c.denseBelow(cin.Target(s.Producer)) && c.samePattern(s.Producer, a, bound, lattices) &&
			c.samePattern(s.Consumer, a, bound, lattices)
	case *cin.Assign:
		return c.isAlwaysPresent(s.RHS)
	}
	return false
}

// denseBelow reports whether temporary t belongs to one dense block of the result. This is so if t
// is a scalar, or if all its variables belong to levels of the result below the last compressed
// level.
func (c *compilation) denseBelow(t *cin.Access) bool {
	f := c.unit.Result.Format
	for _, v := range t.Vars {
		m := slices.Index(c.normal.LHS.Vars, v)
		if m < 0 || f.Level(m) < len(f.Levels)-f.TrailingDense() {
			return false
		}
	}
	return true
}

// isCompressedAt reports whether v's level in a is compressed.
func (c *compilation) isCompressedAt(a *cin.Access, v string) bool {
	f, _ := c.formatOf(a.Name)
	m := slices.Index(a.Vars, v)
	return m >= 0 && f.Levels[f.Level(m)] == tensor.Compressed
}

// isAlwaysPresent reports whether x has a stored value in every iteration of the loops around it.
// The answer is false if an access has the same variable twice, because its diagonal element is
// searched for and may be missing.
func (c *compilation) isAlwaysPresent(x cin.Expr) bool {
	ok := true
	cin.ExprAccesses(x, func(a *cin.Access) {
		for m, v := range a.Vars {
			ok = ok && !slices.Contains(a.Vars[:m], v)
		}
	})
	return ok
}

// place returns a function that says how a loop over v reaches the values of an access. bound lists
// the variables of the loops outside.
//
// For a stored tensor, the format of the tensor determines the answer. A workspace is traversed by
// its list of coordinates. A workspace that is part of a dense block of the result has no list, and
// may have a value at every coordinate.
func (c *compilation) place(v string, bound []string) func(a *cin.Access) lattice.Place {
	return func(a *cin.Access) lattice.Place {
		f, ok := c.formatOf(a.Name)
		switch {
		case ok:
			return lattice.Below(a, f, func(u string) bool { return slices.Contains(bound, u) })
		case slices.Contains(a.Vars, v) && !c.denseBelow(a):
			return lattice.Place{Next: v, Walked: true}
		}
		return lattice.Place{}
	}
}

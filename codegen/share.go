package codegen

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/lower"
	"distaff/io/tensor"
)

// shared finds an access whose level arrays the result can have as its own,
// down to the result's last compressed level: these levels are the result's,
// every loop over a compressed one visits what this operand stores and nothing
// else, every loop over a dense one the whole range, and wherever the operand
// has an entry there is a value. That needs what every stored tensor keeps: a
// compressed coordinate has children. There is none where the level arrays are given, or
// were found to have to be the result's own.
func (c *compilation) shared() error {
	c.share = nil
	if c.unit.Result.Format.AllDense() || c.own || c.request.FixedPattern {
		return nil
	}
	var found *cin.Access
	lattices := map[*cin.Forall]*lattice.Lattice{} // of all loops, which many operands are held to
	cin.Accesses(c.plain, func(a *cin.Access) {
		if found == nil && c.sharesLevels(a) && c.samePattern(c.plain, a, nil, lattices) {
			found = a
		}
	})
	if found != nil && c.takesWidths(*c.operand(found.Name)) {
		c.share = found
	}
	return nil
}

// takesWidths tells whether the result may have an operand's widths: where its
// own were asked for, they must be the same.
func (c *compilation) takesWidths(o lower.Operand) bool {
	want := c.tensor(c.request.Stmt.LHS.Name)
	for l := range want.PosWidth {
		if c.unit.Result.Format.Levels[l] != tensor.Dense &&
			(want.PosWidth[l] != o.PosWidth[l] || want.CrdWidth[l] != o.CrdWidth[l]) {
			return false
		}
	}
	return true
}

// sharedWidths are the widths of a result that shares o's outer levels.
func (c *compilation) sharedWidths(o lower.Operand) (pos, crd []uint8) {
	f := c.unit.Result.Format
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	shared := len(f.Levels) - f.TrailingDense()
	copy(pos, o.PosWidth[:shared])
	copy(crd, o.CrdWidth[:shared])
	return pos, crd
}

// operand is an operand by its name in the statement.
func (c *compilation) operand(name string) *lower.Operand {
	k := slices.IndexFunc(c.ops, func(o lower.Operand) bool { return o.Name == name })
	return &c.ops[k]
}

// formatOf is the format of an operand by its name in the statement.
func (c *compilation) formatOf(name string) (tensor.Format, bool) {
	for _, op := range c.ops[1:] {
		if op.Name == name {
			return op.Format, true
		}
	}
	return tensor.Format{}, false
}

// sharesLevels tells whether a's outer levels are those of the result, and the
// others, if there are any, d or s.
func (c *compilation) sharesLevels(a *cin.Access) bool {
	f, ok := c.formatOf(a.Name)
	result, lhs := c.unit.Result.Format, c.normal.LHS
	deep := len(result.Levels) - result.TrailingDense()
	if !ok || len(f.Levels) < deep {
		return false
	}
	for l, k := range f.Levels {
		if k != tensor.Dense && k != tensor.Compressed {
			return false
		}
		if l < deep && (k != result.Levels[l] || a.Vars[f.Order[l]] != lhs.Vars[result.Order[l]]) {
			return false
		}
	}
	return true
}

// samePattern tells whether s, with the variables bound around it, assigns its
// target once for each entry of a.
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
		if slices.Contains(c.normal.LHS.Vars, s.Var) && walksA != c.walks(a, s.Var) {
			return false
		}
		return c.samePattern(s.Body, a, append(slices.Clone(bound), s.Var), lattices)
	case *cin.Where:
		return c.denseBelow(cin.Target(s.Producer)) && c.samePattern(s.Producer, a, bound, lattices) &&
			c.samePattern(s.Consumer, a, bound, lattices)
	case *cin.Assign:
		return c.always(s.RHS)
	}
	return false
}

// denseBelow tells whether a temporary is a scalar, or a row of the result's
// levels below its last compressed one.
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

// walks tells whether v's level in a is compressed.
func (c *compilation) walks(a *cin.Access, v string) bool {
	f, _ := c.formatOf(a.Name)
	m := slices.Index(a.Vars, v)
	return m >= 0 && f.Levels[f.Level(m)] == tensor.Compressed
}

// always tells whether x is present wherever the loops around it lead: no
// access in it holds a variable twice, which would be searched.
func (c *compilation) always(x cin.Expr) bool {
	ok := true
	cin.ExprAccesses(x, func(a *cin.Access) {
		for m, v := range a.Vars {
			ok = ok && !slices.Contains(a.Vars[:m], v)
		}
	})
	return ok
}

// place is where a loop over v, inside loops over bound, finds an access: a workspace's
// list of coordinates is walked, unless it is a row of the result's.
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

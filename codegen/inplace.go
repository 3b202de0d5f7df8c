package codegen

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// inPlace lets the leaf read the operand that the request names (Tensors.InPlace), the old value,
// from the memory of the result. Each element must be read before it is written, and never after.
// The conditions are:
//
//   - The old value has the result's type and levels, and is read as it is stored. A sparse
//     result must use the old value's level arrays.
//   - Every access to the old value has the variables of the left side, in the same order.
//   - No coordinate is assigned twice. The default schedule guarantees this if it makes only
//     plain stores. With a user's schedule, the loops must be over variables of the left side.
//   - The leaf reads and stores in the order that ir.ReadInPlace describes.
//   - The leaf runs on a CPU. It neither adds to an existing result nor computes values for a given
//     pattern, and its result is not repacked.
//
// If a condition does not hold, the leaf uses separate memory for the old value and the result.
func (c *compilation) inPlace() error {
	if k := c.overwritten(); k > 0 && c.request.Target.Kind == CPU &&
		(c.request.Ask.Schedule == nil || assignsOnce(c.unit.CIN)) &&
		ir.ReadInPlace(c.unit.Func, k) {
		c.unit.Result.InPlace = k
	}
	return nil
}

// overwritten returns the number of the argument whose values may be in the result's memory, or 0
// if there is none.
func (c *compilation) overwritten() int {
	u, lhs := c.unit, c.stmt.normal.LHS
	if c.request.Tensors.InPlace == "" || u.Result.Accumulate || u.Result.Repack ||
		c.request.Ask.FixedPattern {
		return 0
	}
	old := -1
	for k, a := range u.Args[1:] {
		if a.Tensor == c.request.Tensors.InPlace && a.Old == (a.Tensor == lhs.Name) {
			if old >= 0 {
				return 0 // it is read in several formats
			}
			old = k + 1
		}
	}
	if old < 0 || u.Args[old].Convert || c.ops[old].Type != c.ops[0].Type ||
		!u.Args[old].Format.Equal(u.Result.Format) {
		return 0
	}
	if !u.Result.Format.AllDense() && u.Result.Shares != old {
		return 0
	}
	for _, s := range c.uses.List {
		if s.Name == c.ops[old].Name && !slices.Equal(s.Vars, lhs.Vars) {
			return 0
		}
	}
	return old
}

// assignsOnce reports whether the loops of statement s assign each coordinate of the result once.
func assignsOnce(s cin.Stmt) bool {
	target, g := cin.Target(s), cin.Relations(s)
	assigned, once := 0, true
	cin.Paths(s, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != target.Name {
			return
		}
		assigned++
		once = once && !a.Accumulate
		for _, f := range loops {
			once = once && stemsFrom(g, f.Var, target.Vars)
		}
	})
	return assigned == 1 && once
}

// stemsFrom reports whether a variable of a schedule is derived only from variables of vars.
func stemsFrom(g *provenance.Graph, v string, vars []string) bool {
	r := g.MadeBy(v)
	if r == nil {
		return slices.Contains(vars, v)
	}
	return !slices.ContainsFunc(r.From, func(from string) bool { return !stemsFrom(g, from, vars) })
}

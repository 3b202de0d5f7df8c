package codegen

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// inPlace has the leaf read the left tensor's old value, which the request names, from the
// memory of the result, where each element is read before it is written and never after:
//
//   - it has the result's type and levels, which for a sparse result are its own level arrays, and
//     is
//     read as it is stored;
//   - every use of it is the left's own access, the same variables in the same order;
//   - no coordinate is assigned twice. The default schedule sees to that where it makes nothing but
//     plain
//     stores; loops of a user's are to be over variables of the left side;
//   - the leaf reads and stores in the order that ir.ReadInPlace describes.
//
// Elsewhere, and on a GPU, the leaf keeps to two memories.
func (c *compilation) inPlace() error {
	if k := c.overwritten(); k > 0 && c.request.Target == CPU && c.assignsOnce() &&
		ir.ReadInPlace(c.unit.Func, k) {
		c.unit.Result.InPlace = k
	}
	return nil
}

// verifyInPlace: the leaf is well formed, and does not read the values of an argument that it
// reads from the result's memory.
func (c *compilation) verifyInPlace() error {
	if k := c.unit.Result.InPlace; k > 0 {
		for _, p := range c.unit.Func.Params {
			if p.Slot.Arg == k && p.Slot.Field == ir.Vals {
				return fmt.Errorf("the leaf reads values of argument %d from memory of its own", k)
			}
		}
	}
	return c.verifyIR()
}

// overwritten is the argument that may have the result's memory; 0 for none.
func (c *compilation) overwritten() int {
	u, lhs := c.unit, c.normal.LHS
	if c.request.InPlace == "" || u.Result.Accumulate || u.Result.Repack || c.request.FixedPattern {
		return 0
	}
	old := -1
	for k, a := range u.Args[1:] {
		if a.Tensor == c.request.InPlace && a.Old == (a.Tensor == lhs.Name) {
			if old >= 0 {
				return 0 // in several formats
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
	for _, s := range c.uses {
		if s.name == c.ops[old].Name && !slices.Equal(s.vars, lhs.Vars) {
			return 0
		}
	}
	return old
}

// assignsOnce tells whether the loops of a schedule assign each coordinate of the result once.
func (c *compilation) assignsOnce() bool {
	if c.request.Schedule == nil {
		return true
	}
	s := c.unit.CIN
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

// stemsFrom tells whether a variable of a schedule is made of none but these.
func stemsFrom(g *provenance.Graph, v string, vars []string) bool {
	r := g.MadeBy(v)
	if r == nil {
		return slices.Contains(vars, v)
	}
	return !slices.ContainsFunc(r.From, func(from string) bool { return !stemsFrom(g, from, vars) })
}

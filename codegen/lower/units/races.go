package units

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
)

// StoredOnce reports whether different rows are summed into different values of a dense result.
// This requires that each row is visited only once, and that only one statement assigns to the
// result. The rows are over the first n variables of c. In op, the levels of these variables begin
// at level first.
func StoredOnce(e *scope.Env, c *scope.Component, op *tree.Operand, first, n int) bool {
	l := e.Leaf
	if l.Out.Sparse() || e.Private != nil || e.Res.Tile != nil {
		return false
	}
	only := func(vars ...string) bool {
		return !slices.ContainsFunc(vars,
			func(v string) bool { return !slices.Contains(l.ResultVars, v) })
	}
	for j := range n {
		if op.Argument.Format.HasRepeats(first + j) {
			return false
		}
	}
	for _, v := range e.Coord.Names() {
		if !only(v) {
			return false
		}
	}
	for _, top := range e.Open.Names() {
		if k := l.Comps[top]; k != c && !only(k.Roots...) {
			return false
		}
	}
	for _, top := range e.Counts.Names() {
		if k := l.Comps[top]; k != c && !only(k.Roots...) {
			return false
		}
	}
	assigned := 0
	cin.Walk(l.Spec.Stmt, func(s cin.Stmt) {
		if a, ok := s.(*cin.Assign); ok && a.LHS.Name == l.Out.Op.Argument.Name {
			assigned++
		}
	})
	return assigned == 1 && only(c.Roots[:n]...)
}

// OwnsRows reports whether only one thread adds to a row that is entirely inside one interval of
// positions. Two conditions must hold. First, threads race only because they work on different
// intervals of component c. Second, op stores each row once, and each row has its own elements in
// the result. k is the level of c's last variable in op. OwnsRows returns false if additions are
// not atomic, or if they go to a private copy.
func OwnsRows(e *scope.Env, c *scope.Component, op *tree.Operand, k int) bool {
	if !e.Atomic || e.Racing != c || e.Private != nil {
		return false
	}
	d := len(c.Roots) - 1
	for j, root := range c.Roots[:d] {
		if !slices.Contains(e.Leaf.ResultVars, root) || op.Argument.Format.HasRepeats(k-d+j) {
			return false
		}
	}
	return true
}

// StoresEachOnce reports whether a nest of GPU loops stores each value of the result exactly once.
// f is the outermost loop of the nest. The loops must be the loops of component c, directly nested,
// and a sum inside them must be computed in a scalar. A component with a loop over positions of an
// operand does not qualify, because this loop skips coordinates without an entry.
func StoresEachOnce(f *cin.Forall, c *scope.Component, e *scope.Env) bool {
	l := e.Leaf
	if slices.ContainsFunc(l.Graph.Relations(),
		func(r provenance.Relation) bool { return bounds.IsPosOf(l, r, c) }) {
		return false
	}
	k := e.Res.Level
	if !l.Spec.GPU || e.Res.Zeroed || len(c.Roots) != 1 || l.Out.Sparse() ||
		k != l.Out.Op.Order()-1 || l.ResultVars[k] != c.Roots[0] {
		return false
	}
	s := cin.Stmt(f)
	for range c.Leaves {
		g, ok := s.(*cin.Forall)
		if !ok || !slices.Contains(c.Leaves, g.Var) {
			return false
		}
		s = g.Body
	}
	in := e.Clone()
	in.Coord = in.Coord.With(c.Roots[0], ir.Int(0))
	switch s := s.(type) {
	case *cin.Forall:
		return SumsSingleValue(s, in)
	case *cin.Assign:
		return true
	}
	return false
}

// AtomicEnv returns the environment inside f. It makes additions to the result atomic there on two
// conditions: different iterations of f may add to the same place, and f uses atomic additions
// against such races.
func AtomicEnv(f *cin.Forall, e *scope.Env) *scope.Env {
	l := e.Leaf
	if f.Unit != cin.CPUThread && !f.Unit.OnGPU() {
		return e
	}
	in := *e
	in.Threads = in.Threads || f.Unit == cin.CPUThread
	if f.Unit == cin.GPUWarp {
		in.Warps++
	}
	in.OnThread = in.OnThread || f.IterationUnit() == cin.GPUThread
	if !l.Assigns(f) || !hasRaces(l, f) || f.Unit == cin.CPUThread && f.Race != cin.Atomics ||
		f.Unit.OnGPU() && !addsOnGPU(l, f) {
		return &in
	}
	by := l.Comps[f.Var]
	if e.Atomic && e.Racing != by {
		by = nil
	}
	in.Atomic, in.Racing, in.Own = true, by, nil
	return &in
}

// hasRaces reports whether different iterations of f may write to the same place of the result.
func hasRaces(l *scope.Leaf, f *cin.Forall) bool {
	return slices.ContainsFunc(l.Graph.Underived(f.Var),
		func(r string) bool { return !slices.Contains(l.ResultVars, r) })
}

// AddsToBlock reports whether different iterations of f may add to the same elements of the result.
// It returns false if the loops around f have already chosen a single element of the result.
func AddsToBlock(f *cin.Forall, e *scope.Env) bool {
	l := e.Leaf
	return l.Assigns(f) && hasRaces(l, f) && e.Res.Level < l.Out.Op.Order()
}

// SumsSingleValue reports whether f sums into a single value of the result. It returns false if
// loops on threads or on a GPU add to the result itself.
func SumsSingleValue(f *cin.Forall, e *scope.Env) bool {
	l := e.Leaf
	if !l.Assigns(f) {
		return false
	}
	target := cin.Target(f)
	for _, v := range target.Vars {
		// A loop over positions may have reached the place of the result without knowing its
		// coordinates.
		if _, bound := e.Coord.Get(v); !bound && !slices.Contains(l.ResultVars[:e.Res.Level], v) {
			return false
		}
	}
	single := true
	cin.Walk(f, func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Assign:
			if s.LHS.Name == target.Name && !s.Accumulate {
				single = false
			}
		case *cin.Forall:
			// If threads add atomically, or if the user says that they never meet, they add to the
			// result itself.
			if s.Unit == cin.CPUThread && (s.Race == cin.Atomics || s.Race == cin.IgnoreRaces) &&
				cin.Target(s).Name == target.Name {
				single = false
			}
			if s.Unit.OnGPU() && !sumsAcross(s) && cin.Target(s).Name == target.Name {
				single = false
			}
		}
	})
	return single
}

// addsOnGPU reports whether iterations of f, a loop on a unit of a GPU, must add atomically. It is
// called if several iterations may add to the same element. The result is false if f's command says
// NoRaces. It is also false if the command says IgnoreRaces and no loop inside f says how to add.
// If atomic additions are not possible, addsOnGPU refuses the loop.
func addsOnGPU(l *scope.Leaf, f *cin.Forall) bool {
	if f.Race == cin.NoRaces || f.Race == cin.IgnoreRaces && !decidesRaces(l, f.Body) {
		return false
	}
	// otherwise the sum would be in a scalar
	if f.Race == cin.Temporary || f.Race == cin.ParallelReduction {
		l.Refuse(f.Var, "iterations of %s add to many elements of %s, and a GPU's threads cannot have "+
			"copies; use Atomics", f.Var, cin.Target(f).Key())
	}
	return true
}

// decidesRaces reports whether loops in s on units of a GPU say how they add to the result.
func decidesRaces(l *scope.Leaf, s cin.Stmt) bool {
	found := false
	cin.Walk(s, func(s cin.Stmt) {
		f, ok := s.(*cin.Forall)
		found = found || ok && f.Unit.OnGPU() && cin.SettlesRaces(f.Race) && l.Assigns(f)
	})
	return found
}

// sumsAcross reports whether the schedule makes the iterations of f add to one scalar. f runs on
// units of a GPU. The result is false for a loop over blocks.
func sumsAcross(f *cin.Forall) bool {
	return f.Race == cin.Temporary || f.Race == cin.ParallelReduction
}

// Package units runs loops on threads, in lanes and on the units of a GPU.
//
//	kinds.go  marks loops as the schedule says, and refuses those whose iterations depend on others
//	races.go  which iterations may add to the same place, and how they add
//	work.go   chunks of about equal work
//	gpu.go    widths of a GPU's loops; the rows where blocks begin
package units

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
)

// BodyOf emits a loop's body. The body has its own scope if the loop runs on threads or on the
// units of a GPU.
func BodyOf(l *scope.Leaf, f *cin.Forall, fn func()) *ir.Block {
	if f.Unit.OnGPU() || f.Unit == cin.CPUThread && f.Race != cin.Unsaid {
		return l.B.InScope(fn)
	}
	return l.B.Within(fn)
}

// SetKind marks a loop as parallel, vectorized or unrolled, as the schedule says. It refuses a
// parallel loop if its iterations depend on one another.
func SetKind(f *cin.Forall, e *scope.Env, s *ir.For) *ir.For {
	l := e.Leaf
	l.Lanes.Over[s] = f.Var
	switch {
	case f.Unit == cin.CPUThread && f.Race != cin.Unsaid:
		s.Kind, s.Chunk, s.Dynamic = ir.Parallel, f.Chunk, f.Chunk > 0
	case f.Unit == cin.CPUVector:
		ir.Walk(s.Body, func(t ir.Stmt) {
			if c, ok := t.(*ir.Call); ok {
				l.Refuse(f.Var, "the loop over %s cannot run in vector lanes, because it calls %s for one "+
					"iteration at a time", f.Var, c.Func.Name)
			}
		})
		w := e.Space(cin.Target(f.Body).Name)
		if _, placed := w.(scope.Placed); w != nil && !placed {
			l.Refuse(f.Var, "the loop over %s adds entries to the sparse workspace %s one at a time, "+
				"which vector lanes cannot do; use workspace(...,Dense), or do not vectorize", f.Var,
				cin.Target(f.Body).Key())
		}
		s.Kind = ir.Vector
		scalarLanes(l, f, s.Body)
	case f.Unit.OnGPU():
		onGPU(f, e, s)
	case f.Unroll != 0:
		s.Kind, s.Factor = ir.Unrolled, max(f.Unroll, 0)
		if s.Factor == 0 {
			s.Factor = l.Spec.Strategy.Unrolled[f.Var]
		}
		s.Jam = l.Spec.GPU && s.Factor > 1 && l.Assigns(f) && !hasRaces(l, f) && hasLoops(s.Body)
		return s
	default:
		return s
	}
	return findSums(f, l, s)
}

// findSums makes s, which runs iterations of f in parallel, sum the scalars that its body adds to.
// It refuses f if an iteration depends on others.
func findSums(f *cin.Forall, l *scope.Leaf, s *ir.For) *ir.For {
	own := map[*ir.Var]bool{}
	ir.Walk(s.Body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Declare:
			own[t.V] = true
		case *ir.For:
			own[t.V] = true
		}
	})
	ir.Walk(s.Body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Assign:
			if own[t.V] || slices.Contains(s.Reduce, t.V) {
				return
			}
			if !t.Accumulate {
				l.Refuse(f.Var, "iterations of %s cannot run in parallel, because each of them sets %s",
					f.Var, t.V.Name)
			}
			s.Reduce = append(s.Reduce, t.V)
		case *ir.Grow:
			if !own[t.Cap] {
				l.Refuse(f.Var, "iterations of %s cannot run in parallel, because they append to %s in "+
					"order", f.Var, t.A.Name)
			}
		}
	})
	return s
}

// hasLoops reports whether b contains a loop.
func hasLoops(b *ir.Block) bool {
	found := false
	ir.Walk(b, func(s ir.Stmt) {
		switch s.(type) {
		case *ir.For, *ir.While:
			found = true
		}
	})
	return found
}

// scalarLanes adds a note for the user if the lanes of f cannot run together because of its body.
func scalarLanes(l *scope.Leaf, f *cin.Forall, body *ir.Block) {
	if l.Spec.Note == nil {
		return
	}
	atomic, fails, owned := false, false, false
	ir.Walk(body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Store:
			atomic = atomic || t.Atomic
		case *ir.If: // in the other branch the row belongs to this thread alone
			owned = owned || t.Else != nil && len(t.Else.List) == 1 && atomicStore(t.Else.List[0])
		case *ir.Fail, *ir.Alloc, *ir.Grow:
			fails = true
		}
	})
	switch key := cin.Target(f).Key(); {
	case owned:
		l.Spec.Note(fmt.Sprintf(
			"the lanes of %s add to %s one after another in the first and last row of a tile, "+
				"and atomically if another tile has a part of the row", f.Var, key))
	case atomic:
		l.Spec.Note(fmt.Sprintf(
			"the lanes of %s add to %s atomically and so one after another; with Temporary "+
				"instead of Atomics they would add together", f.Var, key))
	case fails:
		l.Spec.Note(fmt.Sprintf(
			"the lanes of %s run one after another, because an iteration may fail or allocate "+
				"memory", f.Var))
	}
}

func atomicStore(s ir.Stmt) bool {
	t, ok := s.(*ir.Store)
	return ok && t.Atomic
}

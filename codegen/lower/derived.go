package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/library"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
)

// A scheduled statement loops over derived variables. The loops of one component (package
// provenance) are lowered together, in one of two ways.
//
// If the loops are in natural order, each loop except the last narrows an interval of the
// component's space: an interval of coordinates, of positions of a tensor's level, or of tile
// numbers. The last loop, which determines the coordinates, is an ordinary loop over the original
// variable, restricted to the interval. It coiterates, merges and assembles like any other loop and
// needs no guard. Sparse operands search for the interval's ends once, before it. An interval of
// positions is also an interval of coordinates, from the coordinate of its first position to the
// first coordinate of the next interval. It therefore includes the coordinates in between that only
// other operands have.
//
// In any other order, the loops count. The last loop computes the candidate coordinates from all
// counts, guards them, and locates every operand there.

// originalLoop lowers a loop over an original variable, according to the schedule and the strategy.
func (l *lowerer) originalLoop(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	if f.Unit == cin.CPUThread {
		if f.Race == cin.Unsaid {
			return l.onThreads(f, e, want)
		}
		if some, ok := l.privateLoop(f, e, want); ok {
			return some
		}
		if l.leaf.Assigns(f) && l.leaf.Out.InOrder {
			g := *f
			g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
			return l.parallel(&g, e, l.leaf.LoopStrategy(f).Long)
		}
	}
	if f.Unit == cin.GPUBlock && f.Chunk > 0 {
		return l.onGrid(f, e, want)
	}
	if s, width := l.unrollAndJam(f, e); width > 0 {
		return l.tiled(s, e, width, want)
	}
	return l.serial(f, units.AtomicEnv(f, e), want)
}

// onGrid lowers a loop whose iterations run in chunks on the blocks of a GPU. Each thread runs the
// loop f for a range of coordinates.
func (l *lowerer) onGrid(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	own := e.Res.Level < len(l.leaf.ResultVars) && l.leaf.ResultVars[e.Res.Level] == f.Var
	if l.leaf.Assigns(f) && !own {
		e = merge.Zero(e)
	}
	serial := l.leaf.SerialCopy(f)
	p := &merge.Loop{F: f, E: e, Want: want, Body: l.body(serial)}
	p.CountAssigned()
	return p.Collect(nil, func() (some ir.Expr) {
		units.Grid(f, e, func(lo, hi ir.Expr) {
			in := units.AtomicEnv(f, e.Clone())
			in.Ranges = in.Ranges.With(f.Var, tree.Range{Lo: lo, Hi: hi, Clip: true})
			some = p.RunBody(in)
		})
		return some
	})
}

// promoteToScalar returns f as a where with a scalar in place of the result, if f sums a single
// value of the result. The scalar stays in a register. Otherwise promoteToScalar returns nil.
func (l *lowerer) promoteToScalar(f *cin.Forall, e *scope.Env) cin.Stmt {
	if !units.SumsSingleValue(f, e) {
		return nil
	}
	target := cin.Target(f)
	name := l.b.Fresh("sum")
	for e.Operand(name) != nil || e.Temps.At(name).V != nil {
		name = l.b.Fresh("sum")
	}
	temp := &cin.Access{Name: name}
	producer := cin.Map(f, func(s cin.Stmt) cin.Stmt {
		switch s := s.(type) {
		case *cin.Assign:
			if s.LHS.Name == target.Name {
				return &cin.Assign{LHS: temp, Accumulate: true, RHS: s.RHS}
			}
		case *cin.Forall:
			if s.Cut != (cin.Cut{}) { // a cut for the result, not for a scalar
				g := *s
				g.Cut = cin.Cut{}
				return &g
			}
		}
		return s
	})
	library.CallInside(l.leaf, f, producer)
	l.leaf.Promotions[name] = true
	return &cin.Where{Consumer: &cin.Assign{LHS: target, Accumulate: e.Res.Zeroed, RHS: temp},
		Producer: producer}
}

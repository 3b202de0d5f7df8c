package lower

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
)

// positionLoop is one loop over the positions of a level. It replaces the nest of loops over that
// level and the levels above. The result must share an operand's pattern, so that positions of the
// operand are positions of the result, and nothing may read coordinates of the levels above. Short
// fibers then have no loops of their own, and chunks for threads are cut at positions instead of
// rows.
type positionLoop struct {
	l    *lowerer
	cur  *tree.Cursor // a cursor of the operand, at the last level of the nest
	last *cin.Forall  // the loop over that level
	// reads is true if the coordinates of the last level are read.
	reads  bool
	lo, hi ir.Expr
}

// newPositionLoop returns the loop that replaces f and the loops inside it. It emits the code that
// finds the range of positions.
func (l *lowerer) newPositionLoop(f *cin.Forall, e *scope.Env) *positionLoop {
	a, key := l.leaf.Out, l.leaf.Out.Pattern
	root := e.Cur[key]
	if root == nil || root.Level != 0 || e.Res.Level != 0 {
		panic("BUG: lower: the loop over " + f.Var + " is not the outermost one over " + key)
	}
	fl := &positionLoop{l: l, last: f}
	for range a.Deep {
		fl.last = fl.last.Body.(*cin.Forall)
	}
	cin.Accesses(fl.last.Body, func(x *cin.Access) {
		vars := x.Vars
		if x.Key() == key {
			vars = root.Vars[a.Deep+1:]
		}
		fl.reads = fl.reads || slices.Contains(vars, fl.last.Var)
	})
	cur := *root
	cur.Level, cur.Pos, cur.Base = a.Deep, nil, nil
	fl.cur = &cur
	fl.lo, fl.hi = merge.Positions(root, a.Deep, e)
	return fl
}

// serial lowers the nest to one sequential loop over the positions. If want is true, it returns the
// condition that the loop assigned a value.
func (fl *positionLoop) serial(e *scope.Env, want bool) ir.Expr {
	some := fl.loop(fl.lo, fl.hi, e, want)
	if want && !ir.Never(some) {
		return ir.Less(fl.lo, fl.hi)
	}
	return some
}

// parallel lowers the nest as chunks of about equal work, on threads.
func (fl *positionLoop) parallel(e *scope.Env) ir.Expr {
	l := fl.l
	w := &units.Work{L: l.leaf, Chunks: units.Chunks(l.leaf), Lo: fl.lo, Hi: fl.hi}
	if fl.cur.Of.Argument.Format.HasPosFrom(fl.cur.Level + 1) {
		w.Driver = fl.cur
		w.Total = l.b.Named("work", ir.Minus(w.Before(w.Hi), w.Before(w.Lo)))
	}
	some := ir.Expr(ir.Truth(false))
	l.b.Chunks("chunk", ir.Int(0), w.Chunks, func(c *ir.Var) {
		name := fl.cur.Of.Prefix()
		lo := l.b.Named(name+"_from", w.Cut(c))
		hi := l.b.Named(name+"_to", w.Cut(ir.Plus(c, ir.Int(1))))
		some = fl.loop(lo, hi, e, false)
	})
	return some
}

// loop lowers the loop over the positions in [lo, hi). e is the environment outside the loop. loop
// returns the condition that l.stmt returns for the body, and want is as in lowerer.stmt. If want
// is true, it is the condition that one iteration assigned something.
func (fl *positionLoop) loop(lo, hi ir.Expr, e *scope.Env, want bool) ir.Expr {
	l, cur := fl.l, fl.cur
	p := l.b.Var(cur.Of.Prefix() + "_p")
	it := &merge.Iter{Key: l.leaf.Out.Pattern, Cur: cur, P: p}
	if fl.reads {
		it.Crd = cur.Of.Crd(cur.Level)
	}
	above := e.Clone()
	above.Cur[it.Key] = cur
	defer l.leaf.Used.Enter(strings.Join(l.leaf.ResultVars[:cur.Level+1], ", "),
		lattice.Loop(fl.last.Var, fl.last.Body, merge.Entered(above)))()
	some := ir.Expr(ir.Truth(false))
	l.b.Emit(&ir.For{V: p, Lo: lo, Hi: hi, Step: 1, Body: l.b.Within(func() {
		in := e.Clone()
		if fl.reads {
			in.Coord = in.Coord.With(fl.last.Var, l.b.Declare(fl.last.Var, it.At(p)))
			(&merge.Loop{F: fl.last, E: e}).Prefetch(it)
		}
		in.Cur[it.Key] = it.Enter(ir.Truth(true))
		in.EnterAll(fl.last.Body)
		in.Res = l.leaf.Out.At(p)
		merge.EnterResult(in)
		some = l.stmt(fl.last.Body, in, want)
	})})
	return some
}

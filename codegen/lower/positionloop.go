package lower

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/tree"
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
func (l *lowerer) newPositionLoop(f *cin.Forall, e *env) *positionLoop {
	a, key := l.out, l.assembly.pattern()
	root := e.cur[key]
	if root == nil || root.Level != 0 || e.res.level != 0 {
		panic("BUG: lower: the loop over " + f.Var + " is not the outermost one over " + key)
	}
	fl := &positionLoop{l: l, last: f}
	for range a.deep {
		fl.last = fl.last.Body.(*cin.Forall)
	}
	cin.Accesses(fl.last.Body, func(x *cin.Access) {
		vars := x.Vars
		if x.Key() == key {
			vars = root.Vars[a.deep+1:]
		}
		fl.reads = fl.reads || slices.Contains(vars, fl.last.Var)
	})
	cur := *root
	cur.Level, cur.Pos, cur.Base = a.deep, nil, nil
	fl.cur = &cur
	fl.lo, fl.hi = l.positions(root, a.deep, e)
	return fl
}

// positions returns the range of positions of a level that the leaf's part of the statement visits.
// root is the cursor before all levels.
func (l *lowerer) positions(root *tree.Cursor, level int, e *env) (lo, hi ir.Expr) {
	op := root.Of
	if op.Kind(0).CanLocate() {
		s := l.rangeOf(e, root.Vars[0])
		lo, hi = ir.Minus(s.Lo, op.Offset(0)), ir.Minus(s.Hi, op.Offset(0))
	} else {
		lo, hi = root.Segment()
	}
	for k := 1; k <= level; k++ {
		lo = l.b.Named(op.Prefix()+"_s", op.Below(k, lo))
		hi = l.b.Named(op.Prefix()+"_e", op.Below(k, hi))
	}
	return lo, hi
}

// serial lowers the nest as a loop in order.
func (fl *positionLoop) serial(e *env, want bool) ir.Expr {
	some := fl.loop(fl.lo, fl.hi, e, want)
	if want && !ir.Never(some) {
		return ir.Less(fl.lo, fl.hi)
	}
	return some
}

// parallel lowers the nest as chunks of about equal work, on threads.
func (fl *positionLoop) parallel(e *env) ir.Expr {
	l := fl.l
	w := &work{l: l, chunks: l.chunks(), lo: fl.lo, hi: fl.hi}
	if fl.cur.Of.HasPosFrom(fl.cur.Level + 1) {
		w.driver = fl.cur
		w.total = l.b.Named("work", ir.Minus(w.before(w.hi), w.before(w.lo)))
	}
	some := ir.Expr(ir.Truth(false))
	c := l.b.Var("chunk")
	body := l.b.InScope(func() {
		name := fl.cur.Of.Prefix()
		lo := l.b.Named(name+"_from", w.cut(c))
		hi := l.b.Named(name+"_to", w.cut(ir.Plus(c, ir.Int(1))))
		some = fl.loop(lo, hi, e, false)
	})
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: w.chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: body})
	return some
}

// loop lowers the loop over the positions from lo to hi.
func (fl *positionLoop) loop(lo, hi ir.Expr, e *env, want bool) ir.Expr {
	l, cur := fl.l, fl.cur
	p := l.b.Var(cur.Of.Prefix() + "_p")
	it := &iter{key: l.assembly.pattern(), cur: cur, p: p}
	if fl.reads {
		it.crd = cur.Of.Crd(cur.Level)
	}
	above := e.clone()
	above.cur[it.key] = cur
	defer l.used.Enter(strings.Join(l.resultVars[:cur.Level+1], ", "),
		lattice.Loop(fl.last.Var, fl.last.Body, l.place(above)))()
	some := ir.Expr(ir.Truth(false))
	l.b.Emit(&ir.For{V: p, Lo: lo, Hi: hi, Step: 1, Body: l.b.Within(func() {
		in := e.clone()
		if fl.reads {
			in.coord = in.coord.with(fl.last.Var, l.b.Declare(fl.last.Var, it.at(p)))
			(&loop{l: l, f: fl.last, e: e}).prefetch(it)
		}
		in.cur[it.key] = it.enter(ir.Truth(true))
		l.enterAll(fl.last.Body, in)
		in.res = l.assembly.at(p)
		l.enterResult(in)
		some = l.stmt(fl.last.Body, in, want)
	})})
	return some
}

package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// privatized lowers a parallel loop whose iterations may add to the same places of the result. Its
// range is cut into one piece for each thread. Each piece adds to a private copy of the result's
// block, and the copies are added to the block in the order of the pieces.
func (l *lowerer) privatized(f *cin.Forall, e *env) ir.Expr {
	a := l.out
	l.zero(e)
	size := l.named("values", a.block(e.res.level))
	base := l.named("first", ir.Times(e.res.pos, a.block(e.res.level)))
	pieces := l.named("pieces", ir.Greatest(l.threads, ir.Int(1)))
	tmp := l.newArray(a.op.prefix()+"_copies", l.spec.Compute)
	l.emit(&ir.Alloc{A: tmp, Len: ir.Times(pieces, size), Zero: true})
	l.pieces(f, e, pieces, func(c *ir.Var, in *env, run func()) {
		in.private = &privateCopy{vals: tmp, shift: ir.Minus(ir.Times(c, size), base)}
		run()
	})
	k := l.newVar("value")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: size, Step: 1, Kind: ir.Parallel, Body: l.within(func() {
		sum := ir.NewVar(l.fresh("sum"), l.spec.Compute)
		l.emit(&ir.Declare{V: sum, Init: ir.Zero(sum.Typ)})
		c := l.newVar("piece")
		l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Body: l.within(func() {
			l.incr(sum, ir.At(tmp, ir.Plus(ir.Times(c, size), k)))
		})})
		add := &ir.Store{A: a.vals(), Index: ir.Plus(base, k), Accumulate: true, Atomic: e.atomic,
			X: ir.Convert(a.vals().Elem, sum)}
		if outer := e.private; outer != nil {
			add = &ir.Store{A: outer.vals, Index: ir.Plus(ir.Plus(base, k), outer.shift), Accumulate: true,
				Atomic: e.atomic, X: sum}
		}
		// The block may have places that this loop does not add to but other threads do.
		shared := ir.Expr(ir.Truth(true))
		if e.threads {
			shared = ir.Unequal(sum, ir.Zero(sum.Typ))
		}
		l.when(shared, func() { l.emit(add) })
	})})
	l.emit(&ir.Free{A: tmp})
	return ir.Truth(true)
}

// privateLoop lowers a parallel loop if each thread adds to a private copy of the result or
// workspace (Temporary). Otherwise it returns false.
func (l *lowerer) privateLoop(f *cin.Forall, e *env, want bool) (some ir.Expr, ok bool) {
	switch {
	case f.Unit != cin.CPUThread || f.Race != cin.Temporary:
		return nil, false
	case l.addsToBlock(f, e):
		return l.privatized(f, e), true
	case l.spaces[cin.Target(f).Name] != nil:
		return l.privatizedWorkspace(f, e, want), true
	}
	return nil, false
}

// pieces emits a parallel loop over pieces of the range of f. each gets the number of a piece, the
// environment that the piece runs in, which it may change, and a function that emits the piece.
func (l *lowerer) pieces(f *cin.Forall, e *env, pieces ir.Expr,
	each func(c *ir.Var, in *env, run func())) {
	g := *f
	g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
	c := l.newVar("piece")
	body := l.inScope(func() {
		in := e.clone()
		in.atomic, in.threads = false, false
		if c2 := l.sched.comps[f.Var]; c2 == nil || l.sched.g.ReplacedBy(f.Var) != nil {
			s := l.rangeOf(e, f.Var)
			at := func(k ir.Expr) ir.Expr { return l.named(f.Var+"_cut", part(s.lo, s.hi, k, pieces)) }
			in.ranges[f.Var] = coordRange{lo: at(c), hi: at(ir.Plus(c, ir.Int(1))), clip: true}
			for key := range in.cur {
				delete(in.parts, place(key, f.Var))
			}
		} else {
			in.piece = &pieceOf{v: f.Var, number: c, of: pieces}
		}
		each(c, in, func() { l.stmt(&g, in, false) })
	})
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Kind: ir.Parallel, Body: body})
}

// privateCopy is the target of additions that would otherwise go to the result. The value at
// position p of the result is at p+shift.
type privateCopy struct {
	vals  *ir.Array
	shift ir.Expr
}

// pieceOf is a piece of the iterations of the loop over v: piece number of the given count.
type pieceOf struct {
	v          string
	number, of ir.Expr
}

// pieceRange returns the part of a loop's range that belongs to a piece.
func (l *lowerer) pieceRange(e *env, v string, lo, hi ir.Expr) (ir.Expr, ir.Expr) {
	p := e.piece
	if p == nil || p.v != v {
		return lo, hi
	}
	e.piece = nil
	at := func(k ir.Expr) ir.Expr { return part(lo, hi, k, p.of) }
	return l.named(v+"_from", at(p.number)), l.named(v+"_to", at(ir.Plus(p.number, ir.Int(1))))
}

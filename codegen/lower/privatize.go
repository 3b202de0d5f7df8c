package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// privatized lowers a parallel loop whose iterations may add to the same places of the result. Its
// range is cut into one piece for each thread. Each piece adds to a private copy of the result's
// block, and the copies are added to the block in the order of the pieces.
func (l *lowerer) privatized(f *cin.Forall, e *env) ir.Expr {
	a := l.out
	l.zero(e)
	size := l.b.Named("values", a.block(e.res.level))
	base := l.b.Named("first", ir.Times(e.res.pos, a.block(e.res.level)))
	pieces := l.b.Named("pieces", ir.Greatest(l.threads, ir.Int(1)))
	tmp := l.b.Array(a.op.Prefix()+"_copies", l.spec.Compute)
	l.b.Emit(&ir.Alloc{A: tmp, Len: ir.Times(pieces, size), Zero: true})
	l.pieces(f, e, pieces, func(c *ir.Var, in *env, run func()) {
		in.private = &privateCopy{vals: tmp, shift: ir.Minus(ir.Times(c, size), base)}
		run()
	})
	k := l.b.Var("value")
	l.b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: size, Step: 1, Kind: ir.Parallel,
		Body: l.b.Within(func() {
			sum := ir.NewVar(l.b.Fresh("sum"), l.spec.Compute)
			l.b.Emit(&ir.Declare{V: sum, Init: ir.Zero(sum.Typ)})
			c := l.b.Var("piece")
			l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Body: l.b.Within(func() {
				l.b.Incr(sum, ir.At(tmp, ir.Plus(ir.Times(c, size), k)))
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
			l.b.When(shared, func() { l.b.Emit(add) })
		})})
	l.b.Emit(&ir.Free{A: tmp})
	return ir.Truth(true)
}

// privateLoop lowers a parallel loop whose threads each add to a private copy of the result or
// workspace (Temporary). ok is false for other loops.
func (l *lowerer) privateLoop(f *cin.Forall, e *env, want bool) (some ir.Expr, ok bool) {
	switch {
	case f.Unit != cin.CPUThread || f.Race != cin.Temporary:
		return nil, false
	case l.addsToBlock(f, e):
		return l.privatized(f, e), true
	case e.space(cin.Target(f).Name) != nil:
		return l.privatizedWorkspace(f, e, want), true
	}
	return nil, false
}

// pieces emits a parallel loop over pieces of the range of f. each lowers one piece. It gets the
// piece's number, its environment, which it may change, and a function that emits the piece.
func (l *lowerer) pieces(f *cin.Forall, e *env, pieces ir.Expr,
	each func(c *ir.Var, in *env, run func())) {
	g := *f
	g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
	c := l.b.Var("piece")
	body := l.b.InScope(func() {
		in := e.clone()
		in.atomic, in.threads = false, false
		if c2 := l.sched.comps[f.Var]; c2 == nil || l.sched.g.ReplacedBy(f.Var) != nil {
			s := l.rangeOf(e, f.Var)
			at := func(k ir.Expr) ir.Expr {
				return l.b.Named(f.Var+"_cut",
					emit.Part(s.Lo, s.Hi, k, pieces))
			}
			in.ranges = in.ranges.with(f.Var, tree.Range{Lo: at(c), Hi: at(ir.Plus(c, ir.Int(1))),
				Clip: true})
			for key := range in.cur {
				in.parts = in.parts.without(place(key, f.Var))
			}
		} else {
			in.piece = &pieceOf{v: f.Var, number: c, of: pieces}
		}
		each(c, in, func() { l.stmt(&g, in, false) })
	})
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Kind: ir.Parallel, Body: body})
}

// pieceRange returns the part of the range of the loop over v that belongs to e's piece. If e has
// no piece of this loop, it returns the whole range.
func (l *lowerer) pieceRange(e *env, v string, lo, hi ir.Expr) (ir.Expr, ir.Expr) {
	p := e.piece
	if p == nil || p.v != v {
		return lo, hi
	}
	e.piece = nil
	at := func(k ir.Expr) ir.Expr { return emit.Part(lo, hi, k, p.of) }
	return l.b.Named(v+"_from", at(p.number)), l.b.Named(v+"_to", at(ir.Plus(p.number, ir.Int(1))))
}

// privatizedWorkspace lowers a parallel loop that fills a workspace. Its range is cut into one
// piece for each thread. Each piece fills its own workspace and copies the entries out. The entries
// are then added to the workspace around the loop, piece after piece. On one thread the loop fills
// that workspace directly.
func (l *lowerer) privatizedWorkspace(f *cin.Forall, e *env, want bool) ir.Expr {
	t := cin.Target(f)
	pieces := l.b.Named("pieces", ir.Greatest(l.threads, ir.Int(1)))
	var flag *ir.Var
	if want {
		flag = ir.NewVar(l.b.Fresh("some_"+t.Name), tensor.Bool)
		l.b.Emit(&ir.Declare{V: flag, Init: ir.Truth(false)})
	}
	some := ir.Expr(ir.Truth(false))
	alone := l.b.Within(func() {
		g := *f
		g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
		if some = l.stmt(&g, e.clone(), want); want && !ir.Never(some) {
			l.b.Set(flag, some)
		}
	})
	if ir.Never(some) {
		return some
	}
	parted := l.b.Within(func() {
		made := l.b.Array(t.Name+"_made", tensor.Int64)
		l.b.Emit(&ir.Alloc{A: made, Len: pieces})
		var tables []*ir.Table // for the parts of the coordinates, and for the sums
		for m, v := range t.Vars {
			tables = append(tables, &ir.Table{Name: l.b.Fresh(fmt.Sprintf("%s_crds%d", t.Name, m)),
				Elem: l.maker.CrdType(v)})
		}
		tables = append(tables, &ir.Table{Name: l.b.Fresh(t.Name + "_sums"), Elem: l.spec.Compute})
		for _, tab := range tables {
			l.b.Emit(&ir.AllocTable{T: tab, Len: pieces})
		}
		l.pieces(f, e, pieces, func(c *ir.Var, in *env, run func()) {
			w := l.newWorkspace(t, l.spec.Strategy.Spaces[t.Name].Piece)
			in.into = in.filling(t.Name, workspace{w}).into
			w.Begin()
			run()
			l.handOut(w.(space.Listed).Entries(), tables, made, c)
		})
		l.addPieces(t, e, tables, made, pieces)
		if want {
			c := l.b.Var("piece")
			l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Body: l.b.Within(func() {
				l.b.Set(flag, ir.Either(flag, ir.Less(ir.Int(0), ir.At(made, c))))
			})})
		}
		for _, tab := range tables {
			l.b.Emit(&ir.FreeTable{T: tab})
		}
		l.b.Emit(&ir.Free{A: made})
	})
	l.b.Emit(&ir.If{Cond: ir.AtMost(pieces, ir.Int(1)), Then: alone, Else: parted})
	if want {
		return flag
	}
	return ir.Truth(true)
}

// handOut emits code that copies the entries x to new arrays, so that another thread can add them
// later. It stores the arrays in slot c of the tables, and the number of entries in made[c].
func (l *lowerer) handOut(x space.Entries, tables []*ir.Table, made *ir.Array, c *ir.Var) {
	n := l.b.Named("entries", x.N)
	l.b.Store(made, c, n)
	arrays := l.arraysOf(tables)
	for _, a := range arrays {
		l.b.Emit(&ir.Alloc{A: a, Len: n})
	}
	s := l.b.Var("entry")
	l.b.Emit(&ir.For{V: s, Lo: ir.Int(0), Hi: n, Step: 1, Body: l.b.Within(func() {
		last := len(arrays) - 1
		for m, a := range arrays[:last] {
			l.b.Store(a, s, x.Part(m, s))
		}
		l.b.Store(arrays[last], s, x.Sum(s))
	})})
	for k, a := range arrays {
		l.b.Emit(&ir.Keep{T: tables[k], Index: c, A: a})
	}
}

// addPieces adds the entries in the tables to workspace t, starting with slot 0.
func (l *lowerer) addPieces(t *cin.Access, e *env, tables []*ir.Table, made *ir.Array,
	pieces ir.Expr) {
	c := l.b.Var("piece")
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Body: l.b.Within(func() {
		arrays := l.arraysOf(tables)
		for k, a := range arrays {
			l.b.Emit(&ir.Take{A: a, T: tables[k], Index: c})
		}
		s := l.b.Var("entry")
		l.b.Emit(&ir.For{V: s, Lo: ir.Int(0), Hi: ir.At(made, c), Step: 1, Body: l.b.Within(func() {
			in := e.clone()
			for m, v := range t.Vars {
				in.coord = in.coord.with(v, l.b.Named(v, ir.Coord(arrays[m], s)))
			}
			e.space(t.Name).add(l, t, ir.At(arrays[len(arrays)-1], s), in)
		})})
		for _, a := range arrays {
			l.b.Emit(&ir.Free{A: a})
		}
	})})
}

func (l *lowerer) arraysOf(tables []*ir.Table) (list []*ir.Array) {
	for _, tab := range tables {
		list = append(list, l.b.Array(tab.Name+"_piece", tab.Elem))
	}
	return list
}

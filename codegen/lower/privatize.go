package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/io/tensor"
)

// privatized lowers a loop on threads whose iterations may add to the same places of the result.
// The loop's range is cut into one piece for each thread. Each piece adds to a private copy of the
// block of values below the result's cursor. The copies are then summed in the order of the pieces,
// and the sum is added to the block itself. Inside another such loop, the sum is added to that
// loop's private copy instead.
func (l *lowerer) privatized(f *cin.Forall, e *scope.Env) ir.Expr {
	a := l.leaf.Out
	e = merge.Zero(e)
	size := l.b.Named("values", a.Block(e.Res.Level))
	base := l.b.Named("first", ir.Times(e.Res.Pos, a.Block(e.Res.Level)))
	pieces := l.b.Named("pieces", ir.Greatest(l.leaf.Threads, ir.Int(1)))
	tmp := l.b.Alloc(a.Op.Prefix()+"_copies", l.spec.Compute, ir.Times(pieces, size), true)
	l.pieces(f, e, pieces, func(c *ir.Var, in *scope.Env, run func()) {
		in.Private = &scope.PrivateCopy{Vals: tmp, Shift: ir.Minus(ir.Times(c, size), base)}
		run()
	})
	l.b.Parallel("value", size, func(k *ir.Var) {
		sum := l.b.Local("sum", ir.Zero(l.spec.Compute))
		l.b.Loop("piece", ir.Int(0), pieces, func(c *ir.Var) {
			l.b.Incr(sum, ir.At(tmp, ir.Plus(ir.Times(c, size), k)))
		})
		add := &ir.Store{A: a.Values, Index: ir.Plus(base, k), Accumulate: true, Atomic: e.Atomic,
			X: ir.Convert(a.Values.Elem, sum)}
		if outer := e.Private; outer != nil {
			add = &ir.Store{A: outer.Vals, Index: ir.Plus(ir.Plus(base, k), outer.Shift), Accumulate: true,
				Atomic: e.Atomic, X: sum}
		}
		// The block may have places that this loop does not add to but other threads do.
		shared := ir.Expr(ir.Truth(true))
		if e.Threads {
			shared = ir.Unequal(sum, ir.Zero(sum.Typ))
		}
		l.b.When(shared, func() { l.b.Emit(add) })
	})
	l.b.Free(tmp)
	return ir.Truth(true)
}

// privateLoop lowers a loop on threads whose race strategy is Temporary: each thread adds to a
// private copy of the result or of a workspace. ok is false if f is not such a loop.
func (l *lowerer) privateLoop(f *cin.Forall, e *scope.Env, want bool) (some ir.Expr, ok bool) {
	switch {
	case f.Unit != cin.CPUThread || f.Race != cin.Temporary:
		return nil, false
	case units.AddsToBlock(f, e):
		return l.privatized(f, e), true
	case e.Space(cin.Target(f).Name) != nil:
		return l.privatizedWorkspace(f, e, want), true
	}
	return nil, false
}

// pieces emits a parallel loop over pieces of the range of f. count is the number of pieces.
// lowerPiece lowers one piece. Its arguments are the number of the piece, the environment of the
// piece, which it may change, and a function that emits f's loop for the piece.
func (l *lowerer) pieces(f *cin.Forall, e *scope.Env, count ir.Expr,
	lowerPiece func(c *ir.Var, in *scope.Env, run func())) {
	g := *f
	g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
	l.b.Parallel("piece", count, func(c *ir.Var) {
		in := e.Clone()
		in.Atomic, in.Threads = false, false
		if c2 := l.leaf.Comps[f.Var]; c2 == nil || l.leaf.Graph.ReplacedBy(f.Var) != nil {
			s := e.RangeOf(f.Var)
			at := func(k ir.Expr) ir.Expr {
				return l.b.Named(f.Var+"_cut", emit.Part(s.Lo, s.Hi, k, count))
			}
			in.Ranges = in.Ranges.With(f.Var, tree.Range{Lo: at(c), Hi: at(ir.Plus(c, ir.Int(1))),
				Clip: true})
			for key := range in.Cur {
				in.Parts = in.Parts.Without(scope.PlaceKey(key, f.Var))
			}
		} else {
			in.Piece = &scope.PieceOf{V: f.Var, Number: c, Of: count}
		}
		lowerPiece(c, in, func() { l.stmt(&g, in, false) })
	})
}

// pieceRange returns the part of the range of the loop over v that belongs to e's piece. If e has
// no piece of this loop, it returns the whole range.
func pieceRange(b *emit.Builder, e *scope.Env, v string, lo, hi ir.Expr) (ir.Expr, ir.Expr) {
	p := e.Piece
	if p == nil || p.V != v {
		return lo, hi
	}
	at := func(k ir.Expr) ir.Expr { return emit.Part(lo, hi, k, p.Of) }
	return b.Named(v+"_from", at(p.Number)), b.Named(v+"_to", at(ir.Plus(p.Number, ir.Int(1))))
}

// privatizedWorkspace lowers a parallel loop that fills a workspace. Its range is cut into one
// piece for each thread. Each piece fills its own workspace and copies the entries out. The entries
// are then added to the workspace around the loop, piece after piece. On one thread the loop fills
// that workspace directly.
func (l *lowerer) privatizedWorkspace(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	t := cin.Target(f)
	pieces := l.b.Named("pieces", ir.Greatest(l.leaf.Threads, ir.Int(1)))
	var flag *ir.Var
	if want {
		flag = l.b.Local("some_"+t.Name, ir.Truth(false))
	}
	some := ir.Expr(ir.Truth(false))
	alone := l.b.Within(func() {
		g := *f
		g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
		if some = l.stmt(&g, e, want); want && !ir.IsFalse(some) {
			l.b.Set(flag, some)
		}
	})
	if ir.IsFalse(some) {
		return some
	}
	parted := l.b.Within(func() {
		made := l.b.Alloc(t.Name+"_made", tensor.Int64, pieces, false)
		var tables []*ir.Table // for the parts of the coordinates, and for the sums
		for m, v := range t.Vars {
			tables = append(tables, &ir.Table{Name: l.b.Fresh(fmt.Sprintf("%s_crds%d", t.Name, m)),
				Elem: l.maker(e).CrdType(v)})
		}
		tables = append(tables, &ir.Table{Name: l.b.Fresh(t.Name + "_sums"), Elem: l.spec.Compute})
		for _, tab := range tables {
			l.b.Emit(&ir.AllocTable{T: tab, Len: pieces})
		}
		l.pieces(f, e, pieces, func(c *ir.Var, in *scope.Env, run func()) {
			w := l.newWorkspace(t, l.spec.Strategy.Spaces[t.Name].Piece, in)
			in.Into = in.Filling(t.Name, workspace{w}).Into
			w.Begin()
			run()
			l.handOut(w.(space.Listed).Entries(), tables, made, c)
		})
		l.addPieces(t, e, tables, made, pieces)
		if want {
			l.b.Loop("piece", ir.Int(0), pieces, func(c *ir.Var) {
				l.b.Set(flag, ir.Either(flag, ir.Less(ir.Int(0), ir.At(made, c))))
			})
		}
		for _, tab := range tables {
			l.b.Emit(&ir.FreeTable{T: tab})
		}
		l.b.Free(made)
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
	arrays := arraysOf(l.b, tables)
	for _, a := range arrays {
		l.b.Emit(&ir.Alloc{A: a, Len: n})
	}
	l.b.Loop("entry", ir.Int(0), n, func(s *ir.Var) {
		last := len(arrays) - 1
		for m, a := range arrays[:last] {
			l.b.Store(a, s, x.Part(m, s))
		}
		l.b.Store(arrays[last], s, x.Sum(s))
	})
	for k, a := range arrays {
		l.b.Emit(&ir.Keep{T: tables[k], Index: c, A: a})
	}
}

// addPieces emits code that adds the entries of all pieces to workspace t. Each table has one array
// for each piece. The last table has the values of the entries, and each other table has their
// coordinates of one mode. counts has the number of entries of each piece. The pieces are added in
// order, so that the sums do not depend on the order in which the threads finish.
func (l *lowerer) addPieces(t *cin.Access, e *scope.Env, tables []*ir.Table, counts *ir.Array,
	pieces ir.Expr) {
	l.b.Loop("piece", ir.Int(0), pieces, func(c *ir.Var) {
		arrays := arraysOf(l.b, tables)
		for k, a := range arrays {
			l.b.Emit(&ir.Take{A: a, T: tables[k], Index: c})
		}
		l.b.Loop("entry", ir.Int(0), ir.At(counts, c), func(s *ir.Var) {
			in := e.Clone()
			for m, v := range t.Vars {
				in.Coord = in.Coord.With(v, l.b.Named(v, ir.Coord(arrays[m], s)))
			}
			e.Space(t.Name).Add(t, ir.At(arrays[len(arrays)-1], s), in)
		})
		for _, a := range arrays {
			l.b.Free(a)
		}
	})
}

func arraysOf(b *emit.Builder, tables []*ir.Table) (list []*ir.Array) {
	for _, tab := range tables {
		list = append(list, b.Array(tab.Name+"_piece", tab.Elem))
	}
	return list
}

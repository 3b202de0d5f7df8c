package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// entries is the content of a workspace, in no particular order: n coordinates, their parts by the
// index of the variable, and their sums. Each coordinate occurs once, except in a termSpace.
type entries struct {
	n    ir.Expr
	part func(m int, s ir.Expr) ir.Expr
	sum  func(s ir.Expr) ir.Expr
}

// entriesOf returns the content of a workspace of a scheduled statement.
func entriesOf(w workspace) entries {
	keyed := func(n ir.Expr, keys []*ir.Array, vals *ir.Array) entries {
		return entries{n, func(m int, s ir.Expr) ir.Expr { return ir.Coord(keys[m], s) },
			func(s ir.Expr) ir.Expr { return ir.At(vals, s) }}
	}
	switch w := w.(type) {
	case *listSpace:
		place := func(s ir.Expr) ir.Expr { return w.placed.placeOf(ir.Coord(w.placed.list, s)) }
		part := func(m int, s ir.Expr) ir.Expr { return w.placed.box.coord(m, place(s)) }
		return entries{w.placed.n, part,
			func(s ir.Expr) ir.Expr { return ir.At(w.placed.vals, place(s)) }}
	case *hashSpace:
		return keyed(w.n, w.keys, w.vals)
	case *orderedSpace:
		return keyed(w.n, w.keys, w.vals)
	case *termSpace:
		return keyed(w.n, w.sortedTerms.keys, w.vals)
	}
	panic(fmt.Sprintf("BUG: lower: a schedule has a %T", w))
}

// privatizedWorkspace lowers a parallel loop that fills a workspace. Its range is cut into one
// piece for each thread. Each piece fills its own workspace and copies the coordinates and sums
// out. These are then added to the workspace around the loop, piece after piece. On one thread the
// loop fills that workspace directly.
func (l *lowerer) privatizedWorkspace(f *cin.Forall, e *env, want bool) ir.Expr {
	t := cin.Target(f)
	outer := l.spaces[t.Name]
	pieces := l.named("pieces", ir.Greatest(l.threads, ir.Int(1)))
	var flag *ir.Var
	if want {
		flag = ir.NewVar(l.fresh("some_"+t.Name), tensor.Bool)
		l.emit(&ir.Declare{V: flag, Init: ir.Truth(false)})
	}
	some := ir.Expr(ir.Truth(false))
	alone := l.within(func() {
		g := *f
		g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
		if some = l.stmt(&g, e.clone(), want); want && !never(some) {
			l.set(flag, some)
		}
	})
	if never(some) {
		return some
	}
	parted := l.within(func() {
		made := l.newArray(t.Name+"_made", tensor.Int64)
		l.emit(&ir.Alloc{A: made, Len: pieces})
		var tables []*ir.Table // for the parts of the coordinates, and for the sums
		for m, v := range t.Vars {
			tables = append(tables, &ir.Table{Name: l.fresh(fmt.Sprintf("%s_crds%d", t.Name, m)),
				Elem: l.crdType(v)})
		}
		tables = append(tables, &ir.Table{Name: l.fresh(t.Name + "_sums"), Elem: l.spec.Compute})
		for _, tab := range tables {
			l.emit(&ir.AllocTable{T: tab, Len: pieces})
		}
		l.pieces(f, e, pieces, func(c *ir.Var, in *env, run func()) {
			w := l.newWorkspace(t, l.spec.Strategy.Spaces[t.Name].Piece)
			l.spaces[t.Name] = w
			w.begin(l)
			run()
			l.spaces[t.Name] = outer
			l.handOut(entriesOf(w), tables, made, c)
		})
		l.addPieces(t, e, tables, made, pieces)
		if want {
			c := l.newVar("piece")
			l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Body: l.within(func() {
				l.set(flag, ir.Either(flag, ir.Less(ir.Int(0), ir.At(made, c))))
			})})
		}
		for _, tab := range tables {
			l.emit(&ir.FreeTable{T: tab})
		}
		l.emit(&ir.Free{A: made})
	})
	l.emit(&ir.If{Cond: ir.AtMost(pieces, ir.Int(1)), Then: alone, Else: parted})
	if want {
		return flag
	}
	return ir.Truth(true)
}

// handOut copies entries to new arrays of their number, and stores the arrays in slot c of the
// tables.
func (l *lowerer) handOut(x entries, tables []*ir.Table, made *ir.Array, c *ir.Var) {
	n := l.named("entries", x.n)
	l.store(made, c, n)
	arrays := l.arraysOf(tables)
	for _, a := range arrays {
		l.emit(&ir.Alloc{A: a, Len: n})
	}
	s := l.newVar("entry")
	l.emit(&ir.For{V: s, Lo: ir.Int(0), Hi: n, Step: 1, Body: l.within(func() {
		last := len(arrays) - 1
		for m, a := range arrays[:last] {
			l.store(a, s, x.part(m, s))
		}
		l.store(arrays[last], s, x.sum(s))
	})})
	for k, a := range arrays {
		l.emit(&ir.Keep{T: tables[k], Index: c, A: a})
	}
}

// addPieces adds the entries in the tables to workspace t, starting with slot 0.
func (l *lowerer) addPieces(t *cin.Access, e *env, tables []*ir.Table, made *ir.Array,
	pieces ir.Expr) {
	c := l.newVar("piece")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Body: l.within(func() {
		arrays := l.arraysOf(tables)
		for k, a := range arrays {
			l.emit(&ir.Take{A: a, T: tables[k], Index: c})
		}
		s := l.newVar("entry")
		l.emit(&ir.For{V: s, Lo: ir.Int(0), Hi: ir.At(made, c), Step: 1, Body: l.within(func() {
			in := e.clone()
			for m, v := range t.Vars {
				in.coord[v] = l.named(v, ir.Coord(arrays[m], s))
			}
			l.spaces[t.Name].add(l, t, ir.At(arrays[len(arrays)-1], s), in)
		})})
		for _, a := range arrays {
			l.emit(&ir.Free{A: a})
		}
	})})
}

func (l *lowerer) arraysOf(tables []*ir.Table) (list []*ir.Array) {
	for _, tab := range tables {
		list = append(list, l.newArray(tab.Name+"_piece", tab.Elem))
	}
	return list
}

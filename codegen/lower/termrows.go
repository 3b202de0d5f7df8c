package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// termRows is a workspace that stores a list of terms. It is used if the workspace has values at
// all coordinates of its last variables or at none, so that each key has a row of values.
//
// Each term adds a row, but the list stores only the row's factors: the values of accesses that
// have no variable along the row, and the coordinates that select the other accesses. At the end,
// the terms are sorted by their keys. When the consumer is at a key, the terms of this key are
// added, in the order of their insertion, to an array that all rows share. The rows are not stored.
type termRows struct {
	l     *lowerer
	m     *space.Maker
	name  string
	terms space.SortedTerms
	row   space.Row
	rows  *space.RowList // nil if the workspace is read as a list
	n     *ir.Var        // the number of terms
	vals  *ir.Array
	from  *ir.Array // the index in the sorted order where the terms of each key begin

	kept []keptPart
	fill *cin.Forall // the loops over a row, computing it from the stored parts
	env  *scope.Env  // the environment where terms are stored
}

// keptPart is a value, or a coordinate of a variable, that each term stores.
type keptPart struct {
	name  string      // the name of the variable, or of the value
	value *cin.Access // nil for a coordinate
	a     *ir.Array   // by term
}

func (l *lowerer) newTermRows(t *cin.Access, form strategy.Form, m *space.Maker) *termRows {
	keys, along := t.Vars[:len(t.Vars)-form.Dense], t.Vars[len(t.Vars)-form.Dense:]
	w := &termRows{l: l, m: m, name: t.Name, rows: m.RowsIf(t.Name, keys, form.Rows),
		row: m.NewRow(t.Name, len(keys), along)}
	w.terms = space.NewSortedTerms(m.RoomFor(t.Name, form.Of), len(keys))
	w.from = w.terms.Arrays.Array("from", tensor.Int64)
	w.vals = l.b.AllocInScope(l.b.Array(t.Name+"_row", l.spec.Compute), w.row.Width, false)
	return w
}

func (w *termRows) RowOf() *space.Row { return &w.row }

func (w *termRows) Begin() { w.n = w.l.b.Declare(w.name+"_n", ir.Int(0)) }

// store emits code that appends one term to the list if the condition present is true. A term
// represents a row that assignment a in loop f adds. The term has the coordinates of the row's key,
// and all values and coordinates that are needed to compute the row later.
func (w *termRows) store(l *lowerer, f *cin.Forall, a *cin.Assign, e *scope.Env, present ir.Expr) {
	if w.fill == nil {
		w.keep(l, f, a, e)
	}
	w.env = e
	l.b.When(present, func() {
		for _, k := range w.terms.Keys {
			w.terms.Arrays.Reserve(k, ir.Plus(w.n, ir.Int(1)))
		}
		for _, k := range w.kept {
			w.terms.Arrays.Reserve(k.a, ir.Plus(w.n, ir.Int(1)))
		}
		for m, k := range w.terms.Keys {
			l.b.Store(k, w.n, e.Coord.At(a.LHS.Vars[m]))
		}
		for _, k := range w.kept {
			if k.value != nil {
				l.b.Store(k.a, w.n, l.leaf.Masked(e.Access(k.value)))
			} else {
				l.b.Store(k.a, w.n, e.Coord.At(k.name))
			}
		}
		l.b.Incr(w.n, ir.Int(1))
	})
}

// keep finds the factors of a row.
func (w *termRows) keep(l *lowerer, f *cin.Forall, a *cin.Assign, e *scope.Env) {
	along := func(v string) bool { return slices.Contains(w.row.Along, v) }
	kept := func(name string) bool {
		return slices.ContainsFunc(w.kept, func(k keptPart) bool { return k.name == name })
	}
	assign := *a
	assign.RHS = withAccesses(a.RHS, func(x *cin.Access) cin.Expr {
		if slices.ContainsFunc(x.Vars, along) {
			for _, v := range x.Vars {
				if !along(v) && !kept(v) && !slices.Contains(a.LHS.Vars, v) {
					w.kept = append(w.kept, keptPart{v, nil,
						w.terms.Arrays.Array("at_"+v, w.m.CrdType(v))})
				}
			}
			return x
		}
		part := "of_" + x.Key()
		if !kept(part) {
			w.kept = append(w.kept, keptPart{part, x,
				w.terms.Arrays.Array("of_"+e.Operand(x.Name).Prefix(), l.spec.Compute)})
		}
		return &cin.Access{Name: part}
	})
	w.fill = refilled(l.leaf, f, &assign)
}

// refilled returns a loop that computes a row from the parts that a term stores. The loop is a copy
// of f and of the loops inside f. In the copy all loops are serial, and assignment a is the
// innermost statement.
func refilled(leaf *scope.Leaf, f *cin.Forall, a *cin.Assign) *cin.Forall {
	g := leaf.SerialCopy(f)
	g.Body = a
	if in, ok := f.Body.(*cin.Forall); ok {
		g.Body = refilled(leaf, in, a)
	}
	return g
}

// withAccesses returns x with other(a) in place of each access a.
func withAccesses(x cin.Expr, other func(*cin.Access) cin.Expr) cin.Expr {
	switch x := x.(type) {
	case *cin.Access:
		return other(x)
	case *cin.Neg:
		return &cin.Neg{X: withAccesses(x.X, other)}
	case *cin.Call:
		return x.MapArgs(func(y cin.Expr) cin.Expr { return withAccesses(y, other) })
	case *cin.Binary:
		return &cin.Binary{Op: x.Op, X: withAccesses(x.X, other), Y: withAccesses(x.Y, other)}
	}
	return x
}

func (w *termRows) Add(x ir.Expr, at space.Point) { w.row.Add(w.vals, x, at) }

func (w *termRows) Finish() *tree.Operand {
	l := w.l
	w.terms.Arrays.Reserve(w.from, ir.Plus(w.n, ir.Int(1)))
	made := w.terms.Sort(w.n, func(_, _ ir.Expr) {},
		func(_, made, at ir.Expr) { l.b.Store(w.from, made, at) })
	l.b.Store(w.from, made, w.n)
	op := w.m.SortedOperand(w.name, w.rows, w.terms.Sorted, w.vals, made)
	return w.row.Under(op, func(p ir.Expr) ir.Expr {
		w.sumRow(l, p)
		return ir.Int(0)
	})
}

// sumRow emits code that sums the row of the key at position p.
func (w *termRows) sumRow(l *lowerer, p ir.Expr) {
	w.row.Clear(w.vals, ir.Int(0))
	l.b.Loop(w.name+"_s", ir.At(w.from, p), ir.At(w.from, ir.Plus(p, ir.Int(1))), func(s *ir.Var) {
		w.fetch(l, ir.Plus(s, ir.Int(termsAhead)))
		from := l.b.Declare(w.name+"_at", ir.At(w.terms.Perm, s))
		in := w.env.Clone()
		in.Coord, in.Cur, in.Predicates = nil, map[string]*tree.Cursor{}, nil
		target := cin.Target(w.fill)
		for m, k := range w.terms.Keys {
			in.Coord = in.Coord.With(target.Vars[m], l.b.Named(target.Vars[m], ir.At(k, from)))
		}
		for _, k := range w.kept {
			if x := ir.Coord(k.a, from); k.value == nil {
				in.Coord = in.Coord.With(k.name, l.b.Named(k.name, x))
			} else {
				in.Temps = in.Temps.With(k.name, scope.Value{Pres: ir.Truth(true),
					V: l.b.Named(w.env.Operand(k.value.Name).Prefix()+"_v", ir.At(k.a, from)), Zeroed: true})
			}
		}
		in.OpenCursors(w.fill)
		in.EnterAll(w.fill)
		w.row.At = ir.Int(0)
		l.loop(w.fill, in.Filling(w.name, workspace{w}), false)
		w.row.At = nil
	})
}

// termsAhead is the prefetch distance, in terms, for the stored parts of terms. They are stored in
// the order of insertion, but read in sorted order.
const termsAhead = 32

// fetch emits code that prefetches the stored parts of the term at place s of the sorted order. The
// code does nothing if the order has no place s.
func (w *termRows) fetch(l *lowerer, s ir.Expr) {
	l.b.When(ir.Less(s, w.n), func() {
		next := l.b.Named(w.name+"_next", ir.At(w.terms.Perm, s))
		for _, k := range w.kept {
			l.b.Emit(&ir.Prefetch{A: k.a, Index: next})
		}
	})
}

func (w *termRows) End() {}

package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// termRows is a workspace with a list of terms, if it is filled everywhere or nowhere along its
// last variables. Each term adds a row. A term stores the factors of its row instead of the row:
// the values of accesses that have no variable along the row, and the coordinates that select the
// other accesses. At the end, the terms are sorted by their keys. A row is summed when the consumer
// is at its key, in an array that all rows share. Its terms are added in the order of their
// insertion. No row is stored, and none is read twice.
type termRows struct {
	sortedTerms sortedTerms
	row         spaceRow
	rows        *rowList // nil if the workspace is read as a list
	n           *ir.Var  // the number of terms
	vals        *ir.Array
	from        *ir.Array // the index in the sorted order where the terms of each key begin

	kept []keptPart
	fill *cin.Forall // the loops over a row, computing it from the stored parts
	env  *env        // the environment where terms are stored
}

// keptPart is a value, or a coordinate of a variable, that each term stores.
type keptPart struct {
	name  string      // the name of the variable, or of the value
	value *cin.Access // nil for a coordinate
	a     *ir.Array   // by term
}

func (l *lowerer) newTermRows(t *cin.Access, form strategy.Form) *termRows {
	keys, along := t.Vars[:len(t.Vars)-form.Dense], t.Vars[len(t.Vars)-form.Dense:]
	w := &termRows{rows: l.rowsIf(&cin.Access{Name: t.Name, Vars: keys}, form.Rows),
		row: l.newSpaceRow(t.Name, along)}
	w.sortedTerms = l.newSortedTerms(l.roomFor(t.Name, form.Of), len(keys))
	w.from = w.sortedTerms.spaceArrays.array(l, "from", tensor.Int64)
	w.vals = l.newArray(t.Name+"_row", l.spec.Compute)
	l.pre.Append(&ir.Alloc{A: w.vals, Len: w.row.width})
	l.post.Append(&ir.Free{A: w.vals})
	return w
}

func (w *termRows) rowOf() *spaceRow { return &w.row }

func (w *termRows) begin(
	l *lowerer) {
	w.n = l.declare(w.sortedTerms.spaceArrays.name+"_n", ir.Int(0))
}

// inRow stores the factors of the row.
func (w *termRows) inRow(l *lowerer, f *cin.Forall, a *cin.Assign, e *env, want bool) ir.Expr {
	if w.fill == nil {
		w.keep(l, f, a)
	}
	w.env = e
	some := w.row.adds(l, a, e)
	l.when(some, func() {
		for _, k := range w.sortedTerms.keys {
			w.sortedTerms.spaceArrays.reserve(l, k, ir.Plus(w.n, ir.Int(1)))
		}
		for _, k := range w.kept {
			w.sortedTerms.spaceArrays.reserve(l, k.a, ir.Plus(w.n, ir.Int(1)))
		}
		for m, k := range w.sortedTerms.keys {
			l.store(k, w.n, e.coord[a.LHS.Vars[m]])
		}
		for _, k := range w.kept {
			if k.value != nil {
				l.store(k.a, w.n, l.masked(l.access(k.value, e)))
			} else {
				l.store(k.a, w.n, e.coord[k.name])
			}
		}
		l.incr(w.n, ir.Int(1))
	})
	return some
}

// keep finds the factors of a row.
func (w *termRows) keep(l *lowerer, f *cin.Forall, a *cin.Assign) {
	along := func(v string) bool { return slices.Contains(w.row.along, v) }
	kept := func(name string) bool {
		return slices.ContainsFunc(w.kept, func(k keptPart) bool { return k.name == name })
	}
	assign := *a
	assign.RHS = withAccesses(a.RHS, func(x *cin.Access) cin.Expr {
		if slices.ContainsFunc(x.Vars, along) {
			for _, v := range x.Vars {
				if !along(v) && !kept(v) && !slices.Contains(a.LHS.Vars, v) {
					w.kept = append(w.kept, keptPart{v, nil,
						w.sortedTerms.spaceArrays.array(l, "at_"+v, l.crdType(v))})
				}
			}
			return x
		}
		part := "of_" + x.Key()
		if !kept(part) {
			w.kept = append(w.kept, keptPart{part, x,
				w.sortedTerms.spaceArrays.array(l, "of_"+l.operandOf(x).prefix(), l.spec.Compute)})
		}
		return &cin.Access{Name: part}
	})
	w.fill = l.refilled(f, &assign)
}

// refilled returns the loop f and the loops inside it, around another assignment.
func (l *lowerer) refilled(f *cin.Forall, a *cin.Assign) *cin.Forall {
	g := l.serialCopy(f)
	g.Body = a
	if in, ok := f.Body.(*cin.Forall); ok {
		g.Body = l.refilled(in, a)
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
	case *cin.Binary:
		return &cin.Binary{Op: x.Op, X: withAccesses(x.X, other), Y: withAccesses(x.Y, other)}
	}
	return x
}

func (w *termRows) add(l *lowerer, a *cin.Access, x ir.Expr,
	e *env) {
	w.row.add(l, w.vals, a, x, e)
}

func (w *termRows) finish(l *lowerer) *operand {
	w.sortedTerms.spaceArrays.reserve(l, w.from, ir.Plus(w.n, ir.Int(1)))
	made := w.sortedTerms.sort(l, w.n, func(_, _ ir.Expr) {},
		func(_, made, at ir.Expr) { l.store(w.from, made, at) })
	l.store(w.from, made, w.n)
	op := l.sortedOperand(w.sortedTerms.spaceArrays.name, w.rows, w.sortedTerms.sorted, w.vals, made)
	return w.row.under(l, op, len(w.sortedTerms.keys), func(p ir.Expr) ir.Expr {
		w.sumRow(l, p)
		return ir.Int(0)
	})
}

// sumRow sums the row of the key at a position.
func (w *termRows) sumRow(l *lowerer, p ir.Expr) {
	w.row.clear(l, w.vals, ir.Int(0))
	s := l.newVar(w.sortedTerms.spaceArrays.name + "_s")
	l.emit(&ir.For{V: s, Lo: ir.At(w.from, p), Hi: ir.At(w.from, ir.Plus(p, ir.Int(1))), Step: 1,
		Body: l.within(func() {
			w.fetch(l, ir.Plus(s, ir.Int(termsAhead)))
			from := l.declare(w.sortedTerms.spaceArrays.name+"_at", ir.At(w.sortedTerms.perm, s))
			in := w.env.clone()
			in.coord, in.cur, in.predicates = map[string]ir.Expr{}, map[string]*cursor{}, nil
			target := cin.Target(w.fill)
			for m, k := range w.sortedTerms.keys {
				in.coord[target.Vars[m]] = l.named(target.Vars[m], ir.At(k, from))
			}
			for _, k := range w.kept {
				if x := ir.Coord(k.a, from); k.value == nil {
					in.coord[k.name] = l.named(k.name, x)
				} else {
					in.temps[k.name] = value{pres: ir.Truth(true),
						v: l.named(l.operandOf(k.value).prefix()+"_v", ir.At(k.a, from)), zeroed: true}
				}
			}
			cin.Accesses(w.fill, func(a *cin.Access) {
				if l.ops[a.Name] != nil {
					l.openCursor(a, in)
				}
			})
			l.enterAll(w.fill, in)
			outer := l.spaces[w.sortedTerms.spaceArrays.name]
			l.spaces[w.sortedTerms.spaceArrays.name], w.row.at = w, ir.Int(0)
			l.loop(w.fill, in, false)
			l.spaces[w.sortedTerms.spaceArrays.name], w.row.at = outer, nil
		})})
}

// termsAhead is the prefetch distance, in terms, for the stored parts of terms. They are stored in
// the order of insertion, but read in sorted order.
const termsAhead = 32

// fetch prefetches the stored parts of the term at a place in the sorted order, if there is one.
func (w *termRows) fetch(l *lowerer, s ir.Expr) {
	l.when(ir.Less(s, w.n), func() {
		next := l.named(w.sortedTerms.spaceArrays.name+"_next", ir.At(w.sortedTerms.perm, s))
		for _, k := range w.kept {
			l.emit(&ir.Prefetch{A: k.a, Index: next})
		}
	})
}

func (w *termRows) end(*lowerer) {}

package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// longProductRows handles the long rows of a parallel loop that sums each row in a workspace, as in
// products of sparse matrices. A row is long if it has more terms than the strategy's limit, and
// more than one thread's share of the terms of all rows. The long rows are computed before the
// loop, each on all threads (rowSums), and the loop reads them.
type longProductRows struct {
	l     *lowerer
	f     *cin.Forall
	where *cin.Where
	t     *cin.Access  // the workspace
	terms *cin.Forall  // adds a row's terms to it
	rows  *tree.Cursor // a cursor of the operand whose rows are long
	long  strategy.Long
	// stores is true if the first value at a coordinate is stored instead of added to 0, because
	// the workspace does so too. The two differ if the value is -0.
	stores bool

	least ir.Expr   // a long row has more terms than this
	n     *ir.Var   // the number of long rows
	row   *ir.Array // the long rows, in ascending order
	// long row number x has coordinates crd[at[x]:at[x+1]], and the values at the same indices
	at         *ir.Array
	crd, vals  *ir.Array
	capC, capV *ir.Var
}

// newLongProductRows returns the state for the long rows of the parallel loop f.
func (l *lowerer) newLongProductRows(f *cin.Forall, e *scope.Env,
	long strategy.Long) *longProductRows {
	s, ok := f.Body.(*cin.Where)
	if !ok {
		panic("BUG: lower: the loop over " + f.Var + " has no workspace for its long rows")
	}
	t := cin.Target(s.Producer)
	a := &longProductRows{l: l, f: f, where: s, t: t, terms: s.Producer.(*cin.Forall),
		rows: e.Cur[long.Key], long: long}
	placed := result.AsSumming(l.assembly, s.Consumer, t, 1) != nil
	a.stores = !placed && l.spec.Strategy.Spaces[t.Name].Form.Kind != strategy.Bitmap
	return a
}

// ends returns the range of positions of row r's terms.
func (a *longProductRows) ends(r ir.Expr) (lo, hi ir.Expr) {
	op := a.rows.Of
	p := ir.Minus(r, op.Offset(0))
	return ir.Coord(op.Pos(1), p), ir.Coord(op.Pos(1), ir.Plus(p, ir.Int(1)))
}

// compute computes the long rows.
func (a *longProductRows) compute(e *scope.Env) {
	l := a.l
	all := e.RangeOf(a.f.Var)
	first, _ := a.ends(all.Lo)
	last, _ := a.ends(all.Hi)
	lo := l.b.Named("terms_lo", first)
	n := l.b.Named("terms", ir.Minus(last, lo))
	a.least = l.b.Named("long_least",
		ir.Greatest(ir.Over(n, ir.Greatest(l.leaf.Threads, ir.Int(1))), ir.Int(a.long.N)))
	a.n = l.b.Declare("long", ir.Int(0))
	most := l.b.Named("long_most", ir.Plus(ir.Over(n, ir.Int(a.long.N)), ir.Int(1)))
	a.row = l.b.Alloc("long_row", tensor.Int64, most, false)
	a.at = l.b.Alloc("long_at", tensor.Int64, ir.Plus(most, ir.Int(1)), false)
	l.b.Store(a.at, ir.Int(0), ir.Int(0))
	a.capC, a.capV = l.b.Declare("long_crd_cap", ir.Int(1)), l.b.Declare("long_vals_cap", ir.Int(1))
	a.crd = l.b.Alloc("long_crd", l.maker(e).CrdType(a.t.Vars[0]), a.capC, false)
	a.vals = l.b.Alloc("long_vals", l.spec.Compute, a.capV, false)
	l.b.When(ir.Less(ir.Int(1), l.leaf.Threads), func() { a.find(all, lo, n) })
	l.b.When(ir.Less(ir.Int(0), a.n), func() {
		b := a.newRowSums(e)
		l.b.Loop("long_x", ir.Int(0), a.n, func(x *ir.Var) {
			r := l.b.Named(a.f.Var, ir.At(a.row, x))
			b.computeRow(x, r, e.Bind(a.where, a.f.Var, r, nil))
		})
		b.free()
	})
}

// find emits code that lists the long rows. It does not test every row. It numbers the terms of all
// rows, takes each term whose number is a multiple of long.N, and tests the row of this term. A row
// with more than long.N terms contains one of these terms.
func (a *longProductRows) find(all tree.Range, lo, n ir.Expr) {
	l := a.l
	step := ir.Int(a.long.N)
	l.b.Loop("m", ir.Int(0), ir.Over(ir.Plus(n, ir.Int(a.long.N-1)), step), func(m *ir.Var) {
		q := l.b.Named("q", ir.Plus(lo, ir.Times(m, step)))
		x, y := l.b.Declare("x", all.Lo), l.b.Declare("y", all.Hi)
		l.b.Bisect(x, y, func(mid ir.Expr) ir.Expr {
			_, end := a.ends(mid)
			return ir.AtMost(end, q)
		})
		fresh := ir.Either(ir.Equal(a.n, ir.Int(0)),
			ir.Unequal(ir.At(a.row, ir.Minus(a.n, ir.Int(1))), x))
		l.b.When(ir.Both(a.isLong(x), fresh), func() {
			l.b.Store(a.row, a.n, x)
			l.b.Incr(a.n, ir.Int(1))
		})
	})
}

// isLong returns the condition that row r is long.
func (a *longProductRows) isLong(r ir.Expr) ir.Expr {
	lo, hi := a.ends(r)
	return ir.Less(a.least, ir.Minus(hi, lo))
}

// free frees the rows.
func (a *longProductRows) free() {
	for _, arr := range []*ir.Array{a.row, a.at, a.crd, a.vals} {
		a.l.b.Free(arr)
	}
}

// lower lowers s, the Where that sums one row in a workspace. ok is false for any other Where. The
// emitted code tests whether the row is long. If it is, the code reads the row's sums from the list
// of long rows, which the leaf computed before the loop. Otherwise the code sums the row in the
// workspace.
func (a *longProductRows) lower(s *cin.Where, e *scope.Env) (some ir.Expr, ok bool) {
	l, name := a.l, a.t.Name
	if s != a.where {
		return nil, false
	}
	r := e.Coord.At(a.f.Var)
	read := l.b.Within(func() {
		x := l.b.Named("long_x", &ir.Search{A: a.row, Lo: ir.Int(0), Hi: a.n, Key: r})
		op := tree.NewOperand(l.leaf.Args, tree.Argument{Name: name, Number: -1, Type: l.spec.Compute,
			Format: tensor.Format{Levels: []tensor.Kind{tensor.Compressed}, Order: []int{0}}})
		op.SetArray(0, ir.Pos, a.at)
		op.SetArray(0, ir.Crd, a.crd)
		op.SetArray(0, ir.Vals, a.vals)
		op.Argument.PosWidth, op.Argument.CrdWidth = []uint8{0}, []uint8{0}
		in := e.Reading(name, op)
		cin.Accesses(s.Consumer, func(y *cin.Access) {
			if y.Name == name {
				in.Cur[y.Key()] = &tree.Cursor{Of: op, Vars: y.Vars, Pos: x, Present: ir.Truth(true)}
			}
		})
		l.stmt(s.Consumer, in, false)
	})
	rest := l.b.Within(func() {
		in := *e
		in.Precomputed = nil
		some = l.whereWorkspace(s, a.t, &in, false)
	})
	l.b.Emit(&ir.If{Cond: ir.Both(ir.Less(ir.Int(0), a.n), a.isLong(r)), Then: read, Else: rest})
	return some, true
}

// rowSums computes long rows of products, one after another, each on all threads, by propagation
// blocking (Beamer, Asanovic, Patterson 2017). The terms of a row are processed in rounds, and the
// terms of a round are cut into stretches. First the threads count how many terms of each stretch
// are in each band of coordinates. Then they copy the terms to their bands, and preserve the order
// of the terms. Finally each band is summed by one thread. The terms of each coordinate are
// therefore added in the same order as by a single thread, and the result does not depend on the
// number of threads.
type rowSums struct {
	a   *longProductRows
	lo  ir.Expr // the coordinate of place 0
	dim ir.Expr // the number of places
	// width is the number of coordinates in a band, and length is the number of terms in a stretch.
	width, length    int64
	bands, stretches ir.Expr // the number of bands, and the number of stretches in a round

	sums *ir.Array // the sums of the row
	mark *ir.Array // whether a place has a sum
	crd  *ir.Array // the found coordinates; each band's start at its first place
	n    *ir.Array // by band: the number of found coordinates

	// at[stretch*bands+band] is the number of a stretch's terms in a band. After scan it is the
	// place for the next of these terms.
	at *ir.Array
	// by band: the start of its terms, and later of its sums; one more entry for the end
	begin             *ir.Array
	termCrd, termVals *ir.Array
	capC, capV        *ir.Var
}

func (a *longProductRows) newRowSums(e *scope.Env) *rowSums {
	l := a.l
	v := l.leaf.Bounds[a.t.Vars[0]]
	b := &rowSums{a: a, lo: v[0], dim: l.b.Named("places", ir.Minus(v[1], v[0]))}
	b.width, b.length = a.long.Band, a.long.Stretch
	b.bands = l.b.Named("bands", ir.Plus(ir.Over(b.dim, ir.Int(b.width)), ir.Int(1)))
	b.stretches = l.b.Named("stretches", ir.Times(l.leaf.Threads, ir.Int(l.spec.Strategy.PerThread)))
	coord := l.maker(e).CrdType(a.t.Vars[0])
	b.sums = l.b.Alloc(a.t.Name+"_sums", l.spec.Compute, b.dim, true)
	b.mark = l.b.Alloc(a.t.Name+"_sum", tensor.Bool, b.dim, true)
	b.crd = l.b.Alloc(a.t.Name+"_found", coord, b.dim, false)
	b.n = l.b.Alloc("found", tensor.Int64, b.bands, true)
	b.at = l.b.Alloc("term_at", tensor.Int64, ir.Times(b.stretches, b.bands), false)
	b.begin = l.b.Alloc("band_at", tensor.Int64, ir.Plus(b.bands, ir.Int(1)), false)
	b.capC, b.capV = l.b.Declare("term_crd_cap", ir.Int(1)), l.b.Declare("term_vals_cap", ir.Int(1))
	b.termCrd = l.b.Alloc("term_crd", coord, b.capC, false)
	b.termVals = l.b.Alloc("term_vals", l.spec.Compute, b.capV, false)
	return b
}

func (b *rowSums) free() {
	for _, arr := range []*ir.Array{b.sums, b.mark, b.crd, b.n, b.at, b.begin, b.termCrd, b.termVals} {
		b.a.l.b.Free(arr)
	}
}

// place returns the index of an element of the array b.at: the element for the given stretch and
// band.
func (b *rowSums) place(stretch, band ir.Expr) ir.Expr {
	return ir.Plus(ir.Times(stretch, b.bands), band)
}

// computeRow emits the code that computes row r. The long rows are numbered, and r has number x. e
// is the row's environment.
func (b *rowSums) computeRow(x *ir.Var, r ir.Expr, e *scope.Env) {
	l := b.a.l
	first, last := b.a.ends(r)
	lo, hi := l.b.Named("row_lo", first), l.b.Named("row_hi", last)
	each := l.b.Named("round_terms", ir.Times(b.stretches, ir.Int(b.length)))
	rounds := ir.Over(ir.Plus(ir.Minus(hi, lo), ir.Minus(each, ir.Int(1))), each)
	l.b.Loop("round", ir.Int(0), l.b.Named("rounds", rounds), func(round *ir.Var) {
		begin := l.b.Named("round_lo", ir.Plus(lo, ir.Times(round, each)))
		pass := func(k *ir.Var, to scope.Adder) {
			from := l.b.Named("from", ir.Plus(begin, ir.Times(k, ir.Int(b.length))))
			b.terms(lo, hi, from, l.b.Named("to", ir.Least(ir.Plus(from, ir.Int(b.length)), hi)), to, e)
		}
		l.b.Chunks("stretch", ir.Int(0), b.stretches, func(k *ir.Var) {
			l.b.Loop("band", ir.Int(0), b.bands,
				func(band *ir.Var) { l.b.Store(b.at, b.place(k, band), ir.Int(0)) })
			counts := l.b.Within(func() { pass(k, &termBands{b: b, stretch: k}) })
			rewrite.Strip(counts, nil)
			l.b.Append(counts)
		})
		b.scan()
		l.b.Chunks("stretch", ir.Int(0), b.stretches,
			func(k *ir.Var) { pass(k, &termBands{b: b, stretch: k, keep: true}) })
		l.b.Chunks("band", ir.Int(0), b.bands, b.add)
	})
	b.keep(x)
}

// terms lowers the loop over the terms at positions [from, to) of a long row. Each term is added to
// t. [lo, hi) are the positions of the whole row.
func (b *rowSums) terms(lo, hi, from, to ir.Expr, t scope.Adder, e *scope.Env) {
	a, l := b.a, b.a.l
	l.b.When(ir.Less(from, to), func() {
		v := a.terms.Var
		in := e.Clone()
		all := e.RangeOf(v)
		at := a.rows.Of.Crd(1)
		s := tree.Range{Clip: true}
		s.Lo = l.b.Named(v+"_from",
			ir.Choose(ir.Equal(from, lo), all.Lo, ir.Greatest(all.Lo, ir.Coord(at, from))))
		s.Hi = l.b.Named(v+"_to", ir.Choose(ir.Equal(to, hi), all.Hi,
			ir.Greatest(s.Lo, ir.Least(all.Hi, ir.Coord(at, to)))))
		in.Ranges = in.Ranges.With(v, s)
		l.stmt(a.terms, in.Filling(a.t.Name, t), false)
	})
}

// termBands counts the terms of a stretch (a range of terms) in each band (a range of coordinates).
// If keep is true, it also copies each term to its band.
type termBands struct {
	b       *rowSums
	stretch *ir.Var
	keep    bool
}

func (t *termBands) Add(a *cin.Access, x ir.Expr, e *scope.Env) {
	b, code := t.b, e.Leaf.B
	c := e.Coord.At(a.Vars[0])
	at := code.Named("at", b.place(t.stretch, ir.Over(ir.Minus(c, b.lo), ir.Int(b.width))))
	if t.keep {
		o := code.Named("o", ir.At(b.at, at))
		code.Store(b.termCrd, o, c)
		code.Store(b.termVals, o, x)
	}
	code.AddTo(b.at, at, ir.Int(1))
}

// scan emits a prefix sum over the counts of terms. The code replaces each count by the index to
// which the first of the counted terms will be copied.
func (b *rowSums) scan() {
	l := b.a.l
	o := l.b.Declare("o", ir.Int(0))
	l.b.Loop("band", ir.Int(0), b.bands, func(band *ir.Var) {
		l.b.Store(b.begin, band, o)
		l.b.Loop("stretch", ir.Int(0), b.stretches, func(k *ir.Var) {
			at := l.b.Named("at", b.place(k, band))
			n := l.b.Named("n", ir.At(b.at, at))
			l.b.Store(b.at, at, o)
			l.b.Incr(o, n)
		})
	})
	l.b.Store(b.begin, b.bands, o)
	l.b.Reserve(b.termCrd, b.capC, o)
	l.b.Reserve(b.termVals, b.capV, o)
}

// add adds the terms of a band.
func (b *rowSums) add(band *ir.Var) {
	l := b.a.l
	n := l.b.Declare("n", ir.At(b.n, band))
	first := l.b.Named("first", ir.Times(band, ir.Int(b.width)))
	l.b.Loop("p", ir.At(b.begin, band), ir.At(b.begin, ir.Plus(band, ir.Int(1))), func(p *ir.Var) {
		c := l.b.Named("c", ir.Coord(b.termCrd, p))
		at := l.b.Named("at", ir.Minus(c, b.lo))
		again := func() {
			l.b.AddTo(b.sums, at, ir.At(b.termVals, p))
		}
		fresh := l.b.Within(func() {
			l.b.Store(b.mark, at, ir.Truth(true))
			l.b.Store(b.crd, ir.Plus(first, n), c)
			l.b.Incr(n, ir.Int(1))
			if b.a.stores {
				l.b.Store(b.sums, at, ir.At(b.termVals, p))
			} else {
				again()
			}
		})
		l.b.Emit(&ir.If{Cond: ir.At(b.mark, at), Then: l.b.Within(again), Else: fresh})
	})
	l.b.Store(b.n, band, n)
}

// sparseBand decides how the coordinates that have a sum are put in order. If a band has more than
// sparseBand coordinates for each sum, the coordinates of the sums are sorted. Otherwise the code
// visits all coordinates of the band in order.
const sparseBand = 16

// keep emits code that copies the computed sums to the list of long rows, as entry number x. The
// code then sets the memory of the sums to 0 for the next row.
func (b *rowSums) keep(x *ir.Var) {
	a, l := b.a, b.a.l
	l.b.Chunks("band", ir.Int(0), b.bands, func(band *ir.Var) {
		n := l.b.Named("n", ir.At(b.n, band))
		first := l.b.Named("first", ir.Times(band, ir.Int(b.width)))
		sort := l.b.Within(func() { l.b.Emit(&ir.Sort{A: b.crd, Lo: first, Hi: ir.Plus(first, n)}) })
		walk := l.b.Within(func() {
			p := l.b.Declare("p", first)
			last := ir.Least(ir.Plus(first, ir.Int(b.width)), b.dim)
			l.b.Loop("at", first, last, func(at *ir.Var) {
				l.b.When(ir.At(b.mark, at), func() {
					l.b.Store(b.crd, p, ir.Plus(at, b.lo))
					l.b.Incr(p, ir.Int(1))
				})
			})
		})
		l.b.When(ir.Less(ir.Int(0), n), func() {
			l.b.Emit(&ir.If{Cond: ir.Less(ir.Times(n, ir.Int(sparseBand)), ir.Int(b.width)), Then: sort,
				Else: walk})
		})
	})
	o := l.b.Declare("long_end", ir.At(a.at, x))
	l.b.Loop("band", ir.Int(0), b.bands, func(band *ir.Var) {
		l.b.Store(b.begin, band, o)
		l.b.Incr(o, ir.At(b.n, band))
	})
	l.b.Store(a.at, ir.Plus(x, ir.Int(1)), o)
	l.b.Reserve(a.crd, a.capC, o)
	l.b.Reserve(a.vals, a.capV, o)
	l.b.Chunks("band", ir.Int(0), b.bands, func(band *ir.Var) {
		begin := l.b.Named("begin", ir.At(b.begin, band))
		first := l.b.Named("first", ir.Times(band, ir.Int(b.width)))
		l.b.Loop("p", ir.Int(0), l.b.Named("n", ir.At(b.n, band)), func(p *ir.Var) {
			c := l.b.Named("c", ir.Coord(b.crd, ir.Plus(first, p)))
			at := l.b.Named("at", ir.Minus(c, b.lo))
			to := l.b.Named("to", ir.Plus(begin, p))
			l.b.Store(a.crd, to, c)
			l.b.Store(a.vals, to, ir.At(b.sums, at))
			l.b.Store(b.mark, at, ir.Truth(false))
			l.b.Store(b.sums, at, ir.Zero(l.spec.Compute))
		})
		l.b.Store(b.n, band, ir.Int(0))
	})
}

package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

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

func (a *longProductRows) newRowSums() *rowSums {
	l := a.l
	v := l.bounds[a.t.Vars[0]]
	b := &rowSums{a: a, lo: v[0], dim: l.named("places", ir.Minus(v[1], v[0]))}
	b.width, b.length = a.long.Band, a.long.Stretch
	b.bands = l.named("bands", ir.Plus(ir.Over(b.dim, ir.Int(b.width)), ir.Int(1)))
	b.stretches = l.named("stretches", ir.Times(l.threads, ir.Int(l.spec.Strategy.PerThread)))
	coord := l.crdType(a.t.Vars[0])
	b.sums = l.alloc(a.t.Name+"_sums", l.spec.Compute, b.dim, true)
	b.mark = l.alloc(a.t.Name+"_sum", tensor.Bool, b.dim, true)
	b.crd = l.alloc(a.t.Name+"_found", coord, b.dim, false)
	b.n = l.alloc("found", tensor.Int64, b.bands, true)
	b.at = l.alloc("term_at", tensor.Int64, ir.Times(b.stretches, b.bands), false)
	b.begin = l.alloc("band_at", tensor.Int64, ir.Plus(b.bands, ir.Int(1)), false)
	b.capC, b.capV = l.declare("term_crd_cap", ir.Int(1)), l.declare("term_vals_cap", ir.Int(1))
	b.termCrd = l.alloc("term_crd", coord, b.capC, false)
	b.termVals = l.alloc("term_vals", l.spec.Compute, b.capV, false)
	return b
}

func (b *rowSums) free() {
	for _, arr := range []*ir.Array{b.sums, b.mark, b.crd, b.n, b.at, b.begin, b.termCrd, b.termVals} {
		b.a.l.emit(&ir.Free{A: arr})
	}
}

// each emits a parallel loop over n stretches or bands.
func (b *rowSums) each(name string, n ir.Expr, body func(k *ir.Var)) {
	l := b.a.l
	k := l.newVar(name)
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: n, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1,
		Body: l.inScope(func() { body(k) })})
}

// loop emits a serial loop over [lo, hi).
func (b *rowSums) loop(name string, lo, hi ir.Expr, body func(k *ir.Var)) {
	l := b.a.l
	k := l.newVar(name)
	l.emit(&ir.For{V: k, Lo: lo, Hi: hi, Step: 1, Body: l.within(func() { body(k) })})
}

// place returns the index in at for a stretch and a band.
func (b *rowSums) place(stretch, band ir.Expr) ir.Expr {
	return ir.Plus(ir.Times(stretch, b.bands), band)
}

// computeRow computes the long row with index x, which is row r. Its environment is e.
func (b *rowSums) computeRow(x *ir.Var, r ir.Expr, e *env) {
	l := b.a.l
	first, last := b.a.ends(r)
	lo, hi := l.named("row_lo", first), l.named("row_hi", last)
	each := l.named("round_terms", ir.Times(b.stretches, ir.Int(b.length)))
	rounds := ir.Over(ir.Plus(ir.Minus(hi, lo), ir.Minus(each, ir.Int(1))), each)
	b.loop("round", ir.Int(0), l.named("rounds", rounds), func(round *ir.Var) {
		begin := l.named("round_lo", ir.Plus(lo, ir.Times(round, each)))
		pass := func(k *ir.Var, to adder) {
			from := l.named("from", ir.Plus(begin, ir.Times(k, ir.Int(b.length))))
			b.terms(lo, hi, from, l.named("to", ir.Least(ir.Plus(from, ir.Int(b.length)), hi)), to, e)
		}
		b.each("stretch", b.stretches, func(k *ir.Var) {
			b.loop("band", ir.Int(0), b.bands,
				func(band *ir.Var) { l.store(b.at, b.place(k, band), ir.Int(0)) })
			counts := l.within(func() { pass(k, &termBands{b: b, stretch: k}) })
			strip(counts, nil)
			l.blk.List = append(l.blk.List, counts.List...)
		})
		b.scan()
		b.each("stretch", b.stretches,
			func(k *ir.Var) { pass(k, &termBands{b: b, stretch: k, keep: true}) })
		b.each("band", b.bands, b.add)
	})
	b.keep(x)
}

// terms adds the terms at positions [from, to) of the row's range [lo, hi) to an adder.
func (b *rowSums) terms(lo, hi, from, to ir.Expr, t adder, e *env) {
	a, l := b.a, b.a.l
	l.when(ir.Less(from, to), func() {
		v := a.terms.Var
		in := e.clone()
		all := l.rangeOf(e, v)
		at := a.rows.op.crd(1)
		s := coordRange{clip: true}
		s.lo = l.named(v+"_from",
			ir.Choose(ir.Equal(from, lo), all.lo, ir.Greatest(all.lo, ir.Coord(at, from))))
		s.hi = l.named(v+"_to", ir.Choose(ir.Equal(to, hi), all.hi,
			ir.Greatest(s.lo, ir.Least(all.hi, ir.Coord(at, to)))))
		in.ranges[v] = s
		outer := l.spaces[a.t.Name]
		l.spaces[a.t.Name] = t
		l.stmt(a.terms, in, false)
		l.spaces[a.t.Name] = outer
	})
}

// termBands counts a stretch's terms by band. If keep is true, it copies them to their bands.
type termBands struct {
	b       *rowSums
	stretch *ir.Var
	keep    bool
}

func (t *termBands) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	b := t.b
	c := e.coord[a.Vars[0]]
	at := l.named("at", b.place(t.stretch, ir.Over(ir.Minus(c, b.lo), ir.Int(b.width))))
	if t.keep {
		o := l.named("o", ir.At(b.at, at))
		l.store(b.termCrd, o, c)
		l.store(b.termVals, o, x)
	}
	l.emit(&ir.Store{A: b.at, Index: at, Accumulate: true, X: ir.Int(1)})
}

// scan replaces the counts of terms with the places where the terms are copied.
func (b *rowSums) scan() {
	l := b.a.l
	o := l.declare("o", ir.Int(0))
	b.loop("band", ir.Int(0), b.bands, func(band *ir.Var) {
		l.store(b.begin, band, o)
		b.loop("stretch", ir.Int(0), b.stretches, func(k *ir.Var) {
			at := l.named("at", b.place(k, band))
			n := l.named("n", ir.At(b.at, at))
			l.store(b.at, at, o)
			l.incr(o, n)
		})
	})
	l.store(b.begin, b.bands, o)
	l.reserve(b.termCrd, b.capC, o)
	l.reserve(b.termVals, b.capV, o)
}

// add adds the terms of a band.
func (b *rowSums) add(band *ir.Var) {
	l := b.a.l
	n := l.declare("n", ir.At(b.n, band))
	first := l.named("first", ir.Times(band, ir.Int(b.width)))
	b.loop("p", ir.At(b.begin, band), ir.At(b.begin, ir.Plus(band, ir.Int(1))), func(p *ir.Var) {
		c := l.named("c", ir.Coord(b.termCrd, p))
		at := l.named("at", ir.Minus(c, b.lo))
		again := func() {
			l.emit(
				&ir.Store{A: b.sums, Index: at, Accumulate: true, X: ir.At(b.termVals, p)})
		}
		fresh := l.within(func() {
			l.store(b.mark, at, ir.Truth(true))
			l.store(b.crd, ir.Plus(first, n), c)
			l.incr(n, ir.Int(1))
			if b.a.stores {
				l.store(b.sums, at, ir.At(b.termVals, p))
			} else {
				again()
			}
		})
		l.emit(&ir.If{Cond: ir.At(b.mark, at), Then: l.within(again), Else: fresh})
	})
	l.store(b.n, band, n)
}

// sparseBand is the smallest number of places for each sum in a band for which the found
// coordinates are sorted. With fewer places, all places of the band are visited instead.
const sparseBand = 16

// keep stores the computed sums as long row x, and clears them.
func (b *rowSums) keep(x *ir.Var) {
	a, l := b.a, b.a.l
	b.each("band", b.bands, func(band *ir.Var) {
		n := l.named("n", ir.At(b.n, band))
		first := l.named("first", ir.Times(band, ir.Int(b.width)))
		sort := l.within(func() { l.emit(&ir.Sort{A: b.crd, Lo: first, Hi: ir.Plus(first, n)}) })
		walk := l.within(func() {
			p := l.declare("p", first)
			last := ir.Least(ir.Plus(first, ir.Int(b.width)), b.dim)
			b.loop("at", first, last, func(at *ir.Var) {
				l.when(ir.At(b.mark, at), func() {
					l.store(b.crd, p, ir.Plus(at, b.lo))
					l.incr(p, ir.Int(1))
				})
			})
		})
		l.when(ir.Less(ir.Int(0), n), func() {
			l.emit(&ir.If{Cond: ir.Less(ir.Times(n, ir.Int(sparseBand)), ir.Int(b.width)), Then: sort,
				Else: walk})
		})
	})
	o := l.declare("long_end", ir.At(a.at, x))
	b.loop("band", ir.Int(0), b.bands, func(band *ir.Var) {
		l.store(b.begin, band, o)
		l.incr(o, ir.At(b.n, band))
	})
	l.store(a.at, ir.Plus(x, ir.Int(1)), o)
	l.reserve(a.crd, a.capC, o)
	l.reserve(a.vals, a.capV, o)
	b.each("band", b.bands, func(band *ir.Var) {
		begin := l.named("begin", ir.At(b.begin, band))
		first := l.named("first", ir.Times(band, ir.Int(b.width)))
		b.loop("p", ir.Int(0), l.named("n", ir.At(b.n, band)), func(p *ir.Var) {
			c := l.named("c", ir.Coord(b.crd, ir.Plus(first, p)))
			at := l.named("at", ir.Minus(c, b.lo))
			to := l.named("to", ir.Plus(begin, p))
			l.store(a.crd, to, c)
			l.store(a.vals, to, ir.At(b.sums, at))
			l.store(b.mark, at, ir.Truth(false))
			l.store(b.sums, at, ir.Zero(l.spec.Compute))
		})
		l.store(b.n, band, ir.Int(0))
	})
}

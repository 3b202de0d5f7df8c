package lower

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// joinedChunks joins the pieces of an appended result in order. Each chunk of a loop over the
// result's level 0 makes a piece. The piece is copied to its place directly after it is made
// (ordered_chunks.go), or when the last piece has been made. Each chunk has a slot, which stores
// its counts, and its arrays until they are copied.
type joinedChunks struct {
	a     *appendResult
	slots ir.Expr
	// pos is the array of the outermost compressed level. All levels above it are dense, so its
	// length is known, and the chunks write it in place. The chunk of slot k writes the places
	// (base[k], until[k]].
	pos         *ir.Array
	base, until *ir.Array
	start       ir.Expr // base[k] of the current chunk
	first       int     // the outermost compressed level
	levels      []joinedLevel
	vals        *ir.Table
	whole       joinedArrays // the arrays that the pieces are copied to
	// streamed, if it is not nil, is the condition that the pieces together are too large for a
	// cache.
	streamed ir.Expr
}

// joinedLevel has the pieces of one compressed level. Slot k has made[k] coordinates, and the slots
// before it have before[k].
type joinedLevel struct {
	level        int
	pos, crd     *ir.Table // pos is nil for the outermost level
	made, before *ir.Array
	from, n      ir.Expr // before and made of the current slot
}

// joinedArrays has a result's arrays, by compressed level, and their capacities.
type joinedArrays struct {
	pos, crd       []*ir.Array
	vals           *ir.Array
	posCap, crdCap []*ir.Var
	valsCap        *ir.Var
}

// chunks makes the pieces of a schedule's chunks. It keeps all pieces until the loop ends, and then
// joins them.
func (a *appendResult) chunks(n ir.Expr,
	run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr))) {
	j := a.newJoin(n)
	run(func(_, lo ir.Expr) {
		a.use(a.newArrays())
		a.alloc(j.chunkCapacity(n))
		j.begin(lo)
	}, func(c, hi ir.Expr) {
		j.end(c, hi)
		j.keep(c)
	})
	j.publish()
}

func (a *appendResult) newJoin(slots ir.Expr) *joinedChunks {
	l := a.l
	j := &joinedChunks{a: a, slots: slots, first: a.nextSparse(0)}
	table := func(name string, t tensor.Type) *ir.Table {
		tab := &ir.Table{Name: l.b.Fresh(name), Elem: t}
		l.b.Emit(&ir.AllocTable{T: tab, Len: slots})
		return tab
	}
	counts := func(name string, n ir.Expr) *ir.Array {
		return l.b.Alloc(name, tensor.Int64, n, false)
	}
	j.pos = a.newPos(j.first)
	parents := a.between(0, j.first)
	l.b.Emit(&ir.Alloc{A: j.pos, Len: ir.Plus(parents, ir.Int(1))})
	l.b.Store(j.pos, ir.Int(0), ir.Int(0))
	j.base, j.until = counts("base", slots), counts("until", slots)
	for k := range a.op.Order() {
		if !a.op.Kind(k).HasPos() {
			continue
		}
		p := joinedLevel{level: k, crd: table("crds", tree.IntOf(a.op.Argument.CrdWidth[k])),
			made: counts("made", slots), before: counts("before", ir.Plus(slots, ir.Int(1)))}
		if k != j.first {
			p.pos = table("poss", tree.IntOf(a.op.Argument.PosWidth[k]))
		}
		j.levels = append(j.levels, p)
	}
	j.vals = table("valss", a.op.Argument.Type)
	return j
}

// chunkCapacity returns the initial capacity, in entries, of one of the given number of chunks.
func (j *joinedChunks) chunkCapacity(chunks ir.Expr) ir.Expr {
	return ir.Plus(ir.Over(j.a.initialCapacity(), chunks), ir.Int(16))
}

// begin starts to fill the arrays of a chunk whose range starts at lo.
func (j *joinedChunks) begin(lo ir.Expr) {
	a := j.a
	if j.first == 0 {
		// All chunks append below the root. Each writes its own pos array, which is not used.
		a.begin(nil, ir.Int(0))
		return
	}
	first := ir.Times(ir.Minus(lo, a.op.Offset(0)), a.between(1, j.first))
	j.start = a.l.b.Named("first", first)
	a.begin(j.pos, j.start)
}

// end closes the remaining parents of a chunk whose range ends at hi. It stores the numbers of
// coordinates that the chunk has made in slot k.
func (j *joinedChunks) end(k, hi ir.Expr) {
	a, l := j.a, j.a.l
	if j.first == 0 {
		l.b.Emit(&ir.Free{A: a.levels[0].pos})
	} else {
		end := ir.Times(ir.Minus(hi, a.op.Offset(0)), a.between(1, j.first))
		l.closePos(&a.levels[j.first], ir.Plus(end, ir.Int(1)))
		l.b.Store(j.base, k, j.start)
		l.b.Store(j.until, k, end)
	}
	for _, p := range j.levels {
		lev := &a.levels[p.level]
		if p.pos != nil && lev.closed != nil {
			above := j.above(p.level)
			parents := ir.Times(a.levels[above].count, a.between(above+1, p.level))
			l.closePos(lev, ir.Plus(parents, ir.Int(1)))
		}
		l.b.Store(p.made, k, lev.count)
	}
}

// keep emits code that moves the current arrays to slot k.
func (j *joinedChunks) keep(k ir.Expr) {
	a, l := j.a, j.a.l
	for _, p := range j.levels {
		if p.pos != nil {
			l.b.Emit(&ir.Keep{T: p.pos, Index: k, A: a.levels[p.level].pos})
		}
		l.b.Emit(&ir.Keep{T: p.crd, Index: k, A: a.levels[p.level].crd})
	}
	l.b.Emit(&ir.Keep{T: j.vals, Index: k, A: a.values})
}

// take emits code that removes the arrays from slot k, and returns the arrays.
func (j *joinedChunks) take(k ir.Expr) *growingArrays {
	l := j.a.l
	b := j.a.newArrays()
	for _, p := range j.levels {
		if p.pos != nil {
			l.b.Emit(&ir.Take{A: b.levels[p.level].pos, T: p.pos, Index: k})
		}
		l.b.Emit(&ir.Take{A: b.levels[p.level].crd, T: p.crd, Index: k})
	}
	l.b.Emit(&ir.Take{A: b.vals, T: j.vals, Index: k})
	return b
}

// freeArrays frees the arrays of a piece.
func (j *joinedChunks) freeArrays(b *growingArrays) {
	l := j.a.l
	for _, p := range j.levels {
		if p.pos != nil {
			l.b.Emit(&ir.Free{A: b.levels[p.level].pos})
		}
		l.b.Emit(&ir.Free{A: b.levels[p.level].crd})
	}
	l.b.Emit(&ir.Free{A: b.vals})
}

// above returns the last compressed level before k.
func (j *joinedChunks) above(k int) int {
	for k--; !j.a.op.Kind(k).HasPos(); k-- {
	}
	return k
}

// publish makes the result from the pieces. A single piece becomes the result without a copy.
// Otherwise each piece is copied to its place.
func (j *joinedChunks) publish() {
	a, l := j.a, j.a.l
	one := l.b.Within(j.publishOne)
	many := l.b.Within(func() {
		j.scan()
		j.alloc(j.count, ir.Times(j.count(a.deep), a.block(a.deep+1)))
		j.copyKept(func(ir.Expr) ir.Expr { return ir.Truth(true) })
		j.publishCopies()
	})
	l.b.Emit(&ir.If{Cond: ir.Equal(j.slots, ir.Int(1)), Then: one, Else: many})
	j.free()
}

func (j *joinedChunks) free() {
	l := j.a.l
	l.b.Emit(&ir.Free{A: j.base})
	l.b.Emit(&ir.Free{A: j.until})
	for _, p := range j.levels {
		if p.pos != nil {
			l.b.Emit(&ir.FreeTable{T: p.pos})
		}
		l.b.Emit(&ir.FreeTable{T: p.crd})
		l.b.Emit(&ir.Free{A: p.made})
		l.b.Emit(&ir.Free{A: p.before})
	}
	l.b.Emit(&ir.FreeTable{T: j.vals})
}

// parents returns the number of positions in the level above compressed level k. count returns the
// number of coordinates of a compressed level.
func (j *joinedChunks) parents(k int, count func(level int) ir.Expr) ir.Expr {
	if k == j.first {
		return j.a.between(0, k)
	}
	above := j.above(k)
	return ir.Times(count(above), j.a.between(above+1, k))
}

func (j *joinedChunks) at(level int) *joinedLevel {
	i := slices.IndexFunc(j.levels, func(p joinedLevel) bool { return p.level == level })
	return &j.levels[i]
}

func (j *joinedChunks) publishOne() {
	a, l := j.a, j.a.l
	count := func(level int) ir.Expr { return ir.At(j.at(level).made, ir.Int(0)) }
	b := j.take(ir.Int(0))
	for _, p := range j.levels {
		pos := j.pos
		if p.pos != nil {
			pos = b.levels[p.level].pos
		} else if p.level == 0 {
			l.b.Store(pos, ir.Int(1), count(0))
		}
		a.publish(p.level, ir.Pos, pos, ir.Plus(j.parents(p.level, count), ir.Int(1)))
		a.publish(p.level, ir.Crd, b.levels[p.level].crd, count(p.level))
	}
	a.publish(0, ir.Vals, b.vals, ir.Times(count(a.deep), a.block(a.deep+1)))
}

// count returns the number of coordinates of a compressed level in all slots.
func (j *joinedChunks) count(level int) ir.Expr { return ir.At(j.at(level).before, j.slots) }

// scan emits code that computes the prefix sums of the slots' counts.
func (j *joinedChunks) scan() {
	l := j.a.l
	for _, p := range j.levels {
		l.b.Store(p.before, ir.Int(0), ir.Int(0))
	}
	k := l.b.Var("slot")
	l.b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: j.slots, Step: 1, Body: l.b.Within(func() {
		for _, p := range j.levels {
			l.b.Store(p.before, ir.Plus(k, ir.Int(1)), ir.Plus(ir.At(p.before, k), ir.At(p.made, k)))
		}
	})})
}

// alloc allocates the arrays that the pieces are copied to. count returns the number of coordinates
// of a compressed level, and vals is the number of values.
func (j *joinedChunks) alloc(count func(level int) ir.Expr, vals ir.Expr) {
	a, l := j.a, j.a.l
	n := len(j.levels)
	out := joinedArrays{pos: make([]*ir.Array, n), crd: make([]*ir.Array, n),
		posCap: make([]*ir.Var, n), crdCap: make([]*ir.Var, n)}
	alloc := func(arr *ir.Array, n ir.Expr) (*ir.Array, *ir.Var) {
		have := l.b.Declare(arr.Name+"_cap", n)
		l.b.Emit(&ir.Alloc{A: arr, Len: have})
		return arr, have
	}
	for i, p := range j.levels {
		out.pos[i] = j.pos
		if p.pos != nil {
			out.pos[i], out.posCap[i] = alloc(a.newPos(p.level),
				ir.Plus(j.parents(p.level, count), ir.Int(1)))
			l.b.Store(out.pos[i], ir.Int(0), ir.Int(0))
		}
		out.crd[i], out.crdCap[i] = alloc(l.b.Array(a.op.Prefix()+"_crd", p.crd.Elem), count(p.level))
	}
	out.vals, out.valsCap = alloc(l.b.Array(a.op.Prefix()+"_vals", a.op.Argument.Type), vals)
	j.whole = out
}

// grow emits code that reserves capacity, in the arrays of the whole result, for all coordinates
// that have been counted.
func (j *joinedChunks) grow() {
	a, l := j.a, j.a.l
	for i, p := range j.levels {
		if p.pos != nil {
			l.reserve(j.whole.pos[i], j.whole.posCap[i], ir.Plus(j.parents(p.level, j.count), ir.Int(1)))
		}
		l.reserve(j.whole.crd[i], j.whole.crdCap[i], j.count(p.level))
	}
	l.reserve(j.whole.vals, j.whole.valsCap, ir.Times(j.count(a.deep), a.block(a.deep+1)))
}

// locate emits code that reads where the pieces of slot k are copied to, and how long they are.
func (j *joinedChunks) locate(k ir.Expr) {
	l := j.a.l
	for i := range j.levels {
		p := &j.levels[i]
		p.from = l.b.Named("from", ir.At(p.before, k))
		p.n = l.b.Named("n", ir.At(p.made, k))
	}
}

// copyKept copies the pieces of the slots k for which which(k) is true.
func (j *joinedChunks) copyKept(which func(k ir.Expr) ir.Expr) {
	l := j.a.l
	k := l.b.Var("slot")
	l.b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: j.slots, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: l.b.Within(func() {
			l.b.When(which(k), func() {
				b := j.take(k)
				j.locate(k)
				j.copy(k, b)
				j.freeArrays(b)
			})
		})})
}

// copy copies slot k's pieces, in the arrays b, to their places.
func (j *joinedChunks) copy(k ir.Expr, b *growingArrays) {
	a, l := j.a, j.a.l
	block := a.block(a.deep + 1)
	for i, p := range j.levels {
		from, n := p.from, p.n
		lev := &b.levels[p.level]
		if p.pos == nil {
			if p.level > 0 {
				j.shift(j.pos, ir.At(j.base, k), ir.At(j.until, k), from)
			}
		} else {
			above := j.at(j.above(p.level))
			size := a.between(above.level+1, p.level)
			lo := l.b.Named("lo", ir.Times(above.from, size))
			j.copyPos(j.whole.pos[i], lo, lev.pos, ir.Times(above.n, size), from)
		}
		pieces := func(stream bool) *ir.Block {
			return l.b.Within(func() {
				l.b.Emit(&ir.Copy{Dst: j.whole.crd[i], DstLo: from, Src: lev.crd, SrcLo: ir.Int(0), N: n,
					Stream: stream})
				if p.level == a.deep {
					l.b.Emit(&ir.Copy{Dst: j.whole.vals, DstLo: ir.Times(from, block), Src: b.vals,
						SrcLo: ir.Int(0), N: ir.Times(n, block), Stream: stream})
				}
			})
		}
		if j.streamed == nil {
			l.b.Emit(pieces(false))
			continue
		}
		l.b.Emit(&ir.If{Cond: j.streamed, Then: pieces(true), Else: pieces(false)})
	}
}

// publishCopies gives the copied arrays to the caller.
func (j *joinedChunks) publishCopies() {
	a, l := j.a, j.a.l
	for i, p := range j.levels {
		if p.level == 0 {
			l.b.Store(j.pos, ir.Int(1), j.count(0))
		}
		a.publish(p.level, ir.Pos, j.whole.pos[i], ir.Plus(j.parents(p.level, j.count), ir.Int(1)))
		a.publish(p.level, ir.Crd, j.whole.crd[i], j.count(p.level))
	}
	a.publish(0, ir.Vals, j.whole.vals, ir.Times(j.count(a.deep), a.block(a.deep+1)))
}

// shift adds the number from to the entries (lo, hi] of a pos array.
func (j *joinedChunks) shift(pos *ir.Array, lo, hi, from ir.Expr) {
	l := j.a.l
	q := l.b.Var("q")
	l.b.Emit(&ir.For{V: q, Lo: ir.Plus(lo, ir.Int(1)), Hi: ir.Plus(hi, ir.Int(1)), Step: 1,
		Body: l.b.Within(func() {
			l.b.Store(pos, q, ir.Plus(ir.Coord(pos, q), from))
		})})
}

// copyPos copies the entries 1 to n of a chunk's pos array to the entries of pos after lo, and adds
// the number from to each.
func (j *joinedChunks) copyPos(pos *ir.Array, lo ir.Expr, piece *ir.Array, n, from ir.Expr) {
	l := j.a.l
	q := l.b.Var("q")
	l.b.Emit(&ir.For{V: q, Lo: ir.Int(1), Hi: ir.Plus(n, ir.Int(1)), Step: 1, Body: l.b.Within(func() {
		l.b.Store(pos, ir.Plus(lo, q), ir.Plus(ir.Coord(piece, q), from))
	})})
}

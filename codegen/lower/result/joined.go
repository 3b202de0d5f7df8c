package result

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// joinedChunks joins the pieces of an appended result in order. Each chunk of a loop over the
// result's level 0 makes a piece. If there are several pieces, each piece is copied to its place in
// the result. This happens directly after the piece is made (ordered.go), or after the last piece
// is made. Each chunk has a slot. It stores the chunk's counts and, until the piece is copied, the
// chunk's arrays.
type joinedChunks struct {
	a     *appendResult
	slots ir.Expr
	// pos is the array of the outermost compressed level. All levels above it are dense, so its
	// length is known, and the chunks write it in place: the chunk of slot k writes the places
	// (base[k], until[k]]. If first is 0, the chunks do not write it.
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

// Chunks emits a loop that makes the result in n chunks. It is used if a schedule divides the loop.
// Each chunk appends its part of the result (a piece) to arrays of its own. After the loop, the
// pieces are joined. The function run must emit the loop. run gets two functions, and must call
// open at the start of each chunk and closeAt at its end. c is the number of the chunk, and [lo,
// hi) is its range.
func (a *appendResult) Chunks(n ir.Expr,
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
	l := a.out.Leaf
	j := &joinedChunks{a: a, slots: slots, first: a.out.NextSparse(0)}
	table := func(name string, t tensor.Type) *ir.Table {
		tab := &ir.Table{Name: l.B.Fresh(name), Elem: t}
		l.B.Emit(&ir.AllocTable{T: tab, Len: slots})
		return tab
	}
	counts := func(name string, n ir.Expr) *ir.Array {
		return l.B.Alloc(name, tensor.Int64, n, false)
	}
	j.pos = newPos(a.out, j.first)
	parents := a.out.Between(0, j.first)
	l.B.Emit(&ir.Alloc{A: j.pos, Len: ir.Plus(parents, ir.Int(1))})
	l.B.Store(j.pos, ir.Int(0), ir.Int(0))
	j.base, j.until = counts("base", slots), counts("until", slots)
	for k := range a.out.Op.Order() {
		if !a.out.Op.Kind(k).HasPos() {
			continue
		}
		p := joinedLevel{level: k, crd: table("crds", tree.IntOf(a.out.Op.Argument.CrdWidth[k])),
			made: counts("made", slots), before: counts("before", ir.Plus(slots, ir.Int(1)))}
		if k != j.first {
			p.pos = table("poss", tree.IntOf(a.out.Op.Argument.PosWidth[k]))
		}
		j.levels = append(j.levels, p)
	}
	j.vals = table("valss", a.out.Op.Argument.Type)
	return j
}

// chunkCapacity returns the initial capacity, in entries, of the arrays of one chunk. chunks is the
// number of chunks of the loop.
func (j *joinedChunks) chunkCapacity(chunks ir.Expr) ir.Expr {
	return ir.Plus(ir.Over(j.a.initialCapacity(), chunks), ir.Int(strategy.LeastCapacity))
}

// begin emits code that prepares the arrays of a chunk for its first entry. The range of the chunk
// starts at lo.
func (j *joinedChunks) begin(lo ir.Expr) {
	a := j.a
	if j.first == 0 {
		// All chunks append below the root. Each writes its own pos array, which is not used.
		a.begin(nil, ir.Int(0))
		return
	}
	first := ir.Times(ir.Minus(lo, a.out.Op.Offset(0)), a.out.Between(1, j.first))
	j.start = a.out.Leaf.B.Named("first", first)
	a.begin(j.pos, j.start)
}

// end emits the code at the end of a chunk, whose range ends at hi. The code first writes the pos
// entries that are missing for parents in the range. It then stores the chunk's numbers of
// coordinates in slot k of the arrays that count them.
func (j *joinedChunks) end(k, hi ir.Expr) {
	a, l := j.a, j.a.out.Leaf
	if j.first == 0 {
		l.B.Free(a.levels[0].pos)
	} else {
		end := ir.Times(ir.Minus(hi, a.out.Op.Offset(0)), a.out.Between(1, j.first))
		closePos(l, &a.levels[j.first], ir.Plus(end, ir.Int(1)))
		l.B.Store(j.base, k, j.start)
		l.B.Store(j.until, k, end)
	}
	for _, p := range j.levels {
		lev := &a.levels[p.level]
		if p.pos != nil && lev.closed != nil {
			above := j.above(p.level)
			parents := ir.Times(a.levels[above].count, a.out.Between(above+1, p.level))
			closePos(l, lev, ir.Plus(parents, ir.Int(1)))
		}
		l.B.Store(p.made, k, lev.count)
	}
}

// keep emits code that moves the current arrays to slot k.
func (j *joinedChunks) keep(k ir.Expr) {
	a, l := j.a, j.a.out.Leaf
	for _, p := range j.levels {
		if p.pos != nil {
			l.B.Emit(&ir.Keep{T: p.pos, Index: k, A: a.levels[p.level].pos})
		}
		l.B.Emit(&ir.Keep{T: p.crd, Index: k, A: a.levels[p.level].crd})
	}
	l.B.Emit(&ir.Keep{T: j.vals, Index: k, A: a.out.Values})
}

// take emits code that removes the arrays from slot k, and returns the arrays.
func (j *joinedChunks) take(k ir.Expr) *growingArrays {
	l := j.a.out.Leaf
	b := j.a.newArrays()
	for _, p := range j.levels {
		if p.pos != nil {
			l.B.Emit(&ir.Take{A: b.levels[p.level].pos, T: p.pos, Index: k})
		}
		l.B.Emit(&ir.Take{A: b.levels[p.level].crd, T: p.crd, Index: k})
	}
	l.B.Emit(&ir.Take{A: b.vals, T: j.vals, Index: k})
	return b
}

// freeArrays frees the arrays of a piece.
func (j *joinedChunks) freeArrays(b *growingArrays) {
	l := j.a.out.Leaf
	for _, p := range j.levels {
		if p.pos != nil {
			l.B.Free(b.levels[p.level].pos)
		}
		l.B.Free(b.levels[p.level].crd)
	}
	l.B.Free(b.vals)
}

// above returns the last compressed level before k.
func (j *joinedChunks) above(k int) int {
	for k--; !j.a.out.Op.Kind(k).HasPos(); k-- {
	}
	return k
}

// publish emits code that makes the result from the pieces of the chunks. A single piece becomes
// the result without a copy. Otherwise the code copies each piece to its range in the arrays of the
// result.
func (j *joinedChunks) publish() {
	a, l := j.a, j.a.out.Leaf
	one := l.B.Within(j.publishOne)
	many := l.B.Within(func() {
		j.scan()
		j.alloc(j.count, ir.Times(j.count(a.out.Deep), a.out.Block(a.out.Deep+1)))
		j.copyKept(func(ir.Expr) ir.Expr { return ir.Truth(true) })
		j.publishArrays(j.whole, j.count)
	})
	l.B.Emit(&ir.If{Cond: ir.Equal(j.slots, ir.Int(1)), Then: one, Else: many})
	j.free()
}

func (j *joinedChunks) free() {
	l := j.a.out.Leaf
	l.B.Free(j.base)
	l.B.Free(j.until)
	for _, p := range j.levels {
		if p.pos != nil {
			l.B.Emit(&ir.FreeTable{T: p.pos})
		}
		l.B.Emit(&ir.FreeTable{T: p.crd})
		l.B.Free(p.made)
		l.B.Free(p.before)
	}
	l.B.Emit(&ir.FreeTable{T: j.vals})
}

// parents returns the number of positions in the level above compressed level k. count returns the
// number of coordinates of a compressed level.
func (j *joinedChunks) parents(k int, count func(level int) ir.Expr) ir.Expr {
	if k == j.first {
		return j.a.out.Between(0, k)
	}
	above := j.above(k)
	return ir.Times(count(above), j.a.out.Between(above+1, k))
}

func (j *joinedChunks) at(level int) *joinedLevel {
	i := slices.IndexFunc(j.levels, func(p joinedLevel) bool { return p.level == level })
	return &j.levels[i]
}

// publishOne gives the arrays of the only slot to the caller.
func (j *joinedChunks) publishOne() {
	b := j.take(ir.Int(0))
	whole := joinedArrays{vals: b.vals}
	for _, p := range j.levels {
		whole.pos = append(whole.pos, j.pos)
		if p.pos != nil {
			whole.pos[len(whole.pos)-1] = b.levels[p.level].pos
		}
		whole.crd = append(whole.crd, b.levels[p.level].crd)
	}
	j.publishArrays(whole, func(level int) ir.Expr { return ir.At(j.at(level).made, ir.Int(0)) })
}

// publishArrays gives the arrays in whole to the caller. count returns the number of coordinates of
// a compressed level.
func (j *joinedChunks) publishArrays(whole joinedArrays, count func(level int) ir.Expr) {
	r := j.a.out
	for i, p := range j.levels {
		if p.level == 0 {
			r.Leaf.B.Store(j.pos, ir.Int(1), count(0))
		}
		publish(r, p.level, ir.Pos, whole.pos[i], ir.Plus(j.parents(p.level, count), ir.Int(1)))
		publish(r, p.level, ir.Crd, whole.crd[i], count(p.level))
	}
	publish(r, 0, ir.Vals, whole.vals, ir.Times(count(r.Deep), r.Block(r.Deep+1)))
}

// count returns the number of coordinates of a compressed level in all slots.
func (j *joinedChunks) count(level int) ir.Expr { return ir.At(j.at(level).before, j.slots) }

// scan emits code that computes the prefix sums of the slots' counts.
func (j *joinedChunks) scan() {
	l := j.a.out.Leaf
	for _, p := range j.levels {
		l.B.Store(p.before, ir.Int(0), ir.Int(0))
	}
	l.B.Loop("slot", ir.Int(0), j.slots, func(k *ir.Var) {
		for _, p := range j.levels {
			l.B.Store(p.before, ir.Plus(k, ir.Int(1)), ir.Plus(ir.At(p.before, k), ir.At(p.made, k)))
		}
	})
}

// alloc allocates the arrays that the pieces are copied to. count returns the number of coordinates
// of a compressed level, and vals is the number of values.
func (j *joinedChunks) alloc(count func(level int) ir.Expr, vals ir.Expr) {
	a, l := j.a, j.a.out.Leaf
	n := len(j.levels)
	out := joinedArrays{pos: make([]*ir.Array, n), crd: make([]*ir.Array, n),
		posCap: make([]*ir.Var, n), crdCap: make([]*ir.Var, n)}
	alloc := func(arr *ir.Array, n ir.Expr) (*ir.Array, *ir.Var) {
		have := l.B.Declare(arr.Name+"_cap", n)
		l.B.Emit(&ir.Alloc{A: arr, Len: have})
		return arr, have
	}
	for i, p := range j.levels {
		out.pos[i] = j.pos
		if p.pos != nil {
			out.pos[i], out.posCap[i] = alloc(newPos(a.out, p.level),
				ir.Plus(j.parents(p.level, count), ir.Int(1)))
			l.B.Store(out.pos[i], ir.Int(0), ir.Int(0))
		}
		out.crd[i], out.crdCap[i] = alloc(l.B.Array(a.out.Op.Prefix()+"_crd", p.crd.Elem), count(p.level))
	}
	out.vals, out.valsCap = alloc(l.B.Array(a.out.Op.Prefix()+"_vals", a.out.Op.Argument.Type), vals)
	j.whole = out
}

// grow emits code that reserves capacity, in the arrays of the whole result, for all coordinates
// that have been counted.
func (j *joinedChunks) grow() {
	a, l := j.a, j.a.out.Leaf
	for i, p := range j.levels {
		if p.pos != nil {
			l.B.Reserve(j.whole.pos[i], j.whole.posCap[i], ir.Plus(j.parents(p.level, j.count), ir.Int(1)))
		}
		l.B.Reserve(j.whole.crd[i], j.whole.crdCap[i], j.count(p.level))
	}
	l.B.Reserve(j.whole.vals, j.whole.valsCap, ir.Times(j.count(a.out.Deep),
		a.out.Block(a.out.Deep+1)))
}

// locate emits code that reads where the pieces of slot k are copied to, and how long they are.
func (j *joinedChunks) locate(k ir.Expr) {
	l := j.a.out.Leaf
	for i := range j.levels {
		p := &j.levels[i]
		p.from = l.B.Named("from", ir.At(p.before, k))
		p.n = l.B.Named("n", ir.At(p.made, k))
	}
}

// copyKept emits code that copies pieces to the joined arrays. It copies the pieces of all slots k
// for which the condition isWanted(k) is true.
func (j *joinedChunks) copyKept(isWanted func(k ir.Expr) ir.Expr) {
	l := j.a.out.Leaf
	k := l.B.Var("slot")
	l.B.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: j.slots, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: l.B.Within(func() {
			l.B.When(isWanted(k), func() {
				b := j.take(k)
				j.locate(k)
				j.copy(k, b)
				j.freeArrays(b)
			})
		})})
}

// copy emits code that copies the pieces of the chunk in slot k to their ranges in the arrays of
// the whole result. b has the arrays of the chunk.
func (j *joinedChunks) copy(k ir.Expr, b *growingArrays) {
	a, l := j.a, j.a.out.Leaf
	block := a.out.Block(a.out.Deep + 1)
	for i, p := range j.levels {
		from, n := p.from, p.n
		lev := &b.levels[p.level]
		if p.pos == nil {
			if p.level > 0 {
				j.shift(j.pos, ir.At(j.base, k), ir.At(j.until, k), from)
			}
		} else {
			above := j.at(j.above(p.level))
			size := a.out.Between(above.level+1, p.level)
			lo := l.B.Named("lo", ir.Times(above.from, size))
			j.copyPos(j.whole.pos[i], lo, lev.pos, ir.Times(above.n, size), from)
		}
		pieces := func(stream bool) *ir.Block {
			return l.B.Within(func() {
				l.B.Emit(&ir.Copy{Dst: j.whole.crd[i], DstLo: from, Src: lev.crd, SrcLo: ir.Int(0), N: n,
					Stream: stream})
				if p.level == a.out.Deep {
					l.B.Emit(&ir.Copy{Dst: j.whole.vals, DstLo: ir.Times(from, block), Src: b.vals,
						SrcLo: ir.Int(0), N: ir.Times(n, block), Stream: stream})
				}
			})
		}
		if j.streamed == nil {
			l.B.Emit(pieces(false))
			continue
		}
		l.B.Emit(&ir.If{Cond: j.streamed, Then: pieces(true), Else: pieces(false)})
	}
}

// shift emits code that adds offset to the entries lo+1 to hi of a pos array.
func (j *joinedChunks) shift(pos *ir.Array, lo, hi, offset ir.Expr) {
	l := j.a.out.Leaf
	l.B.Loop("q", ir.Plus(lo, ir.Int(1)), ir.Plus(hi, ir.Int(1)), func(q *ir.Var) {
		l.B.Store(pos, q, ir.Plus(ir.Coord(pos, q), offset))
	})
}

// copyPos emits code that copies a chunk's pos array, piece, into the pos array of the result. It
// copies the entries 1 to n of piece to the entries lo+1 to lo+n of pos, and adds offset to each of
// them.
func (j *joinedChunks) copyPos(pos *ir.Array, lo ir.Expr, piece *ir.Array, n, offset ir.Expr) {
	l := j.a.out.Leaf
	l.B.Loop("q", ir.Int(1), ir.Plus(n, ir.Int(1)), func(q *ir.Var) {
		l.B.Store(pos, ir.Plus(lo, q), ir.Plus(ir.Coord(piece, q), offset))
	})
}

package simt

import (
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// sort appends code that sorts the integers s.A[s.Lo:s.Hi]. The threads of the unit sort them
// together by a network of steps (a bitonic sorter). A step compares pairs of elements and
// exchanges them if they are in the wrong order. No element is in two pairs of a step, so a step
// needs no order. A barrier separates it from the next step.
//
// A round makes sorted runs of 2*half elements from runs of half elements. Its first step compares
// the first element of a run with the last of the next, and so on inwards. Each further step
// compares elements that are stride apart. All comparisons put the smaller element first. Elements
// after the end count as the largest. They never move, so pairs with such an element are skipped.
//
// If a block sorts an array in global memory, tiles of the array are copied to shared memory for
// steps whose pairs are in one tile.
func (l *launcher) sort(s *ir.Sort, unitLevel level, out *ir.Block) {
	code := &ir.Block{}
	w := &sorter{l: l, unitLevel: unitLevel, a: s.A}
	w.lo = w.named("from", s.Lo, code)
	w.n = w.named("count", ir.Minus(s.Hi, w.lo), code)
	if unitLevel == ofBlock && !l.made[s.A] {
		if tile := l.h.names.newArray("tile", s.A.Elem); l.share(tile, sortTile) {
			w.inTiles(tile, code)
			l.stmt(code, unitLevel, out)
			return
		}
	}
	w.rounds(w.named("half", ir.Int(1), code), code, func(half *ir.Var, round *ir.Block) {
		w.steps(w.named("stride", ir.Over(half, ir.Int(2)), round), 1, round)
	})
	l.stmt(code, unitLevel, out)
}

// sortTile is the number of elements of a tile.
const sortTile = 4096

// sorter emits the code that sorts the n elements from lo on of array a.
type sorter struct {
	l         *launcher
	unitLevel level
	a         *ir.Array
	lo, n     ir.Expr
}

// named declares a variable in the block and returns it.
func (w *sorter) named(name string, x ir.Expr, in *ir.Block) *ir.Var {
	v := w.l.h.names.newVar(name, x.Type())
	in.Append(&ir.Declare{V: v, Init: x})
	return v
}

// rounds appends the rounds from the given half on. rest appends the steps of a round after its
// first one.
func (w *sorter) rounds(half *ir.Var, out *ir.Block, rest func(half *ir.Var, round *ir.Block)) {
	round := &ir.Block{}
	w.step(half, true, round)
	rest(half, round)
	round.Append(&ir.Assign{V: half, X: ir.Times(half, ir.Int(2))})
	out.Append(&ir.While{Cond: ir.Less(half, w.n), Body: round})
}

// steps appends the steps from the given stride on, down to the stride least.
func (w *sorter) steps(stride *ir.Var, least int64, out *ir.Block) {
	step := &ir.Block{}
	w.step(stride, false, step)
	step.Append(&ir.Assign{V: stride, X: ir.Over(stride, ir.Int(2))})
	out.Append(&ir.While{Cond: ir.AtMost(ir.Int(least), stride), Body: step})
}

// inTiles appends the code that sorts an array by tiles.
func (w *sorter) inTiles(tile *ir.Array, out *ir.Block) {
	w.eachTile(tile, out, func(t *sorter, body *ir.Block) {
		t.rounds(w.named("half", ir.Int(1), body), body, func(half *ir.Var, round *ir.Block) {
			t.steps(w.named("stride", ir.Over(half, ir.Int(2)), round), 1, round)
		})
	})
	w.rounds(w.named("half", ir.Int(sortTile), out), out, func(half *ir.Var, round *ir.Block) {
		w.steps(w.named("stride", ir.Over(half, ir.Int(2)), round), sortTile, round)
		w.eachTile(tile, round, func(t *sorter, body *ir.Block) {
			t.steps(w.named("stride", ir.Int(sortTile/2), body), 1, body)
		})
	})
}

// eachTile appends a loop over the tiles of the array. The loop copies a tile to shared memory,
// runs the code that the function sort appends, and copies the tile back.
func (w *sorter) eachTile(tile *ir.Array, out *ir.Block, sort func(t *sorter, body *ir.Block)) {
	first, body := w.l.h.names.newVar("first", tensor.Int64), &ir.Block{}
	from := w.named("from", ir.Plus(w.lo, first), body)
	t := &sorter{l: w.l, unitLevel: w.unitLevel, a: tile, lo: ir.Int(0)}
	t.n = w.named("count", ir.Least(ir.Minus(w.n, first), ir.Int(sortTile)), body)
	body.Append(&ir.Copy{Dst: tile, DstLo: ir.Int(0), Src: w.a, SrcLo: from, N: t.n})
	sort(t, body)
	body.Append(&ir.Copy{Dst: w.a, DstLo: from, Src: tile, SrcLo: ir.Int(0), N: t.n})
	out.Append(&ir.For{V: first, Lo: ir.Int(0), Hi: w.n, Step: sortTile, Body: body})
}

// step appends a step: a loop over pairs of elements. Each run of 2*stride elements makes stride
// pairs, where stride is a power of two. Each of the first stride elements of the run is paired
// with the element that is stride places after it. In the first step of a round, mirrored is true,
// and the first element is paired with the last one, the second with the one before that, and so
// on.
func (w *sorter) step(stride *ir.Var, mirrored bool, out *ir.Block) {
	x := w.l.h.names.newVar("pair", tensor.Int64)
	pair := &ir.Block{}
	off := w.named("off", ir.Bin(ir.BitAnd, x, ir.Minus(stride, ir.Int(1))), pair)
	first := w.named("first", ir.Minus(ir.Times(x, ir.Int(2)), off), pair)
	second := ir.Plus(first, stride)
	if mirrored {
		second = ir.Plus(first, ir.Minus(ir.Minus(ir.Times(stride, ir.Int(2)),
			ir.Times(off, ir.Int(2))), ir.Int(1)))
	}
	last := w.named("last", second, pair)
	exchange := &ir.Block{}
	p := w.named("place", ir.Plus(w.lo, first), exchange)
	q := w.named("other", ir.Plus(w.lo, last), exchange)
	u, v := w.named("u", ir.At(w.a, p), exchange), w.named("v", ir.At(w.a, q), exchange)
	exchange.Append(&ir.If{Cond: ir.Less(v, u), Then: ir.Seq(&ir.Store{A: w.a, Index: p, X: v},
		&ir.Store{A: w.a, Index: q, X: u})})
	pair.Append(&ir.If{Cond: ir.Less(last, w.n), Then: exchange})
	loop := &ir.For{V: x, Lo: ir.Int(0), Hi: ir.Over(ir.Plus(w.n, stride), ir.Int(2)), Step: 1,
		Body: pair}
	if w.unitLevel != ofThread {
		loop.Kind = ir.Lanes
		_, loop.Width = w.l.number(w.unitLevel)
	}
	out.Append(loop)
}

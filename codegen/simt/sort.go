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
// Elements in runs of half elements are sorted already. The first step of a round merges two runs:
// it compares the first element of one with the last of the other, and so on inwards. Each further
// step compares elements that are stride apart. All comparisons put the smaller element first.
// Elements after the end count as the largest. They never move, so pairs with such an element are
// skipped.
func (l *launcher) sort(s *ir.Sort, unitLevel level, out *ir.Block) {
	number := func(name string, x ir.Expr, in *ir.Block) *ir.Var {
		v := l.h.names.newVar(name, tensor.Int64)
		in.Append(&ir.Declare{V: v, Init: x})
		return v
	}
	code := &ir.Block{}
	lo := number("from", s.Lo, code)
	n := number("count", ir.Minus(s.Hi, lo), code)
	half := number("half", ir.Int(1), code)

	round := &ir.Block{}
	l.sortStep(s.A, lo, n, half, true, unitLevel, round)
	stride := number("stride", ir.Over(half, ir.Int(2)), round)
	step := &ir.Block{}
	l.sortStep(s.A, lo, n, stride, false, unitLevel, step)
	step.Append(&ir.Assign{V: stride, X: ir.Over(stride, ir.Int(2))})
	round.Append(&ir.While{Cond: ir.Less(ir.Int(0), stride), Body: step})
	round.Append(&ir.Assign{V: half, X: ir.Times(half, ir.Int(2))})
	code.Append(&ir.While{Cond: ir.Less(half, n), Body: round})
	l.stmt(code, unitLevel, out)
}

// sortStep appends a step of the network: a loop over pairs of the n elements from lo on. A pair
// with number x has the place off = x mod stride in its group of stride pairs, where stride is a
// power of two. mirrored is true in the first step of a round.
func (l *launcher) sortStep(a *ir.Array, lo, n, stride *ir.Var, mirrored bool, unitLevel level,
	out *ir.Block) {
	named := func(name string, x ir.Expr, in *ir.Block) *ir.Var {
		v := l.h.names.newVar(name, x.Type())
		in.Append(&ir.Declare{V: v, Init: x})
		return v
	}
	x := l.h.names.newVar("pair", tensor.Int64)
	pair := &ir.Block{}
	off := named("off", &ir.Binary{Op: ir.BitAnd, X: x, Y: ir.Minus(stride, ir.Int(1))}, pair)
	first := named("first", ir.Minus(ir.Times(x, ir.Int(2)), off), pair)
	second := ir.Plus(first, stride)
	if mirrored {
		second = ir.Plus(first, ir.Minus(ir.Minus(ir.Times(stride, ir.Int(2)),
			ir.Times(off, ir.Int(2))), ir.Int(1)))
	}
	last := named("last", second, pair)
	exchange := &ir.Block{}
	p, q := named("place", ir.Plus(lo, first), exchange), named("other", ir.Plus(lo, last), exchange)
	u, v := named("u", ir.At(a, p), exchange), named("v", ir.At(a, q), exchange)
	exchange.Append(&ir.If{Cond: ir.Less(v, u), Then: ir.Seq(&ir.Store{A: a, Index: p, X: v},
		&ir.Store{A: a, Index: q, X: u})})
	pair.Append(&ir.If{Cond: ir.Less(last, n), Then: exchange})
	loop := &ir.For{V: x, Lo: ir.Int(0), Hi: ir.Over(ir.Plus(n, stride), ir.Int(2)), Step: 1,
		Body: pair}
	if unitLevel != ofThread {
		loop.Kind = ir.Lanes
		_, loop.Width = l.number(unitLevel)
	}
	out.Append(loop)
}

package flat

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// arena is an array that has intermediates.
type arena struct {
	array *ir.Array
	alloc *ir.Alloc
	used  []span // in ascending order
	most  int64  // the elements that are needed
}

// span is a part of an array.
type span struct{ from, to int64 }

// alignment is the number of elements whose multiples intermediates begin at.
const alignment = 8

// take returns the first free place of n elements.
func (x *arena) take(n int64) int64 {
	at, k := int64(0), 0
	for ; k < len(x.used) && x.used[k].from < at+n; k++ {
		at = (x.used[k].to + alignment - 1) / alignment * alignment
	}
	x.used = slices.Insert(x.used, k, span{at, at + n})
	x.most = max(x.most, at+n)
	return at
}

// free makes a place free again.
func (x *arena) free(at, n int64) {
	x.used = slices.DeleteFunc(x.used, func(s span) bool { return s == span{at, at + n} })
}

// readers returns, for each intermediate of a statement, the name of the tensor that is assigned by
// the contraction that reads the intermediate.
func readers(s cin.Stmt) map[string]string {
	out := map[string]string{}
	cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) {
		cin.ExprAccesses(a.RHS, func(x *cin.Access) { out[x.Name] = a.LHS.Name })
	})
	return out
}

// begin gives an intermediate its place, unless it has one, and sets its values to 0. It does
// nothing for the result.
func (l *lowerer) begin(a *cin.Access) {
	w := l.tensors[a.Name]
	if w.operand != nil || w.places >= 0 {
		return
	}
	steps := 1
	for r := l.readers[a.Name]; l.tensors[r].operand == nil; r = l.readers[r] {
		steps++
	}
	w.arena, w.places = &l.arenas[steps%2], 1
	n := ir.Expr(ir.Int(1))
	for _, v := range w.vars {
		w.places *= l.Size(v)
		n = ir.Times(n, l.extent(v))
	}
	w.at = w.arena.take(w.places)
	l.b.Emit(&ir.Fill{A: w.arena.array, Lo: ir.Int(w.at), Hi: ir.Plus(ir.Int(w.at), n),
		X: ir.Zero(l.Compute)})
}

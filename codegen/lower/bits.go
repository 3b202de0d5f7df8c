package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// bitSpace is a workspace over one variable for sums of many values: a value, 0 between
// uses, and a bit for every coordinate. To add sets both without asking whether
// the coordinate is new, and the bits give the coordinates in order.
type bitSpace struct {
	name  string
	lo    ir.Expr // the coordinate of place 0
	vals  *ir.Array
	bits  *ir.Array
	words *ir.Array // the words of bits with some set
	flags *ir.Array // of each word, for Collect
	list  *ir.Array
	len   ir.Expr // the number of words
	n     *ir.Var // of words, then of coordinates in list
}

// bitSpaceWork is how many values are added to a bitSpace, in all of a leaf, for
// each of its places at least: every chunk sets its places to 0, and a row
// of very few coordinates is sorted as fast.
const bitSpaceWork = 16

// fitsBits tells whether t, which producer fills, is worth a bitSpace.
func (l *lowerer) fitsBits(t *cin.Access, producer cin.Stmt) bool {
	return l.sched == nil && l.additions(producer, t) >= bitSpaceWork*float64(l.spec.Sizes[t.Vars[0]])
}

// additions is how many values a leaf adds to workspace t, were all patterns
// uniform and apart; 0 where that is not known.
func (l *lowerer) additions(producer cin.Stmt, t *cin.Access) float64 {
	total := 0.0
	cin.Walk(producer, func(s cin.Stmt) {
		a, ok := s.(*cin.Assign)
		if !ok || a.LHS.Name != t.Name {
			return
		}
		n, _ := l.products(a.RHS)
		total += n
	})
	return total
}

// products is at how many places all factors of a product have a value, were their
// patterns uniform and apart, and whether that is so in any case, as they share no
// variable; 0 of another expression, or where it is not known.
func (l *lowerer) products(x cin.Expr) (n float64, exact bool) {
	if !product(x) {
		return 0, false
	}
	n, exact = 1, true
	seen := map[string]bool{}
	cin.ExprAccesses(x, func(x *cin.Access) {
		o := l.ops[x.Name]
		if o == nil || o.NNZ < 0 {
			n, exact = 0, false
			return
		}
		n *= float64(o.NNZ)
		for _, v := range x.Vars {
			if seen[v] {
				n /= max(float64(l.spec.Sizes[v]), 1)
				exact = false
			}
			seen[v] = true
		}
	})
	return n, exact
}

func (l *lowerer) newBitSpace(t *cin.Access) *bitSpace {
	b := l.bounds[t.Vars[0]]
	w := &bitSpace{
		name: t.Name, lo: b[0],
		vals:  l.newArray(t.Name+"_vals", l.spec.Compute),
		bits:  l.newArray(t.Name+"_bits", ir.Int64),
		words: l.newArray(t.Name+"_words", ir.Int32),
		flags: l.newArray(t.Name+"_flags", ir.Bool),
		list:  l.newArray(t.Name+"_list", ir.Int32),
	}
	dim := ir.Minus(b[1], b[0])
	n := ir.NewVar(l.fresh(t.Name+"_len"), ir.Int64)
	l.pre.Append(&ir.Declare{V: n, Init: ir.Over(ir.Plus(dim, ir.Int(63)), ir.Int(64))})
	w.len = n
	array := func(a *ir.Array, n ir.Expr, zero bool) {
		l.pre.Append(&ir.Alloc{A: a, Len: n, Zero: zero})
		l.post.Append(&ir.Free{A: a})
	}
	array(w.vals, dim, true)
	array(w.bits, n, true)
	array(w.words, ir.Plus(n, ir.Int(1)), false)
	array(w.flags, ir.Times(ir.Over(ir.Plus(n, ir.Int(63)), ir.Int(64)), ir.Int(64)), true)
	array(w.list, ir.Plus(dim, ir.Int(1)), false)
	return w
}

func (w *bitSpace) begin(l *lowerer) { w.n = l.declare(w.name+"_n", ir.Int(0)) }

func (w *bitSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := l.named(w.name+"_at", ir.Minus(e.coord[a.Vars[0]], w.lo))
	l.emit(&ir.Store{A: w.vals, Index: at, Accumulate: true, X: x})
	l.emit(&ir.Mark{Bits: w.bits, Words: w.words, N: w.n, At: at})
}

func (w *bitSpace) finish(l *lowerer) *operand {
	l.emit(&ir.Collect{Bits: w.bits, Words: w.words, Flags: w.flags, List: w.list, N: w.n, Len: w.len, Base: w.lo})
	return l.listed(w.name, w.list, w.vals, w.lo, w.n)
}

func (w *bitSpace) end(l *lowerer) {
	p := l.newVar(w.name + "_p")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		l.store(w.vals, ir.Minus(ir.Coord(w.list, p), w.lo), ir.Zero(w.vals.Elem))
	})})
}

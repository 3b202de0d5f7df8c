package lower

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// spaceArrays are arrays of a workspace whose capacity grows with its entries.
type spaceArrays struct {
	name  string
	caps  map[*ir.Array]*ir.Var
	first ir.Expr // the initial capacity in elements, or nil for a small one
}

func newSpaceArrays(name string) spaceArrays {
	return spaceArrays{name: name, caps: map[*ir.Array]*ir.Var{}}
}

// roomFor returns arrays with an initial capacity for all entries of an operand, if of is not "".
// Nothing is then moved while entries are added, and a leaf that runs again can reuse memory of the
// same size.
func (l *lowerer) roomFor(name, of string) spaceArrays {
	s := newSpaceArrays(name)
	if of != "" {
		first := l.newVar(name + "_first")
		l.pre.Append(&ir.Declare{V: first, Init: ir.Plus(l.ops[of].nnz(), ir.Int(1))})
		s.first = first
	}
	return s
}

// array makes an array in the enclosing scope.
func (s spaceArrays) array(l *lowerer, part string, t tensor.Type) *ir.Array {
	first := s.first
	if first == nil {
		first = ir.Int(64)
	}
	return s.arrayOf(l, part, t, first)
}

// arrayOf makes an array with the given initial capacity.
func (s spaceArrays) arrayOf(l *lowerer, part string, t tensor.Type, first ir.Expr) *ir.Array {
	a := l.newArray(s.name+"_"+part, t)
	c := l.newVar(a.Name + "_cap")
	s.caps[a] = c
	l.pre.Append(&ir.Declare{V: c, Init: first})
	l.pre.Append(&ir.Alloc{A: a, Len: c})
	l.post.Append(&ir.Free{A: a})
	return a
}

// grow grows an array to at least need elements.
func (s spaceArrays) grow(l *lowerer, a *ir.Array, need ir.Expr) {
	l.emit(&ir.Grow{A: a, Cap: s.caps[a], Need: need})
}

// reserve grows an array if it has room for fewer than need elements.
func (s spaceArrays) reserve(l *lowerer, a *ir.Array, need ir.Expr) {
	l.when(ir.Less(s.caps[a], need), func() { s.grow(l, a, need) })
}

// rowList has the starts of the rows of a workspace over several variables, as its consumer reads
// it. All levels except the last are dense, and the last level has a list of coordinates for each
// row.
type rowList struct {
	box  box
	name string
	pos  *ir.Array
	row  *ir.Var // the last row whose start is known
}

func (l *lowerer) newRowList(name string, b box) *rowList {
	r := &rowList{box: b, name: name, pos: l.newArray(name+"_pos", tensor.Int64)}
	l.pre.Append(&ir.Alloc{A: r.pos, Len: ir.Plus(b.rows(), ir.Int(1))})
	l.post.Append(&ir.Free{A: r.pos})
	return r
}

// begin is called before the first entry.
func (r *rowList) begin(l *lowerer) {
	r.row = l.declare(r.name+"_row", ir.Int(0))
	l.store(r.pos, ir.Int(0), ir.Int(0))
}

// next makes position p the start of further rows while a condition is true. then emits code for
// each of these rows.
func (r *rowList) next(l *lowerer, p, behind ir.Expr, then func()) {
	l.while(behind, func() {
		l.incr(r.row, ir.Int(1))
		l.store(r.pos, r.row, p)
		then()
	})
}

// end makes all remaining rows start after the n entries.
func (r *rowList) end(l *lowerer, n ir.Expr) {
	r.next(l, n, ir.Less(r.row, l.named(r.name+"_rows", r.box.rows())), func() {})
}

// keyed finds the rows of n entries in order. keys has the entries' coordinates.
func (r *rowList) keyed(l *lowerer, n ir.Expr, keys []*ir.Array) {
	r.begin(l)
	p := l.newVar(r.name + "_s")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: n, Step: 1, Body: l.within(func() {
		row := l.named(r.name+"_at",
			r.box.place(r.box.last(), func(m int) ir.Expr { return ir.Coord(keys[m], p) }))
		r.next(l, p, ir.Less(r.row, row), func() {})
	})})
	r.end(l, n)
}

// operand returns the workspace as its consumer reads it, with coordinates of the last variable and
// values by position.
func (r *rowList) operand(l *lowerer, crd, vals *ir.Array) *operand {
	o := Operand{Name: r.name, Arg: -1, Type: l.spec.Compute, Format: tensor.DenseOf(len(r.box.lo))}
	o.Format.Levels[r.box.last()] = tensor.Compressed
	o.PosWidth, o.CrdWidth = make([]uint8, len(r.box.lo)), make([]uint8, len(r.box.lo))
	op := newOperand(l, o)
	l.denseLevels(op, r.box, 0, r.box.last())
	op.arrays[ir.Slot{Arg: -1, Level: r.box.last(), Field: ir.Pos}] = r.pos
	op.arrays[ir.Slot{Arg: -1, Level: r.box.last(), Field: ir.Crd}] = crd
	op.arrays[ir.Slot{Arg: -1, Field: ir.Vals}] = vals
	return op
}

// denseLevels adds n dense levels of a box to the operand of a workspace, from level first on.
func (l *lowerer) denseLevels(op *operand, b box, first, n int) {
	local := func(x ir.Expr, level int, part ir.Field) *ir.Var {
		if v, ok := x.(*ir.Var); ok {
			return v
		}
		return l.declare(fmt.Sprintf("%s_%s%d", op.operand.Name, part, level), x)
	}
	for m := range n {
		level := first + m
		op.sizes[ir.Slot{Arg: -1, Level: level, Field: ir.Size}] = local(b.size(m), level, ir.Size)
		op.sizes[ir.Slot{Arg: -1, Level: level, Field: ir.Offset}] = local(b.lo[m], level, ir.Offset)
	}
}

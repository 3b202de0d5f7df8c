package space

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// Row describes the rows of a workspace. The first variables of the workspace form a key, and each
// key has a row of values along the last variables. A workspace can have rows only if each key has
// either all values of its row or none.
type Row struct {
	m     *Maker
	box   Box
	keys  int      // the number of variables of a key
	Along []string // the variables along the row
	Width ir.Expr  // the number of places in a row
	At    ir.Expr  // the first place of the current key's row, if it is known
}

// Filler is a workspace that may have rows.
type Filler interface {
	Workspace
	// RowOf returns the workspace's rows.
	RowOf() *Row
}

// NewRow describes the rows of a workspace along its last variables, which are listed in along.
// keys is the number of variables before them, which identify a row.
func (m *Maker) NewRow(name string, keys int, along []string) Row {
	r := Row{m: m, box: m.Box(along), keys: keys, Along: along}
	if !r.Exists() {
		return r
	}
	r.Width = r.box.Places()
	if _, ok := r.Width.(*ir.Lit); !ok {
		m.B.BeforeScope(func() { r.Width = m.B.Declare(name+"_width", r.Width) })
	}
	return r
}

// Exists reports whether there are rows.
func (r *Row) Exists() bool { return len(r.Along) > 0 }

// Clear emits code that sets all values of a row to -0. The row starts at index from of vals. The
// code uses -0 because -0 + x is equal to x even if x is -0.
func (r *Row) Clear(vals *ir.Array, from ir.Expr) {
	r.m.B.Emit(&ir.Fill{A: vals, Lo: from, Hi: ir.Plus(from, r.Width),
		X: ir.Negated(ir.Zero(r.m.Type))})
}

// Add emits code that adds x to a value of the current row. vals has the values of all rows, and at
// returns the coordinates of the value.
func (r *Row) Add(vals *ir.Array, x ir.Expr, at Point) {
	place := r.box.At(func(m int) ir.Expr { return at(r.keys + m) })
	r.m.B.AddTo(vals, ir.Plus(r.At, place), x)
}

// Under appends dense levels for the rows to operand op. Before, op has one level for each variable
// of a key. Afterwards, the values of a row are below the row's key. The function at returns the
// number of the row that belongs to the key at position p.
func (r *Row) Under(op *tree.Operand, at func(p ir.Expr) ir.Expr) *tree.Operand {
	op.RowAt, op.RowLevel = at, r.keys
	a := &op.Argument
	a.Format.Levels = append(slices.Clone(a.Format.Levels), tensor.DenseOf(len(r.Along)).Levels...)
	for k, v := range r.Along {
		a.Format.Order = append(slices.Clone(a.Format.Order), r.keys+k)
		a.PosWidth, a.CrdWidth = append(a.PosWidth, 0), append(a.CrdWidth, 0)
		if n, ok := r.m.Trips(v); ok {
			op.Trips[r.keys+k] = n
		}
	}
	r.m.DenseLevels(op, r.box, r.keys, len(r.Along))
	return op
}

package space

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// RowList describes the rows of a workspace over several variables to the consumer. The consumer
// reads the workspace as levels. All levels except the last are dense. The last level has a list of
// coordinates for each row. RowList stores the positions where the rows start.
type RowList struct {
	m    *Maker
	box  Box
	name string
	pos  *ir.Array
	row  *ir.Var // the last row whose start is known
}

// RowsIf returns the rows of a workspace over vars. It returns nil if rows is false or if there is
// only one variable. The consumer then reads the workspace as one list.
func (m *Maker) RowsIf(name string, vars []string, rows bool) *RowList {
	if !rows || len(vars) == 1 {
		return nil
	}
	b := m.Box(vars)
	pos := m.B.Array(name+"_pos", tensor.Int64)
	return &RowList{m: m, box: b, name: name,
		pos: m.B.AllocInScope(pos, ir.Plus(b.rows(), ir.Int(1)), false)}
}

// begin emits the start of row 0. It is called before the first entry.
func (r *RowList) begin() {
	r.row = r.m.B.Declare(r.name+"_row", ir.Int(0))
	r.m.B.Store(r.pos, ir.Int(0), ir.Int(0))
}

// next emits a loop that runs while the condition cond is true. Each iteration starts the next row,
// at position p, and then runs the code that body emits.
func (r *RowList) next(p, cond ir.Expr, body func()) {
	r.m.B.While(cond, func() {
		r.m.B.Incr(r.row, ir.Int(1))
		r.m.B.Store(r.pos, r.row, p)
		body()
	})
}

// end emits code that stores the start of each row after the current one. These rows have no
// entries, so each starts at position n, the end of the list. n is also stored as the end of the
// last row.
func (r *RowList) end(n ir.Expr) {
	r.next(n, ir.Less(r.row, r.m.B.Named(r.name+"_rows", r.box.rows())), func() {})
}

// keyed emits code that finds where each row begins in a list of n sorted entries. It stores the
// position of each row's first entry. keys has the coordinates of the entries.
func (r *RowList) keyed(n ir.Expr, keys []*ir.Array) {
	r.begin()
	r.m.B.Loop(r.name+"_s", ir.Int(0), n, func(p *ir.Var) {
		row := r.m.B.Named(r.name+"_at",
			r.box.place(r.box.last(), func(m int) ir.Expr { return ir.Coord(keys[m], p) }))
		r.next(p, ir.Less(r.row, row), func() {})
	})
	r.end(n)
}

// operand returns the workspace as an operand for its consumer. crd has the coordinates of the last
// variable, and vals has the values. Both are indexed by position.
func (r *RowList) operand(crd, vals *ir.Array) *tree.Operand {
	o := tree.Argument{Name: r.name, Number: -1, Type: r.m.Type,
		Format: tensor.DenseOf(len(r.box.Lo))}
	o.Format.Levels[r.box.last()] = tensor.Compressed
	o.PosWidth, o.CrdWidth = make([]uint8, len(r.box.Lo)), make([]uint8, len(r.box.Lo))
	op := tree.NewOperand(r.m.Args, o)
	r.m.DenseLevels(op, r.box, 0, r.box.last())
	op.SetArray(r.box.last(), ir.Pos, r.pos)
	op.SetArray(r.box.last(), ir.Crd, crd)
	op.SetArray(0, ir.Vals, vals)
	return op
}

// DenseLevels sets the ranges of n dense levels of operand op, which belongs to a workspace. Level
// first+k gets the range of dimension k of box b.
func (m *Maker) DenseLevels(op *tree.Operand, b Box, first, n int) {
	local := func(x ir.Expr, level int, part ir.Field) *ir.Var {
		if v, ok := x.(*ir.Var); ok {
			return v
		}
		return m.B.Declare(fmt.Sprintf("%s_%s%d", op.Argument.Name, part, level), x)
	}
	for k := range n {
		level := first + k
		op.GiveSize(level, ir.Size, local(b.Size(k), level, ir.Size))
		op.GiveSize(level, ir.Offset, local(b.Lo[k], level, ir.Offset))
	}
}

// SortedOperand returns an operand for n sorted entries. crd has the coordinates of the entries,
// and vals has their values. If rows is nil, the operand is a list of entries. Otherwise the
// operand has rows along the last coordinate: one row for each combination of the other
// coordinates.
func (m *Maker) SortedOperand(name string, rows *RowList, crd []*ir.Array, vals *ir.Array,
	n ir.Expr) *tree.Operand {
	if rows == nil {
		return m.listOperand(name, crd, vals, n)
	}
	rows.keyed(n, crd)
	return rows.operand(crd[rows.box.last()], vals)
}

// listOperand returns a list of n coordinates, in order, with their values, as an operand.
func (m *Maker) listOperand(name string, crd []*ir.Array, vals *ir.Array, n ir.Expr) *tree.Operand {
	o := tree.Argument{Name: name, Number: -1, Type: m.Type}
	for k := range crd {
		kind := tensor.SingletonNonunique
		switch {
		case len(crd) == 1:
			kind = tensor.Compressed
		case k == 0:
			kind = tensor.CompressedNonunique
		case k == len(crd)-1:
			kind = tensor.Singleton
		}
		o.Format.Levels = append(o.Format.Levels, kind)
		o.Format.Order = append(o.Format.Order, k)
		o.CrdWidth = append(o.CrdWidth, 8)
	}
	op := tree.NewOperand(m.Args, o)
	op.RootLen = n
	for k, a := range crd {
		op.SetArray(k, ir.Crd, a)
	}
	op.SetArray(0, ir.Vals, vals)
	return op
}

// listed returns an operand for a workspace, which the consumer reads like a sparse vector. vals
// has a value for each coordinate from lo on. list has the n coordinates that values were added to.
func (m *Maker) listed(name string, list, vals *ir.Array, lo ir.Expr, n *ir.Var) *tree.Operand {
	op := tree.NewOperand(m.Args, tree.Argument{Name: name, Number: -1, Type: m.Type,
		Format: tensor.Format{Levels: []tensor.Kind{tensor.Compressed}, Order: []int{0}}})
	op.RootLen = n
	op.SetArray(0, ir.Crd, list)
	op.SetArray(0, ir.Vals, vals)
	op.Argument.CrdWidth = []uint8{0}
	op.ValueAt = func(p, c ir.Expr) ir.Expr { return ir.Minus(c, lo) }
	return op
}

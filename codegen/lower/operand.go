package lower

import (
	"fmt"
	"slices"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// operand is a tensor's arrays and sizes. They are parameters of the leaf, which are added to its
// parameter list when they are first used, or belong to a workspace.
type operand struct {
	operand Operand
	l       *lowerer
	arrays  map[ir.Slot]*ir.Array
	sizes   map[ir.Slot]*ir.Var

	// rootLen, for a workspace, is the number of its entries. Its level 0 then has no pos array.
	rootLen ir.Expr
	// valueAt, for a workspace, returns the position of the value of the entry at position p with
	// coordinate c in the last level. If it is nil, that position is p.
	valueAt func(p, c ir.Expr) ir.Expr
	// rowAt, for a workspace whose rows are stored in another order than their keys, returns the
	// row of a position above level rowLevel. The rows start at that level.
	rowAt    func(p ir.Expr) ir.Expr
	rowLevel int
	// pattern, for a workspace by position, is the operand whose level arrays it uses, and places
	// is the workspace.
	pattern *operand
	places  *positionSpace
	// trips has the sizes of levels that are compiled in. The leaf has the whole range of their
	// variables.
	trips map[int]int64
}

// levels returns the operand that has o's level arrays.
func (o *operand) levels() *operand {
	if o.pattern != nil {
		return o.pattern.levels()
	}
	return o
}

func newOperand(l *lowerer, o Operand) *operand {
	return &operand{operand: o, l: l, arrays: map[ir.Slot]*ir.Array{}, sizes: map[ir.Slot]*ir.Var{},
		trips: map[int]int64{}}
}

// prefix returns the operand's name as an identifier.
func (o *operand) prefix() string {
	b := []byte(o.operand.Name)
	for i, c := range b {
		if c == '\'' {
			b[i] = '_'
		}
	}
	return string(b)
}

func (o *operand) array(level int, part ir.Field, name string, t tensor.Type) *ir.Array {
	s := ir.Slot{Arg: o.operand.Arg, Level: level, Field: part}
	a, ok := o.arrays[s]
	if !ok {
		a = o.l.newArray(name, t)
		a.Const = o.operand.Arg != 0
		o.arrays[s] = a
		o.l.params = append(o.l.params, ir.Param{Slot: s, A: a})
	}
	return a
}

func (o *operand) number(level int, part ir.Field, name string) ir.Expr {
	s := ir.Slot{Arg: o.operand.Arg, Level: level, Field: part}
	v, ok := o.sizes[s]
	if !ok {
		v = o.l.newVar(name)
		o.sizes[s] = v
		o.l.params = append(o.l.params, ir.Param{Slot: s, V: v})
	}
	return v
}

func intOf(width uint8) tensor.Type {
	if width == 4 {
		return tensor.Int32
	}
	return tensor.Int64
}

func (o *operand) pos(level int) *ir.Array {
	o = o.levels()
	return o.array(level, ir.Pos, fmt.Sprintf("%s_pos%d", o.prefix(), level),
		intOf(o.operand.PosWidth[level]))
}

func (o *operand) crd(level int) *ir.Array {
	o = o.levels()
	return o.array(level, ir.Crd, fmt.Sprintf("%s_crd%d", o.prefix(), level),
		intOf(o.operand.CrdWidth[level]))
}

func (o *operand) vals() *ir.Array {
	if o.byRows() {
		return o.array(o.order()-1, ir.Rows, o.prefix()+"_vals", o.operand.Type)
	}
	return o.array(0, ir.Vals, o.prefix()+"_vals", o.operand.Type)
}

// byRows reports whether the leaf gets the operand's values as rows, or as single values of a
// vector, that begin at coordinate 0. A row is then found by its coordinate alone, which saves a
// register for the offset of the stored values, and an addition.
func (o *operand) byRows() bool {
	for k := 1; k < o.order(); k++ {
		if _, ok := o.trips[k]; !ok {
			return false
		}
	}
	return o.operand.Rows && o.order() > 0
}

func (o *operand) size(level int) ir.Expr {
	o = o.levels()
	if n, ok := o.trips[level]; ok {
		return ir.Int(n)
	}
	return o.number(level, ir.Size, fmt.Sprintf("%s_size%d", o.prefix(), level))
}

func (o *operand) offset(level int) ir.Expr {
	o = o.levels()
	if _, ok := o.trips[level]; ok || level == 0 && o.byRows() {
		return ir.Int(0)
	}
	return o.number(level, ir.Offset, fmt.Sprintf("%s_off%d", o.prefix(), level))
}

func (o *operand) nnz() ir.Expr {
	o = o.levels()
	return o.number(0, ir.NNZ, o.prefix()+"_nnz")
}

// end returns the position after the last coordinate of a level that the leaf gets.
func (o *operand) end(level int) ir.Expr {
	o = o.levels()
	return o.number(level, ir.End, fmt.Sprintf("%s_end%d", o.prefix(), level))
}

func (o *operand) order() int { return len(o.operand.Format.Levels) }

func (o *operand) caps(level int) tensor.Kind { return o.operand.Format.Levels[level] }

// hasPosFrom reports whether some level from k on has a pos array.
func (o *operand) hasPosFrom(k int) bool {
	return slices.ContainsFunc(o.operand.Format.Levels[k:],
		func(kind tensor.Kind) bool { return kind.HasPos() })
}

// hasRepeats reports whether one coordinate may occur at several neighbouring positions of the
// level. Repeats are kept if their values will be summed, or if singleton levels below distinguish
// them.
func (o *operand) hasRepeats(level int) bool {
	return !o.caps(level).IsUnique() && (level == o.order()-1 || o.caps(level+1).IsSingle())
}

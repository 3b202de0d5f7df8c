package tree

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/io/tensor"
)

// Argument is a tensor as the leaf gets it.
type Argument struct {
	Name               string // its name in the statement
	Number             int    // index of the leaf's argument; 0 is the result, -1 a workspace
	Format             tensor.Format
	Type               tensor.Type
	PosWidth, CrdWidth []uint8
	// Pick, if it is not nil, says that the operand is a pick (notation.Made) whose only compressed
	// level is its last one.
	Pick *Pick
	// Rows allows rows for an operand whose levels are all dense. If the sizes of all levels below
	// the first are constants in the code, the operand's values are then passed as rows that begin
	// at coordinate 0.
	Rows bool
}

// Pick says which coordinate a pick has at given coordinates of its other modes: First plus the sum
// of Coef[k] times the coordinate of mode k. If Partial is true, the coordinate may be outside of
// the range of a call, and the pick then has no entry.
type Pick struct {
	Coef    []int64
	First   int64
	Partial bool
}

// Find returns the argument called name, or nil if there is none.
func Find(list []Argument, name string) *Argument {
	for k := range list {
		if list[k].Name == name {
			return &list[k]
		}
	}
	return nil
}

// Arguments lists the parameters of the leaf that its code uses.
type Arguments struct {
	B      *emit.Builder
	Params []ir.Param
}

// Operand is a tensor's arrays and sizes. Either they belong to a workspace, or they are parameters
// of the leaf, which are added to its parameter list when they are first used.
type Operand struct {
	Argument Argument
	b        *emit.Builder
	args     *Arguments
	arrays   map[ir.Slot]*ir.Array
	sizes    map[ir.Slot]*ir.Var

	// RootLen, for a workspace, is the number of its entries. Its level 0 then has no pos array.
	RootLen ir.Expr
	// ValueAt, for a workspace, returns the position of the value of the entry at position p with
	// coordinate c in the last level. If it is nil, that position is p.
	ValueAt func(p, c ir.Expr) ir.Expr
	// RowAt, for a workspace whose rows are stored in another order than their keys, returns the
	// row of a position above level RowLevel. The rows start at that level.
	RowAt    func(p ir.Expr) ir.Expr
	RowLevel int
	// Mark, for a table, says whether each value is present. An absent value is 0.
	Mark *ir.Array
	// Pattern, for a workspace by position, is the operand whose level arrays it uses.
	Pattern *Operand
	// Trips has the sizes of levels whose sizes are constants in the code. The leaf has the whole
	// range of the variables of these levels.
	Trips map[int]int64
}

// levels returns the operand whose level arrays o uses. Usually this is o itself. A workspace with
// a value for each position of another operand uses the level arrays of that operand.
func (o *Operand) levels() *Operand {
	if o.Pattern != nil {
		return o.Pattern.levels()
	}
	return o
}

// NewOperand returns an operand whose arrays are not known yet.
func NewOperand(args *Arguments, o Argument) *Operand {
	return &Operand{Argument: o, b: args.B, args: args, arrays: map[ir.Slot]*ir.Array{},
		sizes: map[ir.Slot]*ir.Var{}, Trips: map[int]int64{}}
}

// SetArray sets the operand's array for the given level and part to a. The operand is a workspace,
// and a is one of the workspace's arrays.
func (o *Operand) SetArray(level int, part ir.Field, a *ir.Array) {
	o.arrays[ir.Slot{Arg: o.Argument.Number, Level: level, Field: part}] = a
}

// GiveSize makes v the size or the offset of a level of the operand, as part says. The operand is a
// workspace.
func (o *Operand) GiveSize(level int, part ir.Field, v *ir.Var) {
	o.sizes[ir.Slot{Arg: o.Argument.Number, Level: level, Field: part}] = v
}

// HasVals reports whether array a has the operand's values. It does not find values that are passed
// as rows (see byRows).
func (o *Operand) HasVals(a *ir.Array) bool {
	return o.arrays[ir.Slot{Arg: o.Argument.Number, Field: ir.Vals}] == a
}

// Prefix returns the operand's name as an identifier.
func (o *Operand) Prefix() string {
	b := []byte(o.Argument.Name)
	for i, c := range b {
		if c == '\'' {
			b[i] = '_'
		}
	}
	return string(b)
}

func (o *Operand) array(level int, part ir.Field, name string, t tensor.Type) *ir.Array {
	s := ir.Slot{Arg: o.Argument.Number, Level: level, Field: part}
	a, ok := o.arrays[s]
	if !ok {
		a = o.b.Array(name, t)
		a.Const = o.Argument.Number != 0
		o.arrays[s] = a
		o.args.Params = append(o.args.Params, ir.Param{Slot: s, A: a})
	}
	return a
}

func (o *Operand) number(level int, part ir.Field, name string) ir.Expr {
	s := ir.Slot{Arg: o.Argument.Number, Level: level, Field: part}
	v, ok := o.sizes[s]
	if !ok {
		v = o.b.Var(name)
		o.sizes[s] = v
		o.args.Params = append(o.args.Params, ir.Param{Slot: s, V: v})
	}
	return v
}

func IntOf(width uint8) tensor.Type {
	if width == 4 {
		return tensor.Int32
	}
	return tensor.Int64
}

func (o *Operand) Pos(level int) *ir.Array {
	o = o.levels()
	return o.array(level, ir.Pos, fmt.Sprintf("%s_pos%d", o.Prefix(), level),
		IntOf(o.Argument.PosWidth[level]))
}

func (o *Operand) Crd(level int) *ir.Array {
	o = o.levels()
	return o.array(level, ir.Crd, fmt.Sprintf("%s_crd%d", o.Prefix(), level),
		IntOf(o.Argument.CrdWidth[level]))
}

func (o *Operand) Vals() *ir.Array {
	if o.byRows() {
		return o.array(o.Order()-1, ir.Rows, o.Prefix()+"_vals", o.Argument.Type)
	}
	return o.array(0, ir.Vals, o.Prefix()+"_vals", o.Argument.Type)
}

// byRows reports whether the values that the leaf gets for the operand begin with the row of
// coordinate 0 (in a vector, with the value of coordinate 0). The leaf then finds a row by its
// coordinate alone. This saves a register for the offset of the stored values, and an addition.
func (o *Operand) byRows() bool {
	for k := 1; k < o.Order(); k++ {
		if _, ok := o.Trips[k]; !ok {
			return false
		}
	}
	return o.Argument.Rows && o.Order() > 0
}

func (o *Operand) Size(level int) ir.Expr {
	o = o.levels()
	if n, ok := o.Trips[level]; ok {
		return ir.Int(n)
	}
	return o.number(level, ir.Size, fmt.Sprintf("%s_size%d", o.Prefix(), level))
}

func (o *Operand) Offset(level int) ir.Expr {
	o = o.levels()
	if _, ok := o.Trips[level]; ok || level == 0 && o.byRows() {
		return ir.Int(0)
	}
	return o.number(level, ir.Offset, fmt.Sprintf("%s_off%d", o.Prefix(), level))
}

func (o *Operand) Nnz() ir.Expr {
	o = o.levels()
	return o.number(0, ir.NNZ, o.Prefix()+"_nnz")
}

// End returns the end of the range of positions that the leaf gets for the given level.
func (o *Operand) End(level int) ir.Expr {
	o = o.levels()
	return o.number(level, ir.End, fmt.Sprintf("%s_end%d", o.Prefix(), level))
}

func (o *Operand) Order() int { return len(o.Argument.Format.Levels) }

func (o *Operand) Kind(level int) tensor.Kind { return o.Argument.Format.Levels[level] }

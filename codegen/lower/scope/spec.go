package scope

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Spec describes a leaf.
type Spec struct {
	Name string
	// Stmt is the strategy's statement, in which passes have made forms of loops explicit.
	Stmt     cin.Stmt
	Vars     []string        // in the order of the leaf's bounds
	Operands []tree.Argument // Operands[0] is the result
	Compute  tensor.Type
	// Parts lists the variables of a scheduled statement for which a call has only a part of the
	// range. The operands then store only this part. A call has the whole range of other variables.
	Parts map[string]bool
	// Chunked, if it is not "", is the operand that calls get in chunks of entries. Other operands
	// may store coordinates outside the ranges of its variables.
	Chunked string
	// Strategy chooses how loops and workspaces are made, and the initial capacity of the result.
	Strategy *strategy.Value
	// Assembly chooses how the result is written.
	Assembly strategy.Assembly
	// Adds, for a Dense result, is true if the result already has values and all assignments add to
	// them.
	Adds bool
	// GPU is true if the leaf is for a GPU. The code outside its loops on blocks runs on the host.
	GPU bool
	// CuBLAS is true if cuBLAS must compute all products of matrices. The values of its matrices
	// must be adjacent in memory along rows or columns.
	CuBLAS bool
	// Share, for a SharedPattern or Mapped result, is the key of the access whose level arrays the
	// result uses, down to its last compressed level. Values, or blocks of dense levels, are
	// written at its positions. A Mapped result has further positions. The argument after all
	// operands then has the map, in crd of its level 0, with the width of the pos array of the
	// result's last compressed level: crd[p] is the result's position q for Share's position p, or
	// -1-q if the values there are not set yet.
	Share string
	// Extern returns the C function that a file defines under a name. It is nil if there are no
	// such functions.
	Extern func(file, name string) (*ir.Extern, error)
	// Note, if it is not nil, is called with a message when a part of the schedule is not done in
	// the way that it says.
	Note func(string)
}

// Refusal is the reason why a schedule or a strategy cannot be followed. It is used for reasons
// that are found only when the loops are lowered.
type Refusal struct {
	// Var is the variable of the responsible loop, by its name in lowering: a variable that the
	// schedule made, or an original one.
	Var string
	Why string
	// Pattern is true if the schedule can be followed for a result with its own level arrays.
	Pattern bool
}

func (r *Refusal) Error() string { return r.Why }

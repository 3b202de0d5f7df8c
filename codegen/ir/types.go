package ir

import (
	"distaff/io/tensor"
	"fmt"
)

// typeByName returns the type with the name s, or None if there is none.
func typeByName(s string) tensor.Type {
	for _, t := range tensor.ValueTypes {
		if t.String() == s {
			return t
		}
	}
	return tensor.None
}

// CType returns the type's name in C. Names of <stdint.h> are only the two that dst.h defines.
func CType(t tensor.Type) string {
	return map[tensor.Type]string{
		tensor.Bool: "_Bool", tensor.Int8: "signed char", tensor.Int16: "short",
		tensor.Int32: "int32_t", tensor.Int64: "int64_t", tensor.Uint8: "unsigned char",
		tensor.Uint16: "unsigned short", tensor.Uint32: "unsigned", tensor.Uint64: "unsigned long",
		tensor.Float32: "float", tensor.Float64: "double",
		tensor.Complex64: "float _Complex", tensor.Complex128: "double _Complex",
	}[t]
}

// nameOf returns names[k]. If k is out of range, it returns what and the number, as in op(99).
func nameOf(names []string, k int, what string) string {
	if k >= 0 && k < len(names) {
		return names[k]
	}
	return fmt.Sprintf("%s(%d)", what, k)
}

var opNames = [...]string{
	Add: "+", Sub: "-", Mul: "*", Div: "/", Rem: "%", BitAnd: "&", Min: "min", Max: "max",
	And: "&&", Or: "||", Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Neg: "-", Not: "!",
}

// String returns the operator as the text form writes it.
func (op Op) String() string { return nameOf(opNames[:], int(op), "op") }

// IsCompare reports whether op is Eq, Ne, Lt or Le.
func (op Op) IsCompare() bool { return op >= Eq && op <= Le }

// IsLogic reports whether op is And or Or.
func (op Op) IsLogic() bool { return op == And || op == Or }

var forKindNames = [...]string{Serial: "serial", Parallel: "parallel", Vector: "vector",
	Unrolled: "unrolled",
	Blocks:   "blocks", Warps: "warps", Lanes: "lanes"}

// String returns the loop kind as the text form writes it.
func (k ForKind) String() string { return nameOf(forKindNames[:], int(k), "kind") }

var failNames = [...]string{
	OK: "ok", FailMemory: "memory", FailDivide: "divide", FailBound: "bound", FailSpace: "space",
	FailPattern: "pattern",
}

// String returns the code's name in the text form.
func (c FailCode) String() string { return nameOf(failNames[:], int(c), "fail") }

var partNames = [...]string{Pos: "pos", Crd: "crd", Vals: "vals", Rows: "rows", Size: "size",
	Offset: "offset", NNZ: "nnz", End: "end"}

// String returns the field's name in the text form.
func (p Field) String() string { return nameOf(partNames[:], int(p), "part") }

// IsArray reports whether the field is an array. The other fields are Int64 scalars.
func (p Field) IsArray() bool { return p <= Rows }

// HasLevel reports whether a slot of the field uses Slot.Level.
func (p Field) HasLevel() bool { return p != Vals && p != NNZ }

// String returns the slot in the text form, such as t1.level0.pos or t0.vals.
func (s Slot) String() string {
	if s.Field.HasLevel() {
		return fmt.Sprintf("t%d.level%d.%s", s.Arg, s.Level, s.Field)
	}
	return fmt.Sprintf("t%d.%s", s.Arg, s.Field)
}

func (x *Var) Type() tensor.Type { return x.Typ }

func (x *Lit) Type() tensor.Type { return x.Typ }

func (x *Binary) Type() tensor.Type {
	if x.Op.IsCompare() || x.Op.IsLogic() {
		return tensor.Bool
	}
	return x.X.Type()
}

func (x *Unary) Type() tensor.Type { return x.X.Type() }

func (x *Load) Type() tensor.Type {
	if x.Widen {
		return tensor.Int64
	}
	return x.A.Elem
}

func (x *Cast) Type() tensor.Type { return x.Typ }

func (x *Select) Type() tensor.Type { return x.X.Type() }

func (x *Apply) Type() tensor.Type { return x.X.Type() }

func (x *Search) Type() tensor.Type { return tensor.Int64 }

package ir

import "fmt"

var typeNames = [...]string{
	Invalid: "invalid", Bool: "bool", Int32: "int32", Int64: "int64",
	Float32: "float32", Float64: "float64", Complex64: "complex64", Complex128: "complex128",
}

// String returns the type's name in the text form: bool, int32, ..., complex128.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// typeByName returns the type with the name s, or Invalid if there is none.
func typeByName(s string) Type {
	for t := Bool; int(t) < len(typeNames); t++ {
		if typeNames[t] == s {
			return t
		}
	}
	return Invalid
}

// C returns the type's name in C.
func (t Type) C() string {
	return map[Type]string{
		Bool: "_Bool", Int32: "int32_t", Int64: "int64_t", Float32: "float", Float64: "double",
		Complex64: "float _Complex", Complex128: "double _Complex",
	}[t]
}

// IsInt reports whether t is Int32 or Int64.
func (t Type) IsInt() bool { return t == Int32 || t == Int64 }

// IsFloat reports whether t is Float32 or Float64.
func (t Type) IsFloat() bool { return t == Float32 || t == Float64 }

// IsComplex reports whether t is Complex64 or Complex128.
func (t Type) IsComplex() bool { return t == Complex64 || t == Complex128 }

// IsNumber reports whether t has arithmetic: all types except Bool and Invalid.
func (t Type) IsNumber() bool { return t.IsInt() || t.IsFloat() || t.IsComplex() }

// Size returns the number of bytes of an element in memory, or 0 for Invalid.
func (t Type) Size() int64 {
	switch t {
	case Bool:
		return 1
	case Int32, Float32:
		return 4
	case Int64, Float64, Complex64:
		return 8
	case Complex128:
		return 16
	}
	return 0
}

var opNames = [...]string{
	Add: "+", Sub: "-", Mul: "*", Div: "/", Rem: "%", Min: "min", Max: "max",
	And: "&&", Or: "||", Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Neg: "-", Not: "!",
}

// String returns the operator as the text form writes it.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("op(%d)", uint8(op))
}

// IsCompare reports whether op is Eq, Ne, Lt or Le.
func (op Op) IsCompare() bool { return op >= Eq && op <= Le }

// IsLogic reports whether op is And or Or.
func (op Op) IsLogic() bool { return op == And || op == Or }

var forKindNames = [...]string{Serial: "serial", Parallel: "parallel", Vector: "vector",
	Unrolled: "unrolled",
	Blocks:   "blocks", Warps: "warps", Lanes: "lanes"}

// String returns the loop kind as the text form writes it.
func (k ForKind) String() string {
	if int(k) < len(forKindNames) {
		return forKindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

var failNames = [...]string{
	OK: "ok", FailMemory: "memory", FailDivide: "divide", FailBound: "bound", FailSpace: "space",
	FailPattern: "pattern",
}

// String returns the code's name in the text form.
func (c FailCode) String() string {
	if c >= 0 && int(c) < len(failNames) {
		return failNames[c]
	}
	return fmt.Sprintf("fail(%d)", int(c))
}

var partNames = [...]string{Pos: "pos", Crd: "crd", Vals: "vals", Rows: "rows", Size: "size",
	Offset: "offset", NNZ: "nnz", End: "end"}

// String returns the field's name in the text form.
func (p Field) String() string {
	if int(p) < len(partNames) {
		return partNames[p]
	}
	return fmt.Sprintf("part(%d)", uint8(p))
}

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

func (x *Var) Type() Type { return x.Typ }

func (x *Lit) Type() Type { return x.Typ }

func (x *Binary) Type() Type {
	if x.Op.IsCompare() || x.Op.IsLogic() {
		return Bool
	}
	return x.X.Type()
}

func (x *Unary) Type() Type { return x.X.Type() }

func (x *Load) Type() Type {
	if x.Widen {
		return Int64
	}
	return x.A.Elem
}

func (x *Cast) Type() Type { return x.Typ }

func (x *Select) Type() Type { return x.X.Type() }

func (x *Search) Type() Type { return Int64 }

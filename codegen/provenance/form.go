package provenance

import "fmt"

// Form is an integer by which ranges and coordinates of index variables are given: a
// constant, a symbol, or what the operations make of them. It is affine in the symbols but
// for quotients, remainders, and the least and greatest of two forms. Lowering makes code
// of it, planning a number (Fold).
type Form interface{ String() string }

// Symbol is what stands for an integer that is known only where a form is evaluated: the
// end of a variable's range, a position, a tile's number.
type Symbol interface{ String() string }

// Op is an operation of two forms.
type Op uint8

const (
	Add Op = iota
	Sub
	Mul
	Div // truncated; of numbers that are not negative, by a positive one
	Rem
	Min
	Max
)

var opNames = [...]string{Add: "+", Sub: "-", Mul: "*", Div: "/", Rem: "%", Min: "min", Max: "max"}

func (op Op) String() string { return opNames[op] }

// Const is a constant.
type Const int64

func (c Const) String() string { return fmt.Sprint(int64(c)) }

type symbol struct{ Symbol }

type binary struct {
	op   Op
	x, y Form
}

func (b *binary) String() string {
	if b.op == Min || b.op == Max {
		return fmt.Sprintf("%v(%v, %v)", b.op, b.x, b.y)
	}
	return fmt.Sprintf("(%v %v %v)", b.x, b.op, b.y)
}

// Of is the form of a symbol.
func Of(s Symbol) Form { return symbol{s} }

// Bin is an operation, done where both sides are constants.
func Bin(op Op, x, y Form) Form {
	c, ok := x.(Const)
	d, also := y.(Const)
	if ok && also && !((op == Div || op == Rem) && d == 0) {
		return Const(Number(op, int64(c), int64(d)))
	}
	return &binary{op, x, y}
}

// Number is an operation of two numbers.
func Number(op Op, x, y int64) int64 {
	switch op {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div:
		return x / y
	case Rem:
		return x % y
	case Min:
		return min(x, y)
	}
	return max(x, y)
}

// Arith is how a form is evaluated.
type Arith[T any] struct {
	Const  func(int64) T
	Symbol func(Symbol) T
	Binary func(op Op, x, y T) T
}

// Fold evaluates a form.
func Fold[T any](f Form, a Arith[T]) T {
	switch f := f.(type) {
	case Const:
		return a.Const(int64(f))
	case symbol:
		return a.Symbol(f.Symbol)
	case *binary:
		x := Fold(f.x, a)
		return a.Binary(f.op, x, Fold(f.y, a))
	}
	panic(fmt.Sprintf("BUG: provenance: form %T", f))
}

// Eval is a form's number, where value gives that of each symbol.
func Eval(f Form, value func(Symbol) int64) int64 {
	return Fold(f, Arith[int64]{Const: func(n int64) int64 { return n }, Symbol: value,
		Binary: Number})
}

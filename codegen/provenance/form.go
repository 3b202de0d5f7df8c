package provenance

import "fmt"

// Form is a symbolic integer, such as a bound or a coordinate of an index variable: a constant, a
// symbol, or an operation on forms. Fold turns a form into code, and Eval turns it into a number.
type Form interface{ String() string }

// Symbol is an integer that is known only when a form is evaluated: the end of a variable's range,
// a position, or the number of a tile.
type Symbol interface{ String() string }

// Op is an operation on two forms.
type Op uint8

const (
	Add Op = iota
	Sub
	Mul
	Div // truncated; the dividend is not negative and the divisor is positive
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

// Of returns the form of a symbol.
func Of(s Symbol) Form { return symbol{s} }

// Bin returns the form x op y. If both operands are constants, it is a constant, except for a
// division by 0.
func Bin(op Op, x, y Form) Form {
	c, ok := x.(Const)
	d, also := y.(Const)
	if ok && also && !((op == Div || op == Rem) && d == 0) {
		return Const(Number(op, int64(c), int64(d)))
	}
	return &binary{op, x, y}
}

// Number returns the result of an operation on two numbers.
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

// Arith says how Fold evaluates constants, symbols and operations.
type Arith[T any] struct {
	Const  func(int64) T
	Symbol func(Symbol) T
	Binary func(op Op, x, y T) T
}

// Fold evaluates a form with the functions of a.
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

// Eval returns the value of a form. value returns the value of a symbol.
func Eval(f Form, value func(Symbol) int64) int64 {
	return Fold(f, Arith[int64]{Const: func(n int64) int64 { return n }, Symbol: value,
		Binary: Number})
}

package notation

import (
	"fmt"

	"distaff/codegen/algebra"
	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// InferTypes returns the type that a statement computes in, and the type of its result. operands
// has the types of the tensors on the right side. If the statement is a += and the left tensor has
// an input, operands also has the left tensor's type. result is the type that -t gives the left
// tensor, or tensor.None.
//
// The compute type is the type of the right side as a region (see region). An explicit result type
// also promotes the compute type. If the result type is narrower, values are converted when they
// are stored.
//
// InferTypes returns a *diag.Error for a call in a complex statement, for complex values in a real
// result, for floats in an integer result, for numbers in a bool result, for a difference of bools,
// and for an integer literal that does not fit the type of its region.
func InferTypes(s *Stmt, operands map[string]tensor.Type, result tensor.Type) (compute,
	res tensor.Type, err error) {
	y := typer{stmt: s, of: func(name string) tensor.Type {
		t, ok := operands[name]
		if !ok || t == tensor.None {
			panic("BUG: no type for operand " + name)
		}
		return t
	}}
	r := y.collect(s.RHS)
	if t := operands[s.LHS.Name]; s.Accumulate && t != tensor.None {
		r.t = tensor.Promote(r.t, t)
	}
	source := s
	if s.source != nil { // sums over picks have one addend
		source = s.source
		types := typer{stmt: source, of: func(string) tensor.Type { return tensor.Bool }}
		r.sums = types.collect(source.RHS).sums
	}
	left := vars{}
	for _, v := range source.LeftVars() {
		left[v] = true
	}
	for _, v := range FreeVars(source.RHS) {
		r.sums = r.sums || !left[v]
	}
	if r.t == tensor.None { // without operands, literals take the result's type
		if r.t, r.integer = result, false; r.t == tensor.None || r.t.HoldsInts() && r.fractional {
			r.t = tensor.Float64
		}
	}
	compute = y.settle(r)
	if y.err != nil {
		return 0, 0, y.err
	}
	if result != tensor.None && !tensor.CanNarrow(compute, result) {
		what := "non-integer"
		switch {
		case compute.IsComplex():
			what = "complex"
		case compute.IsInt():
			what = "integer"
		}
		return 0, 0, diag.At(diag.LossyType, s.Src, s.LHS.At.Pos, s.LHS.At.End,
			"got type %s for the result %s, but the right side has %s values of type %s: "+
				"want a type for %[2]s that holds these values",
			result, s.LHS.Name, what, compute)
	}
	if res = result; res == tensor.None {
		res = compute
	}
	if t := tensor.Promote(compute, result); t.HoldsInts() || !result.HoldsInts() {
		compute = t // not int64 and uint64, which only float64 holds
	}
	y.check(r, compute)
	if y.call != "" && compute.IsComplex() {
		y.fail(y.callAt, "got %s in a statement of type %s, want real numbers: functions have no "+
			"complex values", y.call, compute)
	}
	return compute, res, y.err
}

// region is what decides the type of a part of an expression: of operands that are combined by +,
// -, *, / and sum(). All operands of a region are converted to its type, so the order in which they
// are combined does not matter for the type.
//
// The type of a region is the type to which NumPy promotes all operands. Literals are weak, as in
// NumPy 2. An integer literal turns bool into int64 and changes no other type. Any other literal,
// and a call of a function whose values at integers are not integers, change bool and integer types
// to float64. A region of literals has the type int64, or float64. If a region of bool or of integers
// below 32 bits sums or multiplies over a variable, its type is int64 or uint64.
type region struct {
	t          tensor.Type // the operands' type, or tensor.None without operands
	integer    bool        // there is an integer literal
	fractional bool        // there is another literal, or such a call
	sums       bool
	divides    bool
	minus      Expr      // a difference or a negation, or nil
	literals   []literal // the integer literals
}

// literal is an integer literal, with its sign.
type literal struct {
	number *Number
	value  int64
}

// typer infers the types of a statement. of returns the type of a tensor on the right side.
type typer struct {
	stmt *Stmt
	of   func(name string) tensor.Type
	// call is the name of the first function or reduction that has no complex values, and callAt its
	// place.
	call   string
	callAt Span
	err    error
}

func (y *typer) fail(at Span, format string, args ...any) {
	if y.err == nil {
		y.err = diag.At(diag.LossyType, y.stmt.Src, at.Pos, at.End, format, args...)
	}
}

// collect returns the region of e.
func (y *typer) collect(e Expr) (r region) {
	y.add(&r, e)
	return r
}

// add adds the operands of e to the region r.
func (y *typer) add(r *region, e Expr) {
	switch e := e.(type) {
	case *Access:
		if !e.HasOnes() { // it has the type of the computation
			r.t = tensor.Promote(r.t, y.of(e.Name))
		}
	case *Coordinate:
		r.t = tensor.Promote(r.t, tensor.Int64)
	case *Number:
		if e.IsInt {
			r.integer, r.literals = true, append(r.literals, literal{e, e.Int})
		} else {
			r.fractional = true
		}
	case *Neg:
		r.minus = e
		if n, ok := e.X.(*Number); ok && n.IsInt {
			r.integer, r.literals = true, append(r.literals, literal{n, -n.Int})
			return
		}
		y.add(r, e.X)
	case *Binary:
		switch e.Op {
		case '-':
			r.minus = e
		case '/':
			r.divides = true
		}
		y.add(r, e.X)
		y.add(r, e.Y)
	case *Sum:
		r.sums = r.sums || e.Op.IsSum() || e.Op.Combine == algebra.Times
		if y.call == "" && e.Op != nil && !e.Op.Complex {
			y.call, y.callAt = e.Op.Name, e.At
		}
		y.add(r, e.X)
	case *Call:
		if y.call == "" {
			y.call, y.callAt = e.Func.Name, e.At
		}
		if e.Func.Int == nil {
			r.fractional = true
		}
		for _, x := range e.Args {
			y.add(r, x)
		}
	default:
		panic(fmt.Sprintf("BUG: notation: the type of %T", e))
	}
}

// settle returns the type of a region, and checks that bools are not subtracted.
func (y *typer) settle(r region) tensor.Type {
	t := r.t
	switch {
	case t == tensor.None && !r.fractional:
		t = tensor.Int64
	case t == tensor.None, t.HoldsInts() && r.fractional:
		t = tensor.Float64
	case t == tensor.Bool && r.divides:
		t = tensor.Float64
	case t == tensor.Bool && r.integer:
		t = tensor.Int64
	}
	if r.sums && t.HoldsInts() && t.Size() < 4 {
		if t.IsUnsigned() {
			t = tensor.Uint64
		} else {
			t = tensor.Int64
		}
	}
	if t == tensor.Bool && r.minus != nil {
		y.fail(r.minus.Span(), "got a minus sign before values of type bool, want numbers, as from "+
			"1*x")
	}
	return t
}

// check checks that the integer literals of a region fit the type t that it computes in.
func (y *typer) check(r region, t tensor.Type) {
	for _, n := range r.literals {
		if lo, hi := t.IntRange(); t.HoldsInts() &&
			!(tensor.Value{Type: tensor.Int64, I: n.value}).FitsInt(t) {
			y.fail(n.number.At, "got %d beside values of type %s, want %d to %d (or -t=%s:int64)",
				n.value, t, lo, hi, y.stmt.LHS.Name)
		}
	}
}

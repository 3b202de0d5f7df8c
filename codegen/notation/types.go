package notation

import (
	"math"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// InferTypes returns the type that a statement computes in, and the type of its result. operands
// has the types of the tensors on the right side. If the statement is a += and the left tensor has
// an input, operands also has the left tensor's type. result is the type that -t gives the left
// tensor, or tensor.None.
//
// The compute type is the type to which NumPy promotes all operands. Literals are weak, as in NumPy
// 2. An integer literal does not change the type. Any other literal changes an integer type to
// float64, and does not change a float or complex type. So does a call of a function whose values
// at integers are not integers. If the statement has no operands, the
// compute type is the explicit result type, or float64 if none is given. An explicit result type
// also promotes the compute type. If the result type is narrower, values are converted when they
// are stored.
//
// InferTypes returns a *diag.Error for a call in a complex statement, for complex values in a real
// result, for floats in an integer
// result, and for an integer literal that is too large if the compute type is int32.
func InferTypes(s *Stmt, operands map[string]tensor.Type, result tensor.Type) (compute,
	res tensor.Type, err error) {
	fractional := false
	// call is the name of the first function or reduction that has no complex values, and callAt its
	// place.
	var call string
	var callAt Span
	add := func(a *Access) {
		t, ok := operands[a.Name]
		if !ok || t == tensor.None {
			panic("BUG: no type for operand " + a.Name)
		}
		compute = tensor.Promote(compute, t)
	}
	Walk(s.RHS, func(e Expr) bool {
		switch e := e.(type) {
		case *Access:
			add(e)
		case *Number:
			fractional = fractional || !e.IsInt
		case *Call:
			fractional = fractional || e.Func.Int == nil
			if call == "" {
				call, callAt = e.Func.Name, e.At
			}
		case *Sum:
			if call == "" && e.Op != nil && !e.Op.Complex {
				call, callAt = e.Op.Name, e.At
			}
		}
		return true
	})
	if t := operands[s.LHS.Name]; s.Accumulate && t != tensor.None {
		add(s.LHS)
	}
	if compute == tensor.None && !(fractional && result.IsInt()) {
		compute = result // without operands, literals take the result's type
	}
	if fractional && compute.IsInt() || compute == tensor.None {
		compute = tensor.Float64
	}
	if result != tensor.None && !tensor.CanNarrow(compute, result) {
		what := "non-integer"
		if compute.IsComplex() {
			what = "complex"
		}
		return 0, 0, diag.At(diag.LossyType, s.Src, s.LHS.At.Pos, s.LHS.At.End,
			"got type %s for the result %s, but the right side has %s values of type %s: "+
				"want a type for %[2]s that holds these values",
			result, s.LHS.Name, what, compute)
	}
	natural := compute
	compute = tensor.Promote(compute, result)
	if call != "" && compute.IsComplex() {
		return 0, 0, diag.At(diag.LossyType, s.Src, callAt.Pos, callAt.End,
			"got %s in a statement of type %s, want real numbers: functions have no complex values",
			call, compute)
	}
	if res = result; res == tensor.None {
		res = natural
	}
	return compute, res, checkLiterals(s, compute)
}

func checkLiterals(s *Stmt, compute tensor.Type) (err error) {
	Walk(s.RHS, func(e Expr) bool {
		n, ok := e.(*Number)
		if ok && err == nil && compute == tensor.Int32 && n.Int > math.MaxInt32 {
			err = diag.At(diag.LossyType, s.Src, n.At.Pos, n.At.End,
				"got %s in a statement of type int32, want at most %d (or -t=%s:int64)", n, math.MaxInt32,
				s.LHS.Name)
		}
		return true
	})
	return err
}

package notation

import (
	"math"

	"distaff/codegen/diag"
	"distaff/codegen/dtype"
)

// InferTypes gives the type that a whole statement computes in, and the
// result's. operands has the types of the right side's tensors, and for += of
// the left one where it has an input; result is what -t asks for the left
// tensor, or dtype.None.
//
// The compute type is NumPy's promotion of all operands. Literals are weak, as in NumPy 2: an
// integer literal promotes nothing, another one makes integers float64 and leaves floats and
// complex numbers as they are. Without any operand it is the explicit result type, else float64. An
// explicit result type promotes it further, and where it is narrower the values are converted as
// they are stored. Refused, as *diag.Error: complex values into a real result, floats into an
// integer result, an integer literal that the compute type cannot hold.
func InferTypes(s *Stmt, operands map[string]dtype.Type, result dtype.Type) (compute,
	res dtype.Type, err error) {
	fractional := false
	add := func(a *Access) {
		t, ok := operands[a.Name]
		if !ok || t == dtype.None {
			panic("BUG: no type for operand " + a.Name)
		}
		compute = dtype.Promote(compute, t)
	}
	Walk(s.RHS, func(e Expr) bool {
		switch e := e.(type) {
		case *Access:
			add(e)
		case *Number:
			fractional = fractional || !e.IsInt
		}
		return true
	})
	if t := operands[s.LHS.Name]; s.Accumulate && t != dtype.None {
		add(s.LHS)
	}
	if compute == dtype.None && !(fractional && result.IsInt()) {
		compute = result // literals alone: they are weak
	}
	if fractional && compute.IsInt() || compute == dtype.None {
		compute = dtype.Float64
	}
	if result != dtype.None && !dtype.Narrow(compute, result) {
		what := "non-integer"
		if compute.IsComplex() {
			what = "complex"
		}
		return 0, 0, diag.At(diag.LossyType, s.Src, s.LHS.At.Pos, s.LHS.At.End,
			"got type %s for the result %s, which has %s values of type %s: want a type that holds them",
			result, s.LHS.Name, what, compute)
	}
	natural := compute
	compute = dtype.Promote(compute, result)
	if res = result; res == dtype.None {
		res = natural
	}
	return compute, res, checkLiterals(s, compute)
}

func checkLiterals(s *Stmt, compute dtype.Type) (err error) {
	Walk(s.RHS, func(e Expr) bool {
		n, ok := e.(*Number)
		if ok && err == nil && compute == dtype.Int32 && n.Int > math.MaxInt32 {
			err = diag.At(diag.LossyType, s.Src, n.At.Pos, n.At.End,
				"got %s in a statement of type int32, want at most %d (or -t=%s:int64)", n, math.MaxInt32,
				s.LHS.Name)
		}
		return true
	})
	return err
}

package c

import (
	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// gemmKinds are the values of dst_gemm's type.
var gemmKinds = map[ir.Type]int{ir.Float32: 0, ir.Float64: 1, ir.Complex64: 2, ir.Complex128: 3}

// product is the function that multiplies two values in a helper.
func product(t ir.Type) string {
	if t.IsComplex() {
		return "dst_mul_" + clike.Suffix(t)
	}
	return "dst_times_" + clike.Suffix(t)
}

// gemm calls the helper that has the product computed by env's function, or computes it.
func (f *cfunc) gemm(s *ir.Gemm) {
	t := s.Alpha.Type()
	if t.IsComplex() {
		f.need("mul:" + t.String())
	} else {
		f.need("times:" + t.String())
	}
	matrix := func(m ir.Matrix) string {
		return f.array(m.A) + " + " + f.expr(m.At, clike.PrecUnary) + ", " + f.expr(m.Row, 0) + ", " + f.expr(m.Col, 0)
	}
	name := f.helper("gemm", t)
	f.line("%s(env, %s, %s, %s, %s,", name, f.expr(s.M, 0), f.expr(s.N, 0), f.expr(s.K, 0), f.expr(s.Alpha, 0))
	for k, m := range []ir.Matrix{s.A, s.B, s.C} {
		end := ","
		if k == 2 {
			end = ");"
		}
		f.line("    %s%s", matrix(m), end)
	}
}

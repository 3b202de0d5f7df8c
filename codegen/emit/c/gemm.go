package c

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// gemmKinds maps types to the values of dst_gemm's type field.
var gemmKinds = map[tensor.Type]int{tensor.Float32: 0, tensor.Float64: 1, tensor.Complex64: 2,
	tensor.Complex128: 3}

// product returns the name of the helper that multiplies two values.
func product(t tensor.Type) string {
	if t.IsComplex() {
		return "dst_mul_" + clike.Suffix(t)
	}
	return "dst_times_" + clike.Suffix(t)
}

// tileStep returns the C code that updates one row of a tile of sums: it adds the products of one
// element of A with one row of a panel of B.
func tileStep(t tensor.Type) string {
	if !t.IsComplex() {
		return "#pragma GCC unroll 3\n            for (int q = 0; q < vectors; q++)\n" +
			"                s[r][q] += a[r] * x[q];"
	}
	return "            s[r][0] += a[2 * r] * x[0];\n            s[r][0] -= a[2 * r + 1] * x[1];\n" +
		"            s[r][1] += a[2 * r] * x[1];\n            s[r][1] += a[2 * r + 1] * x[0];"
}

// tileValue returns the C expression of the sum in column q of the current row of a tile.
func tileValue(t tensor.Type) string {
	if !t.IsComplex() {
		return "sums[q]"
	}
	return "dst_make_" + clike.Suffix(t) + "(sums[q], sums[dst_tile_cols_" + clike.Suffix(t) + " + q])"
}

// panelStore returns the C code that stores x in column q of a row of a panel of B. The panel has n
// columns.
func panelStore(t tensor.Type) string {
	if !t.IsComplex() {
		return "                to[q] = x;"
	}
	return "                to[q] = __real__ x, to[n + q] = __imag__ x;"
}

// manyGemms is the number of products of matrices from which on the function of a leaf is compiled
// without optimization. The leaf's time is spent in the products and in parallel loops, which have
// functions of their own. The time of some optimizations grows with the square of the number.
const manyGemms = 20

// isMostlyGemms reports whether a leaf has at least manyGemms products of matrices.
func isMostlyGemms(fn *ir.Func) bool {
	n := 0
	outer(fn.Body, func(s ir.Stmt) {
		if _, ok := s.(*ir.Gemm); ok {
			n++
		}
	})
	return n >= manyGemms
}

// gemm prints a call of the helper for a product. The helper calls the environment's gemm function
// or computes the product itself. In a piece of a parallel loop it uses one thread.
func (f *cfunc) gemm(s *ir.Gemm) {
	if len(s.Batch) > 0 {
		panic("BUG: emit/c: a batch of products of matrices on a CPU")
	}
	t := s.Alpha.Type()
	f.leaf.file.need(strings.TrimSuffix(strings.TrimPrefix(product(t), "dst_"),
		"_"+clike.Suffix(t)) + ":" + t.String())
	for _, name := range []string{"alloc", "release", "gemm_shape"} {
		f.leaf.file.need(name)
	}
	threads := "env->threads"
	if f.piece {
		threads = "1"
	}
	at := func(m ir.Matrix) string { return f.Array(m.A) + " + " + f.expr(m.At, clike.PrecUnary) }
	f.Line("if (%s(env, %s, %s, %s, %s, %s,", f.leaf.file.helper("gemm", t), threads,
		f.expr(s.Alpha, 0), at(s.A), at(s.B), at(s.C))
	var dims []string
	for _, axis := range []struct{ n, p, q []ir.Expr }{{s.M, s.A.Row, s.C.Row},
		{s.N, s.B.Col, s.C.Col}, {s.K, s.A.Col, s.B.Row}} {
		for k, n := range axis.n {
			dims = append(dims, fmt.Sprintf("{%s, %s, %s}", f.expr(n, 0), f.expr(axis.p[k], 0),
				f.expr(axis.q[k], 0)))
		}
	}
	f.Line("        (const dst_dim[]){%s}, %d, %d, %d)) {", strings.Join(dims, ", "), len(s.M),
		len(s.N), len(s.K))
	f.failedAlloc()
}

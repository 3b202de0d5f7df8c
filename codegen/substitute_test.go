package codegen_test

import (
	"errors"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// TestGemm: a product of dense matrices is one statement of the leaf, in any layout of the
// matrices.
func TestGemm(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm)",
			"C_size1, 1] += A A_size1, 1] * B B_size1, 1] * 1.0"},
		{"C(i,j)=A(k,i)*B(j,k)\n-s=substitute({i,j,k},gemm)",
			"C_size1, 1] += A 1, A_size1] * B 1, B_size1] * 1.0"},
		{"C(i,j)=A(i,k)*B(k,j)\nC:dd:1,0\nA:dd:1,0\n-s=substitute({j,k,i},gemm)",
			"C_size1, 1] += B 1, B_size1] * A A_size1, 1] * 1.0"},
		{"C(i,j)=-2*A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm)",
			"C_size1, 1] += A A_size1, 1] * B B_size1, 1] * -2.0"},
		{"C(i,b,j)=A(i,b,k)*B(k,j)\n-s=reorder(b,i,j,k),substitute({i,j,k},gemm)",
			"C_size1 * C_size2, 1] += A A_size1 * A_size2, 1] * B B_size1, 1] * 1.0"},
		{"A(i,k,l)=B(i,k,j)*C(j,l)\nB:sdd\n-s=substitute({k,l,j},gemm)",
			"A_size2, 1] += B B_size2, 1] * C C_size1, 1] * 1.0"},
		{"C(i,j)=A(i,k)*B(k,j)*v(b)\n-s=reorder(b,i,j,k),substitute({i,j,k},gemm)",
			"C_size1, 1] += A A_size1, 1] * B B_size1, 1] * v_vals[v_p]"},
		{
			"A(i,j)=B(i,k,l)*C(k,j)*D(l,j)\n-s=reorder(k,i,l,j),precompute(C(k,j)*D(l,j),{l,j},{l,j},W),substitute({i,l,j},gemm)", "A A_size1, 1] += B B_size1 * B_size2, 1] * W W_size1, 1] * 1.0"},
		{
			"A(i,j)=B(i,k,l)*C(k,j)*D(l,j)\nk=10000\nl=10000\n-s=reorder(k,i,l,j),precompute(C(k,j)*D(l,j),{k,l,j},{k,l,j},W),substitute({i,l,j},gemm)", "A A_size1, 1] += B B_size1 * B_size2, 1] * W W_size2, 1] * 1.0"},
		{
			"A(i,j)=B(i,k,l)*C(k,j)*D(l,j)\n-s=precompute(B(i,k,l)*D(l,j),{k,j},{k,j},T),substitute({k,j,l},gemm)", "T j_hi - j_lo, 1] += B B_size2, 1] * D D_size1, 1] * 1.0"},
	} {
		u, err := codegen.Compile(goldenRequest(t, x.text))
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		got := ""
		for _, line := range strings.Split(ir.Print(u.Func), "\n") {
			if strings.Contains(line, "gemm(") {
				got += strings.TrimSpace(line)
			}
		}
		for _, part := range strings.SplitAfter(x.want, "]") {
			tensor, strides, ok := strings.Cut(part, " += ")
			if ok {
				part = strides
			} else {
				part = tensor
			}
			part = strings.TrimPrefix(part, " * ")
			name, rest, ok := strings.Cut(part, " ")
			if ok && len(name) == 1 && !strings.Contains(got, name+"_vals[") ||
				!strings.Contains(got, rest) {
				t.Errorf("%s: got %s, want %s", x.text, got, x.want)
			}
		}
	}
}

// TestGemmRefused checks the products that lowering refuses.
func TestGemmRefused(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm),parallelize(i,CPUThread,NoRaces)",
			"the loops must be nested without other statements or conditions between them, and each must run in order over a range"},
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm),unroll(j,2)",
			"the loops must be nested without other statements or conditions between them, and each must run in order over a range"},
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm),parallelize(j,CPUVector,IgnoreRaces)",
			"the loops must be nested without other statements or conditions between them, and each must run in order over a range"},
	} {
		_, err := codegen.Compile(goldenRequest(t, x.text))
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.ScheduleRefused ||
			!strings.HasPrefix(e.Msg, "substitute: "+x.want) {
			t.Errorf("%s: got %v, want %s", x.text, err, x.want)
		} else if at := e.Src[e.Pos:e.End]; !strings.HasPrefix(at, "substitute(") {
			t.Errorf("%s: the error is at %s", x.text, at)
		}
	}
	r := goldenRequest(t, "C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm)")
	a := r.Tensors.All["A"]
	a.Type = tensor.Float32
	r.Tensors.All["A"] = a
	const want = "substitute: gemm needs values of one type, but values of float32 are converted to float64"
	if _, err := codegen.Compile(r); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestLibraries: a product that a library of a GPU computes is one statement of the leaf. The
// leaf's text can be parsed again, and the loops around the statement do not run on blocks.
func TestLibraries(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},cublas)",
			"gemm(i_hi - i_lo, j_hi - j_lo, k_hi - k_lo) C_vals["},
		{"C(b,i,j)=A(b,i,k)*B(k,b,j)\n-s=substitute({b,i,j,k},gemm)",
			"gemm(i_hi - i_lo, j_hi - j_lo, k_hi - k_lo, b_hi - b_lo) C_vals["},
		{"C(b,i,j)=A(b,i,k)*B(k,b,j)\n-s=substitute({b,i,j,k},gemm)", "C_size2, 1, C_size1 * C_size2] +="},
		{"C(i,j,b)=A(i,b,k)*B(b,k,j)\n-s=reorder(b,i,j,k),substitute({i,j,k},gemm)",
			"gemm(i_hi - i_lo, j_hi - j_lo, k_hi - k_lo) C_vals["},
		{"y(i)=A(i,j)*x(j)\nA:ds\n-s=substitute({i,j},cusparse)",
			"spmm(i_hi - i_lo, 1, j_hi, i_entries) y_vals[0 - y_off0 + i_lo, 1, 0] += (A_pos1[0 - A_off0 + i_lo], A_crd1[0], A_vals) * x_vals[0 - x_off0, 1, 0] * 1.0"},
		{"y(i)=A(i,j)*x(j)\nA:ds\n-s=substitute({i,j},cusparse)",
			"(i_offsets[0], A_crd1[i_first], A_vals)"},
		{"C(i,k)=-A(i,j)*B(j,k)*v(b)\nA:ds\n-s=reorder(b,i,j,k),substitute({i,j,k},cusparse)",
			"B_size1, 1] * (-1.0 * v_v)"},
		{"C(b,i,k)=A(b,i,j)*B(b,j,k)\nA:dds\n-s=substitute({i,j,k},cusparse)", "(A_pos2[A_p * A_size1"},
		{
			"C(i,k)=A(i,j)*B(j,k)\nA:ds\n-s=split(i,i0,i1,32),reorder(i0,i1,j,k),substitute({i1,j,k},cusparse)", "spmm(i1_hi - i1_lo, k_hi, j_hi, i_entries)"},
	} {
		r := goldenRequest(t, x.text)
		r.Target.Kind = codegen.CUDA
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		text := ir.Print(u.Func)
		if !strings.Contains(text, x.want) {
			t.Errorf("%s: got %s, want %s in it", x.text, text, x.want)
		}
		back, err := ir.Parse(text)
		if err != nil || ir.Print(back) != text {
			t.Errorf("%s: the text is read as another: %v", x.text, err)
		}
	}
}

// TestLibrariesRefused checks the products by libraries that lowering refuses.
func TestLibrariesRefused(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"C(i,j,b)=A(i,b,k)*B(b,k,j)\n-s=reorder(b,i,j,k),substitute({i,j,k},cublas)",
			"cublas needs two of the loops' variables along which the values of C, A and B are adjacent"},
		{"y(i)=A(i,j)*x(j)\nA:ss\n-s=substitute({i,j},cusparse)",
			"cusparse multiplies a matrix in compressed rows (ds) by a dense matrix or vector, but A(i,j) (its format is ss) is neither"},
		{"y(j)=A(i,j)*x(i)\nA:ds\n-s=substitute({i,j},cusparse)",
			"cusparse needs loops over the rows of the sparse matrix, which must be rows of the result"},
		{"y(i)=A(i,j)+B(i,j)\nA:ds\n-s=substitute({i,j},cusparse)", "cusparse "},
		{"y(i)=A(i,j)*x(j)\n-s=substitute({i,j},cusparse)",
			"cusparse multiplies a matrix in compressed rows (ds) by a dense matrix or vector, but x(j) (its format is"},
		{"y(i)=A(i,j)*x(j)\nA:ds\n-s=split(j,j0,j1,32),reorder(j0,i,j1),substitute({i,j1},cusparse)",
			"the loop over j visits parts of the sparse matrix's rows"},
		{"C(i,j)=A(i,k)*B(k,j)\nC:ds\nA:ds\nB:ds\n-s=substitute({i,k,j},cusparse)",
			"the loops over i, k, j must be directly inside one another, around only one assignment; commands that change loops must come first"},
	} {
		r := goldenRequest(t, x.text)
		r.Target.Kind = codegen.CUDA
		_, err := codegen.Compile(r)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.ScheduleRefused || !strings.Contains(e.Msg, x.want) {
			t.Errorf("%s: got %v, want %s", x.text, err, x.want)
		}
	}
}

// TestLibraryWidths: if positions are wider than coordinates, a product with a sparse matrix uses
// offsets of rows that are as wide as coordinates.
func TestLibraryWidths(t *testing.T) {
	r := goldenRequest(t, "y(i)=A(i,j)*x(j)\nA:ds\n-s=substitute({i,j},cusparse)")
	r.Target.Kind = codegen.CUDA
	a := r.Tensors.All["A"]
	a.PosWidth, a.CrdWidth = []uint8{0, 8}, []uint8{0, 4}
	r.Tensors.All["A"] = a
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	text := ir.Print(u.Func)
	if strings.Count(text, "spmm(") != 1 || !strings.Contains(text, "alloc i_offsets int32[") ||
		!strings.Contains(text, "A_pos1 int64 const") {
		t.Errorf("got %s, want one product over offsets of 32 bits", text)
	}
}

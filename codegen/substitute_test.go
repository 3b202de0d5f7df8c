package codegen_test

import (
	"errors"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
)

// TestGemm: products of dense matrices are one statement of the leaf, whatever their layouts.
func TestGemm(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm)", "C_size1, 1] += A A_size1, 1] * B B_size1, 1] * 1.0"},
		{"C(i,j)=A(k,i)*B(j,k)\n-s=substitute({i,j,k},gemm)", "C_size1, 1] += A 1, A_size1] * B 1, B_size1] * 1.0"},
		{"C(i,j)=A(i,k)*B(k,j)\nC:dd:1,0\nA:dd:1,0\n-s=substitute({j,k,i},gemm)", "C_size1, 1] += B 1, B_size1] * A A_size1, 1] * 1.0"},
		{"C(i,j)=-2*A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm)", "C_size1, 1] += A A_size1, 1] * B B_size1, 1] * -2.0"},
		{"C(i,b,j)=A(i,b,k)*B(k,j)\n-s=reorder(b,i,j,k),substitute({i,j,k},gemm)", "C_size1 * C_size2, 1] += A A_size1 * A_size2, 1] * B B_size1, 1] * 1.0"},
		{"A(i,k,l)=B(i,k,j)*C(j,l)\nB:sdd\n-s=substitute({k,l,j},gemm)", "A_size2, 1] += B B_size2, 1] * C C_size1, 1] * 1.0"},
		{"C(i,j)=A(i,k)*B(k,j)*v(b)\n-s=reorder(b,i,j,k),substitute({i,j,k},gemm)", "C_size1, 1] += A A_size1, 1] * B B_size1, 1] * v_vals[v_p]"},
		{"A(i,j)=B(i,k,l)*C(k,j)*D(l,j)\n-s=reorder(k,i,l,j),precompute(C(k,j)*D(l,j),{l,j},{l,j},W),substitute({i,l,j},gemm)", "A A_size1, 1] += B B_size1 * B_size2, 1] * W W_size1, 1] * 1.0"},
		{"A(i,j)=B(i,k,l)*C(k,j)*D(l,j)\nk=10000\nl=10000\n-s=reorder(k,i,l,j),precompute(C(k,j)*D(l,j),{k,l,j},{k,l,j},W),substitute({i,l,j},gemm)", "A A_size1, 1] += B B_size1 * B_size2, 1] * W W_size2, 1] * 1.0"},
		{"A(i,j)=B(i,k,l)*C(k,j)*D(l,j)\n-s=precompute(B(i,k,l)*D(l,j),{k,j},{k,j},T),substitute({k,j,l},gemm)", "T j_hi - j_lo, 1] += B B_size2, 1] * D D_size1, 1] * 1.0"},
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
			if ok && len(name) == 1 && !strings.Contains(got, name+"_vals[") || !strings.Contains(got, rest) {
				t.Errorf("%s: got %s, want %s", x.text, got, x.want)
			}
		}
	}
}

// TestGemmRefused has what is refused as the loops are lowered.
func TestGemmRefused(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm),parallelize(i,CPUThread,NoRaces)", "the loops have conditions or other statements between them"},
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm),unroll(j,2)", "the loops have conditions or other statements between them"},
		{"C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm),parallelize(j,CPUVector,IgnoreRaces)", "the loops have conditions or other statements between them"},
	} {
		_, err := codegen.Compile(goldenRequest(t, x.text))
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.ScheduleRefused || !strings.HasPrefix(e.Msg, "substitute: "+x.want) {
			t.Errorf("%s: got %v, want %s", x.text, err, x.want)
		} else if at := e.Src[e.Pos:e.End]; !strings.HasPrefix(at, "substitute(") {
			t.Errorf("%s: the error is at %s", x.text, at)
		}
	}
	r := goldenRequest(t, "C(i,j)=A(i,k)*B(k,j)\n-s=substitute({i,j,k},gemm)")
	a := r.Tensors["A"]
	a.Type = ir.Float32
	r.Tensors["A"] = a
	const want = "substitute: the types differ: values of float32 are converted to float64, and gemm multiplies those of one type"
	if _, err := codegen.Compile(r); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

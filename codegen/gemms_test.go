package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// TestNetworkGemm: contractions of dense products become products of matrices, inside loops that
// keep intermediates small. The printed schedule makes the same leaf.
func TestNetworkGemm(t *testing.T) {
	for _, c := range []struct {
		text, want string
		gemms      int
	}{
		{"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nl=64",
			"forall(i, CPUThread, where(forall(k, forall(l, A(i,l) += D(k,l) * w(k,l))), forall(j, forall(k, forall(l, w(k,l) += B(i,j,k) * C(j,l))))))", 1},
		// on one thread, and on threads that have parts of k
		{"A(k,l)=B(i,j,k)*C(i,l)*D(j,l)\nl=64",
			"forall(i, CPUThread, where(forall(k, forall(l, A(k,l) += C(i,l) * w(k,l))), forall(j, forall(k, forall(l, w(k,l) += B(i,j,k) * D(j,l))))))", 2},
		{"A(i,l)=-B(i,j)*C(j,k)*D(k,l)*2",
			"where(forall(k, forall(i, forall(l, A(i,l) += -(2 * w(k,i) * D(k,l))))), forall(j, forall(k, forall(i, w(k,i) += B(i,j) * C(j,k)))))", 2},
		{"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:sdd\nl=64",
			"forall(i, CPUThread, where(forall(k, forall(l, A(i,l) += D(k,l) * w(k,l))), forall(j, forall(k, forall(l, w(k,l) += B(i,j,k) * C(j,l))))))", 1},
		{"A(k,l)=B(i,j,k)*C(i,l)*D(j,l)\ni=32\nj=32\nk=1024\nl=512",
			"where(forall(i, forall(j, forall(k, forall(l, A(k,l) += B(i,j,k) * w(i,j,l))))), forall(i, CPUThread, forall(j, forall(l, w(i,j,l) += C(i,l) * D(j,l)))))", 1},
		{"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nl=8", "", 0}, // too narrow for products of matrices
		{"A(i,l)=B(i,j)*C(j,k)*D(k,l)\nB:ds", "", -1}, // no product of two dense matrices has B
	} {
		r := dense(t, c.text)
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := cin.String(u.CIN); c.want != "" && got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.text, got, c.want)
		}
		text := ir.Print(u.Func)
		if got := strings.Count(text, "gemm("); c.gemms >= 0 && got != c.gemms {
			t.Errorf("%s: %d products of matrices, want %d", c.text, got, c.gemms)
		}
		lines, err := codegen.Schedule(r)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		r.Ask.Schedule = []string{}
		for _, l := range lines {
			r.Ask.Schedule = append(r.Ask.Schedule, l.Command)
		}
		v, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v: %v", c.text, r.Ask.Schedule, err)
		} else if got := ir.Print(v.Func); got != text {
			t.Errorf("%s: %v: got\n%s\nwant\n%s", c.text, r.Ask.Schedule, got, text)
		}
	}
}

// dense returns a request like a golden's, with size 256 for each variable whose size the text does
// not give.
func dense(t *testing.T, text string) codegen.Request {
	t.Helper()
	r := goldenRequest(t, text)
	for v, n := range r.Tensors.Sizes {
		if n == 1000 {
			r.Tensors.Sizes[v] = 256
		}
		r.Tensors.Exact = append(r.Tensors.Exact, v)
	}
	for _, a := range r.Statement.Stmt.Accesses() {
		x := r.Tensors.All[a.Name]
		x.NNZ = 1
		for m, v := range a.Vars {
			x.Dims[m] = r.Tensors.Sizes[v]
			x.NNZ *= r.Tensors.Sizes[v]
		}
		n := int64(1)
		for l, mode := range x.Format.Order {
			if n *= x.Dims[mode]; x.Counts != nil {
				x.Counts[l] = n
			}
		}
		r.Tensors.All[a.Name] = x
	}
	return r
}

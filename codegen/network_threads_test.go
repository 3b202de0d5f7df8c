package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
)

// TestNetworkThreads: a loop around all of a contraction runs on threads; what fills an intermediate outside of all loops, and
// what only copies one, does not.
func TestNetworkThreads(t *testing.T) {
	for _, c := range []struct{ request, network, want string }{
		{"A(i,l,m)=B(i,j,k)*C(j,l)*D(k,m)\nB:sss", "(B*D)*C",
			"forall(i, CPUThread, forall(j, where(forall(l, forall(m, A(i,l,m) += C(j,l) * w(m))), forall(k, forall(m, w(m) += B(i,j,k) * D(k,m))))))"},
		{"A(i,j)=B(k,i)*C(k,j)\nA:ss\nB:ss\nC:ss", "", "where(forall(i, forall(j, A(i,j) = w(i,j))), forall(k, forall(i, forall(j, w(i,j) += B(k,i) * C(k,j)))))"},
	} {
		r := goldenRequest(t, c.request)
		r.Network = c.network
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		if got := cin.String(u.CIN); got != c.want {
			t.Errorf("%s, --network=%s: got\n%s\nwant\n%s", strings.ReplaceAll(c.request, "\n", " "), c.network, got, c.want)
		}
	}
}

// TestNetworkInSeries: a contraction that makes an intermediate outside of all loops is taken by itself where it costs so much
// less that threads which wait for it lose nothing. What reads it runs on threads.
func TestNetworkInSeries(t *testing.T) {
	const n = 2000
	for _, c := range []struct {
		row  int64 // entries in a row of both matrices
		want string
	}{
		{1000, "where(forall(i, CPUThread, where(y(i) = t, forall(j, t += B(i,j) * w(j)))), forall(j, where(w(j) += t1, forall(k, t1 += C(j,k) * x(k)))))"},
		{2, "forall(i, CPUThread, where(y(i) = t, forall(j, forall(k, t += B(i,j) * C(j,k) * x(k)))))"},
	} {
		r := goldenRequest(t, "y(i)=B(i,j)*C(j,k)*x(k)\nB:ds\nC:ds")
		r.Sizes = map[string]int64{"i": n, "j": n, "k": n}
		for name, x := range r.Tensors {
			if x.Dims = []int64{n, n}; len(x.Format.Levels) == 1 {
				x.Dims = []int64{n}
			} else {
				x.NNZ, x.Counts = n*c.row, []int64{n, n * c.row}
			}
			r.Tensors[name] = x
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := cin.String(u.CIN); got != c.want {
			t.Errorf("%d entries a row: got\n%s\nwant\n%s", c.row, got, c.want)
		}
	}
}

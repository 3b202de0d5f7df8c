package codegen_test

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
)

// TestNetworkThreads: a loop around a whole contraction runs on threads. A loop outside of all
// others does not if it fills few places of an intermediate, or only copies one.
func TestNetworkThreads(t *testing.T) {
	for _, c := range []struct{ request, network, want string }{
		{"A(i,l,m)=B(i,j,k)*C(j,l)*D(k,m)\nB:sss\nl=16\nm=16", "(B*D)*C",
			"forall(i, CPUThread, forall(j, where(forall(l, forall(m, A(i,l,m) += C(j,l) * w(m))), forall(k, forall(m, w(m) += B(i,j,k) * D(k,m))))))"},
		{"A(i,j)=B(k,i)*C(k,j)\nA:ss\nB:ss\nC:ss", "",
			"where(forall(i, forall(j, A(i,j) = w(i,j))), forall(k, forall(i, forall(j, w(i,j) += B(k,i) * C(k,j)))))"},
	} {
		r := goldenRequest(t, c.request)
		r.Ask.Network = c.network
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		if got := cin.String(u.CIN); got != c.want {
			t.Errorf("%s, --network=%s: got\n%s\nwant\n%s", strings.ReplaceAll(c.request, "\n", " "),
				c.network, got, c.want)
		}
	}
}

// TestNetworkInSeries: a contraction makes an intermediate outside of all loops if the savings
// exceed the cost of waiting threads. The loop that reads the intermediate runs on threads. The
// loop that makes it does too if it fills most places; the intermediate then has marks, and each
// thread sets a part of the marks.
func TestNetworkInSeries(t *testing.T) {
	const n = 2000
	for _, c := range []struct {
		row  int64 // the number of entries in each row of both matrices
		want string
	}{
		{1000,
			"where(forall(i, CPUThread, where(y(i) = t, forall(j, t += B(i,j) * w(j)))), forall(j, CPUThread, where(w(j) += t1, forall(k, t1 += C(j,k) * x(k)))))"},
		{2, "forall(i, CPUThread, where(y(i) = t, forall(j, forall(k, t += B(i,j) * C(j,k) * x(k)))))"},
	} {
		r := goldenRequest(t, "y(i)=B(i,j)*C(j,k)*x(k)\nB:ds\nC:ds")
		r.Tensors.Sizes = map[string]int64{"i": n, "j": n, "k": n}
		for name, x := range r.Tensors.All {
			if x.Dims = []int64{n, n}; len(x.Format.Levels) == 1 {
				x.Dims = []int64{n}
			} else {
				x.NNZ, x.Counts = n*c.row, []int64{n, n * c.row}
			}
			r.Tensors.All[name] = x
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := cin.String(u.CIN); got != c.want {
			t.Errorf("%d entries a row: got\n%s\nwant\n%s", c.row, got, c.want)
		}
		text := ir.Print(u.Func)
		if got := strings.Count(text, "for chunk"); got < strings.Count(c.want, "CPUThread") {
			t.Errorf("%d entries a row: %d loops on threads in\n%s", c.row, got, text)
		}
		if c.row > 2 && (!strings.Contains(text, "w_mark[") || strings.Contains(text, "sort")) {
			t.Errorf("%d entries a row: no marks alone in\n%s", c.row, text)
		}
	}
}

// integral returns a request for the product E(u,v,k)*C(u,i)*P(v,m). left lists the variables of
// the result, and k is the size of the variable k.
func integral(t *testing.T, left string, k int64) codegen.Request {
	t.Helper()
	r := goldenRequest(t, "T("+left+")=E(u,v,k)*C(u,i)*P(v,m)\nE:sss:2,1,0\nC:ds\nP:ds")
	r.Tensors.Sizes = map[string]int64{"u": 300, "v": 300, "k": k, "i": 60, "m": 300}
	for name, counts := range map[string][]int64{"E": {k, 300 * k, 9000 * k}, "C": {300, 1800},
		"P": {300, 9000}, "T": nil} {
		x := r.Tensors.All[name]
		x.Dims, x.Counts = nil, counts
		if counts != nil {
			x.NNZ = counts[len(counts)-1]
		}
		for _, v := range map[string]string{"E": "uvk", "C": "ui", "P": "vm",
			"T": strings.ReplaceAll(left, ",", "")}[name] {
			x.Dims = append(x.Dims, r.Tensors.Sizes[string(v)])
		}
		r.Tensors.All[name] = x
	}
	return r
}

// TestNetworkNeighbours: an intermediate is made outside of all loops if additions then go to
// adjacent values of a large result instead of distant ones. Threads fill and sort it. If additions
// go to adjacent values anyway, the intermediate is made inside a loop and is small. The first of
// the loops that read it does not sum into the result on one thread.
func TestNetworkNeighbours(t *testing.T) {
	for _, c := range []struct {
		left string
		k    int64
		want string
	}{
		{"i,m,k", 100,
			"where(forall(i, CPUThread, forall(v, forall(m, forall(k, T(i,m,k) += P(v,m) * w(i,v,k))))), forall(k, CPUThread, forall(v, forall(u, forall(i, w(i,v,k) += E(u,v,k) * C(u,i))))))"},
		{"i,m,k", 1,
			"where(forall(i, CPUThread, forall(k, forall(v, forall(m, T(i,m,k) += w(i,k,v) * P(v,m))))), forall(k, CPUThread, forall(v, forall(u, forall(i, w(i,k,v) += E(u,v,k) * C(u,i))))))"},
		{"k,i,m", 100,
			"forall(k, CPUThread, forall(v, where(forall(i, forall(m, T(k,i,m) += w(i) * P(v,m))), forall(u, forall(i, w(i) += E(u,v,k) * C(u,i))))))"},
	} {
		u, err := codegen.Compile(integral(t, c.left, c.k))
		if err != nil {
			t.Fatal(err)
		}
		if got := cin.String(u.CIN); got != c.want {
			t.Errorf("T(%s), %d coordinates of k: got\n%s\nwant\n%s", c.left, c.k, got, c.want)
		}
		text := ir.Print(u.Func)
		if got := strings.Contains(text, "w_counts["); got != strings.HasPrefix(c.want, "where") {
			t.Errorf("T(%s), %d coordinates of k: parts that are counted: %v, in\n%s", c.left, c.k, got,
				text)
		}
	}
}

// TestNetworkInside: among plans of about the same cost, a plan that makes an intermediate outside
// of all loops, on one thread, is not chosen.
func TestNetworkInside(t *testing.T) {
	r := goldenRequest(t, "R(j,k,i)=A(p,q,i)*B(r,j,p)*C(r,q,k)*D(r,j,k)\nA:sss\nB:sss\nC:sss\nD:sss")
	for v := range r.Tensors.Sizes {
		r.Tensors.Sizes[v] = 40
	}
	for name, x := range r.Tensors.All {
		x.Dims, x.NNZ, x.Counts = []int64{40, 40, 40}, 25600, []int64{40, 1600, 25600}
		if name == "D" {
			x.NNZ, x.Counts = 32000, []int64{40, 1600, 32000}
		}
		r.Tensors.All[name] = x
	}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if text, want := u.Network(), "loops  r j {w(q,i): p q i} q k i\n"; !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant %s in it", text, want)
	}
}

// TestNetworkParts: if the outermost loop sums contractions into a dense result, each thread
// computes a part of a variable that most contractions have, and its intermediates have only that
// part. The printed schedule makes the same leaf.
func TestNetworkParts(t *testing.T) {
	r := goldenRequest(t,
		"A(i,j,k,l)=B(p,q,r,s)*C(p,i)*D(q,j)*E(r,k)*F(s,l)\nB:ssss\ni=16\nj=16\nk=16\nl=16\np=40\nq=40\nr=40\ns=40")
	for _, a := range r.Statement.Stmt.Accesses() {
		x := r.Tensors.All[a.Name]
		x.Dims, x.NNZ = nil, 1
		for _, v := range a.Vars {
			x.Dims, x.NNZ = append(x.Dims, r.Tensors.Sizes[v]), x.NNZ*r.Tensors.Sizes[v]
		}
		if x.Counts = nil; a.Name == "B" {
			x.NNZ, x.Counts = 150000, []int64{40, 1600, 57863, 150000}
		}
		r.Tensors.All[a.Name] = x
	}
	r.Tensors.Exact = []string{"i", "j", "k", "l"}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	text := ir.Print(u.Func)
	for _, want := range []string{"for part in 0 : @\"threads\" parallel",
		"alloc w_vals_1 float64[select(18014398509481984 < k_to - k_from, 4611686018427387904, " +
			"(k_to - k_from) * 256)]",
		"alloc w1_vals_1 float64[select(288230376151711744 < k_to - k_from, 4611686018427387904, " +
			"(k_to - k_from) * 16)]", "alloc w2_vals_1 float64[16]"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
	if one, four := u.Workspaces(1), u.Workspaces(4); four > one+4*(16*8+3*64) {
		t.Errorf(
			"the workspaces of four threads take %d bytes, those of one %d: all but the last are shared out",
			four, one)
	}
	lines, err := codegen.Schedule(r)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(lines,
		func(l schedule.Line) bool {
			return l.Command ==
				"parallelize(p,CPUThread,NoRaces,Rows,k)"
		}) {
		t.Errorf("no parts of k among the commands %v", lines)
	}
	r.Ask.Schedule = []string{schedule.Text(lines)}
	if v, err := codegen.Compile(r); err != nil || ir.Print(v.Func) != text {
		t.Errorf("another leaf is made by\n%s: %v", r.Ask.Schedule[0], err)
	}
}

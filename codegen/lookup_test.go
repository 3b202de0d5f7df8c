package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/schedule"
)

// TestLookups checks when loops look coordinates up in a table, or search for them, instead of
// merging all entries, and when a sum is computed before the loops that read it.
func TestLookups(t *testing.T) {
	for _, x := range []struct {
		name, text string
		counts     map[string][]int64
		want       string // the command that is chosen, or "" if the loops merge
	}{
		{"a vector for many rows", "y(i)=A(i,j)*x(j)\nA:ds\nx:s",
			map[string][]int64{"A": {20000, 40000}, "x": {10000}}, "lookup(x(j),w)"},
		{"a few rows", "y(i)=A(i,j)*x(j)\nA:ds\nx:s\ni=2",
			map[string][]int64{"A": {2, 400}, "x": {100}}, ""},
		{"numbers of entries that are not known", "y(i)=A(i,j)*x(j)\nA:ds\nx:s", nil, ""},
		{"rows with other rows", "y(i)=A(i,j)*B(i,j)\nA:ds\nB:ds",
			map[string][]int64{"A": {20000, 400000}, "B": {20000, 400000}}, ""},
		{"a row for many rows", "C(i,k)=A(i,j)*B(k,j)\nC:dd\nA:ds\nB:ds",
			map[string][]int64{"A": {20000, 400000}, "B": {20000, 400000}}, "lookup(A(i,j),w)"},
		{"fibers", "A(i,j)=B(i,j,k)*c(k)\nA:dd\nB:dss\nc:s",
			map[string][]int64{"B": {20000, 40000, 100000}, "c": {5000}}, "lookup(c(k),w)"},
		{"a sparse result", "Y(i,j)=A(i,j)*d(j)\nY:ds\nA:ds\nd:s",
			map[string][]int64{"A": {20000, 40000}, "d": {10000}}, "lookup(d(j),w)"},
		{"a long vector with few coordinates", "y(i)=A(i,j)*x(j)\nA:ds\nx:s\nj=1000000000000",
			map[string][]int64{"A": {20000, 40000}, "x": {100000}}, "mergeby(j,Gallop)"},
		{"a sum for each entry of a matrix", "P(i,j)=A(i,j)/sum(k,A(k,j))\nP:ds\nA:ds",
			map[string][]int64{"A": {20000, 400000}}, "hoist(t)"},
		{"a sum for each row of a matrix", "P(i,j)=A(i,j)/sum(k,A(i,k))\nP:ds\nA:ds",
			map[string][]int64{"A": {20000, 400000}}, ""},
		{"sums that are as many as their readers", "P(i,j)=A(i,j)/sum(k,A(k,j))\nP:ds\nA:ds",
			map[string][]int64{"A": {20000, 30000}}, ""},
		{"a sum", "y(i)=A(i,j)+x(j)\nA:ds\nx:s",
			map[string][]int64{"A": {20000, 40000}, "x": {10000}}, ""},
	} {
		r := goldenRequest(t, x.text)
		for v, n := range r.Tensors.Sizes {
			if n == 1000 {
				r.Tensors.Sizes[v] = 20000
			}
		}
		for name, s := range r.Tensors.All {
			if name == r.Statement.Stmt.LHS.Name {
				continue
			}
			s.Counts, s.NNZ = x.counts[name], -1
			if n := len(s.Counts); n > 0 {
				s.NNZ = s.Counts[n-1]
			}
			for _, a := range r.Statement.Stmt.Accesses() {
				for m, v := range a.Vars {
					if a.Name == name {
						s.Dims[m] = r.Tensors.Sizes[v]
					}
				}
			}
			r.Tensors.All[name] = s
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := codegen.Schedule(r)
		if err != nil {
			t.Fatal(err)
		}
		said := schedule.Text(lines)
		chosen := strings.Contains(said, "lookup(") || strings.Contains(said, "Gallop") ||
			strings.Contains(said, "hoist(")
		if chosen != (x.want != "") || !strings.Contains(said, x.want) {
			t.Errorf("%s: got\n%swant %q", x.name, said, x.want)
		}
		r.Ask.Schedule = []string{said}
		v, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		if c.File(v.Func) != c.File(u.Func) {
			t.Errorf("%s: another leaf is made by\n%s", x.name, said)
		}
	}
}

// TestTables checks that a workspace whose coordinates are found in other operands is not sorted,
// and that the branch of an absent value depends on a NaN alone.
func TestTables(t *testing.T) {
	r := goldenRequest(t, "y(i)=A(i,j)*x(j)\nA:ds\nx:s")
	r.Ask.Schedule = []string{"temporaries(y),lookup(x(j),T)"}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(c.File(u.Func), "static int leaf_body(")
	for _, want := range []string{"T_mark[T_at] = 1", "if (term != term) {", "t_2 += term"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %s", text, want)
		}
	}
	for _, unwanted := range []string{"while (", "if (T_mark"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("got\n%s\nwant no %s", text, unwanted)
		}
	}
}

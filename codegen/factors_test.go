package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
)

// TestLargeFactors: a factor that far exceeds the range to divide costs nothing. A loop over 2^40
// pieces, or the compilation of 2^40 copies, would not end.
func TestLargeFactors(t *testing.T) {
	const spmv = "y(i)=A(i,j)*x(j)\ny:d\nA:ds\nx:d"
	for _, x := range []struct{ schedule, want string }{
		{"divide(i,i0,i1,1099511627776)", "i0_n int64 = min(1099511627776, max(i_hi, 1))"},
		{"pos(j,p,A),divide(p,p0,p1,1099511627776)",
			"p0_n int64 = min(1099511627776, max(A_e - A_s, 1))"},
		{"divide(i,i0,i1,300),reorder(i1,i0)", "i0_n int64 = min(300, max(i_hi, 1))"},
		{"split(i,i0,i1,1099511627776),reorder(i1,i0)", "i1_n int64 = min(1099511627776, max(i_hi, 1))"},
		// A small number of pieces is made exactly, and is compiled in.
		{"divide(i,i0,i1,4)", "for i0 in 0 : 4"},
		{"unroll(j,1099511627776)", "#pragma GCC unroll 64\n"},
		{"unroll(j,7)", "#pragma GCC unroll 7\n"},
		{"split(j,j0,j1,1099511627776),unroll(j1),unroll(j0,50)", /* 16 copies inside */
			"#pragma GCC unroll 11\n"},
	} {
		r := goldenRequest(t, spmv)
		r.Ask.Schedule = []string{x.schedule}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v", x.schedule, err)
			continue
		}
		if text := ir.Print(u.Func) + c.File(u.Func); !strings.Contains(text, x.want) {
			t.Errorf("%s: %s is not in\n%s", x.schedule, x.want, ir.Print(u.Func))
		}
	}
}

// TestLanesFillWorkspaces: lanes fill a workspace that is an array, without counting its entries.
// They cannot fill a workspace that records which entries it has.
func TestLanesFillWorkspaces(t *testing.T) {
	const mttkrp = "A(i,j)=B(i,k,l)*C(k,j)*D(l,j)\nA:dd\nB:dss\nC:dd\nD:"
	schedule := []string{
		"precompute(B(i,k,l)*D(l,j),j,j,W),prefetch(C,k,0),prefetch(D,l,0),parallelize(j,CPUVector,NoRaces)"}
	r := goldenRequest(t, mttkrp+"dd")
	r.Ask.Schedule = schedule
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(c.File(u.Func), "#pragma omp simd\n"); n != 2 {
		t.Errorf("got %d loops in lanes without a reduction, want 2:\n%s", n, ir.Print(u.Func))
	}
	r = goldenRequest(t, mttkrp+"ds")
	r.Ask.Schedule = schedule
	if _, err := codegen.Compile(r); err == nil ||
		!strings.Contains(err.Error(), "adds entries to the sparse workspace W(j) one at a time, which vector lanes cannot do") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestOneSearchATile: if loops over columns are between a tile of positions and its entries, the
// tile's first row is searched once, not once for each column.
func TestOneSearchATile(t *testing.T) {
	r := goldenRequest(t, "C(i,k)=A(i,j)*B(j,k)\nC:dd\nA:ds\nB:dd")
	r.Ask.Schedule = []string{"fuse(i,j,f),pos(f,p,A),split(p,p0,p1,16),reorder(p0,k,p1)"}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	text := ir.Print(u.Func)
	if n := strings.Count(text, "search"); n != 1 ||
		strings.Index(text, "search") > strings.Index(text, "for k in") {
		t.Errorf("got %d searches, want one, before the loop over k:\n%s", n, text)
	}
}

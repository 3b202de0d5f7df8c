package codegen_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
)

// TestExternRefused checks refusals of loops that a C function should run: the message, and the
// command that is blamed. fits says that the function has the parameters that the loops need.
func TestExternRefused(t *testing.T) {
	const sparse = "y(i)=A(i,j)*x(j)\nA:ds\n"
	const product = "C(i,j)=A(i,k)*B(k,j)\n"
	for _, x := range []struct {
		text, command, want string
		fits                bool
	}{
		{sparse + "-s=%s,parallelize(i,CPUThread,NoRaces)", "{i,j}",
			"the loop over i already runs on CPUThread, so f cannot replace it", true},
		{"y(i)=A(i,j)*x(j)\n-s=split(i,i0,i1,4),reorder(i1,i0,j),%s", "{i0,j}",
			"the function f gets a range of coordinates, but the loops over i0 and i1 visit coordinates out of order",
			true},
		{"y(i)=A(i,j)*x(j)\n-s=split(i,i0,i1,4),%s", "{i0,i1,j}",
			"the function f gets a range of coordinates, but the loop over i0 runs over tiles", true},
		{"y(i)=A(i,j)*x(j)\n-s=fuse(i,j,f),%s", "{f}",
			"the function f gets a separate range for each variable, but the loop over f runs over the fused i and j",
			true},
		{sparse + "-s=pos(j,jp,A),%s", "{jp}",
			"the function f gets a range of coordinates, but the loop over jp runs over positions", true},
		{product + "A:ds\nB:ds\n-s=reorder(i,k,j),precompute(A(i,k)*B(k,j),j,jw,W),%s", "{jw}",
			"W(jw) is filled only where B(k,jw) has entries, but the function f does not report where it adds", true},
		{product + "-s=reorder(i,k,j),precompute(A(i,k)*B(k,j),j,jw,W),workspace(W,Hash),%s", "{jw}",
			"the function f can add only to an array, but the loops store values at only some coordinates of W(jw)", true},
		{sparse + "-s=temporaries(y),%s", "{j}",
			"t is filled only where A(i,j) has entries, but the function f does not report where it adds", true},
		{"C(i,j)=A(i,j)+B(i,j)\nC:ds\nA:ds\nB:ds\n-s=%s", "{j}",
			"the function f must know where each value is stored, but C (its format is ds) is written in order, one coordinate at a time", true},
		{"C(i,j)=A(i,j)*B(i,j)\nC:ds\nA:ds\n-s=%s", "{i,j}",
			"the function f cannot write to C: the positions of C are the positions of A(i,j), which are known only while the loops run", true},
		{"y(j)=A(i,j)\n-s=reorder(i,j),parallelize(i,CPUThread,Atomics),%s", "{j}",
			"iterations of outer loops may add to the same element of y, which needs atomic additions, but the function f adds without them",
			true},
		{"C(i,k)=A(i,j)*B(j,k)\nA:ds\n-s=reorder(i,j,k),tile(k,8),%s", "{k}",
			"the function f cannot write to C, because the loops sum the rows of C in registers", true},
		{"C(i,j)=A(i)+B(i,j)\nA:s\n-s=%s", "{j}",
			"A(i) may have no entry at some coordinates, but the function f needs a value at each; store A(i) with dense levels", true},
		{"C(i,j)=A(i,j)+B(i,j)\nA:ss\n-s=%s", "{j}",
			"A(i,j) may have no entry at some coordinates, but the function f needs a value at each; store A(i,j) with dense levels", true},
		{product + "A:ds\nB:ds\n-s=reorder(i,k,j),precompute(A(i,k)*B(k,j),j,jw,W),%s", "{j}",
			"the function f needs the values of W(j) in an array in the order of positions, but they are stored in another way", true},
		{"y(i)=A(i,j)*x(j)\nA:uq\n-s=%s", "{i,j}",
			"the function f needs dense or compressed levels, but A(i,j) (its format is uq) has another kind of level for i", true},
		{"a(i)=B(i,i)\nB:ss\n-s=%s", "{i}",
			"B(i,i) (its format is ss) stores i below a variable of the loops, so that it would have to be searched", true},
		{"C(i,j)=A(i,j)*2\nC:ds\nA:ds\n-s=flatten(i),%s", "{j}",
			"the compiler changed the loops over j, so f would not be called; remove either the substitute or the other commands for these loops", true},
		{"A(k)=B(j,k,i)\nA:s\nB:dds\n-s=assemble(A,Append),%s", "{i}",
			"the function f gets compressed levels, so it cannot report which entries of A the loops store", true},
		{sparse + "-s=%s", "{i,j}",
			"got the function void f() in f.c, want the prototype void f(int64_t i_begin, int64_t i_end, int64_t j_begin, int64_t j_end, double *y, int64_t y_i, " +
				"const int32_t *A_pos1, int64_t A_pos1_i, const int32_t *A_crd1, const double *A, const double *x, int64_t x_j)", false},
		{"C(i,k)=A(i,j)*B(j,k)\nA:ds\n-s=reorder(i,j,k),%s", "{k}",
			"got the function void f() in f.c, want the prototype void f(int64_t k_begin, int64_t k_end, double *C, int64_t C_k, double A, const double *B, int64_t B_k)", false},
	} {
		r := goldenRequest(t, fmt.Sprintf(x.text, `substitute(`+x.command+`,"f.c:f")`))
		fn := &ir.Extern{File: "f.c", Name: "f", Result: "void"}
		r.Ask.Extern = func(string, string) (*ir.Extern, error) { return fn, nil }
		err := refusedExtern(t, r)
		if _, params, ok := strings.Cut(err.Msg, ", want the prototype void f("); ok && x.fits {
			fn = &ir.Extern{File: "f.c", Name: "f", Result: "void", Params: typesOf(params)}
			err = refusedExtern(t, r)
		}
		if at := err.Src[err.Pos:err.End]; err.Msg != "substitute: "+x.want ||
			!strings.HasPrefix(at, "substitute(") {
			t.Errorf("%s: got %q at %s, want %q", x.text, err.Msg, at, x.want)
		}
	}
}

// refusedExtern compiles a request and returns its refusal.
func refusedExtern(t *testing.T, r codegen.Request) *diag.Error {
	t.Helper()
	_, err := codegen.Compile(r)
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != diag.ScheduleRefused {
		t.Fatalf("%v: got %v, want a refusal", r.Ask.Schedule, err)
	}
	return e
}

// typesOf returns the types of a prototype's parameters. params ends with a parenthesis.
func typesOf(params string) (out []string) {
	for _, p := range strings.Split(strings.TrimSuffix(params, ")"), ", ") {
		out = append(out, strings.TrimSpace(p[:strings.LastIndexAny(p, " *")+1]))
	}
	return out
}

// TestExternUnknown: if no file defines the function, the refusal gives the wanted prototype. If no
// files can be read at all, the refusal says so.
func TestExternUnknown(t *testing.T) {
	r := goldenRequest(t, "y(i)=x(i)\n-s=substitute({i},\"f.c:f\")")
	if got, want := refusedExtern(t, r).Msg,
		"substitute: a GPU and the interpreter cannot call C functions; want gemm or loops"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Ask.Extern = func(file, name string) (*ir.Extern, error) {
		return nil, fmt.Errorf("%s defines no function %s", file, name)
	}
	const want = "substitute: f.c defines no function f, want void f(int64_t i_begin, int64_t i_end, double *y, int64_t y_i, const double *x, int64_t x_i)"
	if got := refusedExtern(t, r).Msg; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, fn := range []*ir.Extern{
		{File: "f.c", Name: "f", Result: "int",
			Params: []string{"int64_t", "int64_t", "double *", "int64_t", "const double *", "int64_t"}},
		{File: "f.c", Name: "f", Result: "void",
			Params: []string{"int64_t", "int64_t", "float *", "int64_t", "const double *", "int64_t"}},
		{File: "f.c", Name: "f", Result: "void",
			Params: []string{"int64_t", "int64_t", "double *", "int64_t", "const double *"}},
	} {
		r.Ask.Extern = func(string, string) (*ir.Extern, error) { return fn, nil }
		got := refusedExtern(t, r).Msg
		if want := fmt.Sprintf("substitute: got the function %s f(%s) in f.c, want the prototype void f(int64_t i_begin,", fn.Result,
			strings.Join(fn.Params, ", ")); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestExternTwoNests: a function cannot replace loops over a variable that two nests have, or a
// loop in lanes.
func TestExternTwoNests(t *testing.T) {
	for text, want := range map[string]string{
		"y(i)=A(i,j)*x(j)+B(i,j)*w(j)\nA:ds\nB:ds\n-s=temporaries(y),substitute({j},\"f.c:f\")": "substitute: 2 nests of loops are over j, but a function can replace only one",
		"y(i)=A(i,j)*x(j)+z(i)\nA:ds\n-s=substitute({i,j},\"f.c:f\")":                           "substitute: the loops over i, j must be directly inside one another, around only one assignment; commands that change loops must come first",
		"y(i)=A(i,j)*x(j)\n-s=parallelize(j,CPUVector,IgnoreRaces),substitute({j},\"f.c:f\")":   "substitute: the loop over j already runs on CPUVector, so f cannot replace it",
		"y(i)=A(i,j)*x(j)\n-s=substitute({j},\"f.c:f\"),parallelize(j,CPUVector,IgnoreRaces)":   "substitute: the loop over j already runs on CPUVector, so f cannot replace it",
		"y(i)=A(i,j)*x(j)\n-s=substitute({j},\"f.c:f\"),unroll(j,2)":                            "substitute: the loop over j is unrolled or has a mergeby, so f cannot replace it",
	} {
		r := goldenRequest(t, text)
		r.Ask.Extern = func(string, string) (*ir.Extern, error) {
			return &ir.Extern{File: "f.c", Name: "f", Result: "void"}, nil
		}
		if got := refusedExtern(t, r).Msg; got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

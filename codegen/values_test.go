package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
)

// TestValues: a leaf that computes values alone makes no level arrays and sorts nothing. It fails
// if the pattern lacks a coordinate, unless its loops walk the pattern.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		request  string
		has, not []string
	}{
		{"A(i,j)=B(i,k)*C(k,j) A:ds B:ds C:ds", []string{"_place[", "fail pattern"},
			[]string{"w_mark", "w_list"}},
		{"A(i,j)=B(i,k)*C(k,j) A:ss B:ss C:ss", []string{"_place[", "fail pattern"}, nil},
		// The dimension is too large for an array of places.
		{"A(i,j)=B(i,k)*C(k,j) A:ds B:ds C:ds j=100000000", []string{"search", "fail pattern"},
			[]string{"_place[", "w_table"}},
		{"A(i,j)=B(k,i)*C(k,j) A:ss B:ss C:ss", []string{"search", "fail pattern"}, []string{"w_table"}},
		{"A(i,j)=B(i,j)+C(i,j) A:ds B:ds C:ds", []string{" in A_done : A_row_end", "select("}, nil},
		{"A(i,j)=B(i,j)*C(i,j) A:ds B:ds C:ds", []string{"fail pattern"}, nil},
		{"A(i,j)=B(i,j)*2 A:ds B:ds", []string{"fail pattern"}, nil},
		{"A(i,j)=B(i,k)*C(k,j) A:sd B:ss C:dd", []string{"fail pattern"}, nil},
	} {
		r := goldenRequest(t, strings.ReplaceAll(c.request, " ", "\n"))
		r.Ask.FixedPattern = true
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		if !u.Result.FixedPattern || u.Result.Shares >= 0 {
			t.Errorf("%s: got %+v, want a result whose pattern is given", c.request, u.Result)
		}
		text := ir.Print(u.Func)
		for _, s := range c.has {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %s in\n%s", c.request, s, text)
			}
		}
		for _, s := range append(c.not, "publish", "grow", "sort", "collect") {
			if strings.Contains(text, s) {
				t.Errorf("%s: %s in\n%s", c.request, s, text)
			}
		}
	}
}

// TestValuesOfSchedules: a schedule is refused, because its loops assemble a result.
func TestValuesOfSchedules(t *testing.T) {
	r := goldenRequest(t, "A(i,j)=B(i,j)+C(i,j)\nA:ds\nB:ds\nC:ds")
	r.Ask.FixedPattern, r.Ask.Schedule = true, []string{"split(i,i0,i1,4)"}
	if _, err := codegen.Compile(r); err == nil ||
		!strings.Contains(err.Error(), "got a schedule for values alone, want none: only the default schedule can compute them") {
		t.Errorf("got %v, want a refusal", err)
	}
}

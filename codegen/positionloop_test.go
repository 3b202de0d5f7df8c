package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
)

// TestFlatWalks: a result has the pattern of an operand. If nothing else needs the coordinates of
// the levels above the last one that they share, these coordinates are not read, and there is one
// loop over the positions of that level.
func TestFlatWalks(t *testing.T) {
	for _, c := range []struct {
		request string
		flat    bool
		unread  string // a parameter that the leaf must not have
	}{
		{"A(i,j)=B(i,j,k)*c(k) A:ss B:sss", true, "B_crd0"},
		{"A(i,j)=B(i,j,k)*c(k) A:ds B:dss", true, "B_crd1"},
		{"A(i,j,l)=B(i,j,k)*C(k,l) A:ssd B:sss", true, "B_crd1"},
		{"A(i,j,k)=-B(i,j,k) A:sss B:sss", true, "B_crd2"},
		{"A(i,j)=B(i,j)*x(j) A:ds B:ds", true, "B_crd0"}, // the last level's own coordinates may be read
		{"A(i,j)=B(i,j)*B(i,j) A:ds:1,0 B:ds:1,0", true, "B_crd1"},
		{"A(i,j)=B(i,j)*x(i) A:ds B:ds", false, ""},
		{"A(i,j)=B(i,j)*C(i,k)*D(j,k) A:ds B:ds", false, ""},
		{"A(i,j)=B(i,j,k)*C(i,k) A:ss B:sss", false, ""},
		{"A(i,j)=B(i,j)*2 A:sd B:sd", false, ""}, // the shared level is the outermost
		{"A(i,j)=B(i,j)*2 A:dd B:ds", false, ""}, // nothing is shared
	} {
		u, err := codegen.Compile(goldenRequest(t, strings.ReplaceAll(c.request, " ", "\n")))
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		text := ir.Print(u.Func)
		if flat := strings.Contains(text, "for B_p in B_from : B_to"); flat != c.flat {
			t.Errorf("%s: flat %v, want %v:\n%s", c.request, flat, c.flat, text)
		}
		if c.unread != "" && strings.Contains(text, c.unread+" ") {
			t.Errorf("%s: the leaf reads %s:\n%s", c.request, c.unread, text)
		}
	}
}

package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
)

// TestMaskedLanes: sums over short segments run in masked lanes where the dense
// operands that they gather from stay in a cache, and nothing else is done there.
func TestMaskedLanes(t *testing.T) {
	for request, want := range map[string]string{
		"y(i)=A(i,j)*x(j) A:ds":                     "vector(17, 16)",
		"y(i)=A(i,j)*x(j) A:ds j=131072":            "vector(17, 16)",
		"y(i)=A(i,j)*x(j) A:ds j=131073":            "vector(17)", // past 1 MiB
		"y(i)=A(i,j)*x(j)*z(j) A:ds j=131072":       "vector(17)", // 2 MiB together
		"y(i)=A(i,j)*x(j)*z(j) A:ds j=1000":         "vector(17, 16)",
		"y(i)=A(i,j)/x(j) A:ds":                     "vector(17)",
		"y(i,k)=A(i,j)*X(j,k) A:ds k=1000 j=100000": "vector",
		"a=A(i)*x(i) A:s":                           "vector(17, 16)",
	} {
		u, err := codegen.Compile(goldenRequest(t, strings.ReplaceAll(request, " ", "\n")))
		if err != nil {
			t.Errorf("%s: %v", request, err)
			continue
		}
		text := ir.Print(u.Func)
		if _, got, ok := strings.Cut(text, " vector"); !ok || !strings.HasPrefix(" vector"+got, " "+want+" ") {
			t.Errorf("%s: want %s:\n%s", request, want, text)
		}
	}
	few := goldenRequest(t, "y(i)=A(i,j)*x(j)\nA:ds")
	a := few.Tensors["A"]
	a.Counts, a.NNZ = []int64{1000, 4000}, 4000
	few.Tensors["A"] = a
	u, err := codegen.Compile(few)
	if err != nil {
		t.Fatal(err)
	}
	if text := ir.Print(u.Func); !strings.Contains(text, "vector(17, 8)") {
		t.Errorf("4 entries a row: want 8 lanes:\n%s", text)
	}
}

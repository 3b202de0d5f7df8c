package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/io/tensor"
)

// longSum returns the C code of a sum of n sparse vectors, or the error of Compile. letter is the
// format of the result, and op the operator.
func longSum(t *testing.T, n int, letter, op string) (string, error) {
	t.Helper()
	names := make([]string, n)
	formats := "\ny:" + letter
	for k := range names {
		names[k] = fmt.Sprintf("t%d(i)", k)
		formats += fmt.Sprintf("\nt%d:s", k)
	}
	u, err := codegen.Compile(goldenRequest(t, "y(i) = "+strings.Join(names, op)+formats))
	if err != nil {
		return "", err
	}
	return c.File(u.Func), nil
}

// TestLongSums: the size of the code grows with the number of operands, not with the number of
// their subsets.
func TestLongSums(t *testing.T) {
	for _, op := range []string{" + ", " - "} {
		for _, letter := range []string{"d", "s"} {
			ten, err := longSum(t, 10, letter, op)
			if err != nil {
				t.Fatal(err)
			}
			forty, err := longSum(t, 40, letter, op)
			if err != nil {
				t.Fatal(err)
			}
			if len(forty) > 12*len(ten) {
				t.Errorf("y%s: %d bytes of C for 10 operands of %q, %d for 40", letter, len(ten), op,
					len(forty))
			}
		}
	}
	many, err := longSum(t, 300, "s", " + ")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(many, `#pragma GCC optimize ("O1", "no-dse")`) {
		t.Errorf("%d bytes of C are optimized in full", len(many))
	}
	if _, err := longSum(t, 300, "d", " + "); err != nil {
		t.Errorf("300 operands: %v", err)
	}
}

// TestUnrolledQuiet: the code of an unrolled loop does not let GCC warn that a position after the
// last one might overflow.
func TestUnrolledQuiet(t *testing.T) {
	const warning = "-Waggressive-loop-optimizations"
	for commands, want := range map[string]bool{"unroll(j,4)": true, "reorder(i,j)": false} {
		u, err := codegen.Compile(goldenRequest(t, "y(i)=A(i,j)*x(j)\nA:ds\n-s="+commands))
		if err != nil {
			t.Fatal(err)
		}
		if text := c.File(u.Func); strings.Contains(text, warning) != want {
			t.Errorf("%s: %s in the text, want %v:\n%s", commands, warning, want, text)
		}
	}
}

// TestFailingLoopUnrolled: a loop whose body always fails has at most one iteration, and GCC would
// warn if it had to unroll such a loop. Only the loop for coordinates that D stores is unrolled.
func TestFailingLoopUnrolled(t *testing.T) {
	r := goldenRequest(t, "a=C(k,i)/D(k)\nC:dd\nD:s\n-s=unroll(i,4)")
	for name, x := range r.Tensors.All {
		x.Type = tensor.Int32
		r.Tensors.All[name] = x
	}
	r.Statement.ComputeType = tensor.Int32
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	text := c.File(u.Func)
	if n := strings.Count(text, "#pragma GCC unroll 4\n"); n != 1 {
		t.Errorf("%d loops are unrolled, want that of two which does not always fail:\n%s", n, text)
	}
}

package oracle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"distaff/codegen/cin"
)

// manyTerms returns a line for kernelCase: a sum of n terms, some of them with a minus sign. A term
// is pattern, with the number of the term in place of each "#". result is the format of the result,
// and formats the format of the operands.
func manyTerms(left, pattern string, n int, result, formats string) string {
	var b, f strings.Builder
	b.WriteString(left)
	for k := range n {
		if k > 0 {
			b.WriteString([]string{" + ", " - "}[k%3/2])
		}
		b.WriteString(strings.ReplaceAll(pattern, "#", fmt.Sprint(k)))
		fmt.Fprintf(&f, " %s", strings.ReplaceAll(formats, "#", fmt.Sprint(k)))
	}
	return b.String() + "; " + result + f.String()
}

// TestManyTerms checks sums of more operands than one loop merges or reads. They must be right in
// every format, and must have a separate loop for each operand that would otherwise be merged.
func TestManyTerms(t *testing.T) {
	t.Parallel()
	for m, line := range []string{
		manyTerms("y(i) = ", "a#(i)", 40, "y:d/s", "a#:s"),
		manyTerms("y(i) += ", "a#(i)", 40, "y:d/s", "a#:s/d"),
		manyTerms("y(i) = ", "a#(i)", 140, "y:d/s", "a#:d"),
		manyTerms("a = ", "a#(i)*b(i)", 40, "b:d/s a:", "a#:s/d"),
		manyTerms("y(i) = ", "2*a#(i)*b(i)", 40, "b:d/s y:d/s", "a#:s/d"),
		manyTerms("A(i,j) = ", "B#(i,j)", 40, "A:dd/ds/ss/sd/uq", "B#:ds"),
		manyTerms("A(i,j) = ", "B#(i,j)", 40, "A:dd/ds/ss/ds:1,0", "B#:ss/uq/ds"),
		manyTerms("A(i,j) = ", "B#(i,j)*c#(j)", 35, "A:dd/ds", "B#:ss c#:s"),
		manyTerms("y(i) = ", "B#(i,j)*x(j)", 40, "x:d/s y:d/s", "B#:ds/ss"),
		manyTerms("A(i,j) = ", "b#(i)*c#(j)", 40, "A:dd/ds/sd", "b#:s c#:s/d"),
		manyTerms("A(i,j) = ", "B#(i,k)*C(k,j)", 36, "C:ds A:dd/ds/ss", "B#:ss/ds"),
	} {
		for k := range uint64(3) {
			p, err := kernelCase(line, Rand(*seedFlag+uint64(m)<<32, k))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			for _, e := range []Engine{Interp{}, scheduleEngine{}} {
				if err := Check(context.Background(), e, p.Case); err != nil {
					t.Fatalf("%s, case %d: %v\n%s", e.Name(), k, err, p.Case.Text())
				}
			}
			c, err := compile(p, "leaf")
			if err != nil {
				t.Fatal(err)
			}
			cin.Paths(c.unit.CIN, func(_ []*cin.Forall, a *cin.Assign) {
				n := 0
				cin.ExprAccesses(a.RHS, func(*cin.Access) { n++ })
				if n > 128 {
					t.Errorf("%s, case %d: a loop reads %d operands", line[:20], k, n)
				}
			})
			c.close()
		}
	}
}

package notation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"distaff/codegen/diag"
)

// TestLimits checks that text within the documented limits is parsed in a moment, and that text
// beyond a limit is refused with the place or the number.
func TestLimits(t *testing.T) {
	sum := func(n int) string { return "a(i) = " + strings.Repeat("b(i) + ", n-1) + "b(i)" }
	for _, c := range []struct {
		name string
		make func(n int) string
		most int
	}{
		{"terms", sum, MaxTerms},
		{"terms of several operands", func(n int) string {
			return "a(i) = " + strings.Repeat("b(i)*c(i,j)*d(j) - ", n-1) + "sum(j, c(i,j))"
		}, MaxTerms},
		{"parentheses",
			func(n int) string {
				return "a(i) = " + strings.Repeat("(", n) + "b(i)" + strings.Repeat(")",
					n)
			}, MaxDepth},
		{"parentheses with operators", func(n int) string {
			return "a(i) = " + strings.Repeat("c(i)*(d(i)/(", n/2) + strings.Repeat("(",
				n%2) + "b(i)" + strings.Repeat(")", n)
		}, MaxDepth},
		{"signs", func(n int) string { return "a(i) = " + strings.Repeat("-", n) + "b(i)" }, MaxDepth},
		{"sums", func(n int) string {
			return "a(i) = " + strings.Repeat("sum(j, ", n) + "b(i,j)" + strings.Repeat("*c(j))", n)
		}, MaxDepth},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := time.Now()
			s, err := Parse(c.make(c.most))
			if err == nil {
				err = Check(s)
			}
			if err != nil {
				t.Errorf("%d: %v", c.most, err)
			} else {
				Normalize(s)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("%d take %v", c.most, took)
			}
			if s, err = Parse(c.make(c.most + 1)); err == nil {
				err = Check(s)
			}
			var d *diag.Error
			if !errors.As(err, &d) || d.Code != diag.TooLarge || d.ExitCode() != diag.ExitCommand {
				t.Errorf("%d: got %v, want an error of code %s", c.most+1, err, diag.TooLarge)
			}
		})
	}
}

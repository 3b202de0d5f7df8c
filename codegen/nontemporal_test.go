package codegen_test

import (
	"regexp"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/c"
)

// TestNontemporal: leaves with large results store rows that are written once past the caches, by
// whole cache lines. They do not do so for rows that are added to or set to 0 before, and for
// values that are written one by one.
func TestNontemporal(t *testing.T) {
	for text, want := range map[string]int{
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=32": 1, // the tile of a row
		// nothing for the remaining columns, which are summed in place
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=48":         1,
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=32\ni=2000": 0,
		// rows come in the order of the columns of A
		"C(i,k)=A(i,j)*B(j,k)\nA:ds:1,0\nk=32":                   0,
		"A(i,j,l)=B(i,j,k)*C(k,l)\nA:dsd\nB:dss\nl=16":           1,
		"A(i,j,l)=B(i,j,k)*C(k,l)\nA:dsd\nB:dss\nl=16\nC:dd:1,0": 1, // C is read from a copy by rows
		"C(i,k)=A(i,k)+B(k,i)\nk=75":                             0, // values are written one by one
		"C(i,k)=A(i,k)+B(i,k)\nk=75":                             1,
		"y(i)=a(i)+b(i)\ni=10000000":                             1,
		"C(i,k)=A(i,j)*B(j,k)+D(i,k)\nA:ds\nk=32":                1, // both terms are in one tile
		"C(i,k)=A(i,k)\nA:ds\nk=1000":                            0, // set to 0 before
		"C(i,j,k)=A(i,j,k)\nA:dsd\nk=64\nj=100":                  0,
		"y(i)=A(i,j)*x(j)\nA:ds\ni=10000000":                     0,
	} {
		u, err := codegen.Compile(large(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, body, _ := strings.Cut(c.File(u.Func), "\n// The loop over ")
		got := len(regexp.MustCompile(`dst_put_line\(`).FindAllString(body, -1))
		if fences := strings.Count(body, "dst_lines_put();"); got != want || fences != min(want, 1) {
			t.Errorf("%s: lines are stored at %d places, with %d fences, want %d:\n%s", text, got, fences,
				want, body)
		}
	}
}

package planview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/forecast"
)

// Label is a tensor as the statement names it: A(i,j).
func Label(t forecast.PlannedTensor) string {
	if len(t.Vars) == 0 {
		return t.Name
	}
	return t.Name + "(" + strings.Join(t.Vars, ",") + ")"
}

// Exact tells of each tensor, by name, whether its bytes are no estimates.
func Exact(p *forecast.Planned) map[string]bool {
	exact := map[string]bool{}
	for _, t := range p.Tensors {
		old, ok := exact[t.Name]
		exact[t.Name] = t.Exact && (old || !ok)
	}
	return exact
}

// MemoryNotes says what memory a rank takes for certain, and whether some rank would pass its
// limit.
func MemoryNotes(p *forecast.Planned) (list []string) {
	if p.Least > 0 {
		list = append(list, fmt.Sprintf(
			"a rank takes %s of memory at least: a run with a lower limit is refused", tcs.Size(p.Least)))
	}
	if most := slices.Max(p.Memory); p.MemoryLimit > 0 && most > p.MemoryLimit {
		list = append(list, fmt.Sprintf("a rank would want %s, and --memory-limit is %s", tcs.Size(most),
			tcs.Size(p.MemoryLimit)))
	}
	return list
}

// About marks what is an estimate.
func About(exact bool, s string) string {
	if exact {
		return s
	}
	return "~" + s
}

// Compact prints a count, with one digit after the point where it is no whole number, and two
// that count below one.
func Compact(n float64) string {
	if n == float64(int64(n)) {
		return strconv.FormatInt(int64(n), 10)
	}
	if n < 1 {
		return strconv.FormatFloat(n, 'g', 2, 64)
	}
	return strconv.FormatFloat(n, 'f', 1, 64)
}

// grouped prints a count with commas between thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for k := len(s) - 3; k > 0 && s[k-1] != '-'; k -= 3 {
		s = s[:k] + "," + s[k:]
	}
	return s
}

// countOf is a count of things whose plural ends in s.
func countOf[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// number prints a count, or a mean of counts, as a page does.
func number(n float64) string {
	if n == float64(int64(n)) || n >= 1000 {
		return grouped(int64(n + 0.5))
	}
	return Compact(n)
}

// extents prints sizes.
func extents(sizes []int64) string {
	var list []string
	for _, n := range sizes {
		list = append(list, grouped(n))
	}
	return cmp.Or(strings.Join(list, " x "), "scalar")
}

// joined are the sentences that are not empty.
func joined(list ...string) string {
	s := ""
	for _, x := range list {
		if x != "" && s != "" {
			s += " "
		}
		s += x
	}
	return s
}

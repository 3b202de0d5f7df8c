package planview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tensor"
	"distaff/spmd/forecast"
)

// Label returns a tensor with its index variables: A(i,j).
func Label(t forecast.PlannedTensor) string {
	if len(t.Vars) == 0 {
		return t.Name
	}
	return t.Name + "(" + strings.Join(t.Vars, ",") + ")"
}

// Exact reports, for each tensor by name, whether its size in bytes is exact and not estimated.
func Exact(p *forecast.Planned) map[string]bool {
	exact := map[string]bool{}
	for _, t := range p.Tensors {
		old, ok := exact[t.Name]
		exact[t.Name] = t.Exact && (old || !ok)
	}
	return exact
}

// MemoryNotes returns notes about the memory that a rank certainly needs, and about ranks that
// would exceed the memory limit.
func MemoryNotes(p *forecast.Planned) (list []string) {
	if p.Least > 0 {
		list = append(list, fmt.Sprintf(
			"a rank needs at least %s of memory: a run with a lower limit is refused",
			tensor.Bytes(p.Least)))
	}
	if most := slices.Max(p.Memory); p.MemoryLimit > 0 && most > p.MemoryLimit {
		list = append(list, fmt.Sprintf("a rank would need %s, but --memory-limit is %s",
			tensor.Bytes(most),
			tensor.Bytes(p.MemoryLimit)))
	}
	return list
}

// About marks s with "~" unless it is exact.
func About(exact bool, s string) string {
	if exact {
		return s
	}
	return "~" + s
}

// Compact prints a number: an integer as it is, other numbers with one digit after the point, or
// with two significant digits if they are less than one.
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

// countOf prints a count and a noun whose plural ends in s.
func countOf[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// number formats a count, a mean of counts, or the number of a rank, for a page.
func number(n float64) string {
	if n == float64(int64(n)) || n >= 1000 {
		return grouped(int64(n + 0.5))
	}
	return Compact(n)
}

// extents prints the sizes of a tensor or of a machine.
func extents(sizes []int64) string {
	var list []string
	for _, n := range sizes {
		list = append(list, grouped(n))
	}
	return cmp.Or(strings.Join(list, " x "), "scalar")
}

// joined returns the nonempty sentences, separated by spaces.
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

package notation

import (
	"regexp"
	"slices"
	"strings"
)

// hint says how the notation writes what stands at a place where the grammar does not
// want it, or "".
func hint(src string, at Span) string {
	rest, before := src[at.Pos:], src[:at.Pos]
	starts := func(s string) bool { return strings.HasPrefix(rest, s) }
	switch {
	case starts("["):
		return "; indices stand in parentheses, as in A(i,j)"
	case starts("^"), starts("*") && strings.HasSuffix(before, "*"):
		return "; a power is a product, as in x(i)*x(i)"
	case starts("@"):
		return "; a matrix product is a sum over the variable that its factors share, as in A(i,k)*B(k,j)"
	case starts(":="), starts("=") && strings.HasSuffix(before, "="):
		return `; an assignment is one "="`
	case starts("-="):
		return "; to subtract, add the negative, as in y(i) += -x(i)"
	}
	return ""
}

var einsumForm = regexp.MustCompile(`^\s*[A-Za-z]+(\s*,\s*[A-Za-z]+)*\s*->\s*[A-Za-z]*\s*$`)

// fromEinsum is what einsum's subscripts, "ij,j->i", say as a statement over tensors of any
// names; "" for other text. arrow is where they have "->".
func fromEinsum(src string) (statement string, arrow Span) {
	if !einsumForm.MatchString(src) {
		return "", Span{}
	}
	at := strings.Index(src, "->")
	access := func(name, letters string) string {
		return name + "(" + strings.Join(strings.Split(strings.TrimSpace(letters), ""), ",") + ")"
	}
	used := strings.Split(src, "") // by the index variables
	next := 'A'
	name := func() string {
		for next <= 'Z' && slices.Contains(used, string(next)) {
			next++
		}
		next++
		return string(next - 1)
	}
	var factors []string
	for _, letters := range strings.Split(src[:at], ",") {
		factors = append(factors, access(name(), letters))
	}
	return access(name(), src[at+2:]) + " = " + strings.Join(factors, " * "), Span{at, at + 2}
}

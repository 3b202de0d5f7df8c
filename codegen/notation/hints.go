package notation

import (
	"regexp"
	"slices"
	"strings"

	"distaff/codegen/algebra"
)

// otherSyntax lists operators of other languages, each with a hint: how this language writes the
// same thing.
var otherSyntax = []replacement{
	{"[", "indices must be in parentheses, as in A(i,j)"},
	{"^", "a power must be written with **, as in x(i)**2"},
	{"@",
		"a matrix product must be written as a sum over the shared variable, as in " +
			"A(i,k)*B(k,j)"},
}

type replacement struct{ text, hint string }

// missingOperators lists operators that other languages have and this one lacks. Each has a hint
// that says what to write instead. If one operator begins with another, the longer one comes first.
var missingOperators = []replacement{
	{":=", `an assignment must have one "="`},
	{"/=", "write the old values on the right side, as in y(i) = y(i)/x(i)"},
	{".*", "* is elementwise where both factors have the same variables, as in A(i,j)*B(i,j)"},
	{"./", "/ is elementwise where both sides have the same variables, as in A(i,j)/B(i,j)"},
	{".T", transposed}, {"'", transposed},
	{">", noComparison}, {"<", noComparison}, {"==", noComparison}, {"!=", noComparison},
	{"?", noCondition}, {"!", noLogic}, {"&", noLogic}, {"|", noLogic},
	{"%",
		"there is no operator for the remainder: compute it beforehand, and give it as a " +
			"tensor (-i=T:FILE)"},
	{";",
		"a command has only one statement; several must be in a job file, one on each line " +
			"(docs/jobs.md)"},
	{":",
		"there are no ranges: an index must be a variable, which takes all values of its range"},
}

const (
	transposed   = "a transpose must be written with its variables swapped, as in A(j,i)"
	noComparison = "there are no comparisons: give the outcome as a tensor of zeros and ones, and " +
		"multiply by it, as in m(i)*x(i)"
	noCondition = "there are no conditions: give them as a tensor of zeros and ones, and multiply by " +
		"it, as in m(i)*x(i)"
	noLogic = "there are no logical operators: with zeros and ones, write a*b for \"and\", and 1-a " +
		"for \"not\""
	noLoop = "a statement has no loops of its own: variables take all values of their ranges; " +
		"repeat in a job file runs statements again (docs/jobs.md)"
)

// keywords has the keywords of other languages, each with a hint: what to write instead.
var keywords = map[string]string{
	"if": noCondition, "else": noCondition, "where": noCondition, "and": noLogic, "or": noLogic,
	"not":   noLogic,
	"while": noLoop, "for": noLoop, "forall": noLoop,
}

// functions has functions of other languages, each with a hint: what to write instead.
var functions = map[string]string{
	"power": "a power must be written with **, as in x(i)**2", "square": "a square must be written as x(i)**2 or x(i)*x(i)",
	"maximum":   "the larger of two numbers must be written as max(a, b)",
	"minimum":   "the smaller of two numbers must be written as min(a, b)",
	"transpose": transposed, "trace": "a trace must be written with one variable twice, as in t = A(i,i)",
	"dot": "a dot product must be written as s = x(i)*y(i)", "matmul": "a matrix product must be written as C(i,j) = A(i,k)*B(k,j)",
	"norm": "a norm can be written as s = sqrt(sum(i, x(i)*x(i)))",
	"mean": "a mean must be written as a sum divided by a count, as in m = x(i)/n",
}

// numberFunctions lists functions of numbers or matrices that other languages have and this one
// does not.
var numberFunctions = strings.Fields(
	"conj real imag angle mod erf relu sigmoid isnan isinf inv det exp2 asinh acosh atanh gamma")

// hint returns a hint for a mistake at a place in the text: how to write in this notation what the
// user may have meant. It returns "" if it has no hint.
func (p *parser) hint(at Span) string {
	rest, before := p.src[at.Pos:p.part.End], p.src[p.part.Pos:at.Pos]
	starts := func(s string) bool { return strings.HasPrefix(rest, s) }
	word := p.src[at.Pos:at.End]
	switch {
	case p.alone:
		return operatorHint(rest, otherSyntax)
	case keywords[p.text(p.toks[0])] != "" && at.Pos > p.toks[0].at.Pos &&
		!strings.Contains(before, "="):
		return "; " + keywords[p.text(p.toks[0])]
	case keywords[word] != "":
		return "; " + keywords[word]
	case starts("=") && strings.HasSuffix(before, "="):
		if strings.Count(before, "=") > 1 {
			return "; " + noComparison
		}
		return `; an assignment must have one "="`
	}
	return operatorHint(rest, slices.Concat(otherSyntax, missingOperators))
}

// operatorHint returns the hint of the first operator in list that text begins with, or "".
func operatorHint(text string, list []replacement) string {
	for _, a := range list {
		if strings.HasPrefix(text, a.text) {
			return "; " + a.hint
		}
	}
	return ""
}

// callHint returns a hint for a mistake in the parentheses of an access: a call of a function, or
// an index that is not a variable. name is the tensor's name, and at is the token that is wrong.
func (p *parser) callHint(name string, at token) string {
	switch {
	case functions[name] != "":
		return "; " + functions[name]
	case slices.Contains(numberFunctions, name):
		return "; there is no function " + name + ": compute its values beforehand, and give " +
			"them as a tensor (-i=T:FILE)"
	case keywords[name] != "" && p.hint(at.at) == "":
		return "; " + keywords[name]
	case at.kind == '(' && p.hint(at.at) == "":
		var reductions []string
		for _, r := range algebra.Reductions {
			reductions = append(reductions, r.Name+"(i, ...)")
		}
		return "; " + name + "(...) must be a tensor with index variables: functions " +
			"are " + strings.Join(append(reductions, algebra.Names()...), ", ")
	}
	return p.hint(at.at)
}

// productHint returns the hint for an operand that follows another operand without a sign.
func productHint(t token) string {
	if t.kind == tokName || t.kind == tokNumber || t.kind == '(' {
		return "; a product must have a * between its factors, as in 2*x(i)"
	}
	return ""
}

var einsumForm = regexp.MustCompile(`^\s*[A-Za-z]+(\s*,\s*[A-Za-z]+)*\s*->\s*[A-Za-z]*\s*$`)

// fromEinsum translates the subscripts of einsum, such as "ij,j->i", to a statement over tensors
// whose names it invents. It returns "" if src is not of this form. arrow is the span of "->".
func fromEinsum(src string) (statement string, arrow Span) {
	if !einsumForm.MatchString(src) {
		return "", Span{}
	}
	at := strings.Index(src, "->")
	access := func(name, letters string) string {
		return name + "(" + strings.Join(strings.Split(strings.TrimSpace(letters), ""), ",") + ")"
	}
	used := strings.Split(src, "") // the letters that index variables use
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

package notation

import (
	"regexp"
	"slices"
	"strings"
)

// otherSyntax lists operators of other languages, each with a hint: how this language writes the
// same thing.
var otherSyntax = []replacement{
	{"[", "indices are in parentheses, as in A(i,j)"},
	{"^", "a power is a product, as in x(i)*x(i)"},
	{"@", "a matrix product is a sum over the variable that its factors share, as in A(i,k)*B(k,j)"},
}

type replacement struct{ text, hint string }

// missingOperators lists operators that other languages have and this one lacks, each with a hint:
// what to write instead. If one operator begins with another, the longer one comes first.
var missingOperators = []replacement{
	{":=", `an assignment is one "="`},
	{"-=", "to subtract, add the negative, as in y(i) += -x(i)"},
	{"*=", "write the old value on the right side, as in y(i) = y(i)*x(i)"},
	{"/=", "write the old value on the right side, as in y(i) = y(i)/x(i)"},
	{".*", "* is elementwise where both factors have the same variables, as in A(i,j)*B(i,j)"},
	{"./", "/ is elementwise where both sides have the same variables, as in A(i,j)/B(i,j)"},
	{".T", transposed}, {"'", transposed},
	{">", noComparison}, {"<", noComparison}, {"==", noComparison}, {"!=", noComparison},
	{"?", noCondition}, {"!", noLogic}, {"&", noLogic}, {"|", noLogic},
	{"%", "there is no remainder: compute it outside, and give it as a tensor (-i=T:FILE)"},
	{";", "a command has one statement, and a job file has several, a line each (docs/jobs.md)"},
	{":", "there are no ranges: an index is a variable, which runs over its whole range"},
}

const (
	transposed   = "a transpose is another order of variables, as in A(j,i)"
	noComparison = "there are no comparisons: give their outcome as a tensor of zeros and ones, and multiply by it, as in m(i)*x(i)"
	noCondition  = "there are no conditions: give a tensor of zeros and ones, and multiply by it, as in m(i)*x(i)"
	noLogic      = "there are no logical operators: for zeros and ones, a*b computes and, and 1-a computes not"
	noLoop       = "a statement does not contain loops: variables run over their ranges, and repeat in a job file runs statements again (docs/jobs.md)"
)

// keywords has the keywords of other languages, each with a hint: what to write instead.
var keywords = map[string]string{
	"if": noCondition, "else": noCondition, "where": noCondition, "and": noLogic, "or": noLogic,
	"not":   noLogic,
	"while": noLoop, "for": noLoop, "forall": noLoop,
}

// functions has functions of other languages, each with a hint: what to write instead.
var functions = map[string]string{
	"pow": "a power is a product, as in x(i)*x(i)", "square": "a square is a product, as in x(i)*x(i)",
	"transpose": transposed, "trace": "a trace has one variable twice, as in t = A(i,i)",
	"dot": "a dot product is s = x(i)*y(i)", "matmul": "a matrix product is C(i,j) = A(i,k)*B(k,j)",
	"norm": "the square of a norm is s = x(i)*x(i), and there is no root",
	"mean": "a mean is a sum over a count, as in m = x(i)/n",
}

// numberFunctions lists functions of numbers that other languages have and this one does not.
var numberFunctions = strings.Fields(
	"exp log log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh abs sign floor ceil round " +
		"conj real imag angle max min mod erf relu sigmoid inv det")

// hint returns a hint for a mistake at a place in the text: how to write in this notation what the
// user may have meant. It returns "" if it has no hint.
func (p *parser) hint(at Span) string {
	rest, before := p.src[at.Pos:p.part.End], p.src[p.part.Pos:at.Pos]
	starts := func(s string) bool { return strings.HasPrefix(rest, s) }
	word := p.src[at.Pos:at.End]
	switch {
	case starts("*") && strings.HasSuffix(before, "*"):
		return "; a power is a product, as in x(i)*x(i)"
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
		return `; an assignment is one "="`
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
		return "; there is no " + name +
			": compute its values outside, and give them as a tensor (-i=T:FILE)"
	case at.kind == tokNumber:
		return "; an index is a variable: one coordinate of k is taken by a tensor that is 1 there alone, as in " + name + "(i,k)*e(k)"
	case at.kind == '+' || at.kind == '-' || at.kind == '*' || at.kind == '/':
		return "; an index is a variable alone: another coordinate of it is taken by a matrix that is 1 where both meet, as in S(i,j)*" + name + "(j)"
	case keywords[name] != "" && p.hint(at.at) == "":
		return "; " + keywords[name]
	case at.kind == '(' && p.hint(at.at) == "":
		return "; " + name + "(...) is a tensor's access, and sum(i, ...) the only function"
	}
	return p.hint(at.at)
}

// productHint returns the hint for an operand that follows another operand without a sign.
func productHint(t token) string {
	if t.kind == tokName || t.kind == tokNumber || t.kind == '(' {
		return "; a product has a * between its factors, as in 2*x(i)"
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

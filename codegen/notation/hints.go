package notation

import (
	"regexp"
	"slices"
	"strings"
)

// absent has what programs write and the language lacks, as the text at a mistake begins, with what
// to write in its place. Of two that begin alike the longer comes first.
var absent = []struct{ text, hint string }{
	{"[", "indices stand in parentheses, as in A(i,j)"},
	{"^", "a power is a product, as in x(i)*x(i)"},
	{"@", "a matrix product is a sum over the variable that its factors share, as in A(i,k)*B(k,j)"},
	{":=", `an assignment is one "="`},
	{"-=", "to subtract, add the negative, as in y(i) += -x(i)"},
	{"*=", "the old value may stand on the right side, as in y(i) = y(i)*x(i)"},
	{"/=", "the old value may stand on the right side, as in y(i) = y(i)/x(i)"},
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
	noLogic      = "there is no logic: of zeros and ones a*b is and, and 1-a is not"
	noLoop       = "a statement has no loops of its own: variables run over their ranges, and repeat, of a job file, runs statements again (docs/jobs.md)"
)

// keywords are words of programs, with what is said where one stands between the parts of a statement.
var keywords = map[string]string{
	"if": noCondition, "else": noCondition, "where": noCondition, "and": noLogic, "or": noLogic, "not": noLogic,
	"while": noLoop, "for": noLoop, "forall": noLoop,
}

// functions are functions of other languages, with what is written in their place.
var functions = map[string]string{
	"pow": "a power is a product, as in x(i)*x(i)", "square": "a square is a product, as in x(i)*x(i)",
	"transpose": transposed, "trace": "a trace has one variable twice, as in t = A(i,i)",
	"dot": "a dot product is s = x(i)*y(i)", "matmul": "a matrix product is C(i,j) = A(i,k)*B(k,j)",
	"norm": "the square of a norm is s = x(i)*x(i), and there is no root", "mean": "a mean is a sum over a count, as in m = x(i)/n",
}

// values are functions of values, of which the language has none.
var values = strings.Fields("exp log log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh abs sign floor ceil round " +
	"conj real imag angle max min mod erf relu sigmoid inv det")

// hint says how the notation writes what stands at a place where the grammar does not want it, or "".
func (p *parser) hint(at Span) string {
	rest, before := p.src[at.Pos:p.part.End], p.src[p.part.Pos:at.Pos]
	starts := func(s string) bool { return strings.HasPrefix(rest, s) }
	word := p.src[at.Pos:at.End]
	switch {
	case keywords[p.text(p.toks[0])] != "" && at.Pos > p.toks[0].at.Pos && !strings.Contains(before, "="):
		return "; " + keywords[p.text(p.toks[0])]
	case keywords[word] != "":
		return "; " + keywords[word]
	case starts("*") && strings.HasSuffix(before, "*"):
		return "; a power is a product, as in x(i)*x(i)"
	case starts("=") && strings.HasSuffix(before, "="):
		if strings.Count(before, "=") > 1 {
			return "; " + noComparison
		}
		return `; an assignment is one "="`
	}
	for _, a := range absent {
		if starts(a.text) {
			return "; " + a.hint
		}
	}
	return ""
}

// callHint says what is written in the place of an access that is a call of a function, or has an index that
// is no variable: at is what stands there.
func (p *parser) callHint(name string, at token) string {
	switch {
	case functions[name] != "":
		return "; " + functions[name]
	case slices.Contains(values, name):
		return "; there is no " + name + ": compute its values outside, and give them as a tensor (-i=T:FILE)"
	case at.kind == tokNumber:
		return "; an index is a variable: one coordinate of k is taken by a tensor that is 1 there alone, as in " + name + "(i,k)*e(k)"
	case at.kind == '+' || at.kind == '-' || at.kind == '*' || at.kind == '/':
		return "; an index is a variable alone: another coordinate of it is taken by a matrix that is 1 where both meet, as in S(i,j)*" + name + "(j)"
	case at.kind == '(' && p.hint(at.at) == "":
		return "; " + name + "(...) is a tensor's access, and sum(i, ...) the only function"
	}
	return p.hint(at.at)
}

// productHint says that a product has its sign, where an operand follows another one.
func productHint(t token) string {
	if t.kind == tokName || t.kind == tokNumber || t.kind == '(' {
		return "; a product has a * between its factors, as in 2*x(i)"
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

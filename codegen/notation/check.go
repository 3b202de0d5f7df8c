package notation

import (
	"math"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// MaxTerms is the largest number of terms of a statement after its products of sums are multiplied
// out.
const MaxTerms = 4096

// Check reports the mistakes that can be found in a parsed statement alone: an index that is not an
// affine form, a variable in two indices of the left side, a sum over a variable that its body does
// not have or that it names twice, a tensor with two different numbers of modes, one name for a
// tensor (or scalar) and a variable, and more than MaxTerms terms. The error is a *diag.Error.
func Check(s *Stmt) error {
	c := &checker{s: s, orders: map[string]int{}, tensors: map[string]Span{}, vars: map[string]Span{}}
	c.use(s.LHS)
	c.left()
	Walk(s.RHS, func(e Expr) bool {
		if c.err != nil {
			return false
		}
		switch e := e.(type) {
		case *Access:
			c.use(e)
		case *Coordinate:
			c.variable(e.Var, []Span{e.At}, 0, e.At)
		case *Sum:
			c.sum(e)
		}
		return c.err == nil
	})
	if c.err != nil {
		return c.err
	}
	if n := countTerms(s.RHS); n > MaxTerms {
		return diag.Errorf(diag.TooLarge,
			"the statement has %.0f terms when multiplied out, want at most %d", n, MaxTerms)
	}
	return nil
}

type checker struct {
	s       *Stmt
	orders  map[string]int
	tensors map[string]Span
	vars    map[string]Span
	err     error
}

// at returns an error that refers to a range of the source text. The range is spans[k]. If there is
// no spans[k], because a program built the node without parsing, the range is fallback.
func (c *checker) at(code diag.Code, spans []Span, k int, fallback Span, format string,
	args ...any) error {
	if k < len(spans) {
		fallback = spans[k]
	}
	return diag.At(code, c.s.Src, fallback.Pos, fallback.End, format, args...)
}

// use records the names of access a: its tensor and its variables. It sets c.err in two cases: an
// earlier access of the tensor has another number of modes, or a name is both a tensor and an index
// variable.
func (c *checker) use(a *Access) {
	if c.err != nil {
		return
	}
	if n, ok := c.orders[a.Name]; ok && n != len(a.Vars) {
		c.err = c.at(diag.OrderMismatch, nil, 0, a.At,
			"got %s with %s, want %d, as in its first access",
			a.Name, tensor.Count(len(a.Vars), "mode"), n)
		return
	}
	c.orders[a.Name] = len(a.Vars)
	c.tensors[a.Name] = a.At
	if _, ok := c.vars[a.Name]; ok {
		c.err = c.at(diag.NameClash, nil, 0, a.At,
			"got %s as both a tensor and an index variable, want different names", a.Name)
		return
	}
	for k, v := range a.Vars {
		if v != "" {
			c.variable(v, a.VarAt, k, a.At)
		}
	}
	c.checkIndices(a)
}

func (c *checker) variable(v string, spans []Span, k int, whole Span) {
	c.vars[v] = whole
	if _, ok := c.tensors[v]; ok && c.err == nil {
		c.err = c.at(diag.NameClash, spans, k, whole,
			"got %s as both an index variable and a tensor, want different names", v)
	}
}

func (c *checker) sum(e *Sum) {
	free := map[string]bool{}
	for _, v := range FreeVars(e.X) {
		free[v] = true
	}
	for k, v := range e.Vars {
		c.variable(v, e.VarAt, k, e.At)
		if c.err != nil {
			return
		}
		if !free[v] {
			c.err = c.at(diag.SumVariable, e.VarAt, k, e.At,
				"got a %s over %s, which does not occur in %s, want one of its variables",
				reductionNoun(e.Op), v, ExprString(e.X))
			return
		}
		for _, w := range e.Vars[:k] {
			if v == w {
				c.err = c.at(diag.SumVariable, e.VarAt, k, e.At,
					"got a %s over %s inside another %[1]s over %[2]s, want different variables",
					reductionNoun(e.Op), v)
				return
			}
		}
	}
}

// countTerms returns the number of terms of e if all products of sums are multiplied out. Normalize
// makes at most this number of terms. A quotient counts as one term, unless the body of a sum()
// inside the quotient has more terms. The largest number of terms of such a body then counts.
func countTerms(e Expr) float64 {
	switch e := e.(type) {
	case *Neg:
		return countTerms(e.X)
	case *Sum:
		return countTerms(e.X)
	case *Call:
		n := 1.0
		for _, x := range e.Args {
			n = max(n, inQuotient(x))
		}
		return n
	case *Binary:
		x, y := countTerms(e.X), countTerms(e.Y)
		switch e.Op {
		case '+', '-':
			return x + y
		case '*':
			return x * y
		}
		return max(1, inQuotient(e.X), inQuotient(e.Y)) // a quotient is one term
	}
	return 1
}

// inQuotient returns the largest number of terms that the body of a sum() inside e has after it is
// multiplied out. e is the numerator or the denominator of a quotient. The terms of e itself do not
// count, because Normalize does not multiply out a numerator or denominator.
func inQuotient(e Expr) float64 {
	most := 0.0
	Walk(e, func(x Expr) bool {
		if s, ok := x.(*Sum); ok {
			most = math.Max(most, countTerms(s.X))
			return false
		}
		return true
	})
	return most
}

package notation

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/algebra"
)

// String returns the statement as text. Parse of this text returns the same tree, except for source
// positions.
func (s *Stmt) String() string {
	op := " = "
	if s.Accumulate {
		op = " += "
	}
	return s.LHS.String() + op + ExprString(s.RHS)
}

// String returns the access as text. A scalar is its name alone.
func (e *Access) String() string {
	if len(e.Vars) == 0 {
		return e.Name
	}
	list := slices.Clone(e.Vars)
	for m, x := range e.Index {
		if x != nil {
			list[m] = strings.ReplaceAll(ExprString(x), " ", "")
		}
		if e.Outside[m] {
			list[m] = "~" + list[m]
		}
	}
	return e.Name + "(" + strings.Join(list, ",") + ")"
}

// String returns the literal as the user wrote it. A literal that was not parsed is printed anew.
func (e *Number) String() string {
	switch {
	case e.Text != "":
		return e.Text
	case e.IsInt:
		return strconv.FormatInt(e.Int, 10)
	}
	text := strconv.FormatFloat(e.Float, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// ExprString returns an expression as text, with the fewest parentheses that preserve its tree.
func ExprString(e Expr) string {
	var b strings.Builder
	printExpr(&b, e, 0)
	return b.String()
}

// Binding strengths. printExpr puts an operand in parentheses if the operand's operator binds less
// strongly than its place requires.
const (
	bindAdd = 1
	bindMul = 2
	bindNeg = 3
)

func printExpr(b *strings.Builder, e Expr, want int) {
	switch e := e.(type) {
	case *Access:
		b.WriteString(e.String())
	case *Number:
		b.WriteString(e.String())
	case *Coordinate:
		b.WriteString(e.Var)
	case *Neg:
		// A sign is a factor, so it never needs parentheses.
		b.WriteByte('-')
		printExpr(b, e.X, bindNeg)
	case *Sum:
		b.WriteString(reductionName(e.Op) + "(" + strings.Join(e.Vars, ",") + ", ")
		printExpr(b, e.X, 0)
		b.WriteByte(')')
	case *Call:
		b.WriteString(e.Func.Name + "(")
		for k, x := range e.Args {
			if k > 0 {
				b.WriteString(", ")
			}
			printExpr(b, x, 0)
		}
		b.WriteByte(')')
	case *ReductionExpr:
		b.WriteString(e.Reduction.String())
	case *Binary:
		bind := bindAdd
		if e.Op == '*' || e.Op == '/' {
			bind = bindMul
		}
		if bind < want {
			b.WriteByte('(')
			defer b.WriteByte(')')
		}
		printExpr(b, e.X, bind)
		if bind == bindAdd {
			b.WriteString(" " + string(rune(e.Op)) + " ")
		} else {
			b.WriteByte(e.Op)
		}
		printExpr(b, e.Y, bind+1) // left associative
	default:
		panic("BUG: notation cannot print this expression")
	}
}

// String returns the normal form as a statement. Each term with a nonempty Sum is enclosed in a
// sum().
func (n *Normal) String() string {
	op := " = "
	if n.Accumulate {
		op = " += "
	}
	return n.LHS.String() + op + termsString(n.Terms)
}

func termsString(terms []*Term) string {
	var b strings.Builder
	for k, t := range terms {
		switch {
		case t.Negative && k == 0:
			b.WriteByte('-')
		case t.Negative:
			b.WriteString(" - ")
		case k > 0:
			b.WriteString(" + ")
		}
		b.WriteString(t.unsigned())
	}
	return b.String()
}

// String returns the term as text, with its sign.
func (t *Term) String() string { return termsString([]*Term{t}) }

func (t *Term) unsigned() string {
	factors := make([]string, len(t.Factors))
	for k, f := range t.Factors {
		switch f := f.(type) {
		case *Access:
			factors[k] = f.String()
		case *Number:
			factors[k] = f.String()
		case *Group:
			factors[k] = f.String()
		case *Quotient:
			factors[k] = f.String()
			if k > 0 {
				factors[k] = "(" + factors[k] + ")"
			}
		case *Reduction:
			factors[k] = f.String()
		}
	}
	text := strings.Join(factors, "*")
	if len(t.Sum) > 0 {
		text = "sum(" + strings.Join(t.Sum, ",") + ", " + text + ")"
	}
	return text
}

// String returns (X), or X alone if it is a call.
func (g *Group) String() string {
	if _, ok := g.X.(*Call); ok {
		return ExprString(g.X)
	}
	return "(" + ExprString(g.X) + ")"
}

// String returns Num/Den.
func (q *Quotient) String() string {
	return ExprString(&Binary{Op: '/', X: q.Num, Y: q.Den})
}

// String returns sum(vars, body), with the name of the reduction.
func (r *Reduction) String() string {
	return reductionName(r.Op) + "(" + strings.Join(r.Vars, ",") + ", " + termsString(r.Body) + ")"
}

func reductionName(op *algebra.Reduction) string {
	if op == nil {
		op = algebra.Sum
	}
	return op.Name
}

package cin

import (
	"strconv"
	"strings"

	"distaff/codegen/ir"
)

// String returns the text form on one line, which Parse reads back.
func String(s Stmt) string {
	var b strings.Builder
	write(&b, s)
	return b.String()
}

// Pretty returns the text form with one line for each statement, indented.
func Pretty(s Stmt) string {
	var b strings.Builder
	pretty(&b, s, 0)
	return b.String()
}

func write(b *strings.Builder, s Stmt) {
	switch s := s.(type) {
	case *SuchThat:
		b.WriteString("suchthat(")
		write(b, s.Body)
		for _, r := range s.Relations.Relations() {
			b.WriteString(", " + r.String())
		}
		if s.Insert {
			b.WriteString(", " + insertText(s))
		}
		b.WriteByte(')')
	case *Where:
		b.WriteString("where(")
		write(b, s.Consumer)
		b.WriteString(", ")
		write(b, s.Producer)
		b.WriteByte(')')
	case *Seq:
		b.WriteString("seq(")
		for i, t := range s.List {
			if i > 0 {
				b.WriteString(", ")
			}
			write(b, t)
		}
		b.WriteByte(')')
	case *Assign:
		b.WriteString(assignText(s))
	default:
		b.WriteString(head(s) + ", ")
		write(b, Inner(s))
		b.WriteByte(')')
	}
}

func pretty(b *strings.Builder, s Stmt, depth int) {
	b.WriteString(strings.Repeat("  ", depth))
	list := func(open string, parts ...Stmt) {
		b.WriteString(open)
		for i, t := range parts {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			pretty(b, t, depth+1)
		}
		b.WriteByte(')')
	}
	switch s := s.(type) {
	case *SuchThat:
		b.WriteString("suchthat(\n")
		pretty(b, s.Body, depth+1)
		for _, r := range s.Relations.Relations() {
			b.WriteString(",\n" + strings.Repeat("  ", depth+1) + r.String())
		}
		if s.Insert {
			b.WriteString(",\n" + strings.Repeat("  ", depth+1) + insertText(s))
		}
		b.WriteByte(')')
	case *Where:
		list("where(", s.Consumer, s.Producer)
	case *Seq:
		list("seq(", s.List...)
	case *Assign:
		b.WriteString(assignText(s))
	default:
		list(head(s)+",", Inner(s))
	}
	if depth == 0 {
		b.WriteByte('\n')
	}
}

func insertText(s *SuchThat) string { return "assemble(" + Target(s).Name + ", Insert)" }

// head returns the text of a node before the only statement inside it, without the last comma.
func head(s Stmt) string {
	switch s := s.(type) {
	case *Forall:
		return forallText(s)
	case *Span:
		return "span(" + s.Pos + ", " + strings.Join(s.Levels, " ") + ", " + accessText(s.Access)
	case *Chunks:
		return "chunks(" + s.Pos + ", " + strconv.FormatInt(s.PerThread, 10)
	case *Positions:
		return "positions(" + s.Pos
	case *Coord:
		return "coord(" + s.Var + ", " + s.Pos
	case *At:
		return "at(" + s.Pos
	}
	panic("BUG: cin.String: unknown statement")
}

// forallText returns the text of a forall before its body: the variable and the notes.
func forallText(f *Forall) string {
	parts := []string{f.Var}
	if f.Unit != Serial {
		p := f.Unit.String()
		if f.Race != Unsaid {
			p += "/" + f.Race.String()
		}
		if f.Chunk > 0 {
			p += "/" + strconv.FormatInt(f.Chunk, 10)
		}
		parts = append(parts, p)
	}
	if c := f.Cut.text(); c != "" {
		parts = append(parts, c)
	}
	switch {
	case f.Unroll > 0:
		parts = append(parts, "unroll "+strconv.FormatInt(f.Unroll, 10))
	case f.Unroll == AllIterations:
		parts = append(parts, "unroll")
	}
	if f.Gallop {
		parts = append(parts, "gallop")
	}
	return "forall(" + strings.Join(parts, ", ")
}

func assignText(s *Assign) string {
	op := " = "
	switch {
	case s.Accumulate:
		op = " += "
	case s.Op != nil:
		op = " " + s.Op.Name + "= "
	}
	return accessText(s.LHS) + op + ExprString(s.RHS)
}

func accessText(a *Access) string {
	if len(a.Vars) == 0 {
		return a.Name
	}
	return a.Name + "(" + strings.Join(a.Vars, ",") + ")"
}

// ExprString returns the text form of an expression.
func ExprString(x Expr) string { return exprText(x, 0) }

// exprText returns the text of x. It is put in parentheses if its operator binds less tightly than
// prec: 1 for + and -, 2 for * and /, 3 for a single operand.
func exprText(x Expr, prec int) string {
	var s string
	own := 3
	switch x := x.(type) {
	case *Access:
		return accessText(x)
	case *Lit:
		return x.Text
	case *Call:
		args := make([]string, len(x.Args))
		for k, y := range x.Args {
			args[k] = exprText(y, 0)
		}
		return x.Func.Name + "(" + strings.Join(args, ", ") + ")"
	case *Neg:
		own = 2
		s = "-" + exprText(x.X, 3)
	case *Binary:
		own = 1
		if x.Op == '*' || x.Op == '/' {
			own = 2
		}
		s = exprText(x.X, own) + " " + string(rune(x.Op)) + " " + exprText(x.Y, own+1)
	default:
		panic("BUG: cin.ExprString: unknown expression")
	}
	if own < prec {
		return "(" + s + ")"
	}
	return s
}

// Number returns a literal with the given text and value.
func Number(text string, v *ir.Lit) *Lit { return &Lit{Text: text, Value: v} }

package jobfile

import (
	"math"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// maxSize is the largest size of a mode.
const maxSize = 1 << 61

// Size is integer arithmetic over numbers, params, and names that get their sizes from files or
// from -d. In the extents of a machine, p is the number of ranks. Division rounds toward zero.
type Size struct {
	span
	f    *File
	raw  notation.Expr // with the names of params
	expr notation.Expr
	// what names the value in messages, and least is its smallest valid value.
	what  string
	least int64
	ranks bool // p is the number of ranks
	from  string
}

// size parses the arithmetic at a place.
func (p *parser) size(r *reader, at notation.Span) Size {
	s := Size{span: span(at), f: p.f, raw: r.expr(at), what: "a size"}
	notation.Walk(s.raw, func(e notation.Expr) bool {
		switch e := e.(type) {
		case *notation.Access:
			if strings.HasSuffix(p.f.clean[e.At.Pos:max(e.At.Pos, e.At.End)], ")") {
				r.fail(e.At, Syntax,
					"got %s, want a whole number, or arithmetic on numbers and names", e)
			}
		case *notation.Sum:
			r.fail(e.At, Syntax,
				"got sum(...), want a whole number, or arithmetic on numbers and names")
		}
		return r.err == nil
	})
	s.expr = s.raw
	return s
}

// Name returns s if s is a single name that is not a param. An input file can then give the name
// its size.
func (s Size) Name() (string, bool) {
	a, ok := s.expr.(*notation.Access)
	if !ok {
		return "", false
	}
	return a.Name, true
}

// Set replaces the value of s in the file. from is the source of the new value, for messages.
func (s *Size) Set(n int64, from string) {
	x := &notation.Number{At: notation.Span(s.span), Text: strconv.FormatInt(n, 10), IsInt: true,
		Int: n, Float: float64(n)}
	s.raw, s.expr, s.from = x, x, from
}

// From returns the source of the value that Set gave, or "".
func (s *Size) From() string { return s.from }

// Names returns the names in s that are not params. Each name is listed once. If s is an extent of
// a machine, p is also such a name.
func (s Size) Names() []string {
	var names []string
	seen := map[string]bool{}
	for _, a := range s.accesses() {
		if !seen[a.Name] {
			seen[a.Name] = true
			names = append(names, a.Name)
		}
	}
	return names
}

func (s Size) accesses() []*notation.Access {
	var list []*notation.Access
	notation.Walk(s.expr, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok {
			list = append(list, a)
		}
		return true
	})
	return list
}

// String returns s as in the file.
func (s Size) String() string { return notation.ExprString(s.raw) }

// Eval returns the value of s. lookup returns the values of the names in s. An unknown name, a
// number that is not an integer, a division by zero and an overflow of an int64 are errors, and so
// is a value that is too small or more than 2^61. A size must be at least 0, and an extent or a
// number of passes at least 1. Errors have a place in the file.
func (s Size) Eval(lookup func(name string) (int64, bool)) (int64, error) {
	e := &sizeEval{s.f, lookup, nil}
	n := e.eval(s.expr)
	if e.err == nil && (n < s.least || n > maxSize) {
		got := strconv.FormatInt(n, 10)
		if text := s.String(); text != got {
			got = text + " = " + got
		}
		e.fail(notation.Span(s.span), "got %s for %s, want %d to 2^61", got, s.what, s.least)
	}
	return n, e.err
}

type sizeEval struct {
	f      *File
	lookup func(name string) (int64, bool)
	err    error
}

func (v *sizeEval) fail(at notation.Span, format string, args ...any) {
	if v.err == nil {
		v.err = v.f.Errorf(at, BadNumber, format, args...)
	}
}

func (v *sizeEval) eval(e notation.Expr) int64 {
	if v.err != nil {
		return 0
	}
	switch e := e.(type) {
	case *notation.Number:
		n, ok := whole(e)
		if !ok {
			v.fail(e.At, "got %s, want a whole number", e)
		}
		return n
	case *notation.Access:
		n, ok := v.lookup(e.Name)
		if !ok && v.err == nil {
			v.err = v.f.Errorf(e.At, diag.SizeUnknown, "the size %s is not known; want param %[1]s = "+
				"NUMBER, or -d=%[1]s:SIZE",
				e.Name)
		}
		return n
	case *notation.Neg:
		n := v.eval(e.X)
		if n == math.MinInt64 {
			v.fail(e.At, "got a number above 2^63, want at most 2^61")
		}
		return -n
	case *notation.Binary:
		x, y := v.eval(e.X), v.eval(e.Y)
		if e.Op == '/' && y == 0 && v.err == nil {
			v.fail(e.Y.Span(), "got a division by zero, want another divisor")
		}
		if v.err != nil {
			return 0
		}
		n, ok := arith(e.Op, x, y)
		if !ok {
			v.fail(e.Span(), "got a number above 2^63, want at most 2^61")
		}
		return n
	}
	if e, ok := e.(*notation.Call); ok {
		var args [2]int64
		for k, x := range e.Args {
			args[k] = v.eval(x)
		}
		if e.Func.Int == nil {
			v.fail(e.At, "got %s in a size, want functions of integers, as in max(n, m)", e.Func.Name)
			return 0
		}
		return e.Func.Int(tensor.Int64, args[0], args[1])
	}
	panic("BUG: jobfile: a size with what its parser refuses")
}

// whole returns a literal as an integer. The second result is false if the literal is not a whole
// number.
func whole(n *notation.Number) (int64, bool) {
	if n.IsInt {
		return n.Int, true
	}
	return int64(n.Float), n.Float == math.Trunc(n.Float) && math.Abs(n.Float) < 1<<62
}

// arith returns x op y. For a division, y must not be 0. ok is false if the result does not fit an
// int64.
func arith(op byte, x, y int64) (n int64, ok bool) {
	switch op {
	case '+':
		n = x + y
		return n, (n > x) == (y > 0)
	case '-':
		n = x - y
		return n, (n < x) == (y > 0)
	case '*':
		n = x * y
		return n, x == 0 || n/x == y && !(x == -1 && y == math.MinInt64)
	}
	return x / y, !(x == math.MinInt64 && y == -1)
}

package c

import (
	"fmt"
	"math"
	"strings"

	"distaff/codegen/ir"
)

// A number of a statement, such as the value of a job file's param, is no part of an unnamed text:
// the object has an array of numbers, which is filled before the leaf is called. Functions read the
// numbers that they use as they begin. So statements that differ in such numbers share a leaf.

// mostValues is how many numbers an unnamed text has an array for at most.
const mostValues = 16

// ValuesSymbol is the name of the array of a leaf called name, of doubles.
func ValuesSymbol(name string) string { return Symbol(name) + "_values" }

// Values returns what the array of fn's unnamed text is to hold: the floating-point numbers of fn,
// each once, in the order in which they stand there. Numbers that code is made for stay in the
// text: 0, 1, -1, infinities and divisors. Values returns nil if there are more than mostValues, or
// if fn calls the user's C.
func Values(fn *ir.Func) []float64 {
	list := values(fn)
	var out []float64
	for _, l := range list {
		out = append(out, real(l.C))
	}
	return out
}

// values returns the literals of Values.
func values(fn *ir.Func) (list []*ir.Lit) {
	own := false
	ir.Walk(fn.Body, func(s ir.Stmt) {
		if _, ok := s.(*ir.Call); ok {
			own = true
		}
	})
	divisors := map[ir.Expr]bool{}
	ir.WalkExprs(fn.Body, func(x ir.Expr) {
		if b, ok := x.(*ir.Binary); ok && b.Op == ir.Div {
			divisors[b.Y] = true
		}
		if l, ok := x.(*ir.Lit); ok && !divisors[l] && isValue(l) && valueOf(list, l) < 0 {
			list = append(list, l)
		}
	})
	if own || len(list) > mostValues {
		return nil
	}
	return list
}

// isValue reports whether l is a number that no code is made for.
func isValue(l *ir.Lit) bool {
	x := math.Abs(real(l.C))
	return l.Typ.IsFloat() && x != 0 && x != 1 && x <= math.MaxFloat64
}

// valueOf returns the index in list of the literal that equals l, or -1.
func valueOf(list []*ir.Lit, l *ir.Lit) int {
	for n, v := range list {
		if v.Typ == l.Typ && v.C == l.C {
			return n
		}
	}
	return -1
}

// value returns the local that holds the number l; false if l stays in the text.
func (f *cfunc) value(l *ir.Lit) (string, bool) {
	n := valueOf(f.leaf.values, l)
	if n < 0 || f.divisor == l {
		return "", false
	}
	if f.reads == nil {
		f.reads = make([]bool, len(f.leaf.values))
	}
	f.reads[n] = true
	return valueName(n), true
}

func valueName(n int) string { return fmt.Sprintf("value%d", n) }

// valueLines declares the locals of the numbers that the function uses.
func (f *cfunc) valueLines() string {
	var b strings.Builder
	for n, read := range f.reads {
		if read {
			typ := ctype(f.leaf.values[n].Typ)
			fmt.Fprintf(&b, "    const %s %s = (%[1]s)%[3]s[%[4]d];\n",
				typ, valueName(n), ValuesSymbol(f.leaf.fn.Name), n)
		}
	}
	return b.String()
}

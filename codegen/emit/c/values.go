package c

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// A number of a statement, such as the value of a job file's param, is no part of an unnamed text:
// env has a place for it, which the caller fills. Functions read the numbers that they use as they
// begin. So statements that differ in such numbers share a leaf.
//
// Other literals stay in the text, because they decide code: sizes, numbers of iterations, factors
// of a schedule, shifts of an index. No literal of the IR that says such a thing has an At. A sign
// is code too: a negative number is the opposite of a literal.

// mostValues is how many numbers of a leaf may stand in env. Each takes a register or a load.
const mostValues = 16

// valueBytes is the distance of two numbers in env, in bytes: the size of the largest type.
const valueBytes = 16

// Values returns what env's values must hold when the leaf of fn's unnamed text is called: the
// numbers of the statement, in the order in which they stand in fn. Each begins valueBytes after
// the one before. Numbers that code is made for stay in the text: 0, 1, -1, infinities and
// divisors. Values returns nil if there are more than mostValues, or if fn calls the user's C.
func Values(fn *ir.Func) []byte {
	list := values(fn)
	out := make([]byte, valueBytes*len(list))
	for n, l := range list {
		at := out[valueBytes*n:]
		switch l.Typ {
		case tensor.Int32:
			binary.NativeEndian.PutUint32(at, uint32(l.I))
		case tensor.Int64:
			binary.NativeEndian.PutUint64(at, uint64(l.I))
		case tensor.Float32, tensor.Complex64:
			binary.NativeEndian.PutUint32(at, math.Float32bits(float32(real(l.C))))
			binary.NativeEndian.PutUint32(at[4:], math.Float32bits(float32(imag(l.C))))
		default:
			binary.NativeEndian.PutUint64(at, math.Float64bits(real(l.C)))
			binary.NativeEndian.PutUint64(at[8:], math.Float64bits(imag(l.C)))
		}
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
	var divisors []*ir.Lit
	ir.WalkExprs(fn.Body, func(x ir.Expr) {
		if b, ok := x.(*ir.Binary); ok && b.Op == ir.Div {
			if l, ok := b.Y.(*ir.Lit); ok {
				divisors = append(divisors, l)
			}
		}
	})
	ir.WalkExprs(fn.Body, func(x ir.Expr) {
		l, ok := x.(*ir.Lit)
		if ok && isValue(l) && valueOf(divisors, l) < 0 && valueOf(list, l) < 0 {
			list = append(list, l)
		}
	})
	if own || len(list) > mostValues {
		return nil
	}
	return list
}

// isValue reports whether l is a number of the statement that no code is made for.
func isValue(l *ir.Lit) bool {
	switch {
	case l.At == 0 || l.Typ == tensor.Bool:
		return false
	case l.Typ.IsInt():
		return l.I < -1 || l.I > 1
	}
	return l.C != 0 && l.C != 1 && l.C != -1 && !cmplx.IsInf(l.C)
}

// valueOf returns the index in list of the literal that is the same number of the statement as l,
// or -1. Two numbers of one value are not the same, so that a leaf does not depend on whether two
// params are equal.
func valueOf(list []*ir.Lit, l *ir.Lit) int {
	return slices.IndexFunc(list, func(v *ir.Lit) bool { return *v == *l })
}

// value returns the local that holds the number l; false if l stays in the text.
func (f *cfunc) value(l *ir.Lit) (string, bool) {
	n := valueOf(f.leaf.values, l)
	if n < 0 {
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
			fmt.Fprintf(&b, "    const %s %s = *(const %[1]s *)(env->values + %[3]d);\n",
				typ, valueName(n), valueBytes*n)
		}
	}
	return b.String()
}

package c

import (
	"fmt"
	"math/cmplx"
	"slices"
	"strings"
	"unsafe"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// A number of a statement, such as the value of a job file's param, is not part of an unnamed text.
// The environment has a place for it, which the caller fills. Each function loads the numbers that
// it uses when it begins. So statements that differ only in such numbers share a leaf.
//
// Other literals stay in the text, because the code depends on them: sizes, numbers of iterations,
// factors of a schedule, and shifts of an index. Such literals have no position At in the IR. A
// sign is part of the code: a negative number is the negation of a literal.

// maxValues is the largest number of values that a leaf reads from the environment. Each value
// needs a register or a load.
const maxValues = 16

// valueBytes is the distance in bytes between two values in the environment. It is the size of the
// largest type.
const valueBytes = 16

// Values returns the numbers of the statement that Unnamed leaves out of the C text. A call of the
// leaf passes them in the environment, so leaves that differ only in these numbers share one text.
// The numbers are in the order of their occurrence in fn, and each starts valueBytes after the
// previous one. Numbers that influence the code stay in the text: 0, 1, -1, infinities and
// divisors. Values returns an empty slice if there are more than maxValues numbers, or if fn calls
// a user's C function.
func Values(fn *ir.Func) []byte {
	list := values(fn)
	out := make([]byte, valueBytes*len(list))
	for n, l := range list {
		at := out[valueBytes*n:]
		l.Typ.Store(unsafe.Pointer(&at[0]), tensor.Value{Type: l.Typ, I: l.I, C: l.C})
	}
	return out
}

// values returns the literals in fn whose numbers a call passes in the environment (see Values).
func values(fn *ir.Func) (list []*ir.Lit) {
	callsUser := false
	ir.Walk(fn.Body, func(s ir.Stmt) {
		if _, ok := s.(*ir.Call); ok {
			callsUser = true
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
	if callsUser || len(list) > maxValues {
		return nil
	}
	return list
}

// isValue reports whether l is a number of the statement other than 0, 1, -1 and an infinity. A
// bool does not count as a number.
func isValue(l *ir.Lit) bool {
	switch {
	case l.At == 0 || l.Typ == tensor.Bool:
		return false
	case l.Typ.IsInt():
		return l.I < -1 || l.I > 1
	}
	return l.C != 0 && l.C != 1 && l.C != -1 && !cmplx.IsInf(l.C)
}

// valueOf returns the index in list of the literal with the same value and position as l, or -1.
// Equal numbers at different positions of a statement are different literals. The code of a leaf
// therefore does not depend on whether two params are equal.
func valueOf(list []*ir.Lit, l *ir.Lit) int {
	return slices.IndexFunc(list, func(v *ir.Lit) bool { return *v == *l })
}

// numbers are the numbers of the statement that a function loads from the environment.
type numbers struct {
	all  []*ir.Lit // leaf.values
	used []bool    // by index of all; nil if none is used
}

// name returns the name of the local variable that holds the number l, if the leaf reads l from the
// environment. If it does not, the second result is false, and l is printed as a literal.
func (x *numbers) name(l *ir.Lit) (string, bool) {
	n := valueOf(x.all, l)
	if n < 0 {
		return "", false
	}
	if x.used == nil {
		x.used = make([]bool, len(x.all))
	}
	x.used[n] = true
	return valueName(n), true
}

func valueName(n int) string { return fmt.Sprintf("value%d", n) }

// lines returns the declarations of the locals for the numbers that the function uses.
func (x *numbers) lines() string {
	var b strings.Builder
	for n, used := range x.used {
		if used {
			typ := ctype(x.all[n].Typ)
			fmt.Fprintf(&b, "    const %s %s = *(const %[1]s *)(env->values + %[3]d);\n",
				typ, valueName(n), valueBytes*n)
		}
	}
	return b.String()
}

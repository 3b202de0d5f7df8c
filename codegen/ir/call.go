package ir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

type (
	// Call calls a C function that the user provides. The function adds to the elements under the
	// Added pointers, reads the elements under the other pointers, and has no other effect. The
	// memory that it adds to does not overlap another argument. Only C can run it.
	Call struct {
		Func *Extern
		Args []Argument
	}
	// Extern is a C function that the user provides. Text is C source that defines the function
	// Name; messages call the source File.
	Extern struct {
		File, Name, Text string
		// Result and Params are the types in C without parameter names, such as "void", "int64_t"
		// and "const double *".
		Result string
		Params []string
	}
	// Argument is the number X if A is nil. Otherwise it is a pointer to A[X]. X need not be in
	// bounds, because the function adds multiples of strides to the pointer.
	Argument struct {
		A     *Array
		X     Expr
		Added bool
	}
)

// C returns the C type of the argument.
func (a Argument) C() string {
	switch {
	case a.A == nil:
		return CType(a.X.Type())
	case a.Added:
		return CType(a.A.Elem) + " *"
	}
	return "const " + CType(a.A.Elem) + " *"
}

// Types returns the C types of the arguments.
func (s *Call) Types() []string {
	out := make([]string, len(s.Args))
	for k, a := range s.Args {
		out[k] = a.C()
	}
	return out
}

func (s *Call) row(r *Row) {
	if r.reader != nil {
		s.Func = &Extern{Result: "void"}
	}
	r.add("call %(", label(&s.Func.Name))
	for k := 0; r.hasNext(k < len(s.Args), sep(k)); k++ {
		at(&s.Args, k).row(r)
	}
	r.add(") % = %", label(&s.Func.File), label(&s.Func.Text))
	if r.reader != nil {
		s.Func.Params = s.Types()
	}
}

// row adds the argument's operands to r. The text form of a pointer to the element a[x] is [a, x].
// If the function adds to the array, the text form has += before the bracket.
func (a *Argument) row(r *Row) {
	r.add("%", word(&a.Added, "+= "))
	if !r.hasNext(a.A != nil, "[") {
		r.add("%", value(&a.X))
		return
	}
	array := loads(&a.A)
	if a.Added {
		array = updates(&a.A)
	}
	r.add("%, %]", array, num(&a.X, "place"))
}

func (s *Call) clone() Stmt { return &Call{Func: s.Func, Args: slices.Clone(s.Args)} }

func (s *Call) check(*verifier) error {
	if s.Func.Result != "void" || !slices.Equal(s.Func.Params, s.Types()) {
		return fmt.Errorf("function %s has the parameters (%s) and the result %s, but the call "+
			"needs (%s) "+
			"and the result void", s.Func.Name, strings.Join(s.Func.Params, ", "), s.Func.Result,
			strings.Join(s.Types(), ", "))
	}
	for k, a := range s.Args {
		switch {
		case a.A == nil && (a.Added || !a.X.Type().IsValue()):
			return errors.New("an argument is no number")
		case a.A == nil || !a.Added:
			continue
		}
		for j, b := range s.Args {
			if j != k && b.A == a.A {
				return fmt.Errorf("the function adds to %s, so %[1]s must not be another argument too",
					a.A.Name)
			}
		}
	}
	return nil
}

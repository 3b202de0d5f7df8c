package ir

import (
	"distaff/io/tensor"
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

// arrays returns the arrays that arguments point into.
func (s *Call) arrays() (list []*Array) {
	for _, a := range s.Args {
		if a.A != nil {
			list = append(list, a.A)
		}
	}
	return list
}

func (s *Call) exprs() []Expr {
	out := make([]Expr, len(s.Args))
	for k, a := range s.Args {
		out[k] = a.X
	}
	return out
}

// mapped returns a copy of s with fn applied to each of its expressions.
func (s *Call) mapped(fn func(Expr) Expr) *Call {
	t := &Call{Func: s.Func}
	for _, a := range s.Args {
		t.Args = append(t.Args, Argument{A: a.A, X: fn(a.X), Added: a.Added})
	}
	return t
}

// text returns the text form. A pointer to a[x] is written [a, x], after += if the function adds to
// it.
func (s *Call) text() string {
	args := make([]string, len(s.Args))
	for k, a := range s.Args {
		args[k] = expr(a.X, 0)
		if a.A != nil {
			args[k] = fmt.Sprintf("[%s, %s]", name(a.A.Name), args[k])
		}
		if a.Added {
			args[k] = "+= " + args[k]
		}
	}
	return fmt.Sprintf("call %s(%s) %s = %s", name(s.Func.Name), strings.Join(args, ", "),
		name(s.Func.File), name(s.Func.Text))
}

// call reads the rest of a call statement after the word call.
func (p *parser) call() Stmt {
	s := &Call{Func: &Extern{Name: p.name(), Result: "void"}}
	p.expect("(")
	for len(s.Args) > 0 || !p.is(")") {
		s.Args = append(s.Args, p.argument())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	s.Func.File = p.name()
	p.expect("=")
	s.Func.Text, s.Func.Params = p.name(), s.Types()
	return s
}

func (p *parser) argument() Argument {
	a := Argument{Added: p.accept("+=")}
	if !a.Added && !p.is("[") {
		a.X = p.expr()
		return a
	}
	p.expect("[")
	a.A = p.oldArray()
	p.expect(",")
	a.X = p.expr()
	p.expect("]")
	return a
}

func (v *verifier) call(s *Call) error {
	if s.Func.Result != "void" || !slices.Equal(s.Func.Params, s.Types()) {
		return fmt.Errorf("%s is %s(%s), and is called with (%s)", s.Func.Name, s.Func.Result,
			strings.Join(s.Func.Params, ", "), strings.Join(s.Types(), ", "))
	}
	for k, a := range s.Args {
		if a.A == nil {
			if !a.X.Type().IsNumber() {
				return errors.New("an argument is no number")
			}
			continue
		}
		if err := firstError(want(tensor.Int64, a.X, "place"), v.known(a.A)); err != nil {
			return err
		}
		if !a.Added {
			continue
		}
		if err := v.stored(a.A); err != nil {
			return err
		}
		for j, b := range s.Args {
			if j != k && b.A == a.A {
				return fmt.Errorf("%s is added to, and is another argument too", a.A.Name)
			}
		}
	}
	return nil
}

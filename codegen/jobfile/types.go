package jobfile

import (
	"maps"
	"strconv"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// givenTypes returns the element types of generated data and of numbers, which the job file alone
// determines. They are known before an input file is read. givenTypes leaves out tensors with a
// declared type.
func (f *File) givenTypes() map[string]tensor.Type {
	types := map[string]tensor.Type{}
	for _, t := range f.Tensors {
		switch {
		case t.Type != "": // CheckTypes handles declared types
		case t.FromKind != "":
			types[t.Name] = tensor.Float64
		case t.FromNumber != "":
			types[t.Name] = NumberType(t.FromNumber)
		}
	}
	return types
}

// NumberType returns the type of a scalar that is given as a number.
func NumberType(text string) tensor.Type {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return tensor.Complex128
	}
	return tensor.Float64
}

// CheckTypes returns the type of every tensor. This is the type of the tensor's declaration, or
// else its type in known, which inputs give, or else the type of its first assignment. A tensor is
// missing in the result if its type depends on an input whose type is not known.
//
// CheckTypes returns an error, with the place of the statement, if the type of a left side cannot
// hold the statement's values. If no declaration gives this type, rounding is an error too: the
// type must hold the values exactly, unless the right side has only literals. A condition that
// orders complex scalars is also an error.
func (f *File) CheckTypes(known map[string]tensor.Type) (map[string]tensor.Type, error) {
	c := &typeChecker{f: f, types: maps.Clone(known), given: map[string]bool{},
		first: map[string]notation.Span{}}
	if c.types == nil {
		c.types = map[string]tensor.Type{}
	}
	for _, t := range f.Tensors {
		if t.Type != "" {
			typ, err := notation.ParseType(t.Type)
			if err != nil {
				return nil, f.Errorf(notation.Span(t.span), diag.BadType, "tensor %s: %v", t.Name, err)
			}
			c.types[t.Name], c.given[t.Name] = typ, true
		}
		if t.given() {
			c.first[t.Name] = t.FromAt
		}
	}
	if err := f.statements(c.statement, c.linalg); err != nil {
		return c.types, err
	}
	for it := range All(f.Items) {
		if cond := CondOf(it); cond != nil {
			if err := cond.order(c.types); err != nil {
				return c.types, err
			}
		}
	}
	return c.types, nil
}

type typeChecker struct {
	f     *File
	types map[string]tensor.Type
	given map[string]bool // by a declaration
	// first has the places that gave tensors their first values.
	first map[string]notation.Span
}

func (c *typeChecker) statement(s *Statement) error {
	left := s.Stmt.LHS
	at, written := c.first[left.Name]
	if !written {
		c.first[left.Name] = left.At
	}
	for _, a := range s.Stmt.Accesses() {
		if c.types[a.Name] == tensor.None {
			return nil
		}
	}
	want := c.types[left.Name]
	if written && want == tensor.None {
		return nil // the type of its first values is not known
	}
	_, got, err := notation.InferTypes(s.Stmt, c.types, want)
	if err == nil && want != tensor.None && !c.given[left.Name] {
		got, err = c.kept(s, want)
	}
	if err != nil {
		if written && !c.given[left.Name] {
			return c.f.Errorf(left.At, diag.LossyType,
				"got values of type %s for %s, which has type %s since line %s; want either "+
					"values that this type can hold, or another type in a declaration, as in "+
					"tensor %s type %s",
				c.natural(s), left.Name, want, c.f.line(span(at)), declared(left), c.natural(s))
		}
		return s.Locate(err)
	}
	c.types[left.Name] = got
	return nil
}

// kept checks that the values of statement s fit in type want, which the left side already has.
// The values fit if want is the result of promoting their type with want, or if the right side has
// only literals. kept returns want, or an error.
func (c *typeChecker) kept(s *Statement, want tensor.Type) (tensor.Type, error) {
	if len(s.Stmt.Accesses()) == 0 {
		return want, nil // literals take the type that they meet
	}
	if got := c.natural(s); tensor.Promote(want, got) != want {
		return tensor.None, diag.Errorf(diag.LossyType,
			"type %s cannot hold values of type %s", want, got)
	}
	return want, nil
}

// natural returns the type of a statement's values, without regard to the left side's type.
func (c *typeChecker) natural(s *Statement) tensor.Type {
	right := *s.Stmt
	right.Accumulate = false
	_, t, err := notation.InferTypes(&right, c.types, tensor.None)
	if err != nil {
		return tensor.Int64 // integers with a literal beyond 32 bits
	}
	return t
}

// declared returns the form of a declaration for the tensor of an access, such as A(SIZE, SIZE),
// for messages.
func declared(a *notation.Access) string {
	text := a.Name
	for k := range a.Vars {
		if k == 0 {
			text += "("
		} else {
			text += ", "
		}
		text += "SIZE"
	}
	if len(a.Vars) > 0 {
		text += ")"
	}
	return text
}

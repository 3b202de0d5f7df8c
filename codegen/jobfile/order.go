package jobfile

import (
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// order checks the items in the order of their execution. It walks the body of a repeat only once.
// This is enough because the body runs at least once: if it reads a tensor before the tensor has
// values, the first pass already makes the mistake.
func (c *checker) order() error {
	c.f.statements(c.f.Items, func(s *Statement) error {
		if _, ok := c.firstWrite[s.raw.LHS.Name]; !ok {
			c.firstWrite[s.raw.LHS.Name] = s.raw.LHS.At
		}
		return nil
	})
	return c.items(c.f.Items)
}

// statements calls do for every statement, in the order of the file, until one fails.
func (f *File) statements(items []Item, do func(*Statement) error) error {
	for _, it := range items {
		var err error
		switch it := it.(type) {
		case *Statement:
			err = do(it)
		case *Repeat:
			err = f.statements(it.Body, do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) items(items []Item) error {
	for _, it := range items {
		var err error
		switch it := it.(type) {
		case *Statement:
			err = c.statement(it)
		case *Print:
			_, err = c.read(it.Name, it.at)
		case *Place:
			var s *state
			if s, err = c.read(it.Name, it.at); err == nil {
				err = c.placement(s.t, it.Placement)
			}
		case *Repeat:
			if err = c.items(it.Body); err == nil && it.Until != nil {
				err = c.until(it.Until)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// until checks the scalars of a condition.
func (c *checker) until(cond *Cond) error {
	if n := cond.operands(); n > MaxOperands {
		return c.f.Errorf(notation.Span(cond.span), diag.TooLarge,
			"got a condition of %d numbers and scalars, want at most %d", n, MaxOperands)
	}
	for _, a := range cond.accesses() {
		s, err := c.read(a.Name, a.At)
		if err != nil {
			return err
		}
		if s.t.Order != 0 {
			return c.f.Errorf(a.At, diag.OrderMismatch,
				"got %s in a condition, want a scalar: %[1]s has %s (line %d)", a.Name,
				tensor.Count(s.t.Order, "mode"), c.f.line(span(s.at)))
		}
	}
	return nil
}

// read returns the state of a tensor that is read at a place. It is an error if the tensor has no
// values there.
func (c *checker) read(name string, at notation.Span) (*state, error) {
	if n, ok := c.names[name]; ok && n.what != "tensor" {
		return nil, c.clash(name, "tensor", at, n)
	}
	s := c.states[name]
	if s != nil && s.written {
		return s, nil
	}
	first, later := c.firstWrite[name]
	line := c.f.line(span(first))
	switch {
	case s == nil && !later:
		return nil, c.f.Errorf(at, Unknown,
			"got %s, which is neither declared nor computed by a statement above", name)
	case s == nil:
		return nil, c.f.Errorf(at, ReadEarly,
			"got %s, which has no values yet: line %d is the first to compute it", name, line)
	case !later:
		return nil, c.f.Errorf(at, ReadEarly,
			"got %s, which has no values: its declaration on line %d has no from, and no "+
				"statement computes it", name, c.f.line(span(s.at)))
	}
	return nil, c.f.Errorf(at, ReadEarly,
		"got %s, which has no values yet: its declaration on line %d has no from, and line %d "+
			"is the first to compute it", name, c.f.line(span(s.at)), line)
}

// statement checks a statement after everything before it has been checked.
func (c *checker) statement(s *Statement) error {
	if err := notation.Check(s.raw); err != nil {
		return s.Locate(err)
	}
	for _, a := range s.Stmt.Accesses() {
		t, err := c.read(a.Name, a.At)
		if err == nil {
			err = c.modes(t, a)
		}
		if err != nil {
			return err
		}
	}
	if err := c.write(s); err != nil {
		return err
	}
	return c.schedule(s)
}

// modes checks that an access has its tensor's number of modes.
func (c *checker) modes(s *state, a *notation.Access) error {
	if s.t.Order == len(a.Vars) {
		return nil
	}
	return c.f.Errorf(a.At, diag.OrderMismatch, "got %s with %s, want %d, as on line %d", a.Name,
		tensor.Count(len(a.Vars), "mode"), s.t.Order, c.f.line(span(s.at)))
}

// write records that a statement gives values to its left tensor. A tensor that nothing has named
// before is a temporary.
func (c *checker) write(s *Statement) error {
	left := s.raw.LHS
	if n, ok := c.names[left.Name]; ok && n.what != "tensor" {
		return c.clash(left.Name, "tensor", left.At, n)
	}
	t := c.states[left.Name]
	if t == nil {
		if err := c.temporarySizes(s); err != nil {
			return err
		}
		t = &state{t: &Tensor{span: span(left.At), at: left.At, Name: left.Name, Order: len(left.Vars),
			Format: c.f.Formats[left.Name]}, at: left.At}
		c.f.Tensors = append(c.f.Tensors, t.t)
		c.states[left.Name] = t
		c.names[left.Name] = named{"tensor", left.At}
	}
	t.written = true
	return c.modes(t, left)
}

// temporarySizes checks that each mode of a temporary gets a size, from the right side of the
// temporary's first statement or from -d.
func (c *checker) temporarySizes(s *Statement) error {
	left, free := s.raw.LHS, notation.FreeVars(s.raw.RHS)
	for k, v := range left.Vars {
		if _, ok := c.f.Sizes[v]; !ok && !slices.Contains(free, v) {
			return c.f.Errorf(left.VarAt[k], diag.SizeUnknown,
				"the size of %s is not known: %s is not declared, and no tensor on the right "+
					"side has %s; want either tensor %s(SIZE, ...) with its sizes, or -d=%s:SIZE",
				v, left.Name, v, left.Name, v)
		}
	}
	return nil
}

// schedule checks the commands of a statement without knowing the statement's loops. When the
// statement is planned, the distribution commands are also checked against the loops.
func (c *checker) schedule(s *Statement) error {
	var commands []*schedule.Command
	for _, cmd := range s.Schedule {
		list, err := schedule.Parse([]string{cmd.Text})
		if err != nil {
			return s.Locate(err)
		}
		for _, x := range list {
			if err := x.Check(); err != nil {
				return s.Locate(err)
			}
		}
		commands = append(commands, list...)
	}
	return c.distribution(s, commands)
}

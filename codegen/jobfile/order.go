package jobfile

import (
	"fmt"
	"maps"
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// order checks the items in the order of their execution. It walks the body of a repeat only once.
// This is enough because the body runs at least once: if it reads a tensor before the tensor has
// values, the first pass already makes the mistake. Of an if, it walks both lists of items.
func (c *checker) order() error {
	first := func(name string, at notation.Span) {
		if _, ok := c.firstWrite[name]; !ok {
			c.firstWrite[name] = at
		}
	}
	for it := range All(c.f.Items) {
		switch it := it.(type) {
		case *Statement:
			first(it.raw.LHS.Name, it.raw.LHS.At)
		case *Linalg:
			for k, name := range it.Out {
				first(name, it.outAt[k])
			}
		}
	}
	return c.items(c.f.Items)
}

// statements calls statement for every statement and whole for every function of whole matrices, in
// the order of the file, until one fails.
func (f *File) statements(statement func(*Statement) error, whole func(*Linalg) error) error {
	for it := range All(f.Items) {
		var err error
		switch it := it.(type) {
		case *Statement:
			err = statement(it)
		case *Linalg:
			err = whole(it)
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
		case *Linalg:
			err = c.linalg(it)
		case *Print:
			_, err = c.read(it.Name, it.at)
		case *Place:
			var s *state
			if s, err = c.read(it.Name, it.at); err == nil {
				err = c.placement(s.t, it.Placement)
			}
		case *Repeat:
			err = c.repeat(it)
		case *Call:
			err = c.items(it.Body)
		case *If:
			err = c.branches(it)
		case *Leave:
			if err = c.cond(it.Cond); err == nil {
				c.loops[len(c.loops)-1].leave(it, c.written)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loop collects what has values where a pass of a repeat can end before its last item.
type loop struct {
	next, out []map[string]bool // at each continue, and at each break
	by        Item              // the first of them
}

func (l *loop) leave(it *Leave, written map[string]bool) {
	if l.by == nil {
		l.by = it
	}
	if it.Next {
		l.next = append(l.next, maps.Clone(written))
	} else {
		l.out = append(l.out, maps.Clone(written))
	}
}

// repeat checks the body and the condition of a repeat.
func (c *checker) repeat(t *Repeat) error {
	l := &loop{}
	c.loops = append(c.loops, l)
	err := c.items(t.Body)
	c.loops = c.loops[:len(c.loops)-1]
	if err != nil {
		return err
	}
	c.join(l.by, l.next)
	if t.Until != nil {
		if err := c.cond(t.Until); err != nil {
			return err
		}
	}
	c.join(l.by, l.out)
	return nil
}

// branches checks an if.
func (c *checker) branches(t *If) error {
	if err := c.cond(t.Cond); err != nil {
		return err
	}
	before := maps.Clone(c.written)
	if err := c.items(t.Then); err != nil {
		return err
	}
	then := c.written
	c.written = before
	if err := c.items(t.Else); err != nil {
		return err
	}
	c.join(t, []map[string]bool{then})
	return nil
}

// join sets c.written where several ways of a run meet: a tensor has values if it has values on
// each way. others has the tensors with values on the ways other than the current one, and by is
// the item that decides about the way.
func (c *checker) join(by Item, others []map[string]bool) {
	for _, way := range others {
		for name, is := range way {
			if is && !c.written[name] {
				c.sometimes[name] = by
			}
		}
		for name, is := range c.written {
			if is && !way[name] {
				c.written[name] = false
				c.sometimes[name] = by
			}
		}
	}
}

// mayLackValues returns what a message says about a tensor that has values only sometimes, as by
// decides.
func (c *checker) mayLackValues(by Item) string {
	word := "if"
	if l, ok := by.(*Leave); ok {
		word = l.Word()
	}
	return fmt.Sprintf("may have no values: whether it is computed depends on the %s of line %s",
		word, c.f.line(span(by.Span())))
}

// cond checks the scalars of a condition.
func (c *checker) cond(cond *Cond) error {
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
				"got %s in a condition, want a scalar: %[1]s has %s (line %s)", a.Name,
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
	if s != nil && c.written[name] {
		return s, nil
	}
	if by := c.sometimes[name]; by != nil {
		return nil, c.f.Errorf(at, ReadEarly, "got %s, which %s", name, c.mayLackValues(by))
	}
	first, later := c.firstWrite[name]
	line := c.f.line(span(first))
	switch {
	case s == nil && !later:
		e := c.f.Errorf(at, Unknown,
			"got %s, which is neither declared nor computed by a statement above", name)
		if row, ok := linalgFuncs[name]; ok {
			e.Msg += "; the function of whole matrices with this name must be alone on the right " +
				"side, as in " + row.example
		}
		return nil, e
	case s == nil:
		return nil, c.f.Errorf(at, ReadEarly,
			"got %s, which has no values yet: line %s is the first to compute it", name, line)
	case !later:
		return nil, c.f.Errorf(at, ReadEarly,
			"got %s, which has no values: its declaration on line %s has no from, and no "+
				"statement computes it", name, c.f.line(span(s.at)))
	}
	return nil, c.f.Errorf(at, ReadEarly,
		"got %s, which has no values yet: its declaration on line %s has no from, and line %s "+
			"is the first to compute it", name, c.f.line(span(s.at)), line)
}

// statement checks a statement after everything before it has been checked.
func (c *checker) statement(s *Statement) error {
	if err := notation.Check(s.Stmt); err != nil {
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
	return c.f.Errorf(a.At, diag.OrderMismatch, "got %s with %s, want %d, as on line %s", a.Name,
		tensor.Count(len(a.Vars), "mode"), s.t.Order, c.f.line(span(s.at)))
}

// write records that a statement gives values to its left tensor. A tensor that nothing has named
// before is a temporary.
func (c *checker) write(s *Statement) error {
	left := s.raw.LHS
	if n, ok := c.names[left.Name]; c.states[left.Name] == nil && (!ok || n.what == "tensor") {
		if err := c.temporarySizes(s); err != nil {
			return err
		}
	}
	if err := c.assign(left.Name, left.At, len(left.Vars)); err != nil {
		return err
	}
	return c.modes(c.states[left.Name], left)
}

// assign records that an item gives values to a tensor at a place. A tensor that nothing has named
// before is a temporary with the given number of modes.
func (c *checker) assign(name string, at notation.Span, order int) error {
	if n, ok := c.names[name]; ok && n.what != "tensor" {
		return c.clash(name, "tensor", at, n)
	}
	if c.states[name] == nil {
		t := &Tensor{span: span(at), at: at, Name: name, Order: order, Format: c.f.Formats[name]}
		c.f.Tensors = append(c.f.Tensors, t)
		c.states[name] = &state{t: t, at: at}
		c.names[name] = named{"tensor", at}
	}
	c.written[name] = true
	return nil
}

// temporarySizes checks that each mode of a temporary gets a size, from the right side of the
// temporary's first statement or from -d.
func (c *checker) temporarySizes(s *Statement) error {
	left, free := s.Stmt.LHS, notation.FreeVars(s.Stmt.RHS)
	for k, v := range left.Vars {
		if v == "" {
			continue
		}
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

package jobfile

import (
	"maps"
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Check reports mistakes in a file that do not depend on its data; the package comment lists them.
// It adds the temporaries to Tensors. It does not report mistakes that are visible only with data,
// sizes and the types of files. The caller finds these later (see CheckTypes and CheckSizes).
// Errors are *diag.Error with a place in the file, except an error in a size of -d.
func (f *File) Check() error {
	f.Tensors = slices.DeleteFunc(f.Tensors, func(t *Tensor) bool { return !t.Declared })
	c := &checker{f: f, names: map[string]named{}, states: map[string]*state{},
		firstWrite: map[string]notation.Span{}, written: map[string]bool{},
		sometimes: map[string]Item{}}
	for _, step := range []func() error{c.declareNames, c.givenSizes, c.declarations, c.order,
		c.products, c.outputs} {
		if err := step(); err != nil {
			return err
		}
	}
	f.maybe = map[string]string{}
	for name, by := range c.sometimes {
		if !c.written[name] {
			f.maybe[name] = c.mayLackValues(by)
		}
	}
	if _, err := f.CheckTypes(f.givenTypes()); err != nil {
		return err
	}
	_, err := f.CheckSizes(nil)
	return err
}

type checker struct {
	f     *File
	names map[string]named
	// states has the tensors that are declared or have been written.
	states map[string]*state
	// firstWrite has the first left side with each tensor, in the order of the file.
	firstWrite map[string]notation.Span
	// written has the tensors that have values at the current place, whatever conditions were true
	// on the way. sometimes has the items that decided whether a tensor has values.
	written   map[string]bool
	sometimes map[string]Item
	loops     []*loop // the repeats around the current place
}

// named is the meaning of a name, and the place where the name got it.
type named struct {
	what string
	at   notation.Span
}

// state describes a tensor at a point of the file's run.
type state struct {
	t  *Tensor
	at notation.Span // the place that says how many modes it has
}

// recordName records the meaning of a name. thing is the kind of the named thing, for example
// "tensor". recordName returns an error if the name already has a meaning. Only sizes may have the
// same name several times.
func (c *checker) recordName(name, thing string, at notation.Span) error {
	old, ok := c.names[name]
	if !ok {
		c.names[name] = named{thing, at}
		return nil
	}
	if old.what == "size" && thing == "size" {
		return nil
	}
	return c.clash(name, thing, at, old)
}

func (c *checker) clash(name, what string, at notation.Span, old named) error {
	if old.what == what {
		return c.f.Errorf(at, NameClash, "got %s %s twice, the first on line %s, want it once", what,
			name, c.f.line(span(old.at)))
	}
	return c.f.Errorf(at, NameClash,
		"got %s as a %s, but it is a %s on line %s; want different names",
		name, what, old.what, c.f.line(span(old.at)))
}

// declareNames records the meanings of all names in declarations, sizes last.
func (c *checker) declareNames() error {
	for _, it := range c.f.Items {
		var err error
		switch it := it.(type) {
		case *Param:
			err = c.recordName(it.Name, "param", it.at)
		case *Machine:
			if err = c.recordName(it.Name, "machine", it.at); err == nil {
				err = c.recordLevels(it)
			}
		case *Def:
			if err = c.recordName(it.Name, "function", it.at); err == nil {
				err = c.def(it)
			}
		case *Proc:
			err = c.recordName(it.Name, "procedure", it.at)
		case *Tensor:
			err = c.recordName(it.Name, "tensor", it.at)
			c.states[it.Name] = &state{t: it, at: it.at}
			c.written[it.Name] = it.given()
		}
		if err != nil {
			return err
		}
	}
	for _, it := range c.f.Items {
		var sizes []Size
		switch it := it.(type) {
		case *Machine:
			sizes = it.Extents
		case *Tensor:
			sizes = it.Sizes
		}
		for _, s := range sizes {
			for _, a := range s.accesses() {
				if s.ranks && a.Name == "p" {
					continue
				}
				if err := c.recordName(a.Name, "size", a.At); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// givenSizes returns an error if the user gave a value to a name that is neither a declared size
// nor an index variable of a statement.
func (c *checker) givenSizes() error {
	vars := map[string]bool{}
	for s := range c.f.Statements() {
		for _, a := range append(s.raw.Accesses(), s.raw.LHS) {
			for _, v := range a.Vars {
				vars[v] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.f.Sizes)) {
		if c.names[name].what != "size" && !vars[name] {
			return diag.Errorf(Unknown, "-d=%s:%d: %s has neither a size nor an index variable %s", name,
				c.f.Sizes[name], tensor.Printable(c.f.Name), name)
		}
	}
	return nil
}

// given reports whether a tensor has values from its declaration, before any statement writes to
// it.
func (t *Tensor) given() bool { return t.From != "" || t.FromKind != "" || t.FromNumber != "" }

// declarations checks machines and tensors individually.
func (c *checker) declarations() error {
	bound := map[string]bool{}
	for name := range c.f.Sizes {
		bound[name] = true
	}
	for _, t := range c.f.Tensors {
		for _, s := range t.Sizes {
			if name, ok := s.Name(); ok && t.From != "" {
				bound[name] = true
			}
		}
	}
	for _, it := range c.f.Items {
		var err error
		switch it := it.(type) {
		case *Machine:
			err = c.checkSizes(it.Extents, bound)
		case *Tensor:
			if err = c.tensor(it); err == nil {
				err = c.checkSizes(it.Sizes, bound)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSizes returns an error if a name in the size expressions never gets a value. bound has the
// names that get one. An expression is also evaluated if the values of all its names are known.
func (c *checker) checkSizes(sizes []Size, bound map[string]bool) error {
	for _, s := range sizes {
		constant := true
		for _, a := range s.accesses() {
			if s.ranks && a.Name == "p" {
				constant = false
				continue
			}
			if _, ok := c.f.Sizes[a.Name]; !ok {
				constant = false
			}
			if !bound[a.Name] {
				return c.f.Errorf(a.At, diag.SizeUnknown,
					"the size %s is not known: it is not a param, and not the size of a mode of a tensor that is read from a file; want param %s = NUMBER, or -d=%s:SIZE", a.Name, a.Name, a.Name)
			}
		}
		if !constant {
			continue
		}
		lookup := func(name string) (int64, bool) { n, ok := c.f.Sizes[name]; return n, ok }
		if _, err := s.Eval(lookup); err != nil {
			return err
		}
	}
	return nil
}

// tensor checks a declaration.
func (c *checker) tensor(t *Tensor) error {
	if t.FromNumber != "" && t.Order > 0 {
		return c.f.Errorf(t.FromAt, Declaration,
			"got the number %s for tensor %s of %s, want either a file or what -g takes: only "+
				"a scalar can be given as a number",
			t.FromNumber, t.Name, tensor.Count(t.Order, "mode"))
	}
	if t.Placement == nil {
		return nil
	}
	return c.placement(t, t.Placement)
}

// outputs checks the files that are written at the end.
func (c *checker) outputs() error {
	files := map[string]*Tensor{}
	for _, t := range c.f.Tensors {
		if t.To == "" {
			continue
		}
		if old := files[t.To]; old != nil {
			return c.f.Errorf(t.ToAt, Declaration,
				"got %q for tensor %s, but tensor %s is written to the same file (line %s); "+
					"want different files", t.To,
				t.Name, old.Name, c.f.line(span(old.ToAt)))
		}
		files[t.To] = t
		if c.written[t.Name] {
			continue
		}
		if it := c.sometimes[t.Name]; it != nil {
			return c.f.Errorf(t.ToAt, ReadEarly, "got to for tensor %s, which %s", t.Name,
				c.mayLackValues(it))
		}
		return c.f.Errorf(t.ToAt, ReadEarly,
			"got to for tensor %s, which gets no values: it must have either from or a "+
				"statement that computes it",
			t.Name)
	}
	return nil
}

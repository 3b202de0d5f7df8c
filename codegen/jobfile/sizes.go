package jobfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Sizes has the sizes of a file.
type Sizes struct {
	Names map[string]int64  // by name in the sizes of tensors and in File.Sizes
	From  map[string]string // by name: what gave the size
	// by tensor with modes: the size of each mode; absent if one size is not known
	Dims map[string][]int64
}

// CheckSizes computes the sizes of names and tensors. It must be called after Check.
//
// known has the sizes of tensors' modes that inputs give. A size in known that is not exact is a
// lower bound, as in notation.InferSizes. If a declaration gives a mode's size as a single name,
// and the tensor is in known, the name gets the mode's size. A declared tensor gets the values of
// its sizes, and a temporary gets its sizes from its first statement.
//
// It is an error if a name or a mode has two different exact sizes, or if a statement refuses the
// sizes. If an input is missing in known, only mistakes that do not depend on its sizes are
// reported.
func (f *File) CheckSizes(known map[string][]notation.Known) (*Sizes, error) {
	c := &sizeChecker{f: f, known: known, names: map[string]notation.Known{},
		dims: map[string][]notation.Known{}}
	for name, n := range f.Sizes {
		c.names[name] = notation.Known{Size: n, Exact: true,
			From: cmp.Or(f.SizesFrom[name], fmt.Sprintf("-d=%s:%d", name, n))}
	}
	for _, step := range []func(*Tensor) error{c.bind, c.declared} {
		for _, t := range f.Tensors {
			if !t.Declared {
				continue
			}
			if err := step(t); err != nil {
				return nil, err
			}
		}
	}
	if err := f.statements(c.statement, c.linalg); err != nil {
		return nil, err
	}
	out := &Sizes{Names: map[string]int64{}, From: map[string]string{}, Dims: map[string][]int64{}}
	for name, n := range c.names {
		out.Names[name], out.From[name] = n.Size, n.From
	}
	for name, dims := range c.dims {
		if slices.ContainsFunc(dims, unknown) {
			continue
		}
		for _, d := range dims {
			out.Dims[name] = append(out.Dims[name], d.Size)
		}
	}
	return out, nil
}

// unknown reports whether nothing is known about a size.
func unknown(k notation.Known) bool { return !k.Exact && k.Size == 0 }

type sizeChecker struct {
	f     *File
	known map[string][]notation.Known
	names map[string]notation.Known
	dims  map[string][]notation.Known // of tensors, if they are known
}

// bind gives the sizes of a tensor's input to the names in the tensor's declaration.
func (c *sizeChecker) bind(t *Tensor) error {
	known := c.known[t.Name]
	if known != nil && len(known) != t.Order {
		return c.f.Errorf(t.FromAt, diag.OrderMismatch, "tensor %s has %s in %s, but its "+
			"declaration has %d",
			t.Name, tensor.Count(len(known), "mode"), known[0].From, t.Order)
	}
	for m, k := range known {
		name, ok := t.Sizes[m].Name()
		if !ok {
			continue
		}
		k.From = fmt.Sprintf("mode %d of %s (%s)", m, t.Name, tensor.Printable(k.From))
		old, had := c.names[name]
		switch {
		case !had, k.Exact && !old.Exact, !k.Exact && !old.Exact && k.Size > old.Size:
			c.names[name] = k
		case k.Exact && old.Exact && k.Size != old.Size:
			return c.clash(t.Sizes[m], name, old, k)
		}
	}
	return nil
}

func (c *sizeChecker) clash(s Size, what string, a, b notation.Known) error {
	return c.f.Errorf(notation.Span(s.span), diag.SizeClash,
		"got size %d for %s from %s, but %d from %s; want the same size",
		a.Size, what, a.From, b.Size, b.From)
}

// declared gives a declared tensor the values of its sizes.
func (c *sizeChecker) declared(t *Tensor) error {
	dims := make([]notation.Known, len(t.Sizes))
	for m, s := range t.Sizes {
		exact, bound := true, true
		for _, name := range s.Names() {
			n, ok := c.names[name]
			exact, bound = exact && n.Exact, bound && ok
		}
		dims[m].From = cmp.Or(s.From(), fmt.Sprintf("line %s", c.f.line(t.span)))
		if name, ok := s.Name(); ok {
			if _, ok := c.f.Sizes[name]; ok {
				dims[m].From = c.names[name].From
			}
		}
		if !bound {
			continue
		}
		n, err := s.Eval(func(name string) (int64, bool) { k, ok := c.names[name]; return k.Size, ok })
		if err != nil {
			return err
		}
		dims[m].Size, dims[m].Exact = n, exact
		if m < len(c.known[t.Name]) {
			if k := c.known[t.Name][m]; k.Exact && exact && k.Size != n {
				return c.clash(s, fmt.Sprintf("mode %d of %s", m, t.Name), k,
					notation.Known{Size: n, From: "its declaration"})
			}
		}
	}
	c.dims[t.Name] = dims
	return nil
}

// statement checks a statement against the known sizes, and gives its left tensor sizes.
func (c *sizeChecker) statement(s *Statement) error {
	norm := notation.Normalize(s.Stmt)
	tensors := map[string][]notation.Known{}
	partly := false
	for _, t := range s.Stmt.Tensors() {
		dims, ok := c.dims[t.Name]
		if partly = partly || !ok || slices.ContainsFunc(dims, unknown); t.Order > 0 && ok {
			tensors[t.Name] = slices.Clone(dims)
		}
	}
	user := map[string][]int64{}
	for _, v := range norm.Vars {
		name := v
		if source, ok := norm.Source[v]; ok {
			name = source
		}
		if n, ok := c.f.Sizes[name]; ok {
			user[name] = []int64{n}
		}
	}
	sizes, err := notation.InferSizes(norm, tensors, user,
		func(name string, mode int) string { return c.names[name].From })
	var d *diag.Error
	switch {
	case partly && errors.As(err, &d) && d.Code == diag.SizeUnknown:
		return nil
	case err != nil:
		return s.Locate(err)
	}
	from := fmt.Sprintf("line %s", c.f.line(s.span))
	for _, name := range slices.Sorted(maps.Keys(sizes.Dims)) {
		old, ok := c.dims[name]
		dims := make([]notation.Known, len(sizes.Dims[name]))
		for m, n := range sizes.Dims[name] {
			dims[m] = notation.Known{Size: n, Exact: true, From: from}
			if ok && (old[m].Exact || old[m].Size == n) {
				dims[m] = old[m]
			}
		}
		c.dims[name] = dims
	}
	return nil
}

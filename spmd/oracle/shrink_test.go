package oracle

import (
	"iter"
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tensor"
)

// Shrink reduces a failing case. It replaces the case by a simpler one that still fails, until no
// simpler case fails or fails was called budget times.
func Shrink(c *Case, budget int, fails func(*Case) bool) *Case {
	for again := true; again; {
		again = false
		for simpler := range simplifications(c) {
			if _, err := simpler.Prepare(); err != nil {
				continue
			}
			if budget--; budget < 0 {
				return c
			}
			if fails(simpler) {
				c, again = simpler, true
				break
			}
		}
	}
	return c
}

// simplifications yields cases that are simpler than c. The cases that differ most from c come
// first. Some cases are not valid.
func simplifications(c *Case) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for _, f := range []func(*Case, func(*Case) bool) bool{simplerSchedule, simplerOver,
			simplerStatement, simplerResult, fewerEntries, smallerSizes, simplerFormats, simplerTypes,
			simplerValues} {
			if !f(c, yield) {
				return
			}
		}
	}
}

// simplerSchedule yields cases without one of the commands of c.Schedule.
func simplerSchedule(c *Case, yield func(*Case) bool) bool {
	for k := len(c.Schedule) - 1; k >= 0 && len(c.Schedule) > 1; k-- {
		d := c.Clone()
		d.Schedule = slices.Delete(d.Schedule, k, k+1)
		if !yield(d) {
			return false
		}
	}
	return true
}

// simplerStatement yields cases without a part of the right side.
func simplerStatement(c *Case, yield func(*Case) bool) bool {
	s, err := notation.Parse(c.Stmt)
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	for _, rhs := range simplerExprs(s.RHS) {
		t := *s
		t.RHS = rhs
		if !yield(c.restate(&t)) {
			return false
		}
	}
	return true
}

func simplerExprs(e notation.Expr) (out []notation.Expr) {
	switch e := e.(type) {
	case *notation.Binary:
		out = append(out, e.X, e.Y)
		for _, x := range simplerExprs(e.X) {
			out = append(out, &notation.Binary{Op: e.Op, X: x, Y: e.Y})
		}
		for _, y := range simplerExprs(e.Y) {
			out = append(out, &notation.Binary{Op: e.Op, X: e.X, Y: y})
		}
	case *notation.Neg:
		out = append(out, e.X)
		for _, x := range simplerExprs(e.X) {
			out = append(out, &notation.Neg{X: x})
		}
	case *notation.Sum:
		out = append(out, e.X)
		for k := range e.Vars {
			if len(e.Vars) > 1 {
				out = append(out, &notation.Sum{Op: e.Op,
					Vars: slices.Delete(slices.Clone(e.Vars), k, k+1), X: e.X})
			}
		}
		for _, x := range simplerExprs(e.X) {
			out = append(out, &notation.Sum{Op: e.Op, Vars: e.Vars, X: x})
		}
	case *notation.Call:
		out = append(out, e.Args...)
		for k, x := range e.Args {
			for _, y := range simplerExprs(x) {
				c := &notation.Call{Func: e.Func, Args: slices.Clone(e.Args)}
				c.Args[k] = y
				out = append(out, c)
			}
		}
	case *notation.Access:
		for m, x := range e.Index {
			if x == nil {
				continue
			}
			for _, v := range notation.FreeVars(x) {
				a := *e
				a.Vars, a.Index, a.Outside = slices.Clone(e.Vars), slices.Clone(e.Index), slices.Clone(e.Outside)
				a.Vars[m], a.Index[m], a.Outside[m] = v, nil, false
				out = append(out, &a)
			}
		}
	case *notation.Number:
		if e.String() != "1" {
			out = append(out, &notation.Number{Text: "1", IsInt: true, Int: 1, Float: 1})
		}
	}
	return out
}

// restate returns the case with another statement, and with only the tensors of that statement.
func (c *Case) restate(s *notation.Stmt) *Case {
	out := c.Clone()
	out.Stmt = s.String()
	var keep []*Tensor
	for _, u := range s.Tensors() {
		keep = append(keep, out.Tensor(u.Name))
	}
	out.Tensors = keep
	return out
}

// simplerResult yields cases with = instead of +=, and cases without one mode of the result.
func simplerResult(c *Case, yield func(*Case) bool) bool {
	s, err := notation.Parse(c.Stmt)
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	if s.Accumulate {
		t := *s
		t.Accumulate = false
		d := c.restate(&t)
		d.Tensors[0].Input, d.Tensors[0].Entries = false, nil
		if !yield(d) {
			return false
		}
	}
	for m := range s.LHS.Vars {
		t := *s
		t.LHS = &notation.Access{Name: s.LHS.Name, Vars: slices.Delete(slices.Clone(s.LHS.Vars), m, m+1)}
		d := c.restate(&t)
		left := d.Tensors[0]
		if left.Input {
			continue
		}
		left.Dims = slices.Delete(left.Dims, m, m+1)
		left.Format = withoutMode(left.Format, m)
		if left.Format.Check() != nil {
			left.Format = tensor.DenseOf(len(left.Dims))
		}
		if !yield(d) {
			return false
		}
	}
	return true
}

func withoutMode(f tensor.Format, m int) tensor.Format {
	var out tensor.Format
	for l, x := range f.Order {
		if x == m {
			continue
		}
		if x > m {
			x--
		}
		out.Levels, out.Order = append(out.Levels, f.Levels[l]), append(out.Order, x)
	}
	return out
}

// fewerEntries yields cases without some consecutive entries of a tensor. It tries the longest
// sequences first.
func fewerEntries(c *Case, yield func(*Case) bool) bool {
	for k, t := range c.Tensors {
		n := len(t.Entries)
		if len(t.Dims) == 0 {
			continue
		}
		for run := n; run > 0; run /= 2 {
			for from := 0; from < n; from += run {
				d := c.Clone()
				d.Tensors[k].Entries = slices.Delete(d.Tensors[k].Entries, from, min(from+run, n))
				if !yield(d) {
					return false
				}
			}
		}
	}
	return true
}

// smallerSizes yields cases with a smaller size of one variable, and without the entries outside
// the smaller size.
func smallerSizes(c *Case, yield func(*Case) bool) bool {
	p, err := c.Prepare()
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	class := p.Normal.SameSize()
	for _, v := range p.Normal.Vars {
		size := p.Sizes.Vars[v]
		if class[v] != v || size < 2 {
			continue
		}
		for _, to := range []int64{1, size / 2, size - 1} {
			d := c.Clone()
			for _, a := range append(p.Normal.Accesses(), p.Normal.LHS) {
				t := d.Tensor(a.Name)
				if a.Made != nil {
					continue
				}
				for m, w := range a.Vars {
					if class[w] == v {
						t.Dims[m] = to
						t.Entries = slices.DeleteFunc(t.Entries, func(e Entry) bool { return e.Coord[m] >= to })
					}
				}
			}
			if !yield(d) {
				return false
			}
		}
	}
	return true
}

// simplerFormats yields cases with a plainer format of one tensor.
func simplerFormats(c *Case, yield func(*Case) bool) bool {
	for k, t := range c.Tensors {
		n := len(t.Dims)
		try := []tensor.Format{tensor.DenseOf(n), tensor.SparseOf(n),
			{Levels: t.Format.Levels, Order: tensor.DenseOf(n).Order}}
		for l := range t.Format.Levels {
			for _, kind := range []tensor.Kind{tensor.Dense, tensor.Compressed} {
				f := tensor.Format{Levels: slices.Clone(t.Format.Levels), Order: t.Format.Order}
				f.Levels[l] = kind
				try = append(try, f)
			}
		}
		for _, f := range try {
			if complexity(f) >= complexity(t.Format) || f.Check() != nil {
				continue
			}
			d := c.Clone()
			d.Tensors[k].Format = f
			if !yield(d) {
				return false
			}
		}
	}
	return true
}

// complexity returns a number that is smaller for simpler formats. It is the sum of a number for
// each level: twice the position of the level's kind in tensor.Kinds, and 1 more if the level does
// not store the mode with its own number.
func complexity(f tensor.Format) int {
	n := 0
	for l, k := range f.Levels {
		n += 2 * slices.Index(tensor.Kinds, k)
		if f.Order[l] != l {
			n++
		}
	}
	return n
}

// simplerTypes yields variants of a case with simpler types. In each variant, one input that has
// another type gets the type float64, or a result whose type is given gets its type by inference.
func simplerTypes(c *Case, yield func(*Case) bool) bool {
	for k, t := range c.Tensors {
		d := c.Clone()
		u := d.Tensors[k]
		switch {
		case !t.Input && t.Type != tensor.None:
			u.Type = tensor.None
		case t.Input && t.Type != tensor.Float64:
			u.Type = tensor.Float64
			for e := range u.Entries {
				v := u.Entries[e].Value
				if t.Type.IsComplex() {
					v.C = complex(real(v.C), 0)
				}
				u.Entries[e].Value = reference.Convert(v, realOf(t.Type), tensor.Float64)
			}
		default:
			continue
		}
		if !yield(d) {
			return false
		}
	}
	return true
}

func realOf(t tensor.Type) tensor.Type {
	if t.IsComplex() {
		return tensor.Float64
	}
	return t
}

// simplerValues yields cases with 1 instead of one of the values.
func simplerValues(c *Case, yield func(*Case) bool) bool {
	for k, t := range c.Tensors {
		one := reference.Float(1)
		if t.Type.HoldsInts() {
			one = reference.Int(1)
		}
		for e := range t.Entries {
			if t.Entries[e].Value.Equal(one) {
				continue
			}
			d := c.Clone()
			d.Tensors[k].Entries[e].Value = one
			if !yield(d) {
				return false
			}
		}
	}
	return true
}

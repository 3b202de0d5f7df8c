package oracle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/kernels"
)

// revalue runs the leaf that computes alone, and holds it to the result of the other: given that
// result's pattern, one with more coordinates, whose values are to be 0, and one that lacks a
// coordinate, which is an error. Both leaves add in one order; but a C compiler makes one operation
// of a product and a sum in one of them and not in the other, as its vector loops fall. fused says
// that this may be: values then agree within their rounding.
func (c *compiled) revalue(fused bool,
	call func(args []*tcs.Tensor, bounds [][2]int64) error) error {
	if c.values.Result.Accumulate {
		return c.readd(call)
	}
	want := output(c.args[0]).Entries
	var points map[string]reference.Point
	if fused {
		w, err := c.p.Expect(context.Background())
		if err != nil {
			return err
		}
		points = w.points()
	}
	patterns := [][]Entry{want, append(slices.Clone(want), c.others(want)...)}
	for k, pattern := range patterns {
		if k == 1 && len(pattern) == len(want) {
			continue
		}
		if err := c.valuesInto(pattern, want, points, call); err != nil {
			return fmt.Errorf("computing values alone, for %d coordinates of %d: %w", len(want),
				len(pattern), err)
		}
	}
	if len(want) == 0 {
		return nil
	}
	lost := want[c.p.Case.Variant/16%uint64(len(want))]
	without := slices.DeleteFunc(slices.Clone(want), func(x Entry) bool { return c.beside(x, lost) })
	err := c.valuesInto(without, want, points, call)
	var e *kernels.PatternError
	if !errors.As(err, &e) {
		return fmt.Errorf(
			"computing values alone into a pattern that lacks %v: got %v, want a PatternError", lost.Coord,
			err)
	}
	for _, m := range c.stored() {
		v := c.p.Parsed.LHS.Vars[m]
		if k := slices.Index(c.unit.Vars, v); k >= 0 && k < len(e.Coord) && e.Coord[k] != lost.Coord[m] {
			return fmt.Errorf("computing values alone into a pattern that lacks %v: the error tells %s = %d",
				lost.Coord, v, e.Coord[k])
		}
	}
	return nil
}

// stored are the modes of the result's levels down to the last compressed one.
func (c *compiled) stored() []int {
	f := c.unit.Result.Format
	return f.Order[:len(f.Order)-f.TrailingDense()]
}

// beside tells whether two entries of the result are stored together or not at all.
func (c *compiled) beside(x, y Entry) bool {
	for _, m := range c.stored() {
		if x.Coord[m] != y.Coord[m] {
			return false
		}
	}
	return true
}

// others are entries that the result lacks.
func (c *compiled) others(have []Entry) []Entry {
	var more []Entry
	seed := c.p.Case.Variant
	dims := c.p.Case.Tensors[0].Dims
	for range 4 {
		e := Entry{Coord: make([]int64, len(dims))}
		for m, d := range dims {
			if d == 0 {
				return nil
			}
			seed = seed*6364136223846793005 + 1442695040888963407
			e.Coord[m] = int64(seed >> 33 % uint64(d))
		}
		if !slices.ContainsFunc(append(slices.Clone(have), more...),
			func(x Entry) bool { return c.beside(x, e) }) {
			more = append(more, e)
		}
	}
	return more
}

// valuesInto runs the leaf that computes alone into a pattern, and wants these entries
// and zeros: the very values, or such as agree with the point of their coordinate.
func (c *compiled) valuesInto(pattern, want []Entry, points map[string]reference.Point,
	call func(args []*tcs.Tensor, bounds [][2]int64) error) error {
	left, u := c.p.Case.Tensors[0], c.unit.Result
	entries := slices.Clone(pattern)
	for k := range entries {
		entries[k].Value = reference.Value{}
	}
	t,
		err := (&Tensor{Name: left.Name, Format: u.Format, Type: c.p.Result, Dims: left.Dims,
		Entries: entries}).Assemble(false)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Widen(u.PosWidth, u.CrdWidth, nil); err != nil {
		return err
	}
	scribble(t.Vals)
	if err := call(append([]*tcs.Tensor{t}, c.args[1:]...), c.bounds); err != nil {
		return err
	}
	if err := t.Validate(); err != nil {
		return err
	}
	values := map[string]reference.Value{}
	for _, e := range want {
		values[coordKey(e.Coord)] = e.Value
	}
	found := 0
	for _, e := range output(t).Entries {
		w, ok := values[coordKey(e.Coord)]
		if ok {
			found++
		}
		same := e.Value == w || hasNaN(e.Value) && hasNaN(w)
		if p, near := points[coordKey(e.Coord)]; !same && !(near && p.Agrees(e.Value)) {
			return fmt.Errorf("at %v: got %v, want %v", e.Coord, e.Value, w)
		}
	}
	if found != len(want) {
		return fmt.Errorf("%d coordinates, want %d", found, len(want))
	}
	return nil
}

func hasNaN(v reference.Value) bool { return math.IsNaN(real(v.C)) || math.IsNaN(imag(v.C)) }

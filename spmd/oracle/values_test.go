package oracle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
)

// revalue runs c.values and compares the result with the result of c.unit. If the result is sparse,
// it runs the leaf on three patterns: the pattern of c.unit's result; a pattern with more
// coordinates, whose values must be 0; and a pattern that lacks a coordinate, which must be an
// error.
//
// Both leaves add in the same order. However, a C compiler may fuse a multiplication and an
// addition in the vector loop of one leaf and not in the other leaf. If fused is true, values may
// therefore differ within their rounding errors.
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
	patterns := [][]Entry{want, append(slices.Clone(want), c.absent(want)...)}
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
	without := slices.DeleteFunc(slices.Clone(want),
		func(x Entry) bool { return c.sharePosition(x, lost) })
	err := c.valuesInto(without, want, points, call)
	var e *kernels.PatternError
	if !errors.As(err, &e) {
		return fmt.Errorf(
			"computing values alone into a pattern that lacks %v: got %v, want a PatternError", lost.Coord,
			err)
	}
	for _, m := range c.storedModes() {
		v := c.p.Parsed.LHS.Vars[m]
		if k := slices.Index(c.unit.Vars, v); k >= 0 && k < len(e.Coord) && e.Coord[k] != lost.Coord[m] {
			return fmt.Errorf("computing values alone into a pattern that lacks %v: the error says %s = %d",
				lost.Coord, v, e.Coord[k])
		}
	}
	return nil
}

// storedModes returns the modes of the result's levels, without trailing dense levels.
func (c *compiled) storedModes() []int {
	f := c.unit.Result.Format
	return f.Order[:len(f.Order)-f.TrailingDense()]
}

// sharePosition reports whether two entries of the result differ at most in the modes of trailing
// dense levels, so that the result stores either both or neither.
func (c *compiled) sharePosition(x, y Entry) bool {
	for _, m := range c.storedModes() {
		if x.Coord[m] != y.Coord[m] {
			return false
		}
	}
	return true
}

// absent draws up to four entries that the result does not store. stored holds the entries that it
// stores.
func (c *compiled) absent(stored []Entry) []Entry {
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
		if !slices.ContainsFunc(append(slices.Clone(stored), more...),
			func(x Entry) bool { return c.sharePosition(x, e) }) {
			more = append(more, e)
		}
	}
	return more
}

// valuesInto runs c.values on a result that has the coordinates of pattern. It returns an error
// unless the result then has the entries of want, and zeros at all other coordinates of pattern.
// points has a point for some coordinates. There the value may also differ from the value in want,
// if it agrees with the point.
func (c *compiled) valuesInto(pattern, want []Entry, points map[string]reference.Point,
	call func(args []*tcs.Tensor, bounds [][2]int64) error) error {
	left, u := c.p.Case.Tensors[0], c.unit.Result
	entries := slices.Clone(pattern)
	for k := range entries {
		entries[k].Value = tensor.Value{Type: c.p.Result}
	}
	t, err := (&Tensor{Name: left.Name, Format: u.Format, Type: c.p.Result, Dims: left.Dims,
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
	values := map[string]tensor.Value{}
	for _, e := range want {
		values[coordKey(e.Coord)] = e.Value
	}
	found := 0
	for _, e := range output(t).Entries {
		w, ok := values[coordKey(e.Coord)]
		if ok {
			found++
		}
		same := e.Value.Equal(w) || hasNaN(e.Value) && hasNaN(w)
		if p, near := points[coordKey(e.Coord)]; !same && !(near && p.Agrees(e.Value)) {
			return fmt.Errorf("at %v: got %v, want %v", e.Coord, e.Value, w)
		}
	}
	if found != len(want) {
		return fmt.Errorf("%d coordinates, want %d", found, len(want))
	}
	return nil
}

func hasNaN(v tensor.Value) bool { return math.IsNaN(real(v.C)) || math.IsNaN(imag(v.C)) }

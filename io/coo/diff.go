package coo

import (
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"strings"
	"unsafe"

	"distaff/io/tensor"
)

// Difference is a coordinate whose values differ in two tensors. A missing entry has the value
// zero.
type Difference struct {
	Coords []int64
	A, B   tensor.Value
}

// Differences is the result of Diff.
type Differences struct {
	Compared int64        // number of coordinates with an entry in either tensor
	Differ   int64        // number of coordinates whose values differ
	MaxAbs   float64      // the largest |a-b|; NaN if one value is NaN and the other is not
	MaxRel   float64      // the largest |a-b|/|b|
	First    []Difference // the first differences, in order of coordinates
}

// Diff compares two tensors by value. The values a and b at a coordinate are equal if both are
// finite and |a-b| <= atol + rtol*|b|, if both are NaN, or if both are the same infinity. A missing
// entry is zero. Integers are compared exactly if both tolerances are 0. Both streams must list the
// modes in the same order. The result lists the first differences, at most maxListed of them.
//
// The sizes of both tensors must be equal. There is one exception: if a file states no sizes, the
// sizes of its stream are only the largest coordinates, and the sizes of the other stream may be
// larger.
func Diff(a, b *Ordered, rtol, atol float64, maxListed int) (*Differences, error) {
	if !sizesCompatible(a, b) {
		return nil, &Error{Exit: 4,
			Msg: fmt.Sprintf("the sizes differ: %s has sizes %s, but %s has %s",
				tensor.Printable(a.s.spec.Name), formatSizes(a.s.spec.Dims), tensor.Printable(b.s.spec.Name), formatSizes(b.s.spec.Dims))}
	}
	d := &differ{rtol: rtol, atol: atol, keep: maxListed, modes: a.Modes()}
	x, y := &side{o: a}, &side{o: b}
	for _, s := range []*side{x, y} {
		if err := s.advance(); err != nil {
			return nil, err
		}
	}
	for x.valid || y.valid {
		c := 0
		switch {
		case !y.valid:
			c = -1
		case !x.valid:
			c = 1
		default:
			c = d.compare(x, y)
		}
		at, v, w := x, x.value(), y.value()
		if c < 0 {
			w = tensor.Value{Type: v.Type}
		} else if c > 0 {
			at, v = y, tensor.Value{Type: w.Type}
		}
		d.add(at, v, w)
		if c <= 0 {
			if err := x.advance(); err != nil {
				return nil, err
			}
		}
		if c >= 0 {
			if err := y.advance(); err != nil {
				return nil, err
			}
		}
	}
	return &d.out, nil
}

// sizesCompatible reports whether a and b can be tensors of the same sizes. If the sizes of one
// stream are only its largest coordinates, the sizes of the other may be larger.
func sizesCompatible(a, b *Ordered) bool {
	if len(a.s.spec.Dims) != len(b.s.spec.Dims) {
		return false
	}
	for m, n := range a.s.spec.Dims {
		k := b.s.spec.Dims[m]
		if n != k && !(a.bounds && (b.bounds || n < k)) && !(b.bounds && k < n) {
			return false
		}
	}
	return true
}

func formatSizes(dims []int64) string {
	if len(dims) == 0 {
		return "none (a scalar)"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", " x ")
}

type differ struct {
	rtol, atol float64
	keep       int
	modes      []int
	out        Differences
}

// side is one of two streams that are compared. Its current entry is entry i of batch b. The field
// valid is false after the last entry.
type side struct {
	o     *Ordered
	b     Batch
	i     int
	valid bool
}

func (s *side) advance() error {
	s.i++
	for !s.valid || s.i >= s.b.N {
		err := s.o.Next(&s.b)
		if err == io.EOF {
			s.valid, s.b.N = false, 0
			return nil
		}
		if err != nil {
			return err
		}
		s.valid, s.i = s.b.N > 0, 0
	}
	return nil
}

func (s *side) value() tensor.Value {
	if !s.valid {
		return tensor.Value{}
	}
	t := s.o.Type()
	return t.Load(unsafe.Pointer(&s.b.Vals[s.i*int(t.Size())]))
}

func (d *differ) compare(x, y *side) int {
	for _, m := range d.modes {
		if p, q := x.b.Coords[m][x.i], y.b.Coords[m][y.i]; p != q {
			if p < q {
				return -1
			}
			return 1
		}
	}
	return 0
}

func (d *differ) add(at *side, v, w tensor.Value) {
	d.out.Compared++
	abs, equal := d.equal(v, w)
	if abs > d.out.MaxAbs || abs != abs {
		d.out.MaxAbs = abs
	}
	if rel := abs / cmplx.Abs(w.Complex()); abs != 0 && (rel > d.out.MaxRel || rel != rel) {
		d.out.MaxRel = rel
	}
	if equal {
		return
	}
	d.out.Differ++
	if len(d.out.First) < d.keep {
		c := make([]int64, len(d.modes))
		for m := range c {
			c[m] = at.b.Coords[m][at.i]
		}
		d.out.First = append(d.out.First, Difference{c, v, w})
	}
}

// equal compares two values. abs is the absolute value of their difference, or 0 if both are NaN or
// the same infinity.
func (d *differ) equal(v, w tensor.Value) (abs float64, equal bool) {
	if v.Type.HoldsInts() && w.Type.HoldsInts() && v.FitsInt(tensor.Int64) && w.FitsInt(tensor.Int64) {
		if v.I == w.I {
			return 0, true
		}
		gap := uint64(v.I) - uint64(w.I)
		if v.I < w.I {
			gap = -gap
		}
		abs = float64(gap)
		return abs, (d.rtol != 0 || d.atol != 0) && abs <= d.atol+d.rtol*math.Abs(float64(w.I))
	}
	x, y := v.Complex(), w.Complex()
	switch {
	case x == y:
		return 0, true
	case equalOrNaN(real(x), real(y)) && equalOrNaN(imag(x), imag(y)):
		return 0, true
	}
	abs = cmplx.Abs(x - y)
	if cmplx.IsInf(x) || cmplx.IsInf(y) {
		return math.Inf(1), false
	}
	return abs, abs <= d.atol+d.rtol*cmplx.Abs(y)
}

// equalOrNaN reports whether a equals b, where NaN equals NaN.
func equalOrNaN(a, b float64) bool { return a == b || a != a && b != b }

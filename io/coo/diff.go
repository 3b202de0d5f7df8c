package coo

import (
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"strings"
	"unsafe"

	"distaff/io/tcs"
)

// Difference is a coordinate where two tensors differ. What a tensor lacks is
// zero there.
type Difference struct {
	Coords []int64
	A, B   tcs.Value
}

// Differences is what Diff finds.
type Differences struct {
	Compared int64        // coordinates that either has
	Differ   int64        // those where the values differ
	MaxAbs   float64      // the largest |a-b|; NaN where a NaN meets a number
	MaxRel   float64      // the largest |a-b|/|b|
	First    []Difference // the first that differ, in order of coordinates
}

// Diff compares two tensors by value: a and b at a coordinate are equal if |a-b| <= atol +
// rtol*|b|, or both are NaN, or both the same infinity. Absent is zero. Sizes must be the same;
// those that are only the largest coordinates of a stream may be larger in the other. Integers are
// compared exactly if both tolerances are 0. keep is how many differences are listed. Both streams
// must come in the same order of modes.
func Diff(a, b *Ordered, rtol, atol float64, keep int) (*Differences, error) {
	if !fits(a, b) {
		return nil, &Error{Exit: 4,
			Msg: fmt.Sprintf("the sizes differ: %s of %s, and %s of %s", extent(a.s.spec.Dims),
				tcs.Printable(a.s.spec.Name), extent(b.s.spec.Dims), tcs.Printable(b.s.spec.Name))}
	}
	d := &differ{rtol: rtol, atol: atol, keep: keep, modes: a.Modes()}
	x, y := &side{o: a}, &side{o: b}
	for _, s := range []*side{x, y} {
		if err := s.advance(); err != nil {
			return nil, err
		}
	}
	for x.has || y.has {
		c := 0
		switch {
		case !y.has:
			c = -1
		case !x.has:
			c = 1
		default:
			c = d.compare(x, y)
		}
		at, v, w := x, x.value(), y.value()
		if c < 0 {
			w = tcs.Value{Type: v.Type}
		} else if c > 0 {
			at, v = y, tcs.Value{Type: w.Type}
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

// fits tells whether a and b may be tensors of the same sizes.
func fits(a, b *Ordered) bool {
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

// extent prints sizes: 3 x 4.
func extent(dims []int64) string {
	if len(dims) == 0 {
		return "those of a scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", " x ")
}

type differ struct {
	rtol, atol float64
	keep       int
	modes      []int
	out        Differences
}

// side is where one of two streams stands.
type side struct {
	o   *Ordered
	b   Batch
	i   int
	has bool
}

func (s *side) advance() error {
	s.i++
	for !s.has || s.i >= s.b.N {
		err := s.o.Next(&s.b)
		if err == io.EOF {
			s.has, s.b.N = false, 0
			return nil
		}
		if err != nil {
			return err
		}
		s.has, s.i = s.b.N > 0, 0
	}
	return nil
}

func (s *side) value() tcs.Value {
	if !s.has {
		return tcs.Value{}
	}
	t := s.o.Type()
	return t.Load(unsafe.Pointer(&s.b.Vals[s.i*t.Size()]))
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

func (d *differ) add(at *side, v, w tcs.Value) {
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

// equal compares two values; abs is how far they are apart.
func (d *differ) equal(v, w tcs.Value) (abs float64, equal bool) {
	if v.Type.IsInt() && w.Type.IsInt() {
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
	case same(real(x), real(y)) && same(imag(x), imag(y)):
		return 0, true
	}
	abs = cmplx.Abs(x - y)
	if cmplx.IsInf(x) || cmplx.IsInf(y) {
		return math.Inf(1), false
	}
	return abs, abs <= d.atol+d.rtol*cmplx.Abs(y)
}

// same is equality with NaN equal to NaN.
func same(a, b float64) bool { return a == b || a != a && b != b }

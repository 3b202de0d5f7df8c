// Package summary describes a tensor in one line. No rank needs to have the whole tensor.
package summary

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
)

// Line returns a line that describes a result which is distributed over the ranks. stored is the
// number of its entries, and total the sum of its values.
func Line(name string, dims []int64, format string, typ tensor.Type, stored int64,
	total tensor.Value) string {
	return fmt.Sprintf("%s: %s, %s, %v, %s, sum %s", name, fault.Sizes(dims), format, typ,
		tensor.Count(stored, "entry"), total.Text())
}

// Describe returns a line about a tensor: its sizes, format, type and number of entries, or the
// value of a scalar.
func Describe(name string, t *tcs.Tensor) string {
	if t.Order() == 0 {
		return name + " = " + t.Value(0).Text()
	}
	return fmt.Sprintf("%s: %s, %s, %v, %s", name, fault.Sizes(t.Header.Dims), t.Format().String(),
		t.Header.Type, tensor.Count(Entries(t), "entry"))
}

// Of returns a line that describes a result: Describe's line and, unless the result is a scalar,
// the sum of its values.
func Of(name string, t *tcs.Tensor) string {
	if t.Order() == 0 {
		return Describe(name, t)
	}
	return Describe(name, t) + ", sum " + sumOf(t).Text()
}

// Entries returns the number of stored entries: positions of values that are not padding.
func Entries(t *tcs.Tensor) int64 {
	if !t.Format().HasPadding() {
		return t.Vals.Len
	}
	n := int64(0)
	t.Entries(func([]int64, int64) bool { n++; return true })
	return n
}

// sumOf returns the sum of all values.
func sumOf(t *tcs.Tensor) tensor.Value {
	a := Sum{Type: t.Header.Type}
	a.Add(t.Vals.Bytes())
	return a.total()
}

// Sum adds values. Floating-point values are added with compensation (Neumaier 1974), so that the
// printed sum does not lose digits for large tensors.
type Sum struct {
	Type     tensor.Type
	n        int64
	re, im   float64
	cre, cim float64
}

// Add adds the values in b, which are in the machine's representation of Type.
func (a *Sum) Add(b []byte) {
	size := a.Type.Size()
	if a.Type == tensor.Float64 {
		s, c := a.re, a.cre
		for ; len(b) >= 8; b = b[8:] {
			compensated(&s, &c, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		a.re, a.cre = s, c
		return
	}
	for ; len(b) > 0; b = b[size:] {
		v := a.Type.Load(unsafe.Pointer(unsafe.SliceData(b)))
		if a.Type.HoldsInts() {
			a.n += v.I
			continue
		}
		compensated(&a.re, &a.cre, real(v.C))
		compensated(&a.im, &a.cim, imag(v.C))
	}
}

func compensated(s, c *float64, x float64) {
	n := *s + x
	if math.Abs(*s) >= math.Abs(x) {
		*c += *s - n + x
	} else {
		*c += x - n + *s
	}
	*s = n
}

// merge adds the sum of o.
func (a *Sum) merge(o Sum) {
	a.n += o.n
	for _, x := range []struct {
		s, c *float64
		v    float64
	}{{&a.re, &a.cre, o.re}, {&a.re, &a.cre, o.cre}, {&a.im, &a.cim, o.im}, {&a.im, &a.cim, o.cim}} {
		compensated(x.s, x.c, x.v)
	}
}

// Gather returns the sum over all ranks, at rank 0. Every rank must call it.
func (a *Sum) Gather(c comm.Comm) (tensor.Value, error) {
	ints, floats := make([]int64, c.Size()), make([]float64, 4*c.Size())
	if err := c.Gather(comm.Of([]int64{a.n}), comm.Of(ints), 0); err != nil {
		return tensor.Value{}, err
	}
	if err := c.Gather(comm.Of([]float64{a.re, a.cre, a.im, a.cim}), comm.Of(floats), 0); err != nil {
		return tensor.Value{}, err
	}
	total := Sum{Type: a.Type}
	for n := range ints {
		f := floats[4*n:]
		total.merge(Sum{n: ints[n], re: f[0], cre: f[1], im: f[2], cim: f[3]})
	}
	return total.total(), nil
}

func (a *Sum) total() tensor.Value {
	if a.Type.HoldsInts() {
		return tensor.Value{Type: tensor.Int64, I: a.n}
	}
	whole := func(s, c float64) float64 {
		if math.IsNaN(c) || math.IsInf(s, 0) {
			return s
		}
		return s + c
	}
	v := tensor.Value{Type: tensor.Float64, C: complex(whole(a.re, a.cre), whole(a.im, a.cim))}
	if a.Type.IsComplex() {
		v.Type = tensor.Complex128
	}
	return v
}

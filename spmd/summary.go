package spmd

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// summaryLine is the line about a result of which no rank has all.
func summaryLine(name string, dims []int64, format string, typ tcs.Type, entries int64, total tcs.Value) string {
	return fmt.Sprintf("%s: %s, %s, %v, %s, sum %s", name, sizesString(dims), format, typ, plural(entries, "entry"), FormatValue(total))
}

// describeTensor is a line about a tensor: sizes, format, type, entries.
func describeTensor(name string, t *tcs.Tensor) string {
	if t.Order() == 0 {
		return name + " = " + FormatValue(t.Value(0))
	}
	return fmt.Sprintf("%s: %s, %s, %v, %s", name, sizesString(t.Dims), t.FormatString(), t.Type, plural(entries(t), "entry"))
}

// summary is the line about a result that no file was asked for.
func summary(name string, t *tcs.Tensor) string {
	if t.Order() == 0 {
		return describeTensor(name, t)
	}
	return describeTensor(name, t) + ", sum " + FormatValue(sum(t))
}

// entries counts the stored entries: every position of the values that is not
// padding.
func entries(t *tcs.Tensor) int64 {
	kinds, _ := t.Format()
	if !strings.Contains(kinds, "p") {
		return t.Vals.Len
	}
	n := int64(0)
	t.Entries(func([]int64, int64) bool { n++; return true })
	return n
}

// sum adds all values.
func sum(t *tcs.Tensor) tcs.Value {
	a := adder{typ: t.Type}
	a.add(t.Vals.Bytes())
	return a.total()
}

// adder adds values, floats with compensation (Neumaier 1974), so that the
// printed sum does not depend on the size of the tensor.
type adder struct {
	typ      tcs.Type
	n        int64
	re, im   float64
	cre, cim float64
}

// add adds the values in b.
func (a *adder) add(b []byte) {
	size := a.typ.Size()
	if a.typ == tcs.Float64 {
		s, c := a.re, a.cre
		for ; len(b) >= 8; b = b[8:] {
			compensated(&s, &c, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		a.re, a.cre = s, c
		return
	}
	for ; len(b) > 0; b = b[size:] {
		v := loadValue(a.typ, b)
		if a.typ.IsInt() {
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

// merge adds what another adder has added.
func (a *adder) merge(o adder) {
	a.n += o.n
	for _, x := range []struct {
		s, c *float64
		v    float64
	}{{&a.re, &a.cre, o.re}, {&a.re, &a.cre, o.cre}, {&a.im, &a.cim, o.im}, {&a.im, &a.cim, o.cim}} {
		compensated(x.s, x.c, x.v)
	}
}

// gather is the sum over all ranks, at rank 0. Collective.
func (a *adder) gather(c comm.Comm) (tcs.Value, error) {
	ints, floats := make([]int64, c.Size()), make([]float64, 4*c.Size())
	if err := c.Gather(comm.Of([]int64{a.n}), comm.Of(ints), 0); err != nil {
		return tcs.Value{}, err
	}
	if err := c.Gather(comm.Of([]float64{a.re, a.cre, a.im, a.cim}), comm.Of(floats), 0); err != nil {
		return tcs.Value{}, err
	}
	total := adder{typ: a.typ}
	for n := range ints {
		f := floats[4*n:]
		total.merge(adder{n: ints[n], re: f[0], cre: f[1], im: f[2], cim: f[3]})
	}
	return total.total(), nil
}

func (a *adder) total() tcs.Value {
	if a.typ.IsInt() {
		return tcs.Value{Type: tcs.Int64, I: a.n}
	}
	whole := func(s, c float64) float64 {
		if math.IsNaN(c) || math.IsInf(s, 0) {
			return s
		}
		return s + c
	}
	v := tcs.Value{Type: tcs.Float64, C: complex(whole(a.re, a.cre), whole(a.im, a.cim))}
	if a.typ.IsComplex() {
		v.Type = tcs.Complex128
	}
	return v
}

// FormatValue prints a value with the fewest digits that read back the same:
// 3.5, 120000, 1e+30, 1+2i.
func FormatValue(v tcs.Value) string {
	bits := 64
	switch v.Type {
	case tcs.Int64, tcs.Int32:
		return strconv.FormatInt(v.I, 10)
	case tcs.Float32, tcs.Complex64:
		bits = 32
	}
	s := formatFloat(real(v.C), bits)
	if !v.Type.IsComplex() {
		return s
	}
	im := formatFloat(imag(v.C), bits)
	if im[0] != '-' && im[0] != '+' {
		im = "+" + im
	}
	return s + im + "i"
}

func formatFloat(f float64, bits int) string {
	switch a := math.Abs(f); {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	case a == 0 || a >= 1e-5 && a < 1e16:
		return strconv.FormatFloat(f, 'f', -1, bits)
	default:
		return strconv.FormatFloat(f, 'e', -1, bits)
	}
}

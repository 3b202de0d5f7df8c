package arrays

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
)

// array is the stream of a dense array.
type array struct {
	f     File
	name  string // of the array in f
	what  string // for messages
	h     Header
	opt   coo.Options
	shape shape

	e    *Elements
	at   []int64 // the coordinates of the next element
	own  coo.Batch
	nat  buffer // values of the file's type
	conv buffer // values of the requested type
	err  error
}

// Aligned returns n bytes of memory that are aligned for every type.
func Aligned(n int) []byte {
	var b buffer
	return b.bytes(n)
}

// buffer is memory that is aligned for every type.
type buffer []uint64

func (b *buffer) bytes(n int) []byte {
	if w := (n + 7) / 8; len(*b) < max(w, 1) {
		*b = make(buffer, max(w, 1))
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&(*b)[0])), len(*b)*8)[:n]
}

// shape is the shape and the type of the tensor that a stream returns. keep lists the modes of the
// array that become modes of the tensor.
type shape struct {
	keep []int
	dims []int64
	typ  tensor.Type
}

// NewDense returns a stream of the entries of an array of f, in the order of the file. name is the
// name of the array. The stream leaves out elements whose bits are all zero, unless the array has
// no modes. If opt asks for one mode, a matrix of one column or one row is read as a vector. The
// stream knows the exact sizes of the modes, and it owns the Source of f.
func NewDense(f File, name string, opt coo.Options) (coo.Stream, error) {
	a := &array{f: f, name: name, what: f.What(name), opt: opt}
	e, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	a.h = e.Header
	e.Close()
	if a.h.Elem.Type() == tensor.None {
		return nil, text.Dataf(a.what, 0, 0, "got an array of strings, want numbers")
	}
	if a.shape, err = fit(a.what, a.h.Shape, a.h.Elem, opt); err != nil {
		return nil, err
	}
	return a, nil
}

// fit returns the shape and type of the tensor that an array is read as. dims are the sizes of the
// array, and elem is the type of its elements. If opt asks for a type, an order or sizes that the
// array cannot have, fit returns an error. arrayName names the array in errors.
func fit(arrayName string, dims []int64, elem Elem, opt coo.Options) (shape, error) {
	typ := elem.Type()
	s := shape{dims: dims, typ: typ}
	for m := range dims {
		s.keep = append(s.keep, m)
	}
	if opt.Type != tensor.None {
		if err := tcs.CanConvert(opt.Type, typ); err != nil {
			return s, text.Commandf(arrayName, 0, 0,
				"the file's values are %s, but the type asked for is %s", typ,
				opt.Type)
		}
		s.typ = opt.Type
	}
	want := opt.Order
	if opt.Dims != nil {
		want = len(opt.Dims)
	}
	if want == 1 && len(dims) == 2 {
		switch {
		case dims[1] == 1:
			s.keep, s.dims = []int{0}, dims[:1]
		case dims[0] == 1:
			s.keep, s.dims = []int{1}, dims[1:]
		}
	}
	if want > 0 && want != len(s.dims) {
		return s, text.Commandf(arrayName, 0, 0, "the array has %s (shape %v), want %d",
			text.Plural(int64(len(dims)), "dimension", "dimensions"), dims, want)
	}
	for m, d := range opt.Dims {
		if d >= 0 && d != s.dims[m] {
			return s, text.Commandf(arrayName, 0, 0, "mode %d has size %d, but -d gives %d",
				m, s.dims[m], d)
		}
	}
	return s, nil
}

func (a *array) Dims() ([]int64, bool)         { return slices.Clone(a.shape.dims), true }
func (a *array) Type() tensor.Type             { return a.shape.typ }
func (a *array) Progress() (done, total int64) { return a.f.Source().Progress() }

// Dense reports whether the tensor should be stored with dense levels. It returns false only if
// dense levels would be too large.
func (a *array) Dense() bool { return tensor.CheckSpace(a.shape.dims, widest) == nil }

func (a *array) Rewind() error {
	a.e.Close()
	a.e, a.err = nil, nil
	return nil
}

func (a *array) Close() error {
	a.e.Close()
	a.e, a.err = nil, io.ErrClosedPipe
	return a.f.Source().Close()
}

// Next returns up to chunk elements. It leaves out elements whose bits are all zero, except in an
// array without modes.
func (a *array) Next(b *coo.Batch) error {
	for a.err == nil {
		var n int
		if n, a.err = a.next(b); n > 0 && a.err == nil {
			return nil
		}
	}
	return a.err
}

func (a *array) next(b *coo.Batch) (int, error) {
	if a.e == nil {
		e, err := a.f.Open(a.name)
		if err != nil {
			return 0, err
		}
		a.e, a.at = e, make([]int64, len(a.h.Shape))
		if e.Header.Count != a.h.Count || e.Header.Elem != a.h.Elem {
			return 0, text.Dataf(a.what, 0, 0, "the file changed while it was read")
		}
	}
	if a.e.left == 0 {
		return 0, io.EOF
	}
	nat := a.h.Elem.Type()
	vals := a.nat.bytes(chunk * int(nat.Size()))
	n, err := a.e.Values(vals, chunk)
	if err != nil {
		return 0, Fault(a.what, err)
	}
	a.own.Resize(len(a.h.Shape), n, 0)
	first := slices.Clone(a.at)
	a.place(n)
	if nat != a.shape.typ {
		to := a.conv.bytes(chunk * int(a.shape.typ.Size()))
		if bad, err := tcs.ConvertValues(to, a.shape.typ, vals, nat, n); err != nil {
			return 0, a.lossy(first, bad, err)
		}
		vals = to
	}
	if len(a.h.Shape) > 0 {
		n = dropZeros(a.own.Coords, vals, int(a.shape.typ.Size()), n)
	}
	b.N, b.Vals = n, vals[:n*int(a.shape.typ.Size())]
	b.Coords = b.Coords[:0]
	for _, m := range a.shape.keep {
		b.Coords = append(b.Coords, a.own.Coords[m][:n])
	}
	return n, nil
}

// lossy returns the error for an element whose value cannot be stored as the requested type. err is
// the reason. k is the index of the element in the batch. If k is negative, the error names the
// first element of the batch. The array has len(start) modes.
func (a *array) lossy(start []int64, k int, err error) error {
	var at []string
	for m := range start {
		at = append(at, fmt.Sprint(a.own.Coords[m][max(k, 0)]))
	}
	var e *tcs.Error
	msg := err.Error()
	if errors.As(err, &e) {
		msg = e.Msg
	}
	return text.Commandf(a.what, 0, 0, "element [%s]: %s", strings.Join(at, ","), msg)
}

// place stores the coordinates of the next n elements in a.own.Coords, and advances a.at by n
// elements.
func (a *array) place(n int) {
	order := len(a.h.Shape)
	if order == 0 {
		return
	}
	fast := order - 1
	if a.h.Fortran {
		fast = 0
	}
	for k := 0; k < n; {
		run := int(min(int64(n-k), a.h.Shape[fast]-a.at[fast]))
		for m, c := range a.at {
			col := a.own.Coords[m][k : k+run]
			if m == fast {
				for i := range col {
					col[i] = c + int64(i)
				}
			} else {
				for i := range col {
					col[i] = c
				}
			}
		}
		k += run
		a.at[fast] += int64(run)
		for s := range order { // carry
			m := order - 1 - s
			if a.h.Fortran {
				m = s
			}
			if a.at[m] < a.h.Shape[m] {
				break
			}
			a.at[m] = 0
			if next := m - 1; !a.h.Fortran && next >= 0 {
				a.at[next]++
			} else if next := m + 1; a.h.Fortran && next < order {
				a.at[next]++
			}
		}
	}
}

// dropZeros removes the entries whose bits are all zero, and returns how many are left.
func dropZeros(cols [][]int64, vals []byte, size, n int) int {
	switch size {
	case 1:
		return drop(cols, vals[:n])
	case 2:
		return drop(cols, slice[uint16](vals, n))
	case 4:
		return drop(cols, slice[uint32](vals, n))
	case 8:
		return drop(cols, slice[uint64](vals, n))
	}
	return drop(cols, slice[[2]uint64](vals, n))
}

func drop[T comparable](cols [][]int64, vals []T) int {
	var zero T
	w := 0
	for w < len(vals) && vals[w] != zero {
		w++
	}
	for k := w; k < len(vals); k++ {
		if vals[k] == zero {
			continue
		}
		for _, col := range cols {
			col[w] = col[k]
		}
		vals[w] = vals[k]
		w++
	}
	return w
}

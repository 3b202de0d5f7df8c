package arrays

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"

	"distaff/io/tensor"
)

// Elements reads an array's elements in the order of the file.
type Elements struct {
	Header Header
	r      io.ReadCloser
	left   int64 // elements that are not read yet
	after  int64 // elements after those, which are not needed
	raw    []byte
}

// chunk is the largest number of elements that the streams read at a time.
const chunk = 4096

// NewElements returns the elements of an array with header h. r has the bytes of the elements, and
// ends after them. The Elements own r.
func NewElements(h Header, r io.ReadCloser) *Elements {
	return &Elements{Header: h, r: r, left: h.Count}
}

// Read reads up to n elements, and returns their bytes and their number.
func (e *Elements) Read(n int) ([]byte, int, error) {
	n = int(min(int64(n), e.left))
	if need := n * e.Header.Elem.Size; len(e.raw) < need {
		e.raw = make([]byte, need)
	}
	raw := e.raw[:n*e.Header.Elem.Size]
	if got, err := io.ReadFull(e.r, raw); err != nil {
		if short(err) {
			return nil, 0, fmt.Errorf(
				"got %s, but the shape %[3]v needs %[2]d: the data end too early",
				tensor.Count(e.Header.Count-e.after-e.left+int64(got/max(e.Header.Elem.Size, 1)),
					"element"),
				e.Header.Count, e.Header.Shape)
		}
		return nil, 0, err
	}
	e.left -= int64(n)
	if e.left == 0 && e.after == 0 {
		var one [1]byte
		if got, err := io.ReadFull(e.r, one[:]); got > 0 {
			return nil, 0, fmt.Errorf("got more bytes than the shape %v needs", e.Header.Shape)
		} else if err != io.EOF {
			return nil, 0, err
		}
	}
	return raw, n, nil
}

// Values reads up to n elements into dst, converted to type dtype.typ(), and returns their
// number. dst must be aligned to 8 bytes.
func (e *Elements) Values(dst []byte, n int) (int, error) {
	raw, n, err := e.Read(n)
	if err != nil {
		return 0, err
	}
	return n, e.Header.Elem.convert(dst, raw, n)
}

// Ints reads up to len(dst) elements and returns their number. The elements must be integers, or
// floats without a fraction.
func (e *Elements) Ints(dst []int64) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), len(dst)*8)
	first := e.Header.Count - e.after - e.left
	n, err := e.Values(b, len(dst))
	if err != nil {
		return n, err
	}
	small := unsafe.Pointer(&dst[0]) // dst[k] is past or at small value k
	switch typ := e.Header.Elem.Type(); typ {
	case tensor.Int64:
	case tensor.Int32:
		for k, v := range slices.Backward(unsafe.Slice((*int32)(small), n)) {
			dst[k] = int64(v)
		}
	case tensor.Float32:
		for k, v := range slices.Backward(unsafe.Slice((*float32)(small), n)) {
			*(*float64)(unsafe.Pointer(&dst[k])) = float64(v)
		}
		fallthrough
	case tensor.Float64:
		for k, v := range unsafe.Slice((*float64)(small), n) {
			if dst[k] = int64(v); v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
				return 0, fmt.Errorf(
					"got %v as element %d, want an integer that fits into 64 bits",
					v, first+int64(k))
			}
		}
	default:
		for k := n - 1; k >= 0; k-- {
			v := typ.Load(unsafe.Add(small, k*int(typ.Size())))
			if dst[k] = v.I; !v.FitsInt(tensor.Int64) {
				return 0, fmt.Errorf("got %v as element %d, want an integer that fits into 64 bits",
					v, first+int64(k))
			}
		}
	}
	return n, nil
}

// Close closes the reader of the elements. e may be nil.
func (e *Elements) Close() {
	if e != nil {
		e.r.Close()
	}
}

// slice returns the memory of b as n elements of type T.
func slice[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// convert converts the n elements in raw to the type d.Type() and stores them in dst. If the
// elements are big-endian, it first reverses the bytes of each number in raw. It returns an error
// for a bool that is neither 0 nor 1.
func (d Elem) convert(dst, raw []byte, n int) error {
	word := d.Size
	if d.Kind == 'c' {
		word /= 2
	}
	if d.Big {
		swap(raw, word)
	}
	if d.Kind == 'f' && d.Size == 2 {
		out := slice[float32](dst, n)
		for k := range out {
			out[k] = half(binary.LittleEndian.Uint16(raw[2*k:]))
		}
		return nil
	}
	if d.Kind == 'b' {
		for _, c := range raw {
			if c > 1 {
				return fmt.Errorf("got the byte %d for a bool, want 0 or 1", c)
			}
		}
	}
	copy(dst, raw)
	return nil
}

// swap reverses the bytes of each word of b. word is the size of a word in bytes.
func swap(b []byte, word int) {
	for ; len(b) >= word; b = b[word:] {
		for i, j := 0, word-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}

// half returns the value of a float16 from its bits.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case 0:
		f := float32(frac) * 0x1p-24
		return math.Float32frombits(sign | math.Float32bits(f))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

func short(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

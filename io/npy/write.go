package npy

import (
	"fmt"
	"io"
	"strings"

	"distaff/io/arrays"
	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// descr returns the description of a type in a header.
func descr(t tensor.Type) string {
	e, order := arrays.ElemOf(t), "<"
	if e.Size == 1 {
		order = "|"
	}
	return fmt.Sprintf("%s%c%d", order, e.Kind, e.Size)
}

// appendHeader returns a header of version 1. descr describes the element type, and dims are the
// sizes. The header is padded so that the elements start at a multiple of 64 bytes.
func appendHeader(descr string, dims []int64) []byte {
	var shape strings.Builder
	for m, d := range dims {
		if m > 0 {
			shape.WriteString(", ")
		}
		fmt.Fprint(&shape, d)
	}
	if len(dims) == 1 {
		shape.WriteByte(',')
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr,
		shape.String())
	pad := 63 - (10+len(dict))%64
	n := len(dict) + pad + 1
	b := append([]byte(magic), 1, 0, byte(n), byte(n>>8))
	return append(append(append(b, dict...), strings.Repeat(" ", pad)...), '\n')
}

// strides returns the strides of an array in C order, and the number of its elements. It does not
// check for overflow; Head does.
func strides(dims []int64) (s []int64, total int64) {
	s, total = make([]int64, len(dims)), 1
	for m := len(dims) - 1; m >= 0; m-- {
		s[m] = total
		total *= dims[m]
	}
	return s, total
}

// Least returns a lower bound of the size in bytes of an .npy file: the size of its elements. nnz
// and opt have no influence, because an .npy file stores every element.
func Least(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64 {
	bytes := float64(typ.Size())
	for _, n := range dims {
		bytes *= float64(n)
	}
	return bytes
}

// Write writes the entries of in as an array in C order. The entries must be sorted by
// coordinates, mode 0 first. Elements without an entry are zero.
func Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	head, err := Head(in.Type(), dims, in.NNZ(), opt)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, total := strides(dims)
	return Body(w, in, 0, total, opt)
}

// Head returns the header. An array that is too large is an error (exit code 2).
func Head(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) ([]byte, error) {
	if err := tensor.CheckSpace(dims, tensor.Complex128.Size()); err != nil {
		return nil, text.Commandf("NumPy", 0, 0,
			"%v; want .tns or .tcs, which store only entries", err)
	}
	return appendHeader(descr(typ), dims), nil
}

// Strides returns the stride of each mode in the array, and the number of its elements.
func Strides(dims []int64, opt coo.WriteOptions) ([]int64, int64) {
	return strides(dims)
}

// Body writes the elements with the row-major numbers [from, to). All entries of stream must be in
// this range.
func Body(w io.Writer, stream coo.Stream, from, to int64, opt coo.WriteOptions) error {
	dims, _ := stream.Dims()
	size := int(stream.Type().Size())
	s, _ := strides(dims)
	return text.WriteSpan(w, stream, s, from, to, opt.Threads, func(dst []byte, p *text.Piece) []byte {
		n := int(p.To-p.From) * size
		if cap(dst) < n {
			dst = make([]byte, n)
		}
		dst = dst[:n]
		if p.Batch.N < int(p.To-p.From) {
			clear(dst)
		}
		for k, at := range p.At {
			copy(dst[int(at-p.From)*size:], p.Batch.Vals[k*size:(k+1)*size])
		}
		return dst
	})
}

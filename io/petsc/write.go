package petsc

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"

	"distaff/io/arrays"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
)

// valueType returns the type of values in a file: double or complex double.
func valueType(typ tensor.Type) tensor.Type {
	if typ.IsComplex() {
		return tensor.Complex128
	}
	return tensor.Float64
}

// isList reports whether a tensor is written as a sparse matrix. A vector and a dense matrix list
// all values.
func isList(dims []int64, opt coo.WriteOptions) bool { return len(dims) == 2 && !opt.Dense }

// Least returns a lower bound of the size of a file in bytes.
func Least(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64 {
	size := float64(valueType(typ).Size())
	if isList(dims, opt) {
		return 4*float64(dims[0]) + float64(nnz)*(4+size)
	}
	for _, d := range dims {
		size *= float64(d)
	}
	return size
}

// Write writes the entries of in, which must be sorted by coordinates, mode 0 first, as a sparse or
// dense matrix or a vector. A tensor of order 0 becomes a vector of one element. Integers have 64
// bits if a size or the number of entries needs more than 32. Values are double or complex double.
// Write reads the entries of a sparse matrix three times.
func Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	if Least(in.Type(), dims, in.NNZ(), opt) > tensor.MaxCount {
		return text.Commandf("PETSc", 0, 0, "got sizes %s, for which the file would take 2^62 bytes "+
			"or more; want .tns or .tcs, which store only entries", text.Sizes(dims))
	}
	z := &writer{out: bufio.NewWriterSize(w, 1<<18), in: in, typ: valueType(in.Type()), word: 4}
	for _, n := range append([]int64{in.NNZ()}, dims...) {
		if n > math.MaxInt32 {
			z.word = 8
		}
	}
	var err error
	switch {
	case isList(dims, opt):
		err = z.sparse(dims)
	case len(dims) == 2:
		err = z.dense(dims, opt.Threads, matrixID, dims[0], dims[1], -1)
	default:
		n := int64(1)
		if len(dims) == 1 {
			n = dims[0]
		}
		err = z.dense(dims, opt.Threads, vectorID, n)
	}
	if err != nil {
		return err
	}
	return z.out.Flush()
}

type writer struct {
	out  *bufio.Writer
	in   *coo.Ordered
	typ  tensor.Type // of the values in the file
	word int         // the size of an integer in bytes
}

// put writes an integer.
func (z *writer) put(v int64) error {
	b := z.out.AvailableBuffer()
	if z.word == 4 {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	} else {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	_, err := z.out.Write(b)
	return err
}

// head writes the numbers at the start of an object.
func (z *writer) head(numbers ...int64) error {
	for _, n := range numbers {
		if err := z.put(n); err != nil {
			return err
		}
	}
	return nil
}

// sparse writes a sparse matrix.
func (z *writer) sparse(dims []int64) error {
	if err := z.head(matrixID, dims[0], dims[1], z.in.NNZ()); err != nil {
		return err
	}
	before, first := int64(0), true
	err := arrays.Pointers(z.in, 0, dims[0], func(p int64) error {
		length := p - before
		before = p
		if first {
			first = false
			return nil
		}
		return z.put(length)
	})
	if err != nil {
		return err
	}
	if err := arrays.Coordinates(z.in, 1, z.put); err != nil {
		return err
	}
	return arrays.EachBatch(z.in, func(b *coo.Batch) error {
		vals, err := z.values(b.Vals, b.N)
		if err != nil {
			return err
		}
		_, err = z.out.Write(vals)
		return err
	})
}

// dense writes an object that lists all values. numbers are at its start.
func (z *writer) dense(dims []int64, threads int, numbers ...int64) error {
	if err := z.head(numbers...); err != nil {
		return err
	}
	strides, total := make([]int64, len(dims)), int64(1)
	for m := len(dims) - 1; m >= 0; m-- {
		strides[m] = total
		total *= dims[m]
	}
	if err := z.in.Rewind(); err != nil {
		return err
	}
	size := int(z.in.Type().Size())
	return text.WriteSpan(z.out, z.in, strides, 0, total, threads,
		func(dst []byte, p *text.Piece) []byte {
			n := int(p.To - p.From)
			vals := arrays.Aligned(n * size)
			for k, at := range p.At {
				copy(vals[int(at-p.From)*size:], p.Batch.Vals[k*size:(k+1)*size])
			}
			out, err := z.values(vals, n)
			if err != nil {
				panic("BUG: petsc: a number does not become a double: " + err.Error())
			}
			return out
		})
}

// values converts n values of the tensor's type to big-endian values of the file's type.
func (z *writer) values(vals []byte, n int) ([]byte, error) {
	out := arrays.Aligned(n * int(z.typ.Size()))
	if z.typ == z.in.Type() {
		copy(out, vals)
	} else if _, err := tcs.ConvertValues(out, z.typ, vals, z.in.Type(), n); err != nil {
		return nil, err
	}
	for k := 0; k+8 <= len(out); k += 8 {
		binary.BigEndian.PutUint64(out[k:], binary.NativeEndian.Uint64(out[k:]))
	}
	return out, nil
}

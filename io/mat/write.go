package mat

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"distaff/io/arrays"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
)

// variableName is the name of the variable that Write writes.
const variableName = "A"

// Modes returns the mode order that Write needs: columns first.
func Modes(order int, opt coo.WriteOptions) []int { return coo.Listed(order, true) }

// layout describes the file that Write writes.
type layout struct {
	rows, cols int64
	nnz        int64
	dense      bool
	typ        tensor.Type // of the values in the file: a sparse matrix has float64 or complex128
	class      byte
}

func layoutOf(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) layout {
	l := layout{rows: 1, cols: 1, nnz: nnz, dense: opt.Dense, typ: typ}
	if len(dims) > 0 {
		l.rows = dims[0]
	}
	if len(dims) > 1 {
		l.cols = dims[1]
	}
	switch {
	case !l.dense && typ.IsComplex():
		l.typ, l.class = tensor.Complex128, classSparse
	case !l.dense:
		l.typ, l.class = tensor.Float64, classSparse
	case typ == tensor.Float32 || typ == tensor.Complex64:
		l.class = classSingle
	case typ == tensor.Bool:
		l.class = classUint8
	case typ.IsInt():
		for class, elem := range classes {
			if elem == arrays.ElemOf(typ) {
				l.class = class
			}
		}
	default:
		l.class = classDouble
	}
	return l
}

// partSize returns the size in bytes of a value, or of a part of a complex value.
func (l *layout) partSize() int64 {
	if l.typ.IsComplex() {
		return l.typ.Size() / 2
	}
	return l.typ.Size()
}

// arrays returns the sizes in bytes of the arrays of the variable.
func (l *layout) arrays() []int64 {
	var sizes []int64
	n := l.rows * l.cols
	if !l.dense {
		n = l.nnz
		sizes = []int64{4 * n, 4 * (l.cols + 1)}
	}
	sizes = append(sizes, n*l.partSize())
	if l.typ.IsComplex() {
		sizes = append(sizes, n*l.partSize())
	}
	return sizes
}

// Least returns a lower bound of the size of a file in bytes.
func Least(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64 {
	l := layoutOf(typ, dims, nnz, opt)
	if l.dense {
		return float64(l.rows) * float64(l.cols) * float64(typ.Size())
	}
	return 4*(float64(l.cols)+1) + float64(nnz)*(4+float64(l.typ.Size()))
}

// Write writes the entries from in, which must be in the order of Modes, as the variable A of a
// file of version 5 without compression. A sparse matrix has values of class double. A vector
// becomes a matrix of one column. Sizes of 2^31 or more, and variables of 2 GiB or more, are
// errors, because MATLAB does not read them. Write reads the entries once for each array.
func Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	l := layoutOf(in.Type(), dims, in.NNZ(), opt)
	if l.rows > math.MaxInt32 || l.cols > math.MaxInt32 ||
		Least(in.Type(), dims, in.NNZ(), opt) > math.MaxInt32-1<<10 {
		return text.Commandf("MATLAB", 0, 0, "got sizes %s and %s, but a .mat file of version 5 has "+
			"less than 2 GiB and sizes below 2^31; want .mtx or .tcs", text.Sizes(dims),
			text.Plural(in.NNZ(), "entry", "entries"))
	}
	z := &writer{out: bufio.NewWriterSize(w, 1<<18), in: in, layout: l}
	z.head()
	if l.dense {
		z.dense(opt)
	} else {
		z.sparse(len(dims))
	}
	if z.err != nil {
		return z.err
	}
	return z.out.Flush()
}

// writer writes a file. After an error it writes nothing more.
type writer struct {
	out *bufio.Writer
	in  *coo.Ordered
	layout
	err error
}

func (z *writer) bytes(b []byte) {
	if z.err == nil {
		_, z.err = z.out.Write(b)
	}
}

// words writes 32-bit integers.
func (z *writer) words(values ...uint32) {
	for _, v := range values {
		z.bytes(binary.LittleEndian.AppendUint32(nil, v))
	}
}

// padding returns the number of bytes that follow n bytes of an element.
func padding(n int64) int64 { return -n & 7 }

// head writes the header, and the variable up to its name.
func (z *writer) head() {
	const title = "MATLAB 5.0 MAT-file, written by Distaff"
	z.bytes(fmt.Appendf(nil, "%-116s%8s\x00\x01IM", title, ""))
	const name = 8 // bytes of the element
	size := int64(16 + 16 + name)
	for _, n := range z.arrays() {
		size += 8 + n + padding(n)
	}
	z.words(typeMatrix, uint32(size))
	flags := uint32(z.class)
	if z.typ.IsComplex() {
		flags |= 0x800
	}
	if z.typ == tensor.Bool {
		flags |= 0x200 // a logical array
	}
	z.words(typeUint32, 8, flags, uint32(max(z.nnz, 1)))
	z.words(typeInt32, 8, uint32(z.rows), uint32(z.cols))
	z.words(uint32(len(variableName))<<16|typeInt8, uint32(variableName[0]))
}

// array writes an element of n bytes, whose data body writes.
func (z *writer) array(typ uint32, n int64, body func() error) {
	z.words(typ, uint32(n))
	if z.err == nil {
		z.err = body()
	}
	z.bytes(make([]byte, padding(n)))
}

// put writes an integer of 32 bits.
func (z *writer) put(v int64) error {
	_, err := z.out.Write(binary.LittleEndian.AppendUint32(z.out.AvailableBuffer(), uint32(v)))
	return err
}

// sparse writes the arrays of a sparse matrix. order is the number of modes of the tensor.
func (z *writer) sparse(order int) {
	z.array(typeInt32, 4*z.nnz, func() error {
		if order == 0 {
			return arrays.EachBatch(z.in, func(b *coo.Batch) error {
				_, err := z.out.Write(make([]byte, 4*b.N))
				return err
			})
		}
		return arrays.Coordinates(z.in, 0, z.put)
	})
	z.array(typeInt32, 4*(z.cols+1), func() error {
		if order < 2 { // one column
			if err := z.put(0); err != nil {
				return err
			}
			return z.put(z.nnz)
		}
		return arrays.Pointers(z.in, 1, z.cols, z.put)
	})
	z.parts(z.nnz, func(part int) error {
		return arrays.EachBatch(z.in, func(b *coo.Batch) error {
			vals := b.Vals
			if z.in.Type() != z.typ {
				vals = arrays.Aligned(b.N * int(z.typ.Size()))
				if _, err := tcs.ConvertValues(vals, z.typ, b.Vals, z.in.Type(), b.N); err != nil {
					return err
				}
			}
			_, err := z.out.Write(z.part(nil, vals[:b.N*int(z.typ.Size())], part))
			return err
		})
	})
}

// dense writes the arrays of a dense matrix.
func (z *writer) dense(opt coo.WriteOptions) {
	dims, _ := z.in.Dims()
	strides := []int64{1, z.rows}[:len(dims)]
	size := int(z.typ.Size())
	z.parts(z.rows*z.cols, func(part int) error {
		if err := z.in.Rewind(); err != nil {
			return err
		}
		return text.WriteSpan(z.out, z.in, strides, 0, z.rows*z.cols, opt.Threads,
			func(dst []byte, p *text.Piece) []byte {
				vals := make([]byte, int(p.To-p.From)*size)
				for k, at := range p.At {
					copy(vals[int(at-p.From)*size:], p.Batch.Vals[k*size:(k+1)*size])
				}
				return z.part(dst, vals, part)
			})
	})
}

// parts writes the array of n values or, if values are complex, the arrays of real and of imaginary
// parts. body writes the parts with the given number, 0 or 1.
func (z *writer) parts(n int64, body func(part int) error) {
	typ := map[byte]uint32{classSparse: typeDouble, classDouble: typeDouble,
		classSingle: typeSingle, 8: 1, classUint8: 2, 10: 3, 11: 4, 12: typeInt32, 13: typeUint32,
		14: typeInt64, 15: 13}[z.class]
	parts := 1
	if z.typ.IsComplex() {
		parts = 2
	}
	for part := range parts {
		z.array(typ, n*z.partSize(), func() error { return body(part) })
	}
}

// part returns vals if its values are real. Otherwise it appends the real or the imaginary part of
// each value to dst[:0]. part is 0 or 1.
func (z *writer) part(dst, vals []byte, part int) []byte {
	if !z.typ.IsComplex() {
		return vals
	}
	size := int(z.partSize())
	dst = dst[:0]
	for k := part * size; k < len(vals); k += 2 * size {
		dst = append(dst, vals[k:k+size]...)
	}
	return dst
}

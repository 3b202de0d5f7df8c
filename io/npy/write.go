package npy

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// descr is a type in a header.
func descr(t tcs.Type) string {
	switch t {
	case tcs.Float64:
		return "<f8"
	case tcs.Float32:
		return "<f4"
	case tcs.Int64:
		return "<i8"
	case tcs.Int32:
		return "<i4"
	case tcs.Complex128:
		return "<c16"
	case tcs.Complex64:
		return "<c8"
	}
	panic("BUG: npy: an array of no type")
}

// appendHeader makes a header of version 1, padded so that the elements start
// at a multiple of 64.
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
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape.String())
	pad := 63 - (10+len(dict))%64
	n := len(dict) + pad + 1
	b := append([]byte(magic), 1, 0, byte(n), byte(n>>8))
	return append(append(append(b, dict...), strings.Repeat(" ", pad)...), '\n')
}

// strides are those of C order, of sizes that Head accepts.
func strides(dims []int64) (s []int64, total int64) {
	s, total = make([]int64, len(dims)), 1
	for m := len(dims) - 1; m >= 0; m-- {
		s[m] = total
		total *= dims[m]
	}
	return s, total
}

// Least is the number of bytes of an array's elements.
func Least(typ tcs.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64 {
	bytes := float64(typ.Size())
	for _, n := range dims {
		bytes *= float64(n)
	}
	return bytes
}

// Write writes the entries of in, which comes in the order of its coordinates,
// mode 0 first, as an array in C order; what has no entry is zero.
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

// Head is what comes before the elements; it refuses arrays that are too large
// (exit 2).
func Head(typ tcs.Type, dims []int64, nnz int64, opt coo.WriteOptions) ([]byte, error) {
	if err := tcs.CheckSpace(dims, widest); err != nil {
		return nil, text.Commandf("NumPy", 0, 0, "%v: .tns and .tcs store only entries", err)
	}
	return appendHeader(descr(typ), dims), nil
}

// Strides are the steps in the array of a step in each mode, and the array's
// length.
func Strides(dims []int64, opt coo.WriteOptions) ([]int64, int64) {
	return strides(dims)
}

// Body writes elements [from, to), in which all entries lie.
func Body(w io.Writer, in coo.Stream, from, to int64, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	size := in.Type().Size()
	s, _ := strides(dims)
	return text.WriteSpan(w, in, s, from, to, opt.Threads, func(dst []byte, p *text.Piece) []byte {
		n := int(p.To-p.From) * size
		if cap(dst) < n {
			dst = make([]byte, n)
		}
		dst = dst[:n]
		if p.N < int(p.To-p.From) {
			clear(dst)
		}
		for k, at := range p.At {
			copy(dst[int(at-p.From)*size:], p.Vals[k*size:(k+1)*size])
		}
		return dst
	})
}

// NpzModes is the order in which WriteNpz wants the entries: rows first, for
// CSR, or columns first, for CSC.
func NpzModes(order int, opt coo.WriteOptions) []int {
	modes := tcs.Identity(order)
	if opt.ColumnMajor && order == 2 {
		modes[0], modes[1] = 1, 0
	}
	return modes
}

// smallNpz tells whether the integers of a matrix of nnz entries are of 32 bits, as
// SciPy's are.
func smallNpz(dims []int64, nnz int64) bool { return max(dims[0], dims[1], nnz) <= math.MaxInt32 }

// LeastNpz is the number of bytes of a matrix's arrays: a pointer for each row,
// or column, and an index and a value for each entry.
func LeastNpz(typ tcs.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64 {
	outer, width := dims[0], 8.0
	if opt.ColumnMajor {
		outer = dims[1]
	}
	if smallNpz(dims, nnz) {
		width = 4
	}
	return (float64(outer)+1)*width + float64(nnz)*(width+float64(typ.Size()))
}

// WriteNpz writes the entries of in, a matrix in the order of NpzModes, as
// SciPy's CSR or, if opt.ColumnMajor, CSC. Other orders are refused (exit 2). The
// members are written one after another, so that in is read three times.
func WriteNpz(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	if len(dims) != 2 {
		return text.Commandf("SciPy's .npz", 0, 0, "got a tensor of %s, want a matrix of 2: .npy and .tcs hold any number", text.Plural(int64(len(dims)), "mode", "modes"))
	}
	outer, format := 0, "csr"
	if opt.ColumnMajor {
		outer, format = 1, "csc"
	}
	if LeastNpz(in.Type(), dims, in.NNZ(), opt) > tcs.MaxCount {
		return text.Commandf("SciPy's .npz", 0, 0, "got sizes %s, want some whose row (or column) pointers take less than 2^62 bytes: .tns and .tcs store only entries", text.Sizes(dims))
	}
	z := &npz{zip: zip.NewWriter(w), in: in, small: smallNpz(dims, in.NNZ())}
	z.integers("indices", []int64{in.NNZ()}, func(put func(int64) error) error {
		return z.each(func(b *coo.Batch) error {
			for _, c := range b.Coords[1-outer][:b.N] {
				if err := put(c); err != nil {
					return err
				}
			}
			return nil
		})
	})
	z.integers("indptr", []int64{dims[outer] + 1}, func(put func(int64) error) error {
		n, segment := int64(0), int64(-1)
		upTo := func(c int64) error {
			for ; segment < c; segment++ {
				if err := put(n); err != nil {
					return err
				}
			}
			return nil
		}
		err := z.each(func(b *coo.Batch) error {
			for _, c := range b.Coords[outer][:b.N] {
				if err := upTo(c); err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil {
			return err
		}
		return upTo(dims[outer])
	})
	z.member("format", appendHeader("|S3", nil), func(out *bufio.Writer) error {
		_, err := out.WriteString(format)
		return err
	})
	z.small = false
	z.integers("shape", []int64{2}, func(put func(int64) error) error {
		return errors.Join(put(dims[0]), put(dims[1]))
	})
	z.member("data", appendHeader(descr(in.Type()), []int64{in.NNZ()}), func(out *bufio.Writer) error {
		return z.each(func(b *coo.Batch) error {
			_, err := out.Write(b.Vals[:b.N*in.Type().Size()])
			return err
		})
	})
	if z.err != nil {
		return z.err
	}
	return z.zip.Close()
}

// npz writes members; after an error nothing more.
type npz struct {
	zip   *zip.Writer
	in    *coo.Ordered
	small bool // integers in 32 bits
	err   error
}

// member writes a member that is not compressed. body returns the first error of
// out: what it writes may be far longer than a disk.
func (z *npz) member(name string, header []byte, body func(out *bufio.Writer) error) {
	if z.err != nil {
		return
	}
	w, err := z.zip.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err == nil {
		out := bufio.NewWriterSize(w, 1<<18)
		if _, err = out.Write(header); err == nil {
			err = body(out)
		}
		if err == nil {
			err = out.Flush()
		}
	}
	z.err = err
}

// integers writes a member of integers, those that body puts.
func (z *npz) integers(name string, dims []int64, body func(put func(int64) error) error) {
	typ := tcs.Int64
	if z.small {
		typ = tcs.Int32
	}
	z.member(name, appendHeader(descr(typ), dims), func(out *bufio.Writer) error {
		le := binary.LittleEndian
		if z.small {
			return body(func(v int64) error {
				_, err := out.Write(le.AppendUint32(out.AvailableBuffer(), uint32(v)))
				return err
			})
		}
		return body(func(v int64) error {
			_, err := out.Write(le.AppendUint64(out.AvailableBuffer(), uint64(v)))
			return err
		})
	})
}

// each reads the entries from the first on.
func (z *npz) each(f func(*coo.Batch) error) error {
	if err := z.in.Rewind(); err != nil {
		return err
	}
	var b coo.Batch
	for {
		err := z.in.Next(&b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(&b); err != nil {
			return err
		}
	}
}

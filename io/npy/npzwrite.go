package npy

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"io"
	"math"

	"distaff/io/arrays"
	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// NpzModes returns the mode order that WriteNpz needs: rows first for CSR, columns first for
// CSC.
func NpzModes(order int, opt coo.WriteOptions) []int { return coo.Listed(order, opt.ColumnMajor) }

// smallNpz reports whether the integers of a tensor with nnz entries fit in 32 bits. SciPy uses
// the same rule.
func smallNpz(dims []int64, nnz int64) bool {
	widest := int64(0)
	for _, n := range dims {
		widest = max(widest, n)
	}
	if len(dims) == 2 {
		widest = max(widest, nnz) // row pointers count entries
	}
	return widest <= math.MaxInt32
}

// LeastNpz returns a lower bound of a file's size in bytes. For a matrix it is the size of its
// arrays: a pointer for each row or column, and an index and a value for each entry. It is 0 for
// other orders.
func LeastNpz(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64 {
	if len(dims) != 2 {
		return 0
	}
	outer, width := dims[0], 8.0
	if opt.ColumnMajor {
		outer = dims[1]
	}
	if smallNpz(dims, nnz) {
		width = 4
	}
	return (float64(outer)+1)*width + float64(nnz)*(width+float64(typ.Size()))
}

// WriteNpz writes the entries from in as an .npz file. The entries must be in the order of
// NpzModes. A matrix becomes SciPy's CSR, or CSC if opt.ColumnMajor is set. A tensor of another
// order becomes SciPy's n-dimensional COO. The members of the archive are written one after
// another, so WriteNpz reads the entries several times: three times for a matrix, otherwise once
// for each mode and once for the values.
func WriteNpz(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	if LeastNpz(in.Type(), dims, in.NNZ(), opt) > tensor.MaxCount {
		return text.Commandf("SciPy's .npz", 0, 0,
			"got sizes %s, for which row or column pointers would take 2^62 bytes or more; "+
				"want .tns or .tcs, which store only entries", text.Sizes(dims))
	}
	z := &npz{zip: zip.NewWriter(w), in: in, small: smallNpz(dims, in.NNZ())}
	if len(dims) == 2 {
		z.compressed(dims, opt)
	} else {
		z.coordinates(dims)
	}
	if z.err != nil {
		return z.err
	}
	return z.zip.Close()
}

// compressed writes the members of a CSR or CSC matrix.
func (z *npz) compressed(dims []int64, opt coo.WriteOptions) {
	outer, format := 0, "csr"
	if opt.ColumnMajor {
		outer, format = 1, "csc"
	}
	z.integers("indices", []int64{z.in.NNZ()}, func(put func(int64) error) error {
		return arrays.Coordinates(z.in, 1-outer, put)
	})
	z.integers("indptr", []int64{dims[outer] + 1}, func(put func(int64) error) error {
		return arrays.Pointers(z.in, outer, dims[outer], put)
	})
	z.member("format", appendHeader("|S3", nil), func(out *bufio.Writer) error {
		_, err := out.WriteString(format)
		return err
	})
	z.shape(dims)
	z.data()
}

// coordinates writes the members of a COO array of any order. SciPy reads the name of the format as
// bytes or as a string, but pydata/sparse only as a string. Only pydata/sparse needs fill_value,
// and only SciPy needs _is_array.
func (z *npz) coordinates(dims []int64) {
	z.integers("coords", []int64{int64(len(dims)), z.in.NNZ()}, func(put func(int64) error) error {
		for m := range dims {
			if err := arrays.Coordinates(z.in, m, put); err != nil {
				return err
			}
		}
		return nil
	})
	z.member("format", appendHeader("<U3", nil), func(out *bufio.Writer) error {
		_, err := out.WriteString("c\x00\x00\x00o\x00\x00\x00o\x00\x00\x00")
		return err
	})
	z.shape(dims)
	z.data()
	z.member("fill_value", appendHeader(descr(z.in.Type()), nil), func(out *bufio.Writer) error {
		_, err := out.Write(make([]byte, z.in.Type().Size()))
		return err
	})
	z.member("_is_array", appendHeader("|b1", nil), func(out *bufio.Writer) error {
		return out.WriteByte(1)
	})
}

func (z *npz) shape(dims []int64) {
	z.small = false
	z.integers("shape", []int64{int64(len(dims))}, func(put func(int64) error) error {
		for _, n := range dims {
			if err := put(n); err != nil {
				return err
			}
		}
		return nil
	})
}

func (z *npz) data() {
	z.member("data", appendHeader(descr(z.in.Type()), []int64{z.in.NNZ()}),
		func(out *bufio.Writer) error {
			return arrays.EachBatch(z.in, func(b *coo.Batch) error {
				_, err := out.Write(b.Vals[:b.N*int(z.in.Type().Size())])
				return err
			})
		})
}

// npz writes the members of an archive. After an error it writes nothing more.
type npz struct {
	zip   *zip.Writer
	in    *coo.Ordered
	small bool // integers are written with 32 bits
	err   error
}

// member writes a file of the archive without compression: first the header, and then what body
// writes to out. body must stop at the first error of out and return it.
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

// integers writes an array of integers as a file of the archive. body must call put for each
// integer.
func (z *npz) integers(name string, dims []int64, body func(put func(int64) error) error) {
	typ := tensor.Int64
	if z.small {
		typ = tensor.Int32
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

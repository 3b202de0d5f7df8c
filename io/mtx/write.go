package mtx

import (
	"fmt"
	"io"
	"strconv"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Modes returns the mode order in which Write needs the entries of a tensor with n modes. An array
// is written column by column, and coordinates are written row by row.
func Modes(n int, opt coo.WriteOptions) []int { return coo.Listed(n, opt.Dense) }

// Write writes the entries of in, which must be in the mode order that Modes returns. It writes an
// array if opt.Dense is true, and otherwise coordinates. The symmetry in the file's first line is
// "general". A vector becomes a matrix of one column, and a scalar a matrix of one row and column.
// A tensor with more than two modes is an error (exit code 2).
func Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	head, err := Head(in.Type(), dims, in.NNZ(), opt)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, total := Strides(dims, opt)
	return Body(w, in, 0, total, opt)
}

// rowsCols returns the numbers of rows and columns of a tensor of at most two modes, written as
// a matrix.
func rowsCols(dims []int64) (rows, cols int64) {
	rows, cols = 1, 1
	if len(dims) > 0 {
		rows = dims[0]
	}
	if len(dims) > 1 {
		cols = dims[1]
	}
	return rows, cols
}

// Head returns the banner and the line of sizes for nnz entries.
func Head(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) ([]byte, error) {
	if len(dims) > 2 {
		return nil, text.Commandf("Matrix Market", 0, 0,
			"got a tensor of %d modes, want at most 2, or a .tns or .tcs file, which have no "+
				"limit", len(dims))
	}
	rows, cols := rowsCols(dims)
	field := "real"
	switch {
	case typ.IsComplex():
		field = "complex"
	case typ.HoldsInts():
		field = "integer"
	}
	if !opt.Dense {
		return fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n", field,
			rows, cols, nnz), nil
	}
	if err := tensor.CheckSpace([]int64{rows, cols}, tensor.Complex128.Size()); err != nil {
		return nil, text.Commandf("Matrix Market", 0, 0, "%v", err)
	}
	return fmt.Appendf(nil, "%%%%MatrixMarket matrix array %s general\n%d %d\n", field, rows, cols),
		nil
}

// Strides returns the stride of each mode in an array, and the length of the array. It returns
// nil and 0 if the file lists coordinates.
func Strides(dims []int64, opt coo.WriteOptions) ([]int64, int64) {
	if !opt.Dense {
		return nil, 0
	}
	rows, cols := rowsCols(dims)
	return []int64{1, rows}[:len(dims)], rows * cols
}

// Body writes consecutive entries of a tensor. For an array it writes all values at positions
// [from, to).
func Body(w io.Writer, in coo.Stream, from, to int64, opt coo.WriteOptions) error {
	if !opt.Dense {
		return text.WriteEntries(w, in, opt.Threads, coordinates)
	}
	dims, _ := in.Dims()
	strides, _ := Strides(dims, opt)
	return text.WriteSpan(w, in, strides, from, to, opt.Threads, values)
}

// coordinates formats a piece of a coordinate file.
func coordinates(dst []byte, p *text.Piece) []byte {
	for k := range p.Batch.N {
		for m := range 2 {
			c := int64(0)
			if m < len(p.Batch.Coords) {
				c = p.Batch.Coords[m][k]
			}
			dst = strconv.AppendInt(dst, c+1, 10)
			dst = append(dst, ' ')
		}
		dst = text.AppendValue(dst, p.Batch.Vals, p.Type, k)
		dst = append(dst, '\n')
	}
	return dst
}

// values formats a piece of an array file.
func values(dst []byte, p *text.Piece) []byte {
	zero := "0\n"
	if p.Type.IsComplex() {
		zero = "0 0\n"
	}
	at := p.From
	for k := range p.Batch.N {
		for ; at < p.At[k]; at++ {
			dst = append(dst, zero...)
		}
		dst = text.AppendValue(dst, p.Batch.Vals, p.Type, k)
		dst = append(dst, '\n')
		at++
	}
	for ; at < p.To; at++ {
		dst = append(dst, zero...)
	}
	return dst
}

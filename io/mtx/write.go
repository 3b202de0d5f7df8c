package mtx

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// Modes is the order in which Write wants the entries of a tensor of that
// order: arrays list columns, coordinates are sorted by row first.
func Modes(order int, opt coo.WriteOptions) []int {
	modes := tcs.Identity(order)
	if opt.Dense && order == 2 {
		modes[0], modes[1] = 1, 0
	}
	return modes
}

// Write writes the entries of in, which comes in the order of Modes: as an array
// if opt.Dense, else as coordinates; general. A vector is a matrix of one column,
// a scalar one of one row and column. Orders above 2 are refused (exit 2).
func Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	if len(dims) > 2 {
		return text.Commandf("Matrix Market", 0, 0, "got a tensor of %d modes, want at most 2: .tns and .tcs hold any number", len(dims))
	}
	rows, cols := int64(1), int64(1)
	if len(dims) > 0 {
		rows = dims[0]
	}
	if len(dims) > 1 {
		cols = dims[1]
	}
	field := "real"
	switch {
	case in.Type().IsComplex():
		field = "complex"
	case in.Type().IsInt():
		field = "integer"
	}
	if opt.Dense {
		hi, total := bits.Mul64(uint64(rows), uint64(cols))
		if hi != 0 || total >= 1<<63 {
			return text.Commandf("Matrix Market", 0, 0, "got an array of sizes %s, want one whose values 63 bits can count", text.Sizes(dims))
		}
		if _, err := fmt.Fprintf(w, "%%%%MatrixMarket matrix array %s general\n%d %d\n", field, rows, cols); err != nil {
			return err
		}
		return text.WriteFilled(w, in, []int64{1, rows}[:len(dims)], int64(total), opt.Threads, values)
	}
	if _, err := fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n", field, rows, cols, in.NNZ()); err != nil {
		return err
	}
	return text.WriteEntries(w, in, opt.Threads, coordinates)
}

// coordinates formats a piece of a coordinate file.
func coordinates(dst []byte, p *text.Piece) []byte {
	for k := range p.N {
		for m := range 2 {
			c := int64(0)
			if m < len(p.Coords) {
				c = p.Coords[m][k]
			}
			dst = strconv.AppendInt(dst, c+1, 10)
			dst = append(dst, ' ')
		}
		dst = text.AppendValue(dst, p.Vals, p.Type, k)
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
	for k := range p.N {
		for ; at < p.At[k]; at++ {
			dst = append(dst, zero...)
		}
		dst = text.AppendValue(dst, p.Vals, p.Type, k)
		dst = append(dst, '\n')
		at++
	}
	for ; at < p.To; at++ {
		dst = append(dst, zero...)
	}
	return dst
}

package tns

import (
	"io"
	"strconv"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Write writes the entries of in, which must be sorted by coordinates, mode 0 first. Coordinates
// are counted from 1. The format has no place for sizes. The entry of a tensor of order 0 is a line
// with its value.
func Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	head, err := Head(in.Type(), nil, 0, opt)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return Body(w, in, 0, 0, opt)
}

// Head returns the text before the entries: a comment if the values are complex, otherwise
// nothing.
func Head(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) ([]byte, error) {
	if typ.IsComplex() {
		return []byte(ComplexMark + "\n"), nil
	}
	return nil, nil
}

// Body writes consecutive entries of a tensor. It does not use the interval [from, to) of
// positions, because the format lists only entries.
func Body(w io.Writer, in coo.Stream, from, to int64, opt coo.WriteOptions) error {
	return text.WriteEntries(w, in, opt.Threads, func(dst []byte, p *text.Piece) []byte {
		for k := range p.Batch.N {
			for m := range p.Batch.Coords {
				dst = strconv.AppendInt(dst, p.Batch.Coords[m][k]+1, 10)
				dst = append(dst, ' ')
			}
			dst = text.AppendValue(dst, p.Batch.Vals, p.Type, k)
			dst = append(dst, '\n')
		}
		return dst
	})
}

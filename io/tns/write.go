package tns

import (
	"io"
	"strconv"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// Write writes the entries of in, which comes in the order of its coordinates,
// mode 0 first: counted from 1, without sizes, which the format has no place
// for. A tensor of order 0 is a line of its value.
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

// Head is what comes before the entries: a comment where they are complex.
func Head(typ tcs.Type, dims []int64, nnz int64, opt coo.WriteOptions) ([]byte, error) {
	if typ.IsComplex() {
		return []byte(ComplexMark + "\n"), nil
	}
	return nil, nil
}

// Body writes entries, or some of them that follow one another.
func Body(w io.Writer, in coo.Stream, from, to int64, opt coo.WriteOptions) error {
	return text.WriteEntries(w, in, opt.Threads, func(dst []byte, p *text.Piece) []byte {
		for k := range p.N {
			for m := range p.Coords {
				dst = strconv.AppendInt(dst, p.Coords[m][k]+1, 10)
				dst = append(dst, ' ')
			}
			dst = text.AppendValue(dst, p.Vals, p.Type, k)
			dst = append(dst, '\n')
		}
		return dst
	})
}

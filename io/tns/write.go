package tns

import (
	"io"
	"strconv"

	"distaff/io/coo"
	"distaff/io/text"
)

// Write writes the entries of in, which comes in the order of its coordinates,
// mode 0 first: counted from 1, without sizes, which the format has no place
// for. A tensor of order 0 is a line of its value.
func Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	if in.Type().IsComplex() {
		if _, err := io.WriteString(w, ComplexMark+"\n"); err != nil {
			return err
		}
	}
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

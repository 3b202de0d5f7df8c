package csv

import (
	"io"
	"strconv"
	"strings"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// A Writer writes entries, which must be sorted by coordinates, mode 0 first. Coordinates are
// counted from 1. The formats have no place for sizes.
type Writer struct {
	delimiter byte
	edges     bool // the file is an edge list, without a header
}

// CSV and TSV write tables with a header, and Edges writes an edge list with weights.
var (
	CSV   = Writer{delimiter: ','}
	TSV   = Writer{delimiter: '\t'}
	Edges = Writer{delimiter: ' ', edges: true}
)

// Write writes the header and the entries of in.
func (f Writer) Write(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
	dims, _ := in.Dims()
	head, err := f.Head(in.Type(), dims, 0, opt)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return f.Body(w, in, 0, 0, opt)
}

// Head returns the header. It returns an error if the tensor can't be an edge list.
func (f Writer) Head(typ tensor.Type, dims []int64, nnz int64,
	opt coo.WriteOptions) ([]byte, error) {
	if f.edges {
		if len(dims) != 2 || typ.IsComplex() {
			return nil, text.Commandf("edge list", 0, 0,
				"an edge list has 2 modes and real weights, but the tensor has %s of type %v",
				tensor.Count(len(dims), "mode"), typ)
		}
		return nil, nil
	}
	var names []string
	for m := range dims {
		names = append(names, "i"+strconv.Itoa(m))
	}
	if typ.IsComplex() {
		names = append(names, "real", "imag")
	} else {
		names = append(names, "value")
	}
	return []byte(strings.Join(names, string(f.delimiter)) + "\n"), nil
}

// Body writes consecutive entries of a tensor. It does not use the interval [from, to) of
// positions, because the format lists only entries.
func (f Writer) Body(w io.Writer, in coo.Stream, from, to int64, opt coo.WriteOptions) error {
	return text.WriteEntries(w, in, opt.Threads, func(dst []byte, p *text.Piece) []byte {
		for k := range p.Batch.N {
			for m := range p.Batch.Coords {
				dst = strconv.AppendInt(dst, p.Batch.Coords[m][k]+1, 10)
				dst = append(dst, f.delimiter)
			}
			at := len(dst)
			dst = text.AppendValue(dst, p.Batch.Vals, p.Type, k)
			if p.Type.IsComplex() { // the parts are separated by a blank
				dst[at+strings.IndexByte(string(dst[at:]), ' ')] = f.delimiter
			}
			dst = append(dst, '\n')
		}
		return dst
	})
}

package hb

import (
	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// noteSide records in s.sides whether entry (i, j) is below or above the diagonal. The reader uses
// this to find files that store both triangles of a symmetric matrix.
func (s *stream) noteSide(i, j int64) {
	if i > j {
		s.sides[0] = true
	} else {
		s.sides[1] = true
	}
}

// bothTriangles returns an error if an entry off the diagonal and its mirror image are both
// stored.
func (s *stream) bothTriangles() error {
	f := &folded{s.indices()}
	defer f.stop()
	i, j, found, err := coo.MirrorPair(f, s.src.Name, s.opt)
	if err != nil || !found {
		return err
	}
	return s.pairError(i, j)
}

// indices returns a stream of the same file that reads only pointers and indices: a pattern without
// symmetry.
func (s *stream) indices() *stream {
	h := *s.h
	h.kind, h.sym = 'p', 'u'
	x := &stream{src: s.src, h: &h, typ: tensor.Complex64}
	x.reserve()
	return x
}

// folded is a stream for coo.MirrorPair that moves all entries off the diagonal to below it. The
// value of an entry is 1 if the file stores the entry below the diagonal, and the imaginary unit if
// the file stores it above.
type folded struct{ *stream }

func (f *folded) Next(b *coo.Batch) error { return f.fill(b, f.entry) }

// Close stops reading. It does not close the file, because the original stream owns it.
func (f *folded) Close() error { f.stop(); return nil }

// entry reads the next entry of the matrix into element n of the batch. It swaps row and column if
// the entry is above the diagonal. It skips an entry on the diagonal. It returns the number of
// elements that it filled, 0 or 1.
func (f *folded) entry(n int) (int, error) {
	row, err := f.ind.integer("a row index", 1, f.h.rows)
	if err != nil {
		return 0, err
	}
	i, j, v := row-1, f.col-1, complex64(1)
	switch {
	case i == j:
		return 0, nil
	case i < j:
		i, j, v = j, i, 1i
	}
	f.cols[0][n], f.cols[1][n], values[complex64](f.stream)[n] = i, j, v
	return 1, nil
}

// pairError returns the error for entry (i,j) and its mirror image, with their places.
func (s *stream) pairError(i, j int64) error {
	x := s.indices()
	defer x.stop()
	if err := x.start(); err != nil {
		return err
	}
	line := 0 // the line of the first of the two
	for {
		more, err := x.column()
		if err != nil {
			return err
		}
		if !more {
			return text.Dataf(s.src.Name, 0, 0, "the file changed while it was read")
		}
		row, err := x.ind.integer("a row index", 1, x.h.rows)
		if err != nil {
			return err
		}
		r, c := row-1, x.col-1
		x.at++
		switch {
		case !(r == i && c == j || r == j && c == i):
		case line == 0:
			line, i, j = x.ind.no, r, c
		case r == j: // the second entry, not a repeat of the first
			return text.Dataf(s.src.Name, x.ind.no, x.ind.col, "%s",
				coo.PairText(i, j, line, s.h.symWord()))
		}
	}
}

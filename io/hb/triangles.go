package hb

import (
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// side notes on which side of the diagonal an entry is.
func (s *stream) side(i, j int64) {
	if i > j {
		s.sides[0] = true
	} else {
		s.sides[1] = true
	}
}

// bothTriangles refuses a file in which an entry off the diagonal and its mirror image
// are both stored.
func (s *stream) bothTriangles() error {
	f := &folded{s.indices()}
	defer f.stop()
	i, j, found, err := coo.MirrorPair(f, s.src.Name, s.opt)
	if err != nil || !found {
		return err
	}
	return s.pairError(i, j)
}

// indices is a stream of the file's pointers and indices, as those of a pattern without a symmetry.
func (s *stream) indices() *stream {
	h := *s.h
	h.kind, h.sym = 'p', 'u'
	x := &stream{src: s.src, h: &h, typ: tcs.Complex64}
	x.reserve()
	return x
}

// folded is the stream that coo.MirrorPair takes.
type folded struct{ *stream }

func (f *folded) Next(b *coo.Batch) error { return f.fill(b, f.entry) }

// Close leaves the file to the stream that it is of.
func (f *folded) Close() error { f.stop(); return nil }

// entry reads the next entry, and moves it to the lower triangle.
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

// pairError names the places of the entry (i,j) and of its mirror image.
func (s *stream) pairError(i, j int64) error {
	x := s.indices()
	defer x.stop()
	if err := x.start(); err != nil {
		return err
	}
	line := 0 // of the first of the two
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
		case r == j: // and not the first once more
			return text.Dataf(s.src.Name, x.ind.no, x.ind.col, "%s", coo.PairText(i, j, line, s.h.symWord()))
		}
	}
}

package coo

import "math/bits"

// Matrix is where the entries of a tensor of two modes lie.
type Matrix struct {
	// bandwidths: the most that a row's number is above the column's, and below it; 0 where none is
	Lower, Upper  int64
	Diagonal      int64 // coordinates of the diagonal with an entry
	Places        int64 // and all that it has
	DiagonalKnown bool  // Diagonal was counted: the diagonal is not too long for it
}

// band finds where the entries of a matrix lie.
type band struct {
	m     Matrix
	seen  []uint64 // coordinates of the diagonal, a bit each
	given bool     // up: too many
}

func (b *band) add(rows, cols []int64) {
	for k, i := range rows {
		switch d := i - cols[k]; {
		case d > b.m.Lower:
			b.m.Lower = d
		case -d > b.m.Upper:
			b.m.Upper = -d
		case d == 0 && !b.given:
			b.mark(i)
		}
	}
}

func (b *band) mark(i int64) {
	w := i / 64
	if w >= int64(len(b.seen)) {
		if i >= maxTally {
			b.given, b.seen = true, nil
			return
		}
		b.seen = append(b.seen, make([]uint64, max(w+1, 2*int64(len(b.seen)))-int64(len(b.seen)))...)
	}
	b.seen[w] |= 1 << (i % 64)
}

// matrix sums up over a matrix of those sizes.
func (b *band) matrix(dims []int64) *Matrix {
	m := b.m
	m.Places, m.DiagonalKnown = min(dims[0], dims[1]), !b.given
	for _, w := range b.seen {
		m.Diagonal += int64(bits.OnesCount64(w))
	}
	return &m
}

// Symmetry is how a square matrix compares with its transpose. A share is of the entries off
// the diagonal, and 1 where there are none.
type Symmetry struct {
	Pattern   float64 // entries whose mirror image is stored too
	Values    float64 // and has the same value
	Symmetric bool
	Skew      bool // A(j,i) = -A(i,j), on the diagonal too
	// A(j,i) is the complex conjugate of A(i,j), on the diagonal too; real matrices are not said to be
	Hermitian bool
}

// CompareTransposed compares a matrix with its transpose. Repeated coordinates are summed.
// It sorts the stream twice, on disk where cfg's memory has no room; NaN equals NaN.
func CompareTransposed(in Stream, cfg Config) (*Symmetry, error) {
	rows, err := Sort(in, Spec{}, cfg)
	if err != nil {
		return nil, err
	}
	defer rows.Free()
	cols, err := Sort(rows, Spec{Modes: []int{1, 0}}, cfg)
	if err != nil {
		return nil, err
	}
	defer cols.Free()
	if err := rows.Rewind(); err != nil {
		return nil, err
	}
	x, y := &side{o: rows}, &side{o: cols}
	for _, s := range []*side{x, y} {
		if err := s.advance(); err != nil {
			return nil, err
		}
	}
	c := mirror{skew: true, hermitian: in.Type().IsComplex()}
	for x.has {
		// Row by row, x is the matrix and y its transpose, with as many entries.
		order := -1
		if y.has {
			order = compareMirrored(x, y)
		}
		if order <= 0 {
			c.add(x, y, order == 0)
			if err := x.advance(); err != nil {
				return nil, err
			}
		}
		if order >= 0 {
			if err := y.advance(); err != nil {
				return nil, err
			}
		}
	}
	return c.symmetry(), nil
}

// compareMirrored compares the coordinate of x with the mirror image of that of y.
func compareMirrored(x, y *side) int {
	for m := range 2 {
		if p, q := x.b.Coords[m][x.i], y.b.Coords[1-m][y.i]; p < q {
			return -1
		} else if p > q {
			return 1
		}
	}
	return 0
}

// mirror counts entries and their mirror images.
type mirror struct {
	off, stored, equal int64 // entries off the diagonal; of these, with an image; with an equal one
	skew, hermitian    bool  // of all so far
}

// add counts an entry of x; y is at its mirror image where that is stored.
func (c *mirror) add(x, y *side, stored bool) {
	diagonal := x.b.Coords[0][x.i] == x.b.Coords[1][x.i]
	if !diagonal {
		c.off++
	}
	if !stored {
		return
	}
	v, w := x.value(), y.value()
	if diagonal { // a NaN there is neither zero nor real
		c.skew = c.skew && (v.Type.IsInt() && v.I == 0 || !v.Type.IsInt() && v.C == 0)
		c.hermitian = c.hermitian && imag(v.C) == 0
		return
	}
	c.stored++
	if v.Type.IsInt() && v.I == w.I || !v.Type.IsInt() && sameValue(v.C, w.C) {
		c.equal++
	}
	if c.skew {
		c.skew = v.Type.IsInt() && v.I == -w.I && HasNegative(v.I) ||
			!v.Type.IsInt() && sameValue(v.C, -w.C)
	}
	if c.hermitian {
		c.hermitian = sameValue(v.C, complex(real(w.C), -imag(w.C)))
	}
}

func sameValue(v, w complex128) bool { return same(real(v), real(w)) && same(imag(v), imag(w)) }

func (c *mirror) symmetry() *Symmetry {
	s := &Symmetry{Pattern: 1, Values: 1}
	if c.off > 0 {
		s.Pattern, s.Values = float64(c.stored)/float64(c.off), float64(c.equal)/float64(c.off)
	}
	whole := c.stored == c.off
	s.Symmetric, s.Skew, s.Hermitian = c.equal == c.off, whole && c.skew, whole && c.hermitian
	return s
}

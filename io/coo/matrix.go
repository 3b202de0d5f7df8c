package coo

import (
	"distaff/io/tensor"
	"math/bits"
)

// Matrix describes where the entries of a matrix are.
type Matrix struct {
	// bandwidths: the largest distance below and above the diagonal; 0 if no entry is there
	Lower, Upper  int64
	Diagonal      int64 // number of coordinates on the diagonal with an entry
	Places        int64 // length of the diagonal
	DiagonalKnown bool  // Diagonal was counted: no coordinate on the diagonal is too large
}

// band collects the facts of a Matrix.
type band struct {
	m          Matrix
	seen       []uint64 // one bit for each coordinate of the diagonal
	overflowed bool     // a coordinate on the diagonal is too large to count
}

func (b *band) add(rows, cols []int64) {
	for k, i := range rows {
		switch d := i - cols[k]; {
		case d > b.m.Lower:
			b.m.Lower = d
		case -d > b.m.Upper:
			b.m.Upper = -d
		case d == 0 && !b.overflowed:
			b.mark(i)
		}
	}
}

func (b *band) mark(i int64) {
	w := i / 64
	if w >= int64(len(b.seen)) {
		if i >= maxTally {
			b.overflowed, b.seen = true, nil
			return
		}
		b.seen = append(b.seen, make([]uint64, max(w+1, 2*int64(len(b.seen)))-int64(len(b.seen)))...)
	}
	b.seen[w] |= 1 << (i % 64)
}

// matrix returns the facts that b has collected about a matrix with sizes dims.
func (b *band) matrix(dims []int64) *Matrix {
	m := b.m
	m.Places, m.DiagonalKnown = min(dims[0], dims[1]), !b.overflowed
	for _, w := range b.seen {
		m.Diagonal += int64(bits.OnesCount64(w))
	}
	return &m
}

// Symmetry says how much a square matrix resembles its transpose. Pattern and Values are fractions
// of the entries that are not on the diagonal. Both are 1 if all entries are on the diagonal.
type Symmetry struct {
	Pattern   float64 // share of entries whose mirror image is stored too
	Values    float64 // share of entries whose mirror image has the same value
	Symmetric bool
	Skew      bool // A(j,i) = -A(i,j), on the diagonal too
	// A(j,i) is the complex conjugate of A(i,j), on the diagonal too; it is false if the matrix is
	// real
	Hermitian bool
}

// CompareTransposed compares a matrix with its transpose. Entries with equal coordinates are summed
// first. It sorts the stream twice, on disk if cfg's memory is too small. NaN equals NaN.
func CompareTransposed(in Stream, cfg Config) (*Symmetry, error) {
	rows, err := Sort(in, Spec{}, cfg)
	if err != nil {
		return nil, err
	}
	defer rows.Free()
	cols, err := Sort(rows, Spec{Format: tensor.Format{Order: []int{1, 0}}}, cfg)
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
	for x.valid {
		// x reads the matrix row by row, and y reads its transpose. Both have the same number of
		// entries.
		order := -1
		if y.valid {
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

// compareMirrored compares the coordinate of x with the mirror image of the coordinate of y. The
// result is negative, 0 or positive.
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

// mirror counts the entries of a matrix that have a mirror image at the transposed position. By
// comparing each entry with its mirror image, it also finds whether the matrix can be symmetric,
// skew-symmetric or Hermitian.
type mirror struct {
	// off counts entries off the diagonal; stored, the ones whose mirror image exists; equal, the
	// ones whose mirror image has the same value
	off, stored, equal int64
	skew, hermitian    bool // true while all entries so far agree
}

// add counts one entry of a matrix, the current entry of x. If stored is true, the mirror image of
// the entry is stored too, and is the current entry of y.
func (c *mirror) add(x, y *side, stored bool) {
	diagonal := x.b.Coords[0][x.i] == x.b.Coords[1][x.i]
	if !diagonal {
		c.off++
	}
	if !stored {
		return
	}
	v, w := x.value(), y.value()
	if diagonal { // NaN on the diagonal is neither zero nor real
		c.skew = c.skew && (v.Type.HoldsInts() && v.I == 0 || !v.Type.HoldsInts() && v.C == 0)
		c.hermitian = c.hermitian && imag(v.C) == 0
		return
	}
	c.stored++
	if v.Type.HoldsInts() && v.I == w.I || !v.Type.HoldsInts() && sameValue(v.C, w.C) {
		c.equal++
	}
	if c.skew {
		c.skew = v.Type.HoldsInts() && v.I == -w.I && HasNegative(v.I) ||
			!v.Type.HoldsInts() && sameValue(v.C, -w.C)
	}
	if c.hermitian {
		c.hermitian = sameValue(v.C, complex(real(w.C), -imag(w.C)))
	}
}

func sameValue(v, w complex128) bool {
	return equalOrNaN(real(v), real(w)) && equalOrNaN(imag(v), imag(w))
}

func (c *mirror) symmetry() *Symmetry {
	s := &Symmetry{Pattern: 1, Values: 1}
	if c.off > 0 {
		s.Pattern, s.Values = float64(c.stored)/float64(c.off), float64(c.equal)/float64(c.off)
	}
	whole := c.stored == c.off
	s.Symmetric, s.Skew, s.Hermitian = c.equal == c.off, whole && c.skew, whole && c.hermitian
	return s
}

// Package partition describes how a tensor is cut into pieces and which ranks own each piece.
//
// A mode can be cut by coordinates. Alternatively, the modes of the outermost levels are cut
// together into ranges of tuples in storage order, between keys (ordered.go). Pieces that overlap
// are images of the pieces of another tensor (image.go).
package partition

import (
	"slices"

	"distaff/codegen/place"
)

// Piece is the number of a piece of a partition. A piece consists of one range of each axis. Pieces
// are numbered in row-major order of the indices of these ranges.
type Piece int64

// Axis is a list of modes that are cut together. There are three kinds.
//
// A plain axis is usually one mode. It has several modes if an access indexes them by the same
// variable, as in A(i,i). Only pieces on the diagonal exist then.
//
// An ordered axis has the modes of the outermost levels. Its ranges are ranges of tuples of their
// coordinates, in storage order.
//
// An image is an axis whose ranges are computed from the ranges of an ordered axis of another
// tensor.
type Axis struct {
	Modes []int
	// range k is [Cuts[k], Cuts[k+1]), which may be empty. Other kinds of axes have nil
	Cuts []int64

	// Ordered is set for an ordered axis only. Modes then equals Ordered.Modes. Range k contains
	// the tuples from Keys[k] inclusive to Keys[k+1] exclusive. The first and the last key are nil,
	// which means unbounded. Keys is nil until the axis is located.
	Ordered *place.Ordered
	Keys    [][]int64
	// Guessed says that Keys were not computed from entries. A plan that has not read the entries
	// assumes that they are spread evenly. Entries is then their estimated number.
	Guessed bool
	Entries float64
	// Wide says, for an ordered axis, that the box of each piece covers all coordinates of the
	// axis's modes.
	Wide bool

	// Image is set for an axis that is an image only.
	Image *Image
}

// Ranges returns the number of ranges.
func (a *Axis) Ranges() int64 {
	switch {
	case a.Ordered != nil:
		return a.Ordered.Ranges()
	case a.Image != nil:
		return a.Image.Of.Ranges()
	}
	return int64(len(a.Cuts)) - 1
}

// Partition describes how a tensor is cut into pieces, and the owners of the pieces.
type Partition struct {
	Order int    // number of modes
	Axes  []Axis // in the order of their first modes; a mode without an axis is not cut
	// Owner returns the rank that owns the piece whose range along axis k is at[k]. It must not
	// retain at.
	Owner func(at []int64) int
	// Copies returns all ranks that have a copy of the piece whose range along axis k is at[k], its
	// owner first. If Copies is nil, only the owner has the piece.
	Copies func(at []int64) []int
}

// Whole returns the partition with a single piece, which rank 0 owns.
func Whole(order int) *Partition {
	return &Partition{Order: order, Owner: func([]int64) int { return 0 }}
}

// Evenly returns the partition that cuts a mode evenly over the ranks. sizes holds the sizes of all
// modes. If mode is -1, rank 0 owns the whole tensor.
func Evenly(sizes []int64, mode, ranks int) *Partition {
	p := Whole(len(sizes))
	if mode >= 0 && ranks > 1 {
		p.Axes = []Axis{{Modes: []int{mode}, Cuts: place.EvenCuts(sizes[mode], int64(ranks))}}
		p.Owner = func(at []int64) int { return int(at[0]) }
	}
	return p
}

// Pieces returns the number of pieces.
func (p *Partition) Pieces() int64 {
	n := int64(1)
	for k := range p.Axes {
		n *= p.Axes[k].Ranges()
	}
	return n
}

// Of returns the piece that consists of range number at[k] of each axis k.
func (p *Partition) Of(at []int64) Piece {
	b := int64(0)
	for k := range p.Axes {
		b = b*p.Axes[k].Ranges() + at[k]
	}
	return Piece(b)
}

// At sets at[k] to the range of piece b along each axis k.
func (p *Partition) At(b Piece, at []int64) {
	for k := len(p.Axes) - 1; k >= 0; k-- {
		n := p.Axes[k].Ranges()
		at[k] = int64(b) % n
		b /= Piece(n)
	}
}

// Box returns the half-open range of coordinates of piece b in each mode. sizes holds the sizes of
// all modes. In the modes of an ordered axis, the box has the bounds of the piece's range (see
// Axis.Bounds), so that boxes of neighbours may overlap.
func (p *Partition) Box(b Piece, sizes []int64) [][2]int64 {
	box := make([][2]int64, p.Order)
	for m := range box {
		box[m] = [2]int64{0, sizes[m]}
	}
	for k := len(p.Axes) - 1; k >= 0; k-- {
		a := &p.Axes[k]
		i := int64(b) % a.Ranges()
		b /= Piece(a.Ranges())
		switch {
		case a.Ordered != nil:
			a.bound(i, sizes, box)
			continue
		case a.Image != nil:
			a.Image.bound(a.Modes, i, box)
			continue
		}
		for _, m := range a.Modes {
			box[m] = [2]int64{a.Cuts[i], a.Cuts[i+1]}
		}
	}
	return box
}

// OwnerOf returns the rank that owns piece b.
func (p *Partition) OwnerOf(b Piece) int { return p.Owner(p.ranges(b)) }

// Ranks returns all ranks that have a copy of piece b, its owner first.
func (p *Partition) Ranks(b Piece) []int {
	at := p.ranges(b)
	if p.Copies == nil {
		return []int{p.Owner(at)}
	}
	return p.Copies(at)
}

// ranges returns, for each axis, the number of the range that piece b has along the axis.
func (p *Partition) ranges(b Piece) []int64 {
	at := make([]int64, len(p.Axes))
	p.At(b, at)
	return at
}

// AxisOf returns the index of the axis of a mode, or -1 if the mode is not cut.
func (p *Partition) AxisOf(mode int) int {
	return slices.IndexFunc(p.Axes, func(a Axis) bool { return slices.Contains(a.Modes, mode) })
}

// Diagonal reports whether some axis cuts several modes by the same variable. Only the pieces on
// the diagonal exist then. If the axis has several ranges, the pieces do not cover the whole
// tensor.
func (p *Partition) Diagonal() bool {
	return slices.ContainsFunc(p.Axes, func(a Axis) bool { return a.Cuts != nil && len(a.Modes) > 1 })
}

// Package partition says how a tensor is cut into pieces, and at which ranks each piece lives.
//
// A mode is cut by coordinates, or the outermost modes together along the storage order, by keys
// (ordered.go). Parts of a tensor that overlap are images of such cuts of another (image.go).
package partition

import (
	"slices"

	"distaff/codegen/place"
)

// Piece is the number of a piece: its ranges of the axes as one number, row-major.
type Piece int64

// Axis is a list of modes that are cut alike: one mode, or several where an access names one
// variable for all of them, whose pieces lie on the diagonal. Or it is ordered: its modes are those
// of the outermost levels, and ranges of tuples of their coordinates are cut.
type Axis struct {
	Modes []int
	Cuts  []int64 // range k is [Cuts[k], Cuts[k+1]), which may be empty

	// Ordered is nil but for an ordered axis, whose Modes are Ordered.Modes and whose Cuts is nil.
	// Range k has the tuples from Keys[k] on that come before Keys[k+1]; the first key is nil, which
	// is before all, and so is the last, which is behind all. Keys is nil until the axis is located.
	Ordered *place.Ordered
	Keys    [][]int64
	// Guessed says that Keys are those of entries that are spread evenly, in a plan that has not read
	// them; Entries is then about how many these are.
	Guessed bool
	Entries float64
	// Wide says that pieces are to have boxes of all coordinates of the modes of an ordered axis.
	Wide bool

	// Image is nil but for an axis of parts that overlap: its Cuts is nil.
	Image *Image
}

// Ranges is the number of ranges.
func (a *Axis) Ranges() int64 {
	switch {
	case a.Ordered != nil:
		return a.Ordered.Ranges()
	case a.Image != nil:
		return a.Image.Of.Ranges()
	}
	return int64(len(a.Cuts)) - 1
}

// Partition is how a tensor is cut.
type Partition struct {
	Order int    // the number of modes
	Axes  []Axis // in the order of their first modes; a mode of no axis is whole
	// Owner is the rank where the piece at these ranges of the axes lives. It does not keep the slice.
	Owner func(at []int64) int
	// Copies lists all ranks where that piece lives, its owner first; nil: at the owner alone.
	Copies func(at []int64) []int
}

// Whole is the partition of one piece, which lives at rank 0.
func Whole(order int) *Partition {
	return &Partition{Order: order, Owner: func([]int64) int { return 0 }}
}

// Evenly is the partition that cuts a mode of a tensor with these sizes evenly over the ranks; with
// mode -1 rank 0 has the whole.
func Evenly(sizes []int64, mode, ranks int) *Partition {
	p := Whole(len(sizes))
	if mode >= 0 && ranks > 1 {
		p.Axes = []Axis{{Modes: []int{mode}, Cuts: place.EvenCuts(sizes[mode], int64(ranks))}}
		p.Owner = func(at []int64) int { return int(at[0]) }
	}
	return p
}

// Pieces is the number of pieces.
func (p *Partition) Pieces() int64 {
	n := int64(1)
	for k := range p.Axes {
		n *= p.Axes[k].Ranges()
	}
	return n
}

// Of is the piece at these ranges of the axes.
func (p *Partition) Of(at []int64) Piece {
	b := int64(0)
	for k := range p.Axes {
		b = b*p.Axes[k].Ranges() + at[k]
	}
	return Piece(b)
}

// At sets at to the ranges of the axes at which piece b is.
func (p *Partition) At(b Piece, at []int64) {
	for k := len(p.Axes) - 1; k >= 0; k-- {
		n := p.Axes[k].Ranges()
		at[k] = int64(b) % n
		b /= Piece(n)
	}
}

// Box is the half-open range of each mode that piece b covers, of a tensor with these sizes of its
// modes. Of an ordered axis it is the smallest box that holds the piece's tuples, so that boxes of
// neighbours may overlap, and before it is located that of an even cut of the outermost mode.
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

// OwnerOf is the rank where piece b lives; of several, the first.
func (p *Partition) OwnerOf(b Piece) int { return p.Owner(p.ranges(b)) }

// Ranks lists all ranks where piece b lives, its owner first.
func (p *Partition) Ranks(b Piece) []int {
	at := p.ranges(b)
	if p.Copies == nil {
		return []int{p.Owner(at)}
	}
	return p.Copies(at)
}

// ranges are those of the axes at which piece b is.
func (p *Partition) ranges(b Piece) []int64 {
	at := make([]int64, len(p.Axes))
	p.At(b, at)
	return at
}

// AxisOf is the axis of a mode, -1 for a mode that is whole.
func (p *Partition) AxisOf(mode int) int {
	return slices.IndexFunc(p.Axes, func(a Axis) bool { return slices.Contains(a.Modes, mode) })
}

// Diagonal tells whether some modes are cut alike, so that the pieces are not all of the tensor.
func (p *Partition) Diagonal() bool {
	return slices.ContainsFunc(p.Axes, func(a Axis) bool { return a.Cuts != nil && len(a.Modes) > 1 })
}

package assemble

import (
	"encoding/binary"
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// dense makes a piece of a dense tensor. An element that one part has is that part's, and of
// several it is their sum in the order of the parts; one that no part has is 0. A piece of which
// the first part, this rank's, has all elements shows these, and the others are added to them
// there.
func (x *running) dense(piece Region, list []share) (t *tcs.Tensor, err error) {
	t, err = x.within(piece, list)
	if err != nil {
		return nil, err
	}
	for k, h := range list {
		if k == 0 && t != nil {
			continue
		}
		part, err := x.lend(h)
		if err == nil && k == 0 {
			if x.whole(part, h, piece, list) {
				return part, nil
			}
			t, err = x.zeroed(piece, list)
		}
		if err != nil {
			tcs.CloseList(t, part)
			return nil, err
		}
		if overlapsEarlier(list, k, x.sum.Like.Modes) {
			addRuns(h.region, t, part)
		} else {
			copyRuns(h.region, t, part)
		}
		part.Close()
	}
	if t == nil {
		return x.zeroed(piece, nil)
	}
	return t, nil
}

// mostOfPart is the share of a part, in eighths, that a piece has at least which stays in the
// part's memory.
const mostOfPart = 7

// within is a piece that lies together within the first of its shares, which is this rank's and not
// much larger; nil for any other.
func (x *running) within(piece Region, list []share) (*tcs.Tensor, error) {
	if len(list) == 0 || x.sum.Parts[list[0].part].Rank != x.c.Rank() ||
		!list[0].region.equal(Region{Box: piece.Box}) {
		return nil, nil
	}
	if all, _ := x.over.normal(piece); !list[0].region.equal(all) {
		return nil, nil
	}
	part := x.own(list[0])
	v, err := part.View(tcs.Block{Box: piece.Box})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if n := v.Vals.Len; n != piece.coordinates() || 8*n < mostOfPart*part.Vals.Len {
		return nil, nil
	}
	t := &tcs.Tensor{Header: tcs.Header{Dims: x.sum.Like.Dims, Box: slices.Clone(piece.Box),
		Type: x.sum.Like.Type}, Levels: slices.Clone(part.Levels), Vals: v.Vals}
	for l := range t.Levels {
		lev := &t.Levels[l]
		lev.Offset, lev.Size = piece.Box[lev.Mode][0], piece.Box[lev.Mode][1]-piece.Box[lev.Mode][0]
	}
	t.Vals.First = 0
	t.Share(part)
	t.Trust()
	return t, nil
}

// lend is a tensor that has what a part has of a region.
func (x *running) lend(h share) (*tcs.Tensor, error) {
	if x.sum.Parts[h.part].Rank == x.c.Rank() {
		return x.own(h).Alias(), nil
	}
	return x.take(h)
}

// whole tells whether a tensor that came of another rank is the piece: it is 0 where the piece is.
func (x *running) whole(t *tcs.Tensor, h share, piece Region, list []share) bool {
	return x.sum.Parts[h.part].Rank != x.c.Rank() && h.region.From == nil && h.region.To == nil &&
		x.covers(t, piece, list) && formed(t)
}

// zeroed is a piece to which the shares of a list can be added: 0, but for the elements that
// several of them may have. There it is the number that a sum begins with, -0, so that the sum of
// one element is the element itself.
func (x *running) zeroed(piece Region, list []share) (*tcs.Tensor, error) {
	t, err := newDense(x.sum.Like, piece.Box, x.options.Alloc)
	if err != nil {
		return nil, err
	}
	clear(t.Vals.Bytes())
	for k, h := range list {
		if overlapsEarlier(list, k, x.sum.Like.Modes) {
			fillRuns(h.region, t)
		}
	}
	return t, nil
}

// overlapsEarlier tells whether share k of a list has elements that one before it has.
func overlapsEarlier(list []share, k int, modes []int) bool {
	for _, h := range list[:k] {
		if _, ok := h.region.common(list[k].region, modes); ok {
			return true
		}
	}
	return false
}

// Join makes the block of a box of a dense tensor, of parts that have all of it between them. The
// caller closes it.
func Join(like transfer.Like, box [][2]int64, parts []*tcs.Tensor,
	alloc transfer.Alloc) (*tcs.Tensor, error) {
	t, err := newDense(like, box, alloc)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		copyRuns(Region{Box: boxOf(part)}, t, part)
	}
	return t, nil
}

// newDense is a dense tensor of a box, with any values.
func newDense(like transfer.Like, box [][2]int64, alloc transfer.Alloc) (*tcs.Tensor, error) {
	s := &tcs.Shape{Header: tcs.Header{Dims: like.Dims, Box: box, Type: like.Type}, Kinds: like.Kinds,
		Modes: like.Modes, Counts: make([]int64, len(like.Kinds))}
	t, err := tcs.NewIn(s, like.Name, alloc)
	if err == nil {
		t.Trust()
	}
	return t, err
}

// runs are the elements of a region in the dense levels of two tensors, in runs that lie together
// in both.
type runs struct {
	r        Region
	to, from *tcs.Tensor
	// row has, for each level, the elements below one of its coordinates where those are all of
	// both tensors', and so lie together; else 0.
	row []int64
}

func newRuns(r Region, to, from *tcs.Tensor) *runs {
	x := &runs{r: r, to: to, from: from, row: make([]int64, len(to.Levels))}
	n := int64(1)
	for l := len(to.Levels) - 1; l >= 0 && to.Levels[l].Form() == tcs.Full; l-- {
		x.row[l] = n
		a, b, box := &to.Levels[l], &from.Levels[l], r.Box[to.Levels[l].Mode]
		if box[0] != a.Offset || box[0] != b.Offset || box[1] != a.Offset+a.Size ||
			box[1] != b.Offset+b.Size {
			n = 0
		}
		n *= a.Size
	}
	return x
}

// walk calls f with the runs below a position of the level above l of each tensor: where one begins
// among the values of each, and how long it is.
func (x *runs) walk(l int, e edge, to, from int64, f func(to, from, n int64)) {
	if l == len(x.to.Levels) {
		f(to-x.to.Vals.First, from-x.from.Vals.First, 1)
		return
	}
	a, b := &x.to.Levels[l], &x.from.Levels[l]
	lo, hi := x.r.span(l, a.Mode, e)
	if lo >= hi {
		return
	}
	at := func(c int64) (int64, int64) { return to*a.Size + c - a.Offset, from*b.Size + c - b.Offset }
	if row := x.row[l]; row > 0 && (e.open() || l == len(x.to.Levels)-1) {
		q, p := at(lo)
		f(q*row-x.to.Vals.First, p*row-x.from.Vals.First, (hi-lo)*row)
		return
	}
	for c := lo; c < hi; c++ {
		q, p := at(c)
		x.walk(l+1, x.r.below(l, c, e), q, p, f)
	}
}

// copyRuns copies a region of a dense tensor.
func copyRuns(r Region, to, from *tcs.Tensor) {
	newRuns(r, to, from).walk(0, r.edge(), 0, 0, func(q, p, n int64) { copyValues(to, q, from, p, n) })
}

// copyValues copies n values from place p of a tensor to place q of another.
func copyValues(to *tcs.Tensor, q int64, from *tcs.Tensor, p, n int64) {
	size := int64(to.Vals.Width)
	copy(to.Vals.Bytes()[q*size:(q+n)*size], from.Vals.Bytes()[p*size:(p+n)*size])
}

// fillRuns sets a region of a dense tensor to -0.
func fillRuns(r Region, t *tcs.Tensor) {
	zero := negativeZero(t.Header.Type)
	newRuns(r, t, t).walk(0, r.edge(), 0, 0, func(q, _, n int64) {
		run := t.Vals.Bytes()[q*int64(len(zero)) : (q+n)*int64(len(zero))]
		for done := copy(run, zero); done < len(run); done *= 2 {
			copy(run[done:], run[:done])
		}
	})
}

// negativeZero is -0 in memory, of a type that has no such number 0.
func negativeZero(t tcs.Type) []byte {
	b := make([]byte, 0, 16)
	switch t {
	case tcs.Float64, tcs.Complex128:
		b = binary.NativeEndian.AppendUint64(b, math.Float64bits(math.Copysign(0, -1)))
	case tcs.Float32, tcs.Complex64:
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(float32(math.Copysign(0, -1))))
	default:
		return b[:t.Size()]
	}
	return append(b, b[:t.Size()-len(b)]...)
}

// addRuns adds a region of a dense tensor to another.
func addRuns(r Region, to, from *tcs.Tensor) {
	x := newRuns(r, to, from)
	reduce.AddRuns(to, from, func(add func(q, p, n int64)) { x.walk(0, r.edge(), 0, 0, add) })
}

package assemble

import (
	"encoding/binary"
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// dense computes a piece of a dense tensor. An element that is in one part is copied. An element
// that is in several parts is their sum, in the order of the parts. An element that is in no part
// is 0. If viewOfFirst returns a view of the first part, the piece is this view, and the other
// parts are added to it in place.
func (x *running) dense(piece Region, list []overlap) (t *tcs.Tensor, err error) {
	t, err = x.viewOfFirst(piece, list)
	if err != nil {
		return nil, err
	}
	for k, h := range list {
		if k == 0 && t != nil {
			continue
		}
		part, err := x.borrow(h)
		if err == nil && k == 0 {
			if x.whole(part, h, piece, list) {
				return part, nil
			}
			t, err = x.newZeroed(piece, list)
		}
		if err != nil {
			tcs.CloseList(t, part)
			return nil, err
		}
		if overlapsEarlier(list, k, x.sum.Like.Layout.Format.Order) {
			addRuns(h.region, t, part)
		} else {
			copyRuns(h.region, t, part)
		}
		part.Close()
	}
	if t == nil {
		return x.newZeroed(piece, nil)
	}
	return t, nil
}

// minShareEighths decides whether a piece is a view of a part instead of a copy. The piece must
// have at least this many eighths of the part's values, because the view keeps the memory of the
// whole part.
const minShareEighths = 7

// viewOfFirst returns the piece as a view of its first overlap, if the overlap is the whole piece,
// the values are contiguous there, the part belongs to this rank, and the part is not much larger
// than the piece. Otherwise it returns nil.
func (x *running) viewOfFirst(piece Region, list []overlap) (*tcs.Tensor, error) {
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
	if n := v.Vals.Len; n != piece.coordinates() || 8*n < minShareEighths*part.Vals.Len {
		return nil, nil
	}
	t := &tcs.Tensor{Header: tcs.Header{Dims: x.sum.Like.Layout.Dims, Box: slices.Clone(piece.Box),
		Type: x.sum.Like.Layout.Type}, Levels: slices.Clone(part.Levels), Vals: v.Vals}
	for l := range t.Levels {
		lev := &t.Levels[l]
		lev.Offset, lev.Size = piece.Box[lev.Mode][0], piece.Box[lev.Mode][1]-piece.Box[lev.Mode][0]
	}
	t.Vals.First = 0
	t.Share(part)
	t.Trust()
	return t, nil
}

// borrow returns a tensor that contains the overlap h. If the overlap's part belongs to this rank,
// the tensor is an alias of the part, without a copy. Otherwise the tensor is received from the
// other rank. The caller closes the tensor.
func (x *running) borrow(h overlap) (*tcs.Tensor, error) {
	if x.sum.Parts[h.part].Rank == x.c.Rank() {
		return x.own(h).Alias(), nil
	}
	return x.take(h)
}

// whole reports whether t can become the piece without a copy. t must cover the whole piece, and
// must have been received from another rank. This rank's own parts are handled by viewOfFirst.
func (x *running) whole(t *tcs.Tensor, h overlap, piece Region, list []overlap) bool {
	return x.sum.Parts[h.part].Rank != x.c.Rank() && h.region.From == nil && h.region.To == nil &&
		x.covers(t, piece, list) && isFormed(t)
}

// newZeroed returns a new piece to which the overlaps of list can be copied or added. An overlap is
// added if it has elements in common with an earlier overlap of the list. All elements of such an
// overlap start as -0, if their type has it, and all other elements start as 0. -0 is the neutral
// element of addition, so a value of -0 that is added alone stays -0.
func (x *running) newZeroed(piece Region, list []overlap) (*tcs.Tensor, error) {
	t, err := newDense(x.sum.Like, piece.Box, x.options.Alloc)
	if err != nil {
		return nil, err
	}
	clear(t.Vals.Bytes())
	for k, h := range list {
		if overlapsEarlier(list, k, x.sum.Like.Layout.Format.Order) {
			fillRuns(h.region, t)
		}
	}
	return t, nil
}

// overlapsEarlier reports whether overlap k of list has elements in common with an earlier overlap.
func overlapsEarlier(list []overlap, k int, modes []int) bool {
	for _, h := range list[:k] {
		if _, ok := h.region.common(list[k].region, modes); ok {
			return true
		}
	}
	return false
}

// Join returns the block of a box of a dense tensor, copied from parts that together contain the
// whole box. The caller must close it.
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

// newDense returns a dense tensor of a box with undefined values.
func newDense(like transfer.Like, box [][2]int64, alloc transfer.Alloc) (*tcs.Tensor, error) {
	s := &tcs.Shape{Header: tcs.Header{Dims: like.Layout.Dims, Box: box, Type: like.Layout.Type},
		Format: like.Layout.Format, Counts: make([]int64, len(like.Layout.Format.Levels))}
	t, err := tcs.NewIn(s, like.Name, alloc)
	if err == nil {
		t.Trust()
	}
	return t, err
}

// runs enumerates the elements of a region that two tensors with dense levels have in common. Each
// run is contiguous in both tensors.
type runs struct {
	r        Region
	to, from *tcs.Tensor
	// row holds, for each level, how many elements are below one coordinate of the level. It is 0
	// if the elements below a coordinate are not contiguous, because the region does not contain
	// all elements that both tensors have there.
	row []int64
}

func newRuns(r Region, to, from *tcs.Tensor) *runs {
	x := &runs{r: r, to: to, from: from, row: make([]int64, len(to.Levels))}
	n := int64(1)
	for l := len(to.Levels) - 1; l >= 0 && to.Levels[l].Form() == tensor.Full; l-- {
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

// walk calls f for each run of values below a position of the level above l. toPos is this position
// in the tensor x.to, and fromPos is this position in x.from. e is the edge of the path to the
// position. f gets the index of the run's first value in each tensor, and the number of values.
func (x *runs) walk(l int, e edge, toPos, fromPos int64, f func(to, from, n int64)) {
	if l == len(x.to.Levels) {
		f(toPos-x.to.Vals.First, fromPos-x.from.Vals.First, 1)
		return
	}
	a, b := &x.to.Levels[l], &x.from.Levels[l]
	lo, hi := x.r.span(l, a.Mode, e)
	if lo >= hi {
		return
	}
	at := func(c int64) (int64, int64) {
		return toPos*a.Size + c - a.Offset, fromPos*b.Size + c - b.Offset
	}
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

// copyRuns copies the values of a region from one dense tensor to another.
func copyRuns(r Region, to, from *tcs.Tensor) {
	newRuns(r, to, from).walk(0, r.edge(), 0, 0,
		func(q, p, n int64) { copyValues(to, q, from, p, n) })
}

// copyValues copies n values from tensor src to tensor dst. The first value is at position p of src
// and at position q of dst.
func copyValues(dst *tcs.Tensor, q int64, src *tcs.Tensor, p, n int64) {
	size := int64(dst.Vals.Width)
	copy(dst.Vals.Bytes()[q*size:(q+n)*size], src.Vals.Bytes()[p*size:(p+n)*size])
}

// fillRuns sets the values of a region of a dense tensor to -0, the neutral element of addition.
func fillRuns(r Region, t *tcs.Tensor) {
	zero := negativeZero(t.Header.Type)
	newRuns(r, t, t).walk(0, r.edge(), 0, 0, func(q, _, n int64) {
		run := t.Vals.Bytes()[q*int64(len(zero)) : (q+n)*int64(len(zero))]
		for done := copy(run, zero); done < len(run); done *= 2 {
			copy(run[done:], run[:done])
		}
	})
}

// negativeZero returns the bytes of -0, or of 0 for types without a negative zero.
func negativeZero(t tensor.Type) []byte {
	b := make([]byte, 0, 16)
	switch t {
	case tensor.Float64, tensor.Complex128:
		b = binary.NativeEndian.AppendUint64(b, math.Float64bits(math.Copysign(0, -1)))
	case tensor.Float32, tensor.Complex64:
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(float32(math.Copysign(0, -1))))
	default:
		return b[:t.Size()]
	}
	return append(b, b[:int(t.Size())-len(b)]...)
}

// addRuns adds the values of a region of one dense tensor to another.
func addRuns(r Region, to, from *tcs.Tensor) {
	x := newRuns(r, to, from)
	reduce.AddRuns(to, from, func(add func(q, p, n int64)) { x.walk(0, r.edge(), 0, 0, add) })
}

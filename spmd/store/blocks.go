package store

import (
	"slices"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
)

// Blocks describes the blocks of one tensor: the rank that holds each block, the box of coordinates
// that the block covers, and the blocks of this rank. Own is different at each rank. Everything
// else is the same at every rank, except that the result of the method nearby has other Owners at
// each rank.
type Blocks struct {
	Layout tensor.Layout // of the tensor; a block may have another format
	Owners []int
	Boxes  [][][2]int64 // for each block, its range in each mode; together the boxes are the tensor
	// From and To are nil, or the blocks follow one another in storage order. Block k then has the
	// entries whose coordinates in the outermost modes are at least From[k] and less than To[k];
	// nil means no bound. The boxes of neighbouring blocks may then overlap, and From and To decide
	// which block an entry belongs to.
	From, To [][]int64
	Own      map[int]*tcs.Tensor
	// Guessed is set in a plan if some blocks are only guessed, because their bounds depend on the
	// tensor's entries.
	Guessed bool
	// Sums means that the values are sums, whose zeros must have no sign (Unsign).
	Sums bool
}

// Regions returns disjoint boxes that together are block k. It is one box, the block's own, unless
// the block is bounded by the keys From[k] and To[k].
func (t *Blocks) Regions(k int) [][][2]int64 {
	if t.From == nil {
		return t.Boxes[k : k+1]
	}
	return partition.Regions(t.Boxes[k], t.From[k], t.To[k], t.Layout.Format.Order, t.Layout.Dims)
}

// InRows reports whether each rank has exactly one of the blocks, and the block of each rank holds
// the range of rows that follows the range of the rank before. Rows are coordinates of the
// outermost level.
func (t *Blocks) InRows(ranks int) bool {
	if len(t.Layout.Dims) == 0 || len(t.Owners) != ranks {
		return false
	}
	rows, end := t.Layout.Format.Order[0], int64(0)
	for n, owner := range t.Owners {
		box := t.Boxes[n]
		if owner != n || box[rows][0] != end {
			return false
		}
		for m, r := range box {
			if m != rows && r != [2]int64{0, t.Layout.Dims[m]} {
				return false
			}
		}
		end = box[rows][1]
	}
	return end == t.Layout.Dims[rows]
}

// Boxed returns a description of the same tensor that has only boxes as blocks. A block that is
// bounded by keys is replaced by views of its boxes. Unless there is an error, the caller must call
// release, which closes these views. If no block is bounded by keys, Boxed returns t.
func (t *Blocks) Boxed() (x *Blocks, release func(), err error) {
	if t.From == nil {
		return t, func() {}, nil
	}
	y := *t
	y.Owners, y.Boxes, y.From, y.To, y.Own = nil, nil, nil, nil, map[int]*tcs.Tensor{}
	release = func() {
		for _, v := range y.Own {
			v.Close()
		}
	}
	for k, owner := range t.Owners {
		for _, box := range t.Regions(k) {
			if b := t.Own[k]; b != nil {
				v, err := b.View(tcs.Block{Box: box})
				if err != nil {
					release()
					return nil, nil, err
				}
				y.Own[len(y.Owners)] = v
			}
			y.Owners, y.Boxes = append(y.Owners, owner), append(y.Boxes, box)
		}
	}
	return &y, release, nil
}

// InBoxes returns the description of the blocks that Boxed returns, without their entries.
func (t *Blocks) InBoxes() *Blocks {
	described := *t
	described.Own = nil
	boxed, _, err := described.Boxed()
	if err != nil {
		panic("BUG: store: no block is shown, and one fails: " + err.Error())
	}
	return boxed
}

// HasSameDistribution reports whether t and o share the slices Owners and Boxes, which list their
// blocks. The tensors are then distributed in the same way.
func (t *Blocks) HasSameDistribution(o *Blocks) bool {
	return len(t.Owners) > 0 && len(o.Owners) > 0 && &t.Owners[0] == &o.Owners[0] &&
		&t.Boxes[0] == &o.Boxes[0]
}

// numbers returns the numbers of this rank's blocks, in order.
func (t *Blocks) numbers() []int {
	var list []int
	for k := range t.Owners {
		if t.Own[k] != nil {
			list = append(list, k)
		}
	}
	return list
}

// hasTensorFormat reports whether this rank's blocks are stored in the tensor's own format.
func (t *Blocks) hasTensorFormat() bool {
	for _, b := range t.Own {
		if !b.Format().Equal(t.Layout.Format) {
			return false
		}
	}
	return true
}

// isDense reports whether every level is dense. A scalar is dense.
func (t *Blocks) isDense() bool { return t.Layout.Format.AllDense() }

// shape returns the shape of the whole tensor, given the number of positions of each level.
func (t *Blocks) shape(counts []int64) *tcs.Shape {
	return &tcs.Shape{Header: tcs.Header{Dims: t.Layout.Dims, Type: t.Layout.Type},
		Format: t.Layout.Format,
		Counts: counts}
}

func (t *Blocks) spec() coo.Spec {
	return coo.Spec{Format: t.Layout.Format, Dims: t.Layout.Dims, Type: t.Layout.Type}
}

// rowwise returns the numbers of the blocks, sorted by their ranges in a mode. ok is false if the
// blocks do not tile this mode, or if they are cut along any other mode.
func (t *Blocks) rowwise(mode int) (order []int, ok bool) {
	for k, box := range t.Boxes {
		for m, r := range box {
			if m != mode && r != [2]int64{0, t.Layout.Dims[m]} {
				return nil, false
			}
		}
		order = append(order, k)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := t.Boxes[a][mode], t.Boxes[b][mode]
		return slices.Compare(x[:], y[:]) // an empty range comes before the one that starts there
	})
	end := int64(0)
	for _, k := range order {
		r := t.Boxes[k][mode]
		if r[0] != end {
			return nil, false
		}
		end = r[1]
	}
	return order, end == t.Layout.Dims[mode]
}

// isExact reports whether the arrays of a block hold exactly the entries of the block's box, at
// every level. The first element of a pos array may be greater than 0.
func isExact(t *tcs.Tensor) bool {
	lo, hi := int64(0), int64(1)
	for l := range t.Levels {
		lev := &t.Levels[l]
		r := t.Header.Range(lev.Mode)
		switch lev.Form() {
		case tensor.Full:
			if l > 0 && (lev.Offset != r[0] || lev.Size != r[1]-r[0]) {
				return false
			}
			if l == 0 {
				lo, hi = r[0]-lev.Offset, r[1]-lev.Offset
			} else {
				lo, hi = lo*lev.Size, hi*lev.Size
			}
			continue
		case tensor.Segmented:
			if lev.Pos.Len != hi-lo+1 || lev.Pos.First != lo {
				return false
			}
			lo, hi = lev.Pos.Int(0), lev.Pos.Int(hi-lo)
		}
		if lev.Crd.First != lo || lev.Crd.Len != hi-lo {
			return false
		}
		if r != [2]int64{0, t.Header.Dims[lev.Mode]} && !isInside(lev.Crd, r) {
			return false
		}
	}
	return t.Vals.First == lo && t.Vals.Len == hi-lo
}

// isInside reports whether all coordinates are in the range r. The coordinate -1 is padding and is
// ignored.
func isInside(crd tcs.Array, r [2]int64) bool {
	if crd.Width == 4 {
		return isWithin(tcs.Slice[int32](crd), r)
	}
	return isWithin(tcs.Slice[int64](crd), r)
}

func isWithin[T int32 | int64](crd []T, r [2]int64) bool {
	lo, last, out := r[0], r[1]-1, int64(0)
	for _, x := range crd {
		out |= int64(x) - lo | last - int64(x)
	}
	if out >= 0 {
		return true
	}
	for _, x := range crd {
		if x != -1 && (int64(x) < lo || int64(x) > last) {
			return false
		}
	}
	return true
}

// agree reports whether yes is true at all ranks. Every rank must call it.
func agree(c comm.Comm, yes bool) (bool, error) {
	v := []int64{0}
	if yes {
		v[0] = 1
	}
	err := c.Allreduce(comm.Of(v), comm.Min)
	return v[0] == 1, err
}

// bcast sends rank 0's data to every rank. Every rank must call it.
func bcast(c comm.Comm, data []byte) ([]byte, error) {
	n := []int64{int64(len(data))}
	if err := c.Bcast(comm.Of(n), 0); err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		data = make([]byte, n[0])
	}
	return data, c.Bcast(comm.Of(data), 0)
}

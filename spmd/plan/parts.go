package plan

import (
	"slices"

	"distaff/spmd/partition"
)

// maxParts is the largest number of parts of a block. If a block would have more parts, no block of
// the operand has parts. Each block is then assembled once, at the block's owner. The owner sends
// whole blocks, in fewer and longer messages.
const maxParts = 128

// parts describes how each block of an operand is divided into parts, the pieces of Operand.Parts
// inside the block.
type parts struct {
	axes     []partAxis // by axis of Operand.Parts
	maxCount int64      // largest number of parts of a block
}

// partAxis maps the ranges of an axis of Operand.Partition to the ranges of one axis of
// Operand.Parts. Range r of the first axis contains count[r] consecutive ranges of the second axis.
// The first one of them has the number first[r].
type partAxis struct {
	// index of the axis of Operand.Partition; -1 if blocks are not cut in this mode
	block        int
	first, count []int64
	maxCount     int64
}

// setParts divides an operand with dense levels into parts, the intersections of its blocks and the
// pieces of its placement. It does nothing if the placement does not cut coordinates.
func (pl *planner) setParts(o *Operand) error {
	p, g := pl.plan, pl.given
	f := g.Format(o.Tensor)
	if o.Home.Placement == nil || p.Ranks == 1 || !f.AllDense() || o.Partition.Ordered() != nil ||
		o.Partition.Overlaps() {
		return nil
	}
	h, err := o.Home.Placement.Resolve(g.machine(), f.Order)
	if err != nil || h.Ordered() != nil {
		return err
	}
	sizes := g.modes(o.Vars)
	fine, x := partition.Whole(len(sizes)), &parts{maxCount: 1}
	for m, cuts := range h.Cuts(sizes) {
		block, k := []int64{0, sizes[m]}, o.Partition.AxisOf(m)
		if k >= 0 {
			block = o.Partition.Axes[k].Cuts
		}
		all := slices.Concat(block, cuts)
		slices.Sort(all)
		switch all = slices.Compact(all); {
		case k < 0 && len(all) < 3:
			continue // one range
		case len(all) == 1:
			all = append(all, all[0]) // an empty range
		}
		fine.Axes = append(fine.Axes, partition.Axis{Modes: []int{m}, Cuts: all})
		a := partAxis{block: k}
		for r := range len(block) - 1 {
			first, _ := slices.BinarySearch(all, block[r])
			end, _ := slices.BinarySearch(all, block[r+1])
			a.first, a.count = append(a.first, int64(first)), append(a.count, int64(end-first))
			a.maxCount = max(a.maxCount, int64(end-first))
		}
		x.axes = append(x.axes, a)
		x.maxCount *= a.maxCount
	}
	live := &blockHomes{part: fine, machine: g.machine().Dims(), size: p.Ranks}
	if x.maxCount > maxParts || !live.placeWithin(h, sizes) {
		return nil
	}
	live.setOwners()
	o.Parts, o.parts = fine, x
	return nil
}

// rangesOf computes the ranges of part number n of a block. block[k] is the block's range along
// axis k of Operand.Partition. The part's range along each axis of Operand.Parts is stored in out.
// rangesOf returns false if the block has no such part.
func (x *parts) rangesOf(block []int64, n int64, out []int64) bool {
	for k := len(x.axes) - 1; k >= 0; k-- {
		a, r := &x.axes[k], int64(0)
		if a.block >= 0 {
			r = block[a.block]
		}
		i := n % a.maxCount
		n /= a.maxCount
		if i >= a.count[r] {
			return false
		}
		out[k] = a.first[r] + i
	}
	return true
}

// PartsOf returns the parts of block b. Each part is the number of a piece of Operand.Parts, which
// must be set.
func (o *Operand) PartsOf(b Block) (list []Block) {
	block, at := make([]int64, len(o.Partition.Axes)), make([]int64, len(o.Parts.Axes))
	o.Partition.At(b, block)
	for n := range o.parts.maxCount {
		if o.parts.rangesOf(block, n, at) {
			list = append(list, o.Parts.Of(at))
		}
	}
	return list
}

package plan

import (
	"slices"

	"distaff/spmd/partition"
)

// mostParts is how many parts a block has at most that come to a rank from where they lie. A block
// of more is put together once, at the first rank that reads it, which sends fewer and longer
// messages.
const mostParts = 128

// parts finds the parts of an operand's blocks.
type parts struct {
	axes []partAxis // of Operand.Parts
	most int64      // how many parts a block has at most
}

// partAxis says which ranges of an axis of Operand.Parts lie in each range of an axis of
// Operand.Partition.
type partAxis struct {
	block        int // that axis; -1 where the blocks have all of the mode
	first, count []int64
	most         int64
}

// apart has an operand with dense levels lie in the parts that its blocks and the pieces of its
// placement have in common, where its placement cuts coordinates.
func (p *Problem) apart(g *Given, o *Operand) error {
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
	fine, x := partition.Whole(len(sizes)), &parts{most: 1}
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
			all = append(all, all[0]) // of no coordinates
		}
		fine.Axes = append(fine.Axes, partition.Axis{Modes: []int{m}, Cuts: all})
		a := partAxis{block: k}
		for r := range len(block) - 1 {
			first, _ := slices.BinarySearch(all, block[r])
			end, _ := slices.BinarySearch(all, block[r+1])
			a.first, a.count = append(a.first, int64(first)), append(a.count, int64(end-first))
			a.most = max(a.most, int64(end-first))
		}
		x.axes = append(x.axes, a)
		x.most *= a.most
	}
	live := &homes{part: fine, machine: g.machine().Dims(), size: p.Ranks}
	if x.most > mostParts || !live.within(h, sizes) {
		return nil
	}
	live.settle()
	o.Parts, o.parts = fine, x
	return nil
}

// at sets out to the ranges of the axes of Operand.Parts at which part number n is of the block at
// these ranges of the axes of Operand.Partition; false where the block has no such part.
func (x *parts) at(block []int64, n int64, out []int64) bool {
	for k := len(x.axes) - 1; k >= 0; k-- {
		a, r := &x.axes[k], int64(0)
		if a.block >= 0 {
			r = block[a.block]
		}
		i := n % a.most
		n /= a.most
		if i >= a.count[r] {
			return false
		}
		out[k] = a.first[r] + i
	}
	return true
}

// PartsOf lists the parts of a block of an operand that lies in parts, as Operand.Parts numbers
// them.
func (o *Operand) PartsOf(b Block) (list []Block) {
	block, at := make([]int64, len(o.Partition.Axes)), make([]int64, len(o.Parts.Axes))
	o.Partition.At(b, block)
	for n := range o.parts.most {
		if o.parts.at(block, n, at) {
			list = append(list, o.Parts.Of(at))
		}
	}
	return list
}

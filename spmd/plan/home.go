package plan

import (
	"slices"

	"distaff/codegen/place"
	"distaff/spmd/partition"
	"distaff/spmd/plan/flow"
)

// setHomes determines the owners of the blocks of all tensors.
func (pl *planner) setHomes() (err error) {
	p := pl.plan
	if p.ResultHome, err = pl.home(p.Norm.LHS.Name, p.Norm.LHS.Vars, p.Result,
		p.ResultCut); err != nil {
		return err
	}
	if err := pl.assemble(); err != nil {
		return err
	}
	for k := range p.Operands {
		o := &p.Operands[k]
		if p.Added != nil && p.Added.Operand == k {
			if err := pl.addend(o); err != nil {
				return err
			}
			continue
		}
		if o.Home, err = pl.home(o.Tensor, o.Vars, o.Partition, o.Cut); err != nil {
			return err
		}
		if o.Gathered, err = pl.gathered(o); err != nil {
			return err
		}
		if o.Gathered == nil && !o.Home.MatchesBlocks {
			if err := pl.setParts(o); err != nil {
				return err
			}
		}
		if o.Gathered != nil || o.Parts != nil {
			o.Home.MatchesBlocks, o.Home.Pieces = true, nil
		}
	}
	return nil
}

// largeOperand is the smallest number of elements that an operand without a placement must have to
// be gathered. If it is gathered, each rank reads only the rows that its chunks of entries need.
const largeOperand = 1 << 17

// gathered returns the initial partition of an operand whose rows are gathered, or nil if the
// operand is not gathered.
//
// Three conditions are necessary: there are several ranks, the operand has only dense levels, and
// the nest does not cut the operand. In addition, one of two cases must apply:
//
//   - The operand has a placement without copies, and the placement cuts only the mode of the
//     operand's outermost level.
//   - The operand has no placement and is large, and chunks of another operand's entries determine
//     which rows are read.
func (pl *planner) gathered(o *Operand) (*partition.Partition, error) {
	p, g := pl.plan, pl.given
	if p.Ranks == 1 || len(o.Cut) > 0 || len(o.Vars) == 0 || !g.Format(o.Tensor).AllDense() {
		return nil, nil
	}
	placed, ok := g.Placements[o.Tensor]
	if !ok {
		sizes, outer := g.modes(o.Vars), g.Format(o.Tensor).Order[0]
		elements := 1.0
		for _, n := range sizes {
			elements *= float64(n)
		}
		if at := p.Stored(); at < 0 || elements < largeOperand ||
			!slices.Contains(p.Operands[at].Vars, o.Vars[outer]) {
			return nil, nil
		}
		return partition.Evenly(sizes, outer, p.Ranks), nil
	}
	part, err := Placed(placed, g.machine(), g.modes(o.Vars), g.Format(o.Tensor).Order, p.Ranks)
	if err != nil || part.Copies != nil || len(part.Axes) != 1 || part.Ordered() != nil ||
		part.Axes[0].Modes[0] != g.Format(o.Tensor).Order[0] {
		return nil, err
	}
	return part, nil
}

// home determines the owners of the blocks of a tensor. There are three cases:
//
//   - The tensor has a placement, its blocks do not overlap, and each block is inside one piece of
//     the placement: the owner of the piece owns the block.
//   - Otherwise, in a distributed schedule, the owner of a block is the rank of the first point of
//     the nest that uses the block, or rank 0 if no point uses it.
//   - Otherwise, in a block schedule, the owners remain the ones that Problem.Partition chose.
func (pl *planner) home(tensor string, vars []string, part *partition.Partition,
	cut []int) (Home, error) {
	p, g := pl.plan, pl.given
	sizes := g.modes(vars)
	x := &blockHomes{part: part, machine: g.machine().Dims(), size: p.Ranks}
	home := Home{Placement: g.Placements[tensor]}
	if home.Placement != nil {
		h, err := home.Placement.Resolve(g.machine(), g.Format(tensor).Order)
		if err != nil {
			return home, err
		}
		if home.MatchesBlocks = !part.Overlaps() && x.placeWithin(h, sizes); !home.MatchesBlocks && !part.Overlaps() &&
			part.Ordered() == nil {
			if home.Pieces, err = pl.placedPieces(home.Placement, tensor, sizes); err != nil {
				return home, err
			}
			if part != p.Result && home.Pieces != nil && home.Pieces.Copies != nil {
				// a rank loads the blocks that it reads; they are not sent from a copy
				home.Pieces = nil
			}
		}
	}
	switch {
	case home.MatchesBlocks:
		x.setOwners()
	case p.Distributed:
		x.placeAtFirstUse(p.Walk(), cut)
		x.setOwners()
	}
	return home, nil
}

// placedPieces returns the partition that a placement gives to a tensor. It is called if a block
// that steps use is not inside one piece of this partition, so that data must be moved. It returns
// nil if there is one rank, or if the pieces depend on keys that are not known yet.
func (pl *planner) placedPieces(placed place.Placement, tensor string,
	sizes []int64) (*partition.Partition, error) {
	g := pl.given
	if g.Ranks == 1 {
		return nil, nil
	}
	part, err := Placed(placed, g.machine(), sizes, g.Format(tensor).Order, g.Ranks)
	if err != nil || !part.Located() {
		return nil, err
	}
	return part, nil
}

// modes returns the sizes of the modes that have these variables.
func (g *Given) modes(vars []string) []int64 {
	sizes := make([]int64, len(vars))
	for m, v := range vars {
		sizes[m] = g.Sizes[v]
	}
	return sizes
}

// Placed returns the partition that a placement on machine m gives to a tensor. sizes holds the
// sizes of the tensor's modes, and level l of the tensor stores mode order[l]. If the placement
// cuts the tensor's entries in storage order, the keys of the ordered axis are not set yet (see
// Axis.Located).
func Placed(placed place.Placement, m *place.Machine, sizes []int64, order []int,
	ranks int) (*partition.Partition, error) {
	if err := m.CheckRanks(ranks); err != nil {
		return nil, err
	}
	h, err := placed.Resolve(m, order)
	if err != nil {
		return nil, err
	}
	part := partition.Whole(len(sizes))
	if o := h.Ordered(); o != nil {
		part.Axes = append(part.Axes, partition.Axis{Modes: o.Modes, Ordered: o})
	}
	for mode, cuts := range h.Cuts(sizes) {
		if cuts != nil {
			part.Axes = append(part.Axes, partition.Axis{Modes: []int{mode}, Cuts: cuts})
		}
	}
	slices.SortFunc(part.Axes,
		func(a, b partition.Axis) int { return slices.Min(a.Modes) - slices.Min(b.Modes) })
	x := &blockHomes{part: part, machine: m.Dims(), size: ranks}
	x.placeWithin(h, sizes)
	x.setOwners()
	return part, nil
}

// blockHomes collects the ranks that store the blocks of a tensor.
type blockHomes struct {
	part    *partition.Partition
	machine []int64
	size    int             // number of ranks
	of      []int32         // by block: its rank or, if lists is not nil, an index in lists
	lists   [][]int         // ranks of the blocks that have copies
	numbers map[int64]int32 // index in lists, by the first point of the machine
}

// setOwners stores the collected ranks in the partition.
func (x *blockHomes) setOwners() {
	if x.lists == nil {
		x.part.Owner = func(at []int64) int { return int(x.of[x.part.Of(at)]) }
		return
	}
	x.part.Owner = func(at []int64) int { return x.lists[x.of[x.part.Of(at)]][0] }
	if slices.ContainsFunc(x.lists, func(list []int) bool { return len(list) > 1 }) {
		x.part.Copies = func(at []int64) []int { return x.lists[x.of[x.part.Of(at)]] }
	}
}

// placeAtFirstUse assigns each block to the rank of the first point that uses it, or to rank 0 if
// none does.
func (x *blockHomes) placeAtFirstUse(w *flow.Walk, cut []int) {
	at := make([]int64, len(cut))
	x.of = make([]int32, 0, x.part.Pieces())
	for b := range Block(x.part.Pieces()) {
		x.part.At(b, at)
		rank := 0
		for point := range w.At(cut, at) {
			rank = w.Rank(point)
			break
		}
		x.of = append(x.of, int32(rank))
	}
}

// placeWithin looks for the piece of the placement that contains each block, and assigns the block
// to the ranks of the piece. It returns false if some block is not inside one piece.
func (x *blockHomes) placeWithin(h *place.Home, sizes []int64) bool {
	if o := h.Ordered(); o != nil {
		if a := x.part.Ordered(); a == nil || !a.Ordered.Equal(o) {
			return false
		}
	}
	// by mode, the placement's range that contains each range of the axis
	of := make([][]int64, len(sizes))
	for m, cuts := range h.Cuts(sizes) {
		if cuts == nil {
			continue
		}
		axis := []int64{0, sizes[m]}
		if k := x.part.AxisOf(m); k >= 0 {
			if axis = x.part.Axes[k].Cuts; axis == nil {
				return false // cut by stored entries, and not by coordinates
			}
		}
		ok := false
		if of[m], ok = contained(axis, cuts); !ok {
			return false
		}
	}
	at := make([]int64, len(x.part.Axes))
	x.of = make([]int32, 0, x.part.Pieces())
	for b := range Block(x.part.Pieces()) {
		x.part.At(b, at)
		x.of = append(x.of, x.homeOf(h, of, at))
	}
	return true
}

// contained returns, for each range of fine, the index of the range of coarse that contains it.
// fine and coarse hold the ends of consecutive ranges. contained returns false if a range of fine
// overlaps several ranges of coarse.
//
// If each range of coarse consists of the same number n of ranges of fine, range k of fine belongs
// to range k/n of coarse. Otherwise, an empty range of fine on the boundary of two ranges of coarse
// belongs to the later one of the two.
func contained(fine, coarse []int64) ([]int64, bool) {
	of := make([]int64, len(fine)-1)
	if n := evenly(fine, coarse); n > 0 {
		for k := range of {
			of[k] = int64(k / n)
		}
		return of, true
	}
	at := 0
	for k := range of {
		for at+2 < len(coarse) && coarse[at+1] <= fine[k] {
			at++
		}
		if fine[k+1] > coarse[at+1] {
			return nil, false
		}
		of[k] = int64(at)
	}
	return of, true
}

// evenly returns n if each range of coarse consists of n ranges of fine. It returns 0 if the ranges
// of coarse do not consist of the same number of ranges of fine.
func evenly(fine, coarse []int64) int {
	n := (len(fine) - 1) / (len(coarse) - 1)
	if n*(len(coarse)-1) != len(fine)-1 {
		return 0
	}
	for k, c := range coarse {
		if fine[k*n] != c {
			return 0
		}
	}
	return n
}

// homeOf finds the ranks that store a block, and returns a number that identifies these ranks (see
// homeAt). block[k] is the index of the block's range along axis k. containing describes each mode
// m that the placement cuts: containing[m][r] is the index of the placement's range that contains
// range r of the mode's axis. If several dimensions of the machine cut the same mode, or the
// storage order, the last dimension varies fastest.
func (x *blockHomes) homeOf(h *place.Home, containing [][]int64, block []int64) int32 {
	coordinates := make([]int64, len(h.Dims))
	left := map[int]int64{}
	ordered := int64(0)
	for k := range x.part.Axes {
		if x.part.Axes[k].Ordered != nil {
			ordered = block[k]
		}
	}
	for d := len(h.Dims) - 1; d >= 0; d-- {
		switch c := h.Dims[d]; c.Kind {
		case place.Fix:
			coordinates[d] = c.At
		case place.Nonzeros:
			coordinates[d], ordered = ordered%x.machine[d], ordered/x.machine[d]
		case place.Cut:
			n, ok := left[c.Mode]
			if !ok {
				k := int64(0)
				if axis := x.part.AxisOf(c.Mode); axis >= 0 {
					k = block[axis]
				}
				n = containing[c.Mode][k]
			}
			coordinates[d], left[c.Mode] = n%x.machine[d], n/x.machine[d]
		}
	}
	return x.homeAt(h, coordinates)
}

// homeAt returns a number that identifies the ranks that store a block. The placement stores the
// block at the given coordinates of the machine. If a dimension is copied (kind place.Copy), the
// placement stores the block at all coordinates of this dimension, and the given coordinate must be
// 0.
//
// If no dimension is copied, the number is the rank. If some dimension is copied, the number is the
// index in x.lists of a list of ranks. Blocks with the same coordinates share a list.
func (x *blockHomes) homeAt(h *place.Home, coordinates []int64) int32 {
	if !slices.ContainsFunc(h.Dims, func(d place.HomeDim) bool { return d.Kind == place.Copy }) {
		return int32(x.rank(coordinates))
	}
	point := int64(0)
	for d, c := range coordinates {
		point = point*x.machine[d] + c
	}
	k, ok := x.numbers[point]
	if ok {
		return k
	}
	var list []int
	had := map[int]bool{}
	x.eachCopy(h, coordinates, 0, func() {
		if r := x.rank(coordinates); !had[r] {
			had[r], list = true, append(list, r)
		}
	})
	if x.numbers == nil {
		x.numbers = map[int64]int32{}
	}
	k = int32(len(x.lists))
	x.numbers[point], x.lists = k, append(x.lists, list)
	return k
}

// eachCopy calls yield for each combination of coordinates in the copied dimensions of the machine,
// from dimension d to the last one. A dimension is copied if its kind is place.Copy. Before each
// call, eachCopy stores the combination in at. The other coordinates in at keep their values.
func (x *blockHomes) eachCopy(h *place.Home, at []int64, d int, yield func()) {
	switch {
	case d == len(at):
		yield()
	case h.Dims[d].Kind == place.Copy:
		for at[d] = 0; at[d] < x.machine[d]; at[d]++ {
			x.eachCopy(h, at, d+1, yield)
		}
		at[d] = 0
	default:
		x.eachCopy(h, at, d+1, yield)
	}
}

// rank returns the rank of a point of the machine.
func (x *blockHomes) rank(at []int64) int {
	n := int64(0)
	for d, c := range at {
		n = n*x.machine[d] + c
	}
	return int(n % int64(x.size))
}

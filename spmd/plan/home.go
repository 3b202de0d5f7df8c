package plan

import (
	"slices"

	"distaff/codegen/place"
	"distaff/spmd/partition"
	"distaff/spmd/plan/flow"
)

// homes settles at which ranks the blocks of all tensors live.
func (p *Problem) homes(g *Given) (err error) {
	if p.ResultHome, err = p.home(g, p.Norm.LHS.Name, p.Norm.LHS.Vars, p.Result,
		p.ResultCut); err != nil {
		return err
	}
	if err := p.assemble(g); err != nil {
		return err
	}
	for k := range p.Operands {
		o := &p.Operands[k]
		if p.Added != nil && p.Added.Operand == k {
			if err := p.addend(g, o); err != nil {
				return err
			}
			continue
		}
		if o.Home, err = p.home(g, o.Tensor, o.Vars, o.Partition, o.Cut); err != nil {
			return err
		}
		if o.Gathered, err = p.gathered(g, o); err != nil {
			return err
		}
		if o.Gathered == nil && !o.Home.Holds {
			if err := p.apart(g, o); err != nil {
				return err
			}
		}
		if o.Gathered != nil || o.Parts != nil {
			o.Home.Holds, o.Home.Lies = true, nil
		}
	}
	return nil
}

// largeOperand is from how many elements on an operand without a placement is gathered, of which
// each rank reads the rows that chunks of a tensor's entries name.
const largeOperand = 1 << 17

// gathered is how the rows of an operand lie that is gathered: its placement cuts the mode of its
// outermost level alone, and the steps read all of it. Or it is large, has none, and chunks of
// entries name the rows that are read. Nil for any other.
func (p *Problem) gathered(g *Given, o *Operand) (*partition.Partition, error) {
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

// home settles at which ranks the blocks of a tensor live: each where its placement has the piece
// that it lies in. Without a placement, or where some block lies in several of its pieces, a
// distributed schedule has each at the first rank that runs a step with it, and a block schedule
// where Partition has it.
func (p *Problem) home(g *Given, tensor string, vars []string, part *partition.Partition,
	cut []int) (Home, error) {
	sizes := g.modes(vars)
	x := &homes{part: part, machine: g.machine().Dims(), size: p.Ranks}
	home := Home{Placement: g.Placements[tensor]}
	if home.Placement != nil {
		h, err := home.Placement.Resolve(g.machine(), g.Format(tensor).Order)
		if err != nil {
			return home, err
		}
		if home.Holds = !part.Overlaps() && x.within(h, sizes); !home.Holds && !part.Overlaps() &&
			part.Ordered() == nil {
			if home.Lies, err = p.lies(g, home.Placement, tensor, sizes); err != nil {
				return home, err
			}
			if part != p.Result && home.Lies != nil && home.Lies.Copies != nil {
				// each block is loaded where it is read, and not sent there from one of the copies
				home.Lies = nil
			}
		}
	}
	switch {
	case home.Holds:
		x.settle()
	case p.Distributed:
		x.first(p.Walk(), cut)
		x.settle()
	}
	return home, nil
}

// lies is the pieces of a placement whose tensor the steps want in other blocks.
func (p *Problem) lies(g *Given, placed place.Placement, tensor string,
	sizes []int64) (*partition.Partition, error) {
	if p.Ranks == 1 {
		return nil, nil
	}
	part, err := Placed(placed, g.machine(), sizes, g.Format(tensor).Order, p.Ranks)
	if err != nil || !part.Located() {
		return nil, err
	}
	return part, nil
}

// modes are the sizes of modes of these variables.
func (g *Given) modes(vars []string) []int64 {
	sizes := make([]int64, len(vars))
	for m, v := range vars {
		sizes[m] = g.Sizes[v]
	}
	return sizes
}

// Placed is the partition that a placement on a machine makes of a tensor with modes of these
// sizes, whose level l stores the mode order[l]. An ordered axis is not located.
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
	x := &homes{part: part, machine: m.Dims(), size: ranks}
	x.within(h, sizes)
	x.settle()
	return part, nil
}

// homes are the ranks where the blocks of a tensor live.
type homes struct {
	part    *partition.Partition
	machine []int64
	size    int             // the number of ranks
	of      []int32         // by block: the rank, or which of lists it is where those are used
	lists   [][]int         // the ranks of blocks with copies
	numbers map[int64]int32 // of lists, by the first point of the machine
}

// settle has the partition say so.
func (x *homes) settle() {
	if x.lists == nil {
		x.part.Owner = func(at []int64) int { return int(x.of[x.part.Of(at)]) }
		return
	}
	x.part.Owner = func(at []int64) int { return x.lists[x.of[x.part.Of(at)]][0] }
	if slices.ContainsFunc(x.lists, func(list []int) bool { return len(list) > 1 }) {
		x.part.Copies = func(at []int64) []int { return x.lists[x.of[x.part.Of(at)]] }
	}
}

// first has each block live at the rank of the first point that reads it.
func (x *homes) first(w *flow.Walk, cut []int) {
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

// within has each block live where the piece of a placement does that it lies in; false where one
// lies in several.
func (x *homes) within(h *place.Home, sizes []int64) bool {
	if o := h.Ordered(); o != nil {
		if a := x.part.Ordered(); a == nil || !a.Ordered.Equal(o) {
			return false
		}
	}
	of := make([][]int64, len(sizes)) // by mode, the placement's range of each range of the axis
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
		x.of = append(x.of, x.piece(h, of, at))
	}
	return true
}

// contained is, for each range of fine, the range of coarse in which it lies, false where it lies
// in several. Where each of coarse is cut into as many, empty ones too lie in the one that they are
// cut from.
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

// evenly is into how many ranges of fine each of coarse is cut, 0 where these are not as many of
// each.
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

// piece is where the block at these ranges of the axes lives, as of has it: of the dimensions that
// cut a mode, or the storage order, the inner ones count fastest.
func (x *homes) piece(h *place.Home, of [][]int64, at []int64) int32 {
	coordinates := make([]int64, len(h.Dims))
	left := map[int]int64{}
	ordered := int64(0)
	for k := range x.part.Axes {
		if x.part.Axes[k].Ordered != nil {
			ordered = at[k]
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
					k = at[axis]
				}
				n = of[c.Mode][k]
			}
			coordinates[d], left[c.Mode] = n%x.machine[d], n/x.machine[d]
		}
	}
	return x.points(h, coordinates)
}

// points is where a block lives whose placement has it at a point of the machine and at all that
// differ from it in copied dimensions, of which its coordinates are 0. Blocks that live at the same
// ranks share the list.
func (x *homes) points(h *place.Home, coordinates []int64) int32 {
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
	x.each(h, coordinates, 0, func() {
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

// each calls yield with all coordinates of copied dimensions, from dimension d on.
func (x *homes) each(h *place.Home, at []int64, d int, yield func()) {
	switch {
	case d == len(at):
		yield()
	case h.Dims[d].Kind == place.Copy:
		for at[d] = 0; at[d] < x.machine[d]; at[d]++ {
			x.each(h, at, d+1, yield)
		}
		at[d] = 0
	default:
		x.each(h, at, d+1, yield)
	}
}

// rank is that of a point of the machine.
func (x *homes) rank(at []int64) int {
	n := int64(0)
	for d, c := range at {
		n = n*x.machine[d] + c
	}
	return int(n % int64(x.size))
}

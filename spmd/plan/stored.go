package plan

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/spmd/partition"
)

// stored returns the index in Blocking.Vars of the variable that numbers chunks of a tensor's
// entries, or -1 if no tensor is cut into such chunks.
func (p *Problem) stored() int {
	if p.Blocking == nil {
		return -1
	}
	return slices.IndexFunc(p.Blocking.Vars, func(v place.BlockVar) bool { return v.Positions != nil })
}

// Stored returns the index of the operand whose entries are cut into chunks, or -1 if there is
// none.
func (p *Problem) Stored() int {
	v := p.stored()
	if v < 0 {
		return -1
	}
	return slices.IndexFunc(p.Operands,
		func(o Operand) bool { return o.Tensor == p.Blocking.Vars[v].Positions.Tensor })
}

// cutStored cuts the operand whose entries are divided into chunks. It cuts the operand along its
// storage order. If the result has variables of the levels that are cut, cutStored also cuts the
// result by the boxes of the operand's pieces (see partition.Image). If no operand is divided into
// chunks, cutStored does nothing.
func (pl *planner) cutStored() {
	p, g := pl.plan, pl.given
	v := p.stored()
	if v < 0 {
		return
	}
	at, o := p.Blocking.Vars[v].Positions, &p.Operands[p.Stored()]
	ordered := &place.Ordered{Cuts: at.Cuts}
	sizes := make([]int64, len(at.Vars))
	for l, name := range at.Vars {
		ordered.Modes, sizes[l] = append(ordered.Modes, slices.Index(o.Vars, name)), g.Sizes[name]
	}
	o.Cut = insert(o.Partition, o.Cut, v,
		partition.Axis{Modes: ordered.Modes, Ordered: ordered, Wide: pl.mergesLevel(o)})
	p.sizes = sizes
	image := partition.Axis{Image: &partition.Image{Of: o.Partition.Ordered(), Sizes: sizes}}
	for m, name := range p.Norm.LHS.Vars {
		if l := slices.Index(at.Vars, name); l >= 0 {
			image.Modes, image.Image.Shows = append(image.Modes, m), append(image.Image.Shows, l)
		}
	}
	if image.Modes != nil {
		p.ResultCut = insert(p.Result, p.ResultCut, v, image)
	}
}

// mergesLevel reports whether a dense level of o has the same variable as a level with stored
// coordinates in any operand. Leaves may then iterate over the stored coordinates. The stored
// coordinates may be cut in another way than o. If mergesLevel returns true, the box of each block
// of o therefore covers all coordinates (see partition.Axis.Wide).
func (pl *planner) mergesLevel(o *Operand) bool {
	p, g := pl.plan, pl.given
	for l, m := range g.Format(o.Tensor).Order {
		if !g.Format(o.Tensor).Levels[l].CanLocate() {
			continue
		}
		for k := range p.Operands {
			other := &p.Operands[k]
			f := g.Format(other.Tensor)
			for l, n := range f.Order {
				if f.Levels[l].HasCrd() && other.Vars[n] == o.Vars[m] {
					return true
				}
			}
		}
	}
	return false
}

// insert inserts axis a into a partition. v is the split variable that cuts axis a. cut holds the
// split variables of the existing axes. insert returns a copy of cut in which v is inserted at the
// index of axis a.
func insert(part *partition.Partition, cut []int, v int, a partition.Axis) []int {
	first := slices.Min(a.Modes)
	at := slices.IndexFunc(part.Axes,
		func(b partition.Axis) bool { return slices.Min(b.Modes) > first })
	if at < 0 {
		at = len(part.Axes)
	}
	part.Axes = slices.Insert(part.Axes, at, a)
	return slices.Insert(slices.Clone(cut), at, v)
}

// assemble chooses the final partition of a result whose blocks overlap, and leaves other results
// unchanged. There are three cases:
//   - If the result has a placement that does not cut entries, the result gets the partition of the
//     placement.
//   - Otherwise, if the outermost level of the result has the same variable as the outermost level
//     of the chunks, each row of the result belongs to the rank whose chunk has the first entry
//     that contributes to the row.
//   - Otherwise the result is cut evenly over the ranks.
func (pl *planner) assemble() error {
	p, g := pl.plan, pl.given
	v := p.stored()
	if v < 0 || p.Blocking.Vars[v].Reduction {
		return nil
	}
	f := g.Format(p.Norm.LHS.Name)
	placed, sizes, order := p.ResultHome.Placement, g.modes(p.Norm.LHS.Vars), f.Order
	if placed != nil {
		part, err := Placed(placed, g.machine(), sizes, order, p.Ranks)
		if err != nil {
			return err
		}
		if part.Ordered() == nil {
			p.Assembled, p.ResultHome.MatchesBlocks = part, true
			return nil
		}
	}
	at := p.Blocking.Vars[v].Positions
	// Innermost dense levels are not cut in the middle: a coordinate above them has one owner. If
	// other variables are cut too, only the outermost level is cut, because rows must be whole in
	// boxes.
	cuttable := max(1, len(order)-f.TrailingDense())
	if len(p.Result.Axes) > 1 {
		cuttable = 1
	}
	var prefix []int
	for l, m := range order[:cuttable] {
		if l == len(at.Vars) || p.Norm.LHS.Vars[m] != at.Vars[l] {
			break
		}
		prefix = append(prefix, m)
	}
	if prefix == nil {
		p.Assembled = partition.Evenly(sizes, order[0], p.Ranks)
		return nil
	}
	p.Assembled = &partition.Partition{Order: len(sizes)}
	var cut []int
	for k, a := range p.Result.Axes {
		if a.Image == nil {
			p.Assembled.Axes, cut = append(p.Assembled.Axes, a), append(cut, p.ResultCut[k])
		}
	}
	ordered := &place.Ordered{Modes: prefix, Cuts: slices.Clone(at.Cuts)}
	for k := range ordered.Cuts {
		ordered.Cuts[k].Level = min(ordered.Cuts[k].Level, len(prefix)-1)
	}
	cut = insert(p.Assembled, cut, v, partition.Axis{Modes: prefix, Ordered: ordered})
	from := make([]int, len(cut)) // by axis of Result, the index of the axis of Assembled
	for k, v := range p.ResultCut {
		from[k] = slices.Index(cut, v)
	}
	p.Assembled.Owner = func(pieces []int64) int {
		part := make([]int64, len(from))
		for k, n := range from {
			part[k] = pieces[n]
		}
		return p.Result.Owner(part)
	}
	return nil
}

// addend determines the partition of o, the old value of a += statement, if no step reads the old
// value. The old value is then added while the result is assembled. If o has a placement that does
// not cut entries, o gets the partition of the placement, without the placement's copies. Otherwise
// o is cut evenly over the ranks.
func (pl *planner) addend(o *Operand) error {
	p, g := pl.plan, pl.given
	sizes, order := g.modes(o.Vars), g.Format(o.Tensor).Order
	o.Home.Placement, o.Cut = g.Placements[o.Tensor], nil
	if o.Home.Placement != nil {
		part, err := Placed(o.Home.Placement, g.machine(), sizes, order, p.Ranks)
		if err != nil {
			return err
		}
		if part.Ordered() == nil {
			part.Copies = nil
			o.Partition, o.Home.MatchesBlocks = part, true
			return nil
		}
	}
	o.Partition = partition.Evenly(sizes, order[0], p.Ranks)
	return nil
}

// Summed returns the normal form of the complete right side: the terms that steps compute and, if
// p.Added is set, the old value of the result as the first term.
func (p *Problem) Summed() *notation.Normal {
	if p.Added == nil {
		return p.Norm
	}
	all := *p.Norm
	all.Terms = append([]*notation.Term{p.Added.Term}, p.Norm.Terms...)
	return &all
}

// FinalPartition returns the partition of the result after the last step and the assembly. The
// result may move to the pieces of its placement afterwards (see Home.Pieces).
func (p *Problem) FinalPartition() *partition.Partition {
	if p.Assembled != nil {
		return p.Assembled
	}
	return p.Result
}

// Located reports whether the keys that separate the chunks of an operand's entries are known or
// guessed. It returns true if no operand has such chunks.
func (p *Problem) Located() bool {
	at := p.Stored()
	return at < 0 || p.Operands[at].Partition.Located()
}

// Locate sets the keys that separate the chunks of an operand's entries. If keys is nil, Locate
// removes the keys. If the chunks also determine which rank stores each row of the result, Locate
// sets the keys of the result too. A row then belongs to the chunk with the first entry that
// contributes to the row.
func (p *Problem) Locate(keys [][]int64) {
	p.Operands[p.Stored()].Partition.Ordered().Keys = keys
	if p.Assembled == nil {
		return
	}
	if a := p.Assembled.Ordered(); a != nil {
		a.Keys = nil
		for _, key := range keys {
			a.Keys = append(a.Keys, shortened(key, len(a.Modes)))
		}
	}
}

// Guess sets estimated keys for the chunks of an operand's entries (see Locate). It assumes that
// the entries are spread evenly. sizes holds the sizes of the operand's modes, and entries is the
// estimated number of the operand's entries.
func (p *Problem) Guess(sizes []int64, entries float64) {
	a := p.Operands[p.Stored()].Partition.Ordered()
	a.Guess(sizes, entries)
	p.Locate(a.Keys)
	if p.Assembled == nil {
		return
	}
	if assembled := p.Assembled.Ordered(); assembled != nil {
		assembled.Guessed, assembled.Entries = true, entries
	}
}

// shortened returns a key of n coordinates that is close to key but not before key. Its coordinates
// are the first n coordinates of key. If a later coordinate of key is not 0, some tuples with the
// same n coordinates come before key. The last of the n coordinates is then incremented, so that
// the new key comes after all such tuples. If key is nil, shortened returns nil.
func shortened(key []int64, n int) []int64 {
	if key == nil || n == len(key) {
		return key
	}
	short := slices.Clone(key[:n])
	if slices.ContainsFunc(key[n:], func(c int64) bool { return c > 0 }) {
		short[n-1]++
	}
	return short
}

// Bounds computes the ranges of coordinates that a chunk of entries covers. There is one range for
// each variable of the levels that are cut into chunks. Bounds stores the ranges in the map ranges,
// by the variables' names. chunk is the number of the chunk. If the keys of the chunks are not
// known, the ranges may only be guesses.
func (p *Problem) Bounds(chunk int64, ranges map[string][2]int64) {
	o := &p.Operands[p.Stored()]
	a := o.Partition.Ordered()
	for k, r := range a.Bounds(chunk, p.sizes) {
		ranges[o.Vars[a.Modes[k]]] = r
	}
}

// Part returns the region that block b of the result covers: a box of coordinates and two keys. In
// storage order, the region has only the entries of the box from key lower up to, but not
// including, key upper. If a key is nil, the region has no bound on that side. sizes holds the
// sizes of the result's modes.
func (p *Problem) Part(b Block, sizes []int64) (box [][2]int64, lower, upper []int64) {
	box = p.Result.Box(b, sizes)
	assembled := p.Assembled.Ordered()
	if assembled == nil || assembled.Keys == nil {
		return box, nil, nil
	}
	at := make([]int64, len(p.Result.Axes))
	p.Result.At(b, at)
	for k, a := range p.Result.Axes {
		if a.Image != nil {
			lower, upper = a.Image.Of.Keys[at[k]], a.Image.Of.Keys[at[k]+1]
		}
	}
	n := len(assembled.Modes)
	return box, lower[:min(n, len(lower))], shortened(upper, n)
}

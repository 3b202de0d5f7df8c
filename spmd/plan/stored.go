package plan

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/spmd/partition"
)

// stored is the index in Vars of the chunks of a tensor's entries; -1 where the statement has none.
func (p *Problem) stored() int {
	if p.Blocking == nil {
		return -1
	}
	return slices.IndexFunc(p.Blocking.Vars, func(v place.BlockVar) bool { return v.Positions != nil })
}

// Stored is the operand of which the loops go through chunks of entries; -1 for none.
func (p *Problem) Stored() int {
	v := p.stored()
	if v < 0 {
		return -1
	}
	return slices.IndexFunc(p.Operands,
		func(o Operand) bool { return o.Tensor == p.Blocking.Vars[v].Positions.Tensor })
}

// cutStored cuts the tensor whose entries have chunks along its storage order, and the blocks of
// the result, where it shares coordinates with that, by the boxes of its pieces.
func (p *Problem) cutStored(g *Given) {
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
		partition.Axis{Modes: ordered.Modes, Ordered: ordered, Wide: p.merges(g, o)})
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

// merges tells whether leaves go through the coordinates that another operand stores of a variable
// for which an operand has a dense level. That operand is not cut with this one, so that each block
// of this one has to have the level whole.
func (p *Problem) merges(g *Given, o *Operand) bool {
	for l, m := range g.Format(o.Tensor).Order {
		if !g.Format(o.Tensor).Levels[l].Caps().Locate {
			continue
		}
		for k := range p.Operands {
			other := &p.Operands[k]
			f := g.Format(other.Tensor)
			for l, n := range f.Order {
				if f.Levels[l].Caps().HasCrd && other.Vars[n] == o.Vars[m] {
					return true
				}
			}
		}
	}
	return false
}

// insert puts an axis, which split variable v cuts, into a partition whose axes these variables
// cut.
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

// assemble settles how the result lies that steps make in parts which overlap: as its placement
// says; else its rows lie with the entries that they are made of, where they are stored in the
// order of these, and evenly over the ranks where not.
func (p *Problem) assemble(g *Given) error {
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
			p.Assembled, p.ResultHome.Holds = part, true
			return nil
		}
	}
	at := p.Blocking.Vars[v].Positions
	// Innermost dense levels are not cut in the middle: a coordinate above them has one owner. Nor is
	// anything below the outermost level, where other variables are cut too: rows then are whole in
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
	from := make([]int, len(cut)) // by axis of Result, the one of Assembled
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

// addend settles how an operand lies that no step reads: as its placement says, where that cuts
// coordinates, and else evenly over the ranks. Of copies one is read.
func (p *Problem) addend(g *Given, o *Operand) error {
	sizes, order := g.modes(o.Vars), g.Format(o.Tensor).Order
	o.Home.Placement, o.Cut = g.Placements[o.Tensor], nil
	if o.Home.Placement != nil {
		part, err := Placed(o.Home.Placement, g.machine(), sizes, order, p.Ranks)
		if err != nil {
			return err
		}
		if part.Ordered() == nil {
			part.Copies = nil
			o.Partition, o.Home.Holds = part, true
			return nil
		}
	}
	o.Partition = partition.Evenly(sizes, order[0], p.Ranks)
	return nil
}

// Summed is the normal form of all that the result is made of: of the terms that steps compute, and
// of what is added to them.
func (p *Problem) Summed() *notation.Normal {
	if p.Added == nil {
		return p.Norm
	}
	all := *p.Norm
	all.Terms = append([]*notation.Term{p.Added.Term}, p.Norm.Terms...)
	return &all
}

// Resting is how the result lies when the statement has run.
func (p *Problem) Resting() *partition.Partition {
	if p.Assembled != nil {
		return p.Assembled
	}
	return p.Result
}

// Located tells whether it is known where chunks of entries begin.
func (p *Problem) Located() bool {
	at := p.Stored()
	return at < 0 || p.Operands[at].Partition.Located()
}

// Locate takes over the keys at which the pieces of the operand begin whose entries have chunks,
// nil for none. Rows of the result lie with the first of the entries that they are made of.
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

// Guess locates the pieces of the operand whose entries, about so many, have chunks as if these
// were spread evenly over its sizes. A chunk that begins within a row shares it with the one
// before.
func (p *Problem) Guess(sizes []int64, entries float64) {
	a := p.Operands[p.Stored()].Partition.Ordered()
	a.Guess(sizes, entries)
	p.Locate(a.Keys)
	if p.Assembled == nil {
		return
	}
	if rests := p.Assembled.Ordered(); rests != nil {
		rests.Guessed, rests.Entries = true, entries
	}
}

// shortened is a key for the first n coordinates alone: what begins in the middle of the entries
// that share them begins behind these.
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

// Bounds sets, of each variable of the levels whose entries have chunks, the range that holds the
// coordinates of a chunk.
func (p *Problem) Bounds(chunk int64, ranges map[string][2]int64) {
	o := &p.Operands[p.Stored()]
	a := o.Partition.Ordered()
	for k, r := range a.Bounds(chunk, p.sizes) {
		ranges[o.Vars[a.Modes[k]]] = r
	}
}

// Splits lists the variables of which leaves get a part of the range: those that are split, and
// those of the levels whose entries have chunks.
func (p *Problem) Splits() (list []string) {
	for _, v := range p.Blocking.Vars {
		if v.Positions != nil {
			list = append(list, v.Positions.Vars...)
		} else {
			list = append(list, v.Name)
		}
	}
	return list
}

// Part is the region of a block of the result that steps make: its box, and the keys between which
// its entries lie in storage order, where they are those of a piece of the operand, or begin and
// end with their coordinates.
func (p *Problem) Part(b Block, sizes []int64) (box [][2]int64, from, to []int64) {
	box = p.Result.Box(b, sizes)
	rests := p.Assembled.Ordered()
	if rests == nil || rests.Keys == nil {
		return box, nil, nil
	}
	at := make([]int64, len(p.Result.Axes))
	p.Result.At(b, at)
	for k, a := range p.Result.Axes {
		if a.Image != nil {
			from, to = a.Image.Of.Keys[at[k]], a.Image.Of.Keys[at[k]+1]
		}
	}
	n := len(rests.Modes)
	return box, from[:min(n, len(from))], shortened(to, n)
}

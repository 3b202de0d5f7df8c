package plan

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"distaff/spmd/plan/flow"
)

// Add is one addition of a tree sum: the partial block From is added to the partial block To. Both
// must be complete. If their ranks differ, From is sent to To's rank.
type Add struct {
	From, To Partial
}

// Sum describes how the partial blocks of a result block are added up. Adds lists the additions. An
// addition may start when all earlier additions that use one of its two partial blocks are done. At
// the end, the block is sent from the rank of Root to Owner if these are different ranks.
type Sum struct {
	Result Block
	Adds   []Add
	Root   Partial
	Owner  int
	Copies []int // the other ranks with a copy of the block, which Owner sends to them
}

// Partials returns every partial block, ordered by result block, then by the ranges of the extended
// variables, then by rank.
func (p *Problem) Partials() []Partial {
	var list []Partial
	x := p.summing()
	for b := range Block(p.Result.Pieces()) {
		list = append(list, x.partials(b)...)
	}
	return list
}

// summing computes the sums of result blocks.
type summing struct {
	p         *Problem
	extended  []int
	at, tuple []int64
	finder    *flow.Finder
	groups    []int
	seen      map[Partial]bool
}

func (p *Problem) summing() *summing {
	x := &summing{p: p, extended: p.Blocking.Extended(), at: make([]int64, len(p.ResultCut)),
		tuple: make([]int64, len(p.Blocking.Vars)), seen: map[Partial]bool{}}
	fixed := make([]bool, len(p.Nest.Loops))
	if p.Blocking.IsUniform() {
		fixed, _ = p.repeats(x.extended)
	}
	x.finder = p.Walk().Finder(p.ResultCut, fixed)
	return x
}

// partials returns the partial blocks of one result block, in the order of Partials.
func (x *summing) partials(b Block) []Partial {
	p := x.p
	p.Result.At(b, x.at)
	clear(x.seen)
	var list []Partial
	w := p.Walk()
	for point := range x.finder.At(x.at) {
		p.tuple(point, x.tuple)
		part := Partial{b, p.block(x.extended, x.tuple), w.Rank(point)}
		if x.seen[part] {
			continue
		}
		if x.groups = p.Blocking.Running(x.tuple, x.groups); len(x.groups) > 0 {
			x.seen[part] = true
			list = append(list, part)
		}
	}
	slices.SortFunc(list, func(a, b Partial) int {
		return cmp.Or(cmp.Compare(a.Extend, b.Extend), cmp.Compare(a.Rank, b.Rank))
	})
	return list
}

// Sums returns the tree sum of every result block that steps contribute to, in the order of blocks.
func (p *Problem) Sums() []Sum { return slices.Collect(p.EachSum()) }

// EachSum yields the sums of Sums, one after another.
func (p *Problem) EachSum() iter.Seq[Sum] {
	return func(yield func(Sum) bool) {
		x := p.summing()
		for b := range Block(p.Result.Pieces()) {
			if s, ok := x.sum(b); ok && !yield(s) {
				return
			}
		}
	}
}

// SumsOf returns the sums that a rank takes part in, in the order of their blocks. A rank takes
// part in the sum of a block if its steps add to the block, or if it owns the block or has a copy
// of it.
func (p *Problem) SumsOf(rank int) []Sum {
	blocks := map[Block]bool{}
	for s := range p.EachStep(rank) {
		blocks[s.Partial.Result] = true
	}
	for b := range Block(p.Result.Pieces()) {
		if !blocks[b] && slices.Contains(p.Result.Ranks(b), rank) {
			blocks[b] = true
		}
	}
	var sums []Sum
	x := p.summing()
	for _, b := range slices.Sorted(maps.Keys(blocks)) {
		if s, ok := x.sum(b); ok {
			sums = append(sums, s)
		}
	}
	return sums
}

// sum returns the sum of one block, or false if no step contributes to the block. Partial block k
// is element k of the list that partials returns. In round r, partial block k + 2^r is added to
// partial block k, for each k that is a multiple of 2^(r+1). The order of the additions does not
// depend on timing, because the list is sorted by the ranges of the extended variables, then by
// rank.
func (x *summing) sum(b Block) (Sum, bool) {
	parts := x.partials(b)
	if len(parts) == 0 {
		return Sum{}, false
	}
	ranks := x.p.Result.Ranks(b)
	s := Sum{Result: b, Root: parts[0], Owner: ranks[0], Copies: ranks[1:]}
	for d := 1; d < len(parts); d *= 2 {
		for k := 0; k+d < len(parts); k += 2 * d {
			s.Adds = append(s.Adds, Add{From: parts[k+d], To: parts[k]})
		}
	}
	return s, true
}

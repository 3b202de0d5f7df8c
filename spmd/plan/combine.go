package plan

import (
	"cmp"
	"slices"
)

// Add is one addition of a tree sum: rank From's partial block is added to rank
// To's, which must both be complete. Where the ranks differ, the block travels.
type Add struct {
	From, To Partial
}

// Sum is how the partial blocks of one result block become the block: Adds in
// an order in which each may run once those before it that touch the same
// partials have, then the block at Root moves to Owner where that is another rank.
type Sum struct {
	Result Block
	Adds   []Add
	Root   Partial
	Owner  int
}

// Partials lists every partial block of the job, by result block, then by the
// ranges of the extended variables, then by rank.
func (p *Problem) Partials() []Partial {
	result, extend := p.SpaceOf(p.Result), p.SpaceOf(p.extended())
	seen := map[Partial]bool{}
	var list []Partial
	for tuple := range p.tuples() {
		part := Partial{result.Of(tuple), extend.Of(tuple), p.Rank(tuple)}
		if seen[part] {
			continue
		}
		for g := range p.Groups {
			if p.runs(g, tuple) {
				seen[part] = true
				list = append(list, part)
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b Partial) int {
		return cmp.Or(cmp.Compare(a.Result, b.Result), cmp.Compare(a.Extend, b.Extend), cmp.Compare(a.Rank, b.Rank))
	})
	return list
}

// Sums is the tree sum of every result block, in the order of blocks. In round
// r, partial k with k a multiple of 2^(r+1) takes in partial k + 2^r: the order
// is that of the extended ranges and ranks, whatever the timing.
func (p *Problem) Sums() []Sum {
	var sums []Sum
	list := p.Partials()
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Result == list[0].Result {
			n++
		}
		parts := list[:n]
		list = list[n:]
		s := Sum{Result: parts[0].Result, Root: parts[0], Owner: p.Owner(p.Result, parts[0].Result)}
		for d := 1; d < n; d *= 2 {
			for k := 0; k+d < n; k += 2 * d {
				s.Adds = append(s.Adds, Add{From: parts[k+d], To: parts[k]})
			}
		}
		sums = append(sums, s)
	}
	return sums
}

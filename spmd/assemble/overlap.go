package assemble

import (
	"cmp"
	"slices"
	"sort"
)

// overlaps finds the parts that overlap a piece.
type overlaps struct {
	s *Sum
	// list has the parts sorted by the start of their range in this mode. ends[n] is the largest
	// end of the first n+1 parts of list. For a scalar, mode is -1, and every part overlaps every
	// piece.
	mode int
	list []int
	ends []int64
}

// overlap says that a part and a piece overlap, and in which region.
type overlap struct {
	part   int
	region Region // in normal form
}

// overlaps returns an index for finding the parts that overlap a piece quickly. It sorts the parts
// by their start in one mode. It chooses the mode with the largest number of different starts.
func (s *Sum) overlaps() *overlaps {
	x := &overlaps{s: s, mode: -1}
	most := 0
	for m := range s.Like.Layout.Dims {
		seen := map[int64]bool{}
		for k := range s.Parts {
			seen[s.Parts[k].Region.Box[m][0]] = true
		}
		if len(seen) > most {
			x.mode, most = m, len(seen)
		}
	}
	for k := range s.Parts {
		x.list = append(x.list, k)
	}
	if x.mode < 0 {
		return x
	}
	at := func(k int) [2]int64 { return s.Parts[k].Region.Box[x.mode] }
	slices.SortFunc(x.list, func(a,
		b int) int {
		return cmp.Or(cmp.Compare(at(a)[0], at(b)[0]), cmp.Compare(a, b))
	})
	for n, k := range x.list {
		x.ends = append(x.ends, at(k)[1])
		if n > 0 {
			x.ends[n] = max(x.ends[n], x.ends[n-1])
		}
	}
	return x
}

// of returns the overlaps of the parts with piece k, in the order of the parts.
func (x *overlaps) of(k int) []overlap {
	piece := x.s.Pieces[k].Region
	first, end := 0, len(x.list)
	if x.mode >= 0 {
		r := piece.Box[x.mode]
		first = sort.Search(len(x.list), func(n int) bool { return x.ends[n] > r[0] })
		end = sort.Search(len(x.list),
			func(n int) bool { return x.s.Parts[x.list[n]].Region.Box[x.mode][0] >= r[1] })
	}
	var out []overlap
	for n := first; n < end; n++ {
		part := x.list[n]
		if r, ok := piece.common(x.s.Parts[part].Region, x.s.Like.Layout.Format.Order); ok {
			out = append(out, overlap{part, r})
		}
	}
	slices.SortFunc(out, func(a, b overlap) int { return cmp.Compare(a.part, b.part) })
	return out
}

// normal returns the region r in normal form (see Region.common), or false if it is empty.
func (x *overlaps) normal(r Region) (Region,
	bool) {
	return r.common(r, x.s.Like.Layout.Format.Order)
}

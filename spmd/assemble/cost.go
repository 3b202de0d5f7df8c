package assemble

import (
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// Cost is what Run takes at each rank.
type Cost struct {
	Kept []int64 // by pieces, and what is Left
	Peak []int64 // by those and what is on its way to them, beside the parts
	// Left is by pieces that other ranks of the process have in this one's memory: those that one part
	// has all of.
	Left []int64
}

// Drift is how far from where they are taken to begin regions may begin in storage order, whose
// keys are guessed: a region may have that share more of what it is taken to have, and parts have
// something of that many more pieces, and pieces of so many more parts.
type Drift struct {
	Share   float64
	Regions int64
}

// of is what a region of such a size may have more, in copies with empty arrays of so many bytes.
func (d Drift) of(bytes, empty int64) int64 {
	return int64(math.Ceil(d.Share*float64(bytes))) + d.Regions*empty
}

// position is the bytes of a position in a map into a union (reduce.Union).
const position = 8

// Cost tells what Run takes at most at so many ranks, of the sizes that regions are taken to have,
// which may be off by drift, and level arrays of those widths.
func (s *Sum) Cost(ranks int, pos, crd []uint8, drift Drift, size func(r Region) plan.Size) Cost {
	c := Cost{Kept: make([]int64, ranks), Peak: make([]int64, ranks), Left: make([]int64, ranks)}
	// by part, which stays as a whole where a piece is a view of it
	left := make([]int64, len(s.Parts))
	sent, building := make([]int64, ranks), make([]int64, ranks)
	x := s.overlaps()
	for k, piece := range s.Pieces {
		list := x.of(k)
		z := size(piece.Region)
		c.Kept[piece.Rank] += z.Memory()
		building[piece.Rank] = max(building[piece.Rank],
			s.building(piece, list, z, pos, crd, size)+drift.of(z.Memory()+position*z.Most(),
				s.copied(plan.Size{})+position))
		for _, h := range list {
			if from := s.Parts[h.part].Rank; from != piece.Rank {
				n := s.copied(size(h.region))
				if sent[from] += n; len(list) == 1 {
					left[h.part] += n
				}
			}
		}
	}
	for k, n := range left {
		part := size(s.Parts[k].Region).Memory()
		more := drift.of(part, s.copied(plan.Size{}))
		sent[s.Parts[k].Rank] += more
		if n > 0 {
			n = max(n, part)
		}
		c.Left[s.Parts[k].Rank] += n + more
	}
	for rank := range c.Peak {
		c.Peak[rank] = c.Kept[rank] + building[rank] + max(sent[rank], c.Left[rank])
		c.Kept[rank] += c.Left[rank]
	}
	return c
}

// copied is what a copy of a part takes, each of whose arrays takes some memory, also where it is
// empty.
func (s *Sum) copied(z plan.Size) int64 {
	n := z.Memory()
	for _, k := range s.Like.Kinds {
		if kind := tcs.KindOf(byte(k)); kind.HasCrd() {
			n += 2 * tcs.Align
		}
	}
	return n
}

// building is what making a piece of size z takes beside it: of a dense tensor what comes of one
// part, and of others what all parts have of it, the maps of these, and level arrays on their way.
func (s *Sum) building(piece Piece, list []share, z plan.Size, pos, crd []uint8,
	size func(r Region) plan.Size) (bytes int64) {
	dense := tcs.AllDense(s.Like.Kinds)
	for _, h := range list {
		part := size(h.region)
		switch {
		case !dense:
			bytes += part.Memory() + position*(part.Most()+1)
		case s.Parts[h.part].Rank != piece.Rank:
			bytes = max(bytes, part.Memory())
		}
	}
	if !dense {
		levels := z.Memory() - z.Most()*int64(s.Like.Type.Size())
		pos = slices.Clone(pos)
		for l := range pos {
			if crd[l] > 0 && pos[l] == 0 { // as a compressed level it has positions while it is made
				pos[l] = crd[l]
				levels += int64(pos[l]) * (z.Most() + 1)
			}
		}
		bytes += reduce.Building(levels, pos, crd)
	}
	return bytes
}

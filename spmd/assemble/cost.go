package assemble

import (
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// Cost is the memory in bytes that Run needs at each rank.
type Cost struct {
	Kept []int64 // pieces, and Left
	Peak []int64 // largest use during Run, besides the parts: Kept, and data that is added or sent
	// Left is, for each rank, the memory that pieces of other ranks of the same process use. A
	// piece is counted if the only part that overlaps it is at another rank.
	Left []int64
}

// Drift bounds the errors of estimates for regions whose keys are only guessed. The size of such a
// region is at most (1 + Share) times its estimated size. Regions is a number of overlaps. A part
// overlaps at most this many more pieces than estimated, and a piece overlaps at most this many
// more parts than estimated.
type Drift struct {
	Share   float64
	Regions int64
}

// excess returns an upper bound of the memory, in bytes, that a region needs beyond its estimated
// size. The estimate may be too small, and the region may be copied more often than estimated. The
// result is for all copies together. bytes is the estimated size, and empty is the size of a copy
// without entries.
func (d Drift) excess(bytes, empty int64) int64 {
	return int64(math.Ceil(d.Share*float64(bytes))) + d.Regions*empty
}

// position is the size, in bytes, of one element of a map that reduce.Union returns. The map
// contains, for each entry of a tensor, its position in the union of several patterns.
const position = 8

// Cost returns an upper bound of the memory that Run needs at each rank. ranks is the number of
// ranks. size returns the estimated size of a region, and drift bounds the error of the estimate.
// pos and crd are the widths of the level arrays.
func (s *Sum) Cost(ranks int, pos, crd []uint8, drift Drift, size func(r Region) plan.Size) Cost {
	c := Cost{Kept: make([]int64, ranks), Peak: make([]int64, ranks), Left: make([]int64, ranks)}
	// by part, which stays allocated entirely if a piece is a view of it
	left := make([]int64, len(s.Parts))
	sent, building := make([]int64, ranks), make([]int64, ranks)
	x := s.overlaps()
	for k, piece := range s.Pieces {
		list := x.of(k)
		z := size(piece.Region)
		c.Kept[piece.Rank] += z.Memory()
		building[piece.Rank] = max(building[piece.Rank],
			s.building(piece, list, z, pos, crd, size)+drift.excess(z.Memory()+position*z.Most(),
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
		more := drift.excess(part, s.copied(plan.Size{}))
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

// copied returns the size in bytes of a copy of a part. Each array occupies some memory even if it
// is empty.
func (s *Sum) copied(z plan.Size) int64 {
	n := z.Memory()
	for _, k := range s.Like.Layout.Format.Levels {
		if kind := tensor.Kind(k); kind.HasCrd() {
			n += 2 * tcs.Align
		}
	}
	return n
}

// building returns the memory that is needed to compute a piece of size z, in addition to the piece
// itself. For a dense tensor it is the size of the largest overlap from another rank. For other
// tensors it is the sum of three sizes: the overlaps of all parts, the maps from their entries to
// the union, and level arrays that are enlarged while the union is made.
func (s *Sum) building(piece Piece, list []overlap, z plan.Size, pos, crd []uint8,
	size func(r Region) plan.Size) (bytes int64) {
	dense := s.Like.Layout.Format.AllDense()
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
		levels := z.Memory() - z.Most()*int64(s.Like.Layout.Type.Size())
		pos = slices.Clone(pos)
		for l := range pos {
			// a compressed level, which has positions while it is built
			if crd[l] > 0 && pos[l] == 0 {
				pos[l] = crd[l]
				levels += int64(pos[l]) * (z.Most() + 1)
			}
		}
		bytes += reduce.Building(levels, pos, crd)
	}
	return bytes
}

package place

import (
	"math"
	"math/bits"

	"distaff/codegen/diag"
)

// idleMost limits the work of a rank in an accepted grid, in percent. The rank with the most work
// may have at most idleMost percent more work than in the grid with the least work per rank. Of the
// accepted grids, the one with the least communication is chosen.
const idleMost = 3

// Cosma returns the machine over i, j and k for a product of dense matrices of m by k and k by n
// elements, as COSMA chooses it (Kwasniewski et al., "Red-Blue Pebbling Revisited", 2019).
//
// It considers the grids of at most ranks points whose ranks have about the least possible work.
// From these it takes the grid whose ranks receive the fewest elements on average. It assumes that
// each operand is stored on one face of the grid. A rank divides the range of k of its block into
// Steps parts, and computes one part after another. Steps is the smallest number for which the
// rank's memory suffices. memory is the number of elements that a rank can store, or 0 for
// unlimited memory.
func Cosma(m, n, k int64, ranks int64, memory int64) (*Machine, error) {
	p := product{m: max(m, 1), n: max(n, 1), k: max(k, 1), memory: memory}
	least := -1.0
	p.grids(ranks, func(g grid3) {
		if w := p.work(g); p.steps(g) > 0 && (least < 0 || w < least) {
			least = w
		}
	})
	if least < 0 {
		return nil, diag.Errorf("machine",
			"a product of %d by %d and %d by %d elements needs more memory than %d ranks with "+
				"%d elements each have; want more ranks or more memory",
			m, k, k, n, ranks, memory)
	}
	var best grid3
	words := -1.0
	p.grids(ranks, func(g grid3) {
		if p.work(g) > least*(100+idleMost)/100 || p.steps(g) == 0 {
			return
		}
		w := p.words(g)
		// Among grids with equal words up to rounding, fewer partial results are better.
		if same := math.Abs(w-words) <= 1e-9*w; words < 0 || w < words && !same ||
			same && g[2] < best[2] {
			best, words = g, w
		}
	})
	return &Machine{Name: "M", Grids: []Grid{{Extents: best[:]}}, Steps: p.steps(best)}, nil
}

// product is a product of matrices for which a grid is chosen.
type product struct{ m, n, k, memory int64 }

// grid3 has the extents of a grid over m, n and k.
type grid3 [3]int64

// grids calls yield for grids of at most the given number of ranks. For each choice of the first
// two extents, it takes the largest third extent that is possible.
func (p *product) grids(ranks int64, yield func(grid3)) {
	for x := int64(1); x <= min(ranks, p.m); x++ {
		for y := int64(1); y <= min(ranks/x, p.n); y++ {
			yield(grid3{x, y, max(min(ranks/(x*y), p.k), 1)})
		}
	}
}

// block returns the size of the largest block of a rank.
func (p *product) block(g grid3) (m, n, k int64) {
	return ceil(p.m, g[0]), ceil(p.n, g[1]), ceil(p.k, g[2])
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// work returns the number of multiply-adds of the rank that has the most.
func (p *product) work(g grid3) float64 {
	m, n, k := p.block(g)
	return float64(m) * float64(n) * float64(k)
}

// words returns the average number of elements that a rank receives: of both operands, and of
// partial results.
func (p *product) words(g grid3) float64 {
	m, n, k := float64(p.m), float64(p.n), float64(p.k)
	x, y, z := float64(g[0]), float64(g[1]), float64(g[2])
	return m*k/(x*z)*(1-1/y) + k*n/(y*z)*(1-1/x) + m*n/(x*y)*(1-1/z)
}

// steps returns the number of parts into which a rank divides the range of k of its block. It
// returns 0 if the data does not fit in memory with any number of parts. A rank stores its own
// blocks of the operands and its partial result. If the sum is divided among ranks, it also stores
// another partial result, which it receives and adds. If parts of the operands arrive, it stores
// two parts of each operand: the part that it multiplies, and the part that it is receiving.
func (p *product) steps(g grid3) int64 {
	if p.memory == 0 {
		return 1
	}
	m, n, k := p.block(g)
	result, over := product64(m, n)
	left, over2 := product64(m, k)
	right, over3 := product64(k, n)
	if over || over2 || over3 {
		return 0
	}
	if g[2] > 1 {
		result *= 2
	}
	free := p.memory - result - left - right
	switch {
	case free < 0:
		return 0
	case g[0] == 1 && g[1] == 1: // nothing arrives
		return 1
	case free == 0:
		return 0
	}
	for s := ceil(2*(left+right), free); s <= k; s++ {
		if 2*ceil(k, s)*(m+n) <= free {
			return s
		}
	}
	return 0
}

// product64 returns a*b. The second result is true if the product is so large that a sum of a few
// such products may overflow.
func product64(a, b int64) (int64, bool) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return int64(low), high != 0 || low > 1<<59
}

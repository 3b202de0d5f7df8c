package pairs

import (
	"math"
	"math/bits"
)

// set is a set of variables, with one bit for each.
type set []uint64

func (s set) has(v int) bool { return s[v/64]>>(v%64)&1 != 0 }
func (s set) add(v int)      { s[v/64] |= 1 << (v % 64) }

// space is a problem in numbers.
type space struct {
	problem *Problem
	words   int       // of a set
	logs    []float64 // logarithms of the variables' sizes, to base 2
	// unit is the logarithm of the size of each variable if all have the same size, otherwise 0.
	unit   float64
	dense  bool // all factors have density 1
	leaves []item
	result set
	// holders has the number of factors with each variable, plus 1 if the result has it.
	holders []int
}

// item is a factor or an intermediate.
type item struct {
	vars set
	size float64 // logarithm of the number of places
	// filled is the logarithm of the expected number of products for each place. If it is far below
	// 0, it is the logarithm of the density.
	filled float64
}

func newSpace(p *Problem) *space {
	s := &space{problem: p, words: (len(p.Sizes) + 63) / 64, dense: true,
		holders: make([]int, len(p.Sizes))}
	for _, n := range p.Sizes {
		s.logs = append(s.logs, math.Log2(max(n, 1)))
	}
	s.setUnit()
	s.result = s.newSet()
	for _, v := range p.Result {
		s.result.add(v)
		s.holders[v]++
	}
	for _, f := range p.Factors {
		for _, v := range f.Vars {
			s.holders[v]++
		}
	}
	for f := range p.Factors {
		s.leaves = append(s.leaves, s.leaf(f))
	}
	return s
}

// leaf returns factor f after the sum over the variables that only it has.
func (s *space) leaf(f int) item {
	x, all := item{vars: s.newSet()}, 0.0
	for _, v := range s.problem.Factors[f].Vars {
		if all += s.logs[v]; s.holders[v] > 1 {
			x.vars.add(v)
		}
	}
	density := s.problem.Factors[f].Density
	s.dense = s.dense && density >= 1
	x.size = s.sizeOf(x.vars)
	x.filled = math.Log2(max(density, 1e-300)) + all - x.size
	return x
}

// setUnit finds whether all variables have the same size.
func (s *space) setUnit() {
	s.unit = 0
	for k, l := range s.logs {
		if k == 0 {
			s.unit = l
		} else if l != s.unit {
			s.unit = 0
		}
	}
}

func (s *space) newSet() set { return make(set, max(s.words, 1)) }

// sizeOf returns the logarithm of the number of places of the variables.
func (s *space) sizeOf(vars set) float64 {
	if s.unit > 0 {
		n := 0
		for _, w := range vars {
			n += bits.OnesCount64(w)
		}
		return float64(n) * s.unit
	}
	size := 0.0
	for k, w := range vars {
		for ; w != 0; w &= w - 1 {
			size += s.logs[64*k+bits.TrailingZeros64(w)]
		}
	}
	return size
}

// unionSize returns the logarithm of the number of places of the variables of both sets.
func (s *space) unionSize(a, b set) float64 {
	if s.unit > 0 {
		n := 0
		for k, w := range a {
			n += bits.OnesCount64(w | b[k])
		}
		return float64(n) * s.unit
	}
	size := 0.0
	for k, w := range a {
		for w |= b[k]; w != 0; w &= w - 1 {
			size += s.logs[64*k+bits.TrailingZeros64(w)]
		}
	}
	return size
}

// density returns the expected share of an item's places with a value.
func (s *space) density(filled float64) float64 {
	if s.dense || filled > 6 {
		return 1
	}
	return -math.Expm1(-math.Exp2(filled))
}

// leafDensity returns the density of factor f after the sum over its own variables.
func (s *space) leafDensity(f int) float64 {
	if s.problem.Factors[f].Density >= 1 {
		return 1
	}
	return s.density(s.leaves[f].filled)
}

// sparseCost is the cost of one multiply-add into a sparse intermediate. One into a dense
// intermediate costs 1. Intermediates of a density below sparseBelow are sparse.
const sparseCost, sparseBelow = 8, 0.3

// placeCost is the cost of one place of an intermediate, in multiply-adds.
const placeCost = 0.05

// costOf returns the cost of a contraction. size is the logarithm of the number of places of its
// loops. a and b are the densities of its items. made is the logarithm of the number of places of
// its intermediate, and filled is the intermediate's density.
func (s *space) costOf(size, a, b, made, filled float64) float64 {
	cost := math.Exp2(size)
	if s.dense {
		return cost + placeCost*math.Exp2(made)
	}
	cost *= a * b
	if filled < sparseBelow {
		return cost * sparseCost
	}
	return cost + placeCost*math.Exp2(made)
}

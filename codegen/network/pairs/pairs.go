// Package pairs finds an order to contract the factors of a large product, two at a time. It
// minimizes the number of multiply-adds.
//
// A product has variables with sizes, factors with some of the variables, and a result with some of
// them. Contracting two items sums the variables that neither another item nor the result has. Each
// factor has a density, and the patterns of different factors are assumed to be independent.
//
// Find first contracts greedily, many times, with different costs of a step and with noise. It
// improves the best of these trees in two ways: it optimizes small subtrees exactly, by dynamic
// programming over sets of items, and it rotates edges of the tree at random (simulated annealing).
// The search counts its work instead of measuring time. The same problem with the same limits has
// the same tree in each run and at each rank.
//
// # Files
//
//	pairs.go   the problem, the tree, and the course of the search
//	items.go   sets of variables, sizes and costs
//	greedy.go  greedy contraction
//	tree.go    a tree that is being improved
//	exact.go   exact optimization of subtrees
//	anneal.go  rotations at random
package pairs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Factor is one factor of a product.
type Factor struct {
	Vars []int // numbers of variables, each once
	// Density is the share of the factor's coordinates that have a value, above 0 and at most 1.
	Density float64
}

// Problem describes a product.
type Problem struct {
	Sizes   []float64 // of the variables, each at least 1
	Factors []Factor
	Result  []int // the variables of the result
	// Seconds limits the search, on a processor of today. The search may be shorter, because it
	// takes no longer than the contraction itself or a base time for each factor.
	Seconds float64
}

// Tree says how a product is contracted. Item k below len(Factors) is factor k. Pairs[k] has the
// numbers of the two items that make item len(Factors)+k. The last item is the result.
type Tree struct {
	Pairs [][2]int
	// MultiplyAdds is the number of multiply-adds of all contractions.
	MultiplyAdds float64
	// Largest is the number of entries of the largest intermediate.
	Largest float64
}

// stepsPerSecond is the number of steps of the search in a second. A step is about one operation on
// a set of 64 variables.
const stepsPerSecond = 1.5e8

// baseSeconds is the time of the search that a factor may always take.
const baseSeconds = 1e-4

// flopSeconds is the assumed time of one multiply-add of a contraction.
const flopSeconds = 0.5e-9

// cache has the trees of the problems that were solved last in this process, by their text.
var cache struct {
	sync.Mutex
	trees map[string]func() *Tree
}

// maxCached is the number of trees that the cache keeps.
const maxCached = 64

// Find returns a tree for a product of at least one factor.
func Find(p *Problem) *Tree {
	key := fmt.Sprint(*p)
	cache.Lock()
	find := cache.trees[key]
	if find == nil {
		if len(cache.trees) >= maxCached || cache.trees == nil {
			cache.trees = map[string]func() *Tree{}
		}
		find = sync.OnceValue(p.find)
		cache.trees[key] = find
	}
	cache.Unlock()
	return find()
}

// starts is the number of greedy trees that are improved.
const starts = 4

// find searches for a tree.
func (p *Problem) find() *Tree {
	s := newSpace(p)
	limit := int64(p.Seconds * stepsPerSecond)
	base := min(limit, int64(float64(len(p.Factors))*baseSeconds*stepsPerSecond))
	var trees []*tree
	if len(p.Factors) <= exactItems {
		t := s.greedy(plainGreedy, nil)
		t.optimize(t.root, exactItems)
		trees = []*tree{t}
	} else {
		trees = s.greedyTrees(base/4, limit/8)
		s.improve(trees, base, limit)
	}
	t := slices.MinFunc(trees, func(t, u *tree) int { return cmp.Compare(t.cost, u.cost) })
	return t.result()
}

// improve improves trees. All trees together get as many steps as the contraction of the product
// takes, but at least base and at most limit.
func (s *space) improve(trees []*tree, base, limit int64) {
	each := func(fn func(k int, t *tree)) {
		var wait sync.WaitGroup
		for k, t := range trees {
			wait.Go(func() { fn(k, t) })
		}
		wait.Wait()
	}
	each(func(_ int, t *tree) { t.reconfigure(base) })
	best := math.Inf(1)
	for _, t := range trees {
		best = min(best, t.cost)
	}
	steps := min(limit, base+int64(min(best*flopSeconds*stepsPerSecond, 1e15)))
	each(func(k int, t *tree) { t.anneal(uint64(k+1), steps/int64(len(trees))) })
	each(func(_ int, t *tree) { t.reconfigure(base) })
}

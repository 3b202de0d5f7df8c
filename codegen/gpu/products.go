package gpu

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// mostFactored is the largest size of the workspace of the form factored, as a share of the size of
// the largest factor.
const mostFactored = 0.25

// factored returns the form for a product of a large dense tensor and several small ones, such as
// MTTKRP. A workspace gets the product of the small factors. A library then multiplies the large
// factor by the workspace. factored returns nil if this is not a product of matrices, or if it does
// not pay.
func (s *Shape) factored() Form {
	factors, ok := accessesOf(s.sum.RHS)
	if !ok || len(factors) < 3 || s.Pays == nil || s.inTemporary {
		return nil
	}
	places := func(vars []string) (n float64) {
		n = 1
		for _, v := range vars {
			n *= float64(max(s.Size(v), 1))
		}
		return n
	}
	large := slices.MaxFunc(factors, func(a, b *cin.Access) int {
		return int(min(max(places(a.Vars)-places(b.Vars), -1), 1))
	})
	var texts, small, rows, cols, sums, each []string
	for _, a := range factors {
		if a != large {
			texts = append(texts, s.key(a))
		}
	}
	for _, v := range s.loops {
		inSmall := slices.ContainsFunc(factors,
			func(a *cin.Access) bool { return a != large && slices.Contains(a.Vars, v) })
		if inSmall {
			small = append(small, v)
		}
		switch inLarge := slices.Contains(large.Vars, v); {
		case inLarge && inSmall && s.inResult(v):
			each = append(each, v)
		case inLarge && inSmall:
			sums = append(sums, v)
		case inLarge && s.inResult(v):
			rows = append(rows, v)
		case inSmall && s.inResult(v):
			cols = append(cols, v)
		default:
			return nil
		}
	}
	if len(rows) == 0 || len(cols) == 0 || len(sums) == 0 ||
		places(small) > mostFactored*places(large.Vars) ||
		!s.Pays(places(rows), places(cols), places(sums), places(each)) {
		return nil
	}
	var fill []string // the loops that fill the workspace
	for _, v := range small {
		fill = append(fill, s.name(v+"w"))
	}
	list := func(vars []string) string { return "{" + strings.Join(vars, ",") + "}" }
	f, more := s.fused(fill)
	block, thread, in, one := s.name("block"), s.name("thread"), s.name(f+"1"), s.name("place")
	texts = slices.Concat([]string{
		fmt.Sprintf("precompute(%s,%s,%s,%s) # the small factors of %s", strings.Join(texts, "*"),
			list(small), list(fill), s.name("factors"), s.key(large)),
		fmt.Sprintf("substitute(%s,gemm) # a product of dense matrices",
			list(slices.Concat(sums, each, rows, cols))),
	}, more)
	return s.lines(append(texts,
		fmt.Sprintf("split(%s,%s,%s,%d) # a thread for each element of the workspace", f, block, in,
			blockThreads),
		fmt.Sprintf("split(%s,%s,%s,1)", in, thread, one),
		fmt.Sprintf("parallelize(%s,GPUBlock,NoRaces)", block),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", thread))...)
}

// accessesOf returns the accesses that x multiplies. It returns false if x is not a product of
// accesses and numbers.
func accessesOf(x cin.Expr) (list []*cin.Access, ok bool) {
	switch x := x.(type) {
	case *cin.Access:
		return []*cin.Access{x}, true
	case *cin.Lit:
		return nil, true
	case *cin.Neg:
		return accessesOf(x.X)
	case *cin.Binary:
		if x.Op != '*' {
			return nil, false
		}
		left, okLeft := accessesOf(x.X)
		right, okRight := accessesOf(x.Y)
		return append(left, right...), okLeft && okRight
	}
	return nil, false
}

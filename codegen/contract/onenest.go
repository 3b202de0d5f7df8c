package contract

import (
	"fmt"
	"slices"

	"distaff/codegen/network"
	"distaff/codegen/notation"
)

// checkNest checks term t if its plan is one nest of loops. x has the plan. If contracting two
// tensors at a time would cost far less, checkNest chooses such a plan instead. It returns an error
// if a schedule or --intermediate-order forbids that plan. It accepts the nest if --network
// asks for it, by direct or by a tree, or if a schedule makes intermediates itself.
//
// If --network=pairwise is given but the term stays in one nest, checkNest adds a note. If
// --intermediate-order is the reason, it returns an error instead.
func (c *Contractions) checkNest(x *Term, t *notation.Term) error {
	pairwise := x.problem.Method == network.Pairwise && len(x.problem.Factors) > 2
	long := longNest
	if c.in.GPU {
		long = longGPU
	}
	switch {
	case !x.Plan.IsSingleNest() || x.problem.Tree != nil, c.in.Network == network.Direct.String(),
		!pairwise && x.direct.Cost <= long:
		return nil
	}
	p := *x.problem
	p.Method, p.MaxOrder, p.Keep = network.Pairwise, -1, false
	pairs := planFor(&p)
	order := c.in.MaxOrder
	switch {
	case pairs == nil || pairs.IsSingleNest():
		c.noteOneNest(t, x.problem.Method)
		return nil
	case pairwise && order > 0:
		return c.in.refuse(fmt.Sprintf("multiplying two tensors at a time makes an "+
			"intermediate of %d variables, but --intermediate-order=%d allows at most %[2]d",
			pairs.Order(), order))
	case x.direct.Cost <= manyTimes*pairs.Cost:
		return nil
	}
	var want string
	switch {
	case c.in.Precomputes:
		return nil
	case c.in.GPU:
		want = "want a separate statement for each intermediate, or --target=cpu"
	case x.problem.Method == network.Direct:
		want = "want a precompute in the schedule, or a separate statement for each intermediate"
	case order > 0:
		want = fmt.Sprintf("want --intermediate-order=%d", pairs.Order())
	default:
		c.prefer(x, pairs, true)
		return nil
	}
	return c.in.refuse(fmt.Sprintf(
		"%s costs %.2g multiply-adds in one nest of loops, but %.2g if two tensors "+
			"are multiplied at a time; %s, or --network=direct for one nest",
		t, x.direct.Products, pairs.Products, want))
}

// noteOneNest adds a note that a term of more than two tensors is computed in one nest of loops
// although --network=pairwise asks for two at a time.
func (c *Contractions) noteOneNest(t *notation.Term, way network.Method) {
	tensors := 0
	notation.WalkTerm(t, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok && len(a.Vars) > 0 {
			tensors++
		}
		return true
	})
	if way == network.Pairwise && tensors > 2 {
		c.Notes = append(c.Notes, fmt.Sprintf(
			"--network=pairwise: %s is computed in one nest of loops, because of its form or "+
				"how its tensors are stored", t))
	}
}

// inOneNest returns the plan that computes product p in one nest of loops, in the order that the
// pass "order" found. If the statement has only one term, the plan's cost includes the conversions
// that this order requires. If this term requires none, inOneNest may return another plan: the
// loops of a matrix product, if they cost less.
func (c *Contractions) inOneNest(p *network.Problem) *network.Plan {
	q := *p
	q.Method, q.Tree, q.Order, q.MaxOrder, q.Factors = network.Direct, nil, c.Order, -1, nil
	converting := 0.0
	for _, f := range p.Factors {
		f.Accesses = slices.Clone(f.Accesses)
		for n := range f.Accesses {
			a := &f.Accesses[n]
			if u := c.useOf(a); u.Convert {
				converting += a.Converting(p.Sizes)
				a.Tensor.Format, a.Tensor.Counts = u.Format, nil
			}
		}
		q.Factors = append(q.Factors, f)
	}
	var direct *network.Plan
	if !p.Searched() {
		direct = network.OneNest(&q, c.Order)
	} else if direct = network.Search(&q); direct == nil {
		panic("BUG: contract: the loops of all terms do not serve " + c.in.Normal.String())
	}
	if len(c.in.Normal.Terms) > 1 {
		return direct
	}
	if direct.Cost += converting; !p.Searched() {
		return direct
	}
	if q.Order, q.Keep = nil, true; converting == 0 { // a product of matrices may have other loops
		if free := network.Search(&q); free != nil && free.Root.Gemm != nil && free.Cost < direct.Cost {
			return free
		}
	}
	return direct
}

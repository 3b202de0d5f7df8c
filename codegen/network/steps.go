package network

import (
	"maps"
	"math"
	"slices"

	"distaff/codegen/analysis"
	"distaff/io/tensor"
)

// MaxStep limits the contractions of a product that is too large for the search. A contraction that
// makes an intermediate may have at most MaxStep variables and MaxStep items. The reason is that
// the cost tables have an element for each set of the items, and for each set of the variables.
const MaxStep = 16

// ByTree returns the plan that contracts the factors of p as tree t says. The leaves of t must
// already be bound to p's factors. There may be any number of factors. Each intermediate is
// completed before the next contraction begins, and the loops of a contraction are chosen for this
// contraction alone.
//
// The result is nil in three cases: an intermediate has more than p.MaxOrder variables, the
// contraction that makes an intermediate has more than MaxStep items or variables, or the storage
// orders allow no order of the loops.
func ByTree(p *Problem, t *Tree) *Plan {
	s := &steps{problem: p, builder: builder{plan: &Plan{}, named: map[string]int{}},
		readers: map[string]int{}}
	for _, v := range p.Left {
		s.readers[v]++
	}
	for _, f := range p.Factors {
		for _, v := range f.vars() {
			s.readers[v]++
		}
		s.builder.plan.Converted = append(s.builder.plan.Converted, make([]bool, len(f.Accesses)))
	}
	root, _, _ := s.contract(t, true)
	if root == nil {
		return nil
	}
	root.Steps = append(s.parts, root.Steps...)
	root.useLoops()
	s.builder.plan.Root = root
	s.builder.plan.addSerial()
	return s.builder.plan
}

// steps contracts a product by a tree. parts lists the contractions made so far, in the order in
// which they run.
type steps struct {
	problem *Problem
	builder builder
	parts   []Step
	readers map[string]int // how many factors have each variable, plus 1 if the result has it
}

// contract builds the contraction of the children of t. Before that, it builds the contractions
// that make these children. c is the contraction of the children. made is the intermediate that c
// makes, as a factor. If root is true, c makes the result of the product, and made is not set. held
// has the variables of the children, each with the number of the factors below t that have it; it
// lacks variables that only these factors have. c is nil if the storage orders or the sizes do not
// allow the contraction.
func (s *steps) contract(t *Tree, root bool) (c *Contraction, made Factor, held map[string]int) {
	q := *s.problem
	q.Factors, q.Method, q.Tree, q.MaxOrder = nil, Direct, nil, -1
	held = map[string]int{}
	items := make([]*Contraction, len(t.Children)) // nil: a factor of the product
	for k, child := range t.Children {
		if len(child.Children) == 0 {
			q.Factors = append(q.Factors, s.problem.Factors[child.factor])
			q.Keep = q.Keep || s.isShared(child.factor)
			for _, v := range s.problem.Factors[child.factor].vars() {
				held[v]++
			}
			continue
		}
		item, factor, below := s.contract(child, false)
		if item == nil {
			return nil, made, nil
		}
		for v, n := range below {
			held[v] += n
		}
		items[k], q.Factors = item, append(q.Factors, factor)
	}
	all := q.factorVars()
	if !root {
		q.Keep = q.Keep || q.Order != nil // nothing is converted for one of several terms
		q.Left, q.Ordered, q.Order = slices.DeleteFunc(slices.Clone(all),
			func(v string) bool { return held[v] == s.readers[v] }), 0, nil
		if s.problem.MaxOrder >= 0 && len(q.Left) > s.problem.MaxOrder {
			return nil, made, nil
		}
	}
	maps.DeleteFunc(held, func(v string, n int) bool { return n == s.readers[v] })
	plan := q.denseStep(all)
	dense := plan != nil
	if !dense {
		if !root && (len(q.Factors) > MaxStep || len(all) > MaxStep) {
			return nil, made, nil
		}
		if plan = q.nest(); plan == nil {
			return nil, made, nil
		}
	}
	c = s.add(plan, t, items)
	if !root {
		made = s.keep(c, &q, dense)
		s.parts = append(s.parts, Step{Part: c})
	}
	return c, made, held
}

// nest returns the plan that computes a product in one nest of loops. It returns nil if the storage
// orders allow no order of loops.
func (p *Problem) nest() *Plan {
	if p.Searched() {
		return Search(p)
	}
	order := p.Order
	if order == nil {
		if order = p.inStorageOrder(); order == nil {
			return nil
		}
	}
	return OneNest(p, order)
}

// isShared reports whether factor f has an access that another factor has too, so that both read
// one stored tensor.
func (s *steps) isShared(f int) bool {
	for g, x := range s.problem.Factors {
		for _, a := range x.Accesses {
			same := func(b Access) bool {
				return a.Tensor.Name == b.Tensor.Name && slices.Equal(a.Vars, b.Vars)
			}
			if g != f && slices.ContainsFunc(s.problem.Factors[f].Accesses, same) {
				return true
			}
		}
	}
	return false
}

// add adds the costs of plan to the costs of the whole product. plan contracts only the children of
// t. items[k] is the contraction that makes child k of t, or nil if the child is a factor. add
// returns the contraction that makes t.
func (s *steps) add(plan *Plan, t *Tree, items []*Contraction) *Contraction {
	s.builder.plan.Cost += plan.Cost
	s.builder.plan.Bytes += plan.Bytes
	s.builder.plan.Products += plan.Products
	c := plan.Root
	c.Factors = nil
	for k, item := range items {
		if item != nil {
			item.storedFor(c)
			c.Items = append(c.Items, item)
			continue
		}
		f := t.Children[k].factor
		c.Factors, s.builder.plan.Converted[f] = append(c.Factors, f), plan.Converted[k]
	}
	return c
}

// keep changes contraction c so that its result is stored in an intermediate. It returns the
// intermediate as a factor for later contractions. q is the problem that c solves. dense says that
// all its items are dense.
func (s *steps) keep(c *Contraction, q *Problem, dense bool) Factor {
	c.Vars, c.Uses = slices.Clone(q.Left), 1
	if dense {
		c.Places = q.placesOf(q.Left)
		c.Entries, c.made = c.Places, c.Places*clearCost
		if c.Kind = Array; len(c.Vars) == 0 {
			c.Kind = Scalar
		}
	} else {
		m := newModel(q)
		c.Kind, c.Entries, c.Places = m.kindOf(m.all(), 0), m.entriesOf(m.all(), 0), m.places(m.result)
		c.made = m.makeCost(m.whole().items, 1, 0)
	}
	s.builder.plan.Cost += c.made
	s.builder.plan.addMemory(c)
	s.builder.name(c)
	t := analysis.Tensor{Name: c.Name + "'", Format: tensor.DenseOf(len(c.Vars)),
		NNZ: int64(min(math.Ceil(c.Entries), math.MaxInt32))}
	if c.Kind > Array {
		t.Format = tensor.SparseOf(len(c.Vars))
	}
	return Factor{Accesses: []Access{{t, q.Left}}, Matrix: true, made: true}
}

// inStorageOrder returns an order of loops that walks all factors as they are stored, or nil if
// there is none. At each step it prefers the variables of the result.
func (p *Problem) inStorageOrder() []string {
	left, each := p.variables(), p.factorModels()
	bound := make([]set, len(each))
	order := []string{}
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(v string) bool {
			for f, m := range each {
				if n := m.number(v); n >= 0 && !m.canWalk(0, n, bound[f]) {
					return false
				}
			}
			return true
		})
		if next < 0 {
			return nil
		}
		for f, m := range each {
			if n := m.number(left[next]); n >= 0 {
				bound[f] |= 1 << n
			}
		}
		order, left = append(order, left[next]), slices.Delete(left, next, next+1)
	}
	return order
}

// factorModels returns one cost model for each factor: the model of a product that consists of this
// factor alone.
func (p *Problem) factorModels() (list []*model) {
	for f := range p.Factors {
		list = append(list, newModel(&Problem{Factors: p.Factors[f : f+1], Sizes: p.Sizes, MaxOrder: -1}))
	}
	return list
}

// OneNest returns a plan, with estimated costs, that computes a product of any size in one nest of
// loops. order is the order of the loops.
func OneNest(p *Problem, order []string) *Plan {
	c, plan := &Contraction{Products: 1}, &Plan{}
	for f, x := range p.Factors {
		c.Factors = append(c.Factors, f)
		plan.Converted = append(plan.Converted, make([]bool, len(x.Accesses)))
	}
	all, each := p.variables(), p.factorModels()
	bound := make([]set, len(each))
	for _, v := range order {
		if !slices.Contains(all, v) {
			continue
		}
		c.Steps, c.Loops = append(c.Steps, Step{Var: v}), append(c.Loops, v)
		coordinates := c.Products * max(float64(p.Sizes[v]), 1)
		lists, positions := 0, 0.0
		c.Products = coordinates
		for f, m := range each {
			n := m.number(v)
			if n < 0 {
				continue
			}
			inside := bound[f] | 1<<n
			share := m.density[0][inside] / max(m.density[0][bound[f]], 1e-300)
			if bound[f] = inside; m.walked[0].has(n) {
				lists++
				positions += coordinates * share
			}
			c.Products *= share
		}
		plan.Cost += stepsOf(lists, coordinates, positions, c.Products)
	}
	plan.Root, plan.Products = c, c.Products
	return plan
}

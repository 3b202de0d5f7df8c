package network

import (
	"math"
	"slices"

	"distaff/codegen/format"
	"distaff/codegen/strategy"
)

// MaxStep is the most variables that a contraction of two items has in LeftToRight: tables have a
// number for each set of them.
const MaxStep = 16

// LeftToRight returns the plan that contracts the first two factors, then the intermediate and the
// third, and so on, for any number of factors. The loops of each contraction are the best for it
// alone. It returns nil if an intermediate has more than p.MaxOrder variables, a contraction has
// more than MaxStep, or storage orders forbid all loops.
func LeftToRight(p *Problem) *Plan {
	s := &steps{problem: p, builder: builder{plan: &Plan{}, named: map[string]int{}}}
	last := len(p.Factors) - 1
	have, made := p.Factors[0], (*Contraction)(nil)
	s.builder.plan.Converted = append(s.builder.plan.Converted, make([]bool, len(have.Accesses)))
	var parts []Step
	for f := 1; f <= last; f++ {
		q, ok := s.step(have, f)
		if !ok {
			return nil
		}
		plan := Search(q)
		if plan == nil {
			return nil
		}
		c := s.add(plan, made, f)
		if f == last {
			c.Steps = append(parts, c.Steps...)
			s.builder.plan.Root = c
			break
		}
		have, made = s.keep(c, q), c
		parts = append(parts, Step{Part: c})
	}
	s.builder.plan.Root.ungemm()
	s.builder.plan.Serial = s.builder.plan.Root.serial()
	return s.builder.plan
}

// steps is a product that is contracted from left to right.
type steps struct {
	problem *Problem
	builder builder
}

// step returns the product of factor f and of have, which all factors before it are contracted to.
// ok is false if it is too large.
func (s *steps) step(have Factor, f int) (q *Problem, ok bool) {
	c := *s.problem
	c.Factors, c.Way, c.Tree, c.MaxOrder = []Factor{have, s.problem.Factors[f]}, Direct, nil, -1
	c.Keep = c.Keep || s.twice(f) || f == 1 && s.twice(0)
	if f < len(s.problem.Factors)-1 {
		c.Left, c.Ordered, c.Order = s.open(f), 0, nil
		if s.problem.MaxOrder >= 0 && len(c.Left) > s.problem.MaxOrder {
			return nil, false
		}
	}
	vars := c.variables()
	if len(vars) > MaxVars && c.Order == nil {
		c.Order = c.inStorageOrder()
	}
	return &c, len(vars) <= MaxStep
}

// twice reports whether another factor has an access of factor f, so that both read the same copy.
func (s *steps) twice(f int) bool {
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

// open returns the variables of the factors up to number last that another factor or the result has
// as well.
func (s *steps) open(last int) (vars []string) {
	first := Problem{Factors: s.problem.Factors[:last+1]}
	rest := Problem{Factors: s.problem.Factors[last+1:], Left: s.problem.Left}
	others := rest.variables()
	return slices.DeleteFunc(first.variables(), func(v string) bool {
		return !slices.Contains(others, v)
	})
}

// add adds the plan of the contraction of factor f and of made, nil for factor 0.
func (s *steps) add(plan *Plan, made *Contraction, f int) *Contraction {
	s.builder.plan.Cost += plan.Cost
	s.builder.plan.Bytes += plan.Bytes
	s.builder.plan.Products += plan.Products
	s.builder.plan.Converted = append(s.builder.plan.Converted, plan.Converted[1])
	c := plan.Root
	if c.Factors = []int{f}; made == nil {
		c.Factors, s.builder.plan.Converted[0] = []int{0, f}, plan.Converted[0]
	} else {
		made.storedFor(c)
		c.Items = []*Contraction{made}
	}
	return c
}

// keep makes an intermediate of the contraction of q, and returns it as a factor.
func (s *steps) keep(c *Contraction, q *Problem) Factor {
	m := newModel(q)
	all, items := m.all(), m.whole().items
	c.Vars, c.Kind, c.Uses = slices.Clone(q.Left), m.kindOf(m.all(), 0), 1
	c.Entries, c.Places = m.entriesOf(all, 0), m.places(m.result)
	c.made = m.makeCost(items, 1, 0)
	s.builder.plan.Cost += c.made
	s.builder.plan.holds(c)
	s.builder.name(c)
	t := strategy.Tensor{Name: c.Name + "'", Format: format.DenseOf(len(c.Vars)),
		NNZ: int64(min(math.Ceil(c.Entries), math.MaxInt32))}
	if c.Kind > Array {
		t.Format = format.SparseOf(len(c.Vars))
	}
	return Factor{Accesses: []Access{{t, q.Left}}, Matrix: true, made: true}
}

// inStorageOrder returns an order of the loops of a product: the variables that are appended to the
// result in order, then the factors', as these store them.
func (p *Problem) inStorageOrder() []string {
	order := slices.Clone(p.Left[:p.Ordered])
	add := func(v string) {
		if !slices.Contains(order, v) {
			order = append(order, v)
		}
	}
	for _, f := range slices.Backward(p.Factors) { // of an intermediate any order will do
		for _, a := range f.Accesses {
			for _, mode := range a.Tensor.Format.Order {
				add(a.Vars[mode])
			}
		}
	}
	for _, v := range p.Left {
		add(v)
	}
	return order
}

// OneNest returns an estimate of a product of any size in one nest of loops, in this order of all
// variables.
func OneNest(p *Problem, order []string) *Plan {
	c := &Contraction{Products: 1}
	var each []*model
	for f := range p.Factors {
		c.Factors = append(c.Factors, f)
		each = append(each, newModel(&Problem{Factors: p.Factors[f : f+1], Sizes: p.Sizes, MaxOrder: -1}))
	}
	all, cost := p.variables(), 0.0
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
		cost += stepsOf(lists, coordinates, positions, c.Products)
	}
	return &Plan{Root: c, Cost: cost, Products: c.Products}
}

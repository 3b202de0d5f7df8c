package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
)

// contractedTerm is a term of several factors, with the plans to contract it.
type contractedTerm struct {
	problem *network.Problem
	factors []int         // for each factor of problem, its number among the term's factors
	plan    *network.Plan // the chosen plan
	direct  *network.Plan // one nest of loops, in the order that all terms share
}

// networkGain limits the plans with intermediates that are chosen by default: such a plan may cost
// at most networkGain times the cost of one nest of loops. filledGain is this limit if all
// intermediates are scalars and arrays, because the plan's cost is then known better. Both are
// below 1 because costs are only estimates.
const networkGain, filledGain = 0.8, 0.9

// serialLoss multiplies the cost of an intermediate made by one thread while the others wait.
const serialLoss = 16

// serialGain limits the plans in which one thread makes an intermediate outside all loops. By
// default such a plan may cost at most serialGain times the cost of one nest of loops. The limit
// does not apply if one matrix product computes the result.
const serialGain = 0.5

// network chooses a plan for the contractions of each term. If the statement has one term, the
// order of the loops and the conversions of operands then follow the plan. Several terms keep their
// common order. If --network gives a tree, only the plans of terms with exactly its factors follow
// the tree. The plans of other terms are chosen as they are without --network.
func (c *compilation) network() error {
	c.contractions = make([]*contractedTerm, len(c.normal.Terms))
	way, tree, err := c.networkWay()
	if err != nil {
		return err
	}
	bound, fits := false, false // some term has the tree's factors, and a plan follows the tree
	for k, t := range c.normal.Terms {
		x := c.contractible(t)
		if x == nil {
			c.noteOneNest(t, way)
			continue
		}
		c.contractions[k] = x
		x.direct = c.inOneNest(x.problem)
		x.plan = x.direct
		x.problem.Way, x.problem.Tree = way, tree
		if tree != nil {
			if extra, missing := tree.Bind(x.problem.Factors); extra != nil || len(missing) > 0 {
				x.problem.Tree = nil
			}
		}
		x.problem.Keep = way == network.Auto && x.problem.Tree == nil &&
			!slices.ContainsFunc(c.uses, func(u *use) bool { return u.convert })
		bound = bound || x.problem.Tree != nil
		if plan := planFor(x.problem); plan != nil {
			fits = fits || x.problem.Tree != nil
			asked := x.problem.Tree != nil || way == network.Pairwise
			if !asked && plan.Whole() && plan.Cost < networkGain*x.direct.Cost &&
				!c.request.Ask.ConvertBySize {
				plan = x.withIntermediates(plan)
			}
			if plan.Serial > 0 && !asked && !plan.Root.IsGemm() && x.problem.Searched() {
				plan = x.insideLoops(plan)
			}
			c.prefer(x, plan, asked)
		}
		if err := c.checkNest(x, t); err != nil {
			return err
		}
	}
	switch {
	case tree == nil || fits:
		return nil
	case !bound:
		return c.refuseTree(tree)
	}
	msg := "--network: storage orders, or the other terms, do not allow the loops of this tree"
	if c.request.Ask.IntermediateOrder > 0 {
		msg += fmt.Sprintf(
			", or it has an intermediate of more variables than --intermediate-order=%d",
			c.request.Ask.IntermediateOrder)
	}
	if slices.ContainsFunc(c.contractions,
		func(x *contractedTerm) bool { return x != nil && !x.problem.Searched() }) {
		msg += fmt.Sprintf(", or it has an intermediate of more than %d tensors or variables",
			network.MaxStep)
	}
	return &diag.Error{Code: diag.NetworkRefused, Msg: msg, Src: c.request.Ask.Network,
		End: len(c.request.Ask.Network)}
}

// planFor returns the best plan for a contraction problem, or nil if there is none. A product that
// is too large for the search is contracted by its tree or, without a tree, from left to right.
func planFor(p *network.Problem) *network.Plan {
	switch {
	case p.Searched():
		return network.Search(p)
	case p.Tree != nil:
		return network.ByTree(p, p.Tree)
	case p.Way == network.Direct:
		return nil
	}
	return network.LeftToRight(p)
}

// manyTimes, longNest and longGPU decide which terms are too slow in one nest of loops. A nest is
// too slow if its cost is more than manyTimes the cost of contracting two tensors at a time, and
// more than longNest (longGPU on a GPU). A nest of this cost takes some seconds.
const manyTimes, longNest, longGPU = 1000, 1e9, 1e11

// networkWay returns how the request wants products to be contracted. The tree is nil unless the
// request gives one.
func (c *compilation) networkWay() (network.Way, *network.Tree, error) {
	given := c.request.Ask.Schedule != nil && !schedule.Temporaries(c.request.Ask.Schedule) ||
		c.request.Target.Kind == CUDA
	switch c.request.Ask.Network {
	case "", "auto":
		if given {
			return network.Direct, nil, nil
		}
		return network.Auto, nil, nil
	case "direct":
		return network.Direct, nil, nil
	}
	if given {
		why := "the loops are given by a schedule"
		if c.request.Target.Kind == CUDA {
			why = "a GPU runs a product in one nest of loops"
		}
		return 0, nil, &diag.Error{Code: diag.NetworkRefused, Msg: "--network: " + why,
			Src: c.request.Ask.Network, End: len(c.request.Ask.Network)}
	}
	if c.request.Ask.Network == "pairwise" {
		return network.Pairwise, nil, nil
	}
	tree, err := network.ParseTree(c.request.Ask.Network)
	return network.Auto, tree, err
}

// refuseTree returns an error that says why no term has the factors of a tree.
func (c *compilation) refuseTree(tree *network.Tree) error {
	refuse := func(at, end int, msg string, args ...any) error {
		return &diag.Error{Code: diag.NetworkRefused, Msg: "--network: " + fmt.Sprintf(msg, args...),
			Src: c.request.Ask.Network, Pos: at, End: end}
	}
	var nearest error
	for _, t := range c.normal.Terms {
		x := c.contractible(t)
		if x == nil {
			continue
		}
		extra, missing := tree.Bind(x.problem.Factors)
		switch {
		case extra != nil && nearest == nil:
			nearest = refuse(extra.At, extra.At+len(extra.Name),
				"got %s, which is not a factor of the product, or not as often", extra.Name)
		case extra == nil:
			nearest = refuse(0, len(c.request.Ask.Network),
				"the tree must also have the factor %s", missing[0])
		}
	}
	if nearest == nil {
		nearest = refuse(0, len(c.request.Ask.Network),
			"the statement has no product of two or more tensors that can be contracted")
	}
	return nearest
}

// contractible returns a term as a product to contract. It returns nil if a factor of the term is a
// quotient or contains a sum, if the term sums over a variable that no factor has, or if too little
// is known of the product to estimate costs (see network.Problem.Known). Factors without variables,
// such as numbers, are not part of the product.
func (c *compilation) contractible(t *notation.Term) *contractedTerm {
	x := &contractedTerm{problem: &network.Problem{Sizes: map[string]int64{},
		Exact: c.unit.Compute.IsInt(), MaxOrder: c.mostOrder(), Gemm: c.gemmCost()}}
	p := x.problem
	for k, f := range t.Factors {
		factor, ok := c.factorOf(f)
		if !ok {
			return nil
		}
		if slices.ContainsFunc(factor.Accesses, func(a network.Access) bool { return len(a.Vars) > 0 }) {
			p.Factors, x.factors = append(p.Factors, factor), append(x.factors, k)
		}
	}
	held := t.FreeVars()
	for _, v := range t.Sum {
		if !slices.Contains(held, v) {
			return nil
		}
	}
	for _, v := range c.normal.Vars {
		p.Sizes[v] = c.size(v)
	}
	target := (&nest{result: c.unit.Result.Format}).newTarget(c.normal.LHS)
	p.Left, p.Ordered = target.left, len(target.ordered)
	if len(c.normal.Terms) > 1 {
		p.Order = c.unit.Order
	}
	if !p.Known() {
		return nil
	}
	return x
}

// hoistedSum is a sum that is computed outside its term. Its value is stored in a temporary, the
// field at, which replaces the sum as a factor of the term. The sum's loops are placed where the
// consumer's loop over order[k] would begin. The field order lists all variables, and the sum's
// loops are nested in this order.
type hoistedSum struct {
	k     int
	order []string
	at    *cin.Access
	body  []*term
}

// mostOrder returns the largest allowed number of variables of an intermediate, or -1 if there is
// no limit.
func (c *compilation) mostOrder() int {
	if c.request.Ask.IntermediateOrder == 0 {
		return -1
	}
	return c.request.Ask.IntermediateOrder
}

// factorOf converts a factor of a term to a factor of a contraction problem. ok is false if the
// factor cannot be moved out of a sum: it contains a sum, or a quotient, which can fail when it is
// evaluated.
func (c *compilation) factorOf(f notation.Factor) (network.Factor, bool) {
	out, ok := network.Factor{}, true
	add := func(a *notation.Access) {
		u := c.byKey[useKey(a)]
		t := analysis.Tensor{Name: u.tensor, Format: u.given.Format, Type: u.given.Type, NNZ: u.given.NNZ,
			Counts: u.given.Counts}
		if len(c.normal.Terms) > 1 {
			if t.Format = u.format; u.convert {
				t.Counts = nil
			}
		}
		out.Accesses = append(out.Accesses, network.Access{Tensor: t, Vars: a.Vars})
	}
	switch f := f.(type) {
	case *notation.Access:
		out.Text = cmp.Or(c.request.Statement.Names[f.Name], f.Name)
		out.Matrix = c.byKey[useKey(f)].given.Type == c.unit.Compute
		add(f)
	case *notation.Number:
	case *notation.Group:
		notation.Walk(f.X, func(e notation.Expr) bool {
			switch e := e.(type) {
			case *notation.Access:
				add(e)
			case *notation.Binary:
				ok = ok && e.Op != '/'
			case *notation.ReductionExpr:
				ok = false
			}
			return true
		})
	default:
		ok = false
	}
	return out, ok
}

// parallelCost returns the cost of plan p on several threads. The part of the cost that runs on
// only one thread counts serialLoss times, because the other threads wait meanwhile.
func parallelCost(p *network.Plan) float64 { return p.Cost + (serialLoss-1)*p.Serial }

// withIntermediates returns the cheapest plan that makes intermediates. If no plan makes any, it
// returns nest, a plan of one nest of loops.
func (x *contractedTerm) withIntermediates(nest *network.Plan) *network.Plan {
	q := *x.problem
	q.Contracted = true
	return cmp.Or(planFor(&q), nest)
}

// insideLoops returns the cheapest plan that makes intermediates with variables only inside loops.
// The plan outside makes one outside all loops. insideLoops returns outside in two cases: if it
// finds no other plan, or if outside both costs less than the other plan and pays (see pays).
func (x *contractedTerm) insideLoops(outside *network.Plan) *network.Plan {
	q := *x.problem
	q.Inside, q.Contracted = true, true
	if plan := network.Search(&q); plan != nil &&
		(!x.pays(outside) || parallelCost(plan) <= parallelCost(outside)) {
		return plan
	}
	return outside
}

// pays reports whether a plan is chosen by default instead of one nest of loops. The plan must cost
// less than the nest by a certain factor.
func (x *contractedTerm) pays(plan *network.Plan) bool {
	cost := parallelCost(plan)
	if plan.Serial > 0 && !plan.Root.IsGemm() && cost > serialGain*x.direct.Cost {
		return false
	}
	return cost <= networkGain*x.direct.Cost || plan.Filled() && cost <= filledGain*x.direct.Cost
}

// prefer sets the plan of a term if the plan makes intermediates, and if the user asked for it or
// it pays. If the statement has no other term, the plan's loops and conversions are adopted too.
func (c *compilation) prefer(x *contractedTerm, plan *network.Plan, asked bool) {
	if plan.Whole() || !asked && !x.pays(plan) {
		return
	}
	if x.plan = plan; len(c.normal.Terms) == 1 {
		c.adoptLoops(x.problem, plan)
	}
}

// useOf returns the use that an access of a contraction problem belongs to.
func (c *compilation) useOf(a *network.Access) *use {
	return c.byKey[useKey(&notation.Access{Name: a.Tensor.Name, Vars: a.Vars})]
}

// adoptLoops takes three things from plan: the order of the loops, the format of each use of a
// tensor, and the conversions to these formats. p is the problem that plan solves.
func (c *compilation) adoptLoops(p *network.Problem, plan *network.Plan) {
	u := c.unit
	u.Notes = nil
	u.Order = completeOrder(nil, plan.Root, c.normal.Vars)
	for _, s := range c.uses {
		s.format, s.convert = s.given.Format, false
	}
	orders := make([][]string, len(p.Factors))
	plan.Root.Each(func(y *network.Contraction) {
		for _, f := range y.Factors {
			orders[f] = y.Loops
		}
	})
	for f, list := range plan.Converted {
		for k, convert := range list {
			s := c.useOf(&p.Factors[f].Accesses[k])
			if !convert || s.convert {
				continue
			}
			s.format, s.convert = reordered(s, orders[f], c.size), true
			if note := fmt.Sprintf("converting %s from %s to %s", s.tensor, s.given.Format,
				s.format); !slices.Contains(u.Notes, note) {
				u.Notes = append(u.Notes, note)
			}
		}
	}
}

// completeOrder returns the order of all variables for the nest of a contraction. First come the
// variables of the loops around the nest, then the variables of the contraction's own loops, and
// then the rest.
func completeOrder(around []string, x *network.Contraction, all []string) []string {
	order := slices.Clone(around)
	for _, v := range append(slices.Clone(x.Loops), all...) {
		if !slices.Contains(order, v) {
			order = append(order, v)
		}
	}
	return order
}

// contract replaces each term whose plan has intermediates by a term that reads these
// intermediates. list has an element for each term. allVars lists the variables of the statement.
func (n *nest) contract(list []*contractedTerm, allVars []string) {
	for k, x := range list {
		if x != nil && !x.plan.Whole() {
			m := &contractor{nest: n, x: x, term: n.terms[k], all: allVars,
				made: map[*network.Contraction]*hoistedSum{}}
			n.terms[k] = m.root()
		}
	}
}

// contractor rewrites a term according to a plan. Each intermediate of the plan becomes a temporary
// that is computed outside the term.
type contractor struct {
	nest *nest
	x    *contractedTerm
	term *term
	all  []string
	made map[*network.Contraction]*hoistedSum
}

// root returns the term that reads the plan's intermediates. It also has the factors that are not
// part of the contraction problem.
func (m *contractor) root() *term {
	out := m.product(m.x.plan.Root, m.nest.order)
	out.neg = m.term.neg
	for k, f := range m.term.factors {
		if !slices.Contains(m.x.factors, k) {
			out.factors = append(out.factors, f)
		}
	}
	return out
}

// product returns the term that a contraction computes. Its loops follow order.
func (m *contractor) product(x *network.Contraction, order []string) *term {
	out := &term{gemm: x.Gemm}
	k := 0 // the number of variables of order that are bound
	for _, v := range x.Loops[:x.Shared] {
		k = max(k, slices.Index(order, v)+1)
	}
	for _, s := range x.Steps {
		if s.Part == nil {
			k = slices.Index(order, s.Var) + 1
			continue
		}
		s.Part.Name = m.nest.fresh(s.Part.Letter())
		p := &hoistedSum{k: k, order: completeOrder(order[:k], s.Part, m.all),
			at: &cin.Access{Name: s.Part.Name, Vars: s.Part.Vars}}
		m.made[s.Part] = p
		p.body = []*term{m.product(s.Part, p.order)}
		out.parts = append(out.parts, p)
	}
	summed := func(v string) bool { return !slices.Contains(m.nest.target.lhs.Vars, v) }
	if x != m.x.plan.Root {
		summed = func(v string) bool {
			return !slices.Contains(x.Vars, v) && !slices.Contains(x.Loops[:x.Shared], v)
		}
	}
	for _, v := range x.Loops {
		if summed(v) {
			out.sums = append(out.sums, v)
		}
	}
	for _, f := range x.Factors {
		out.factors = append(out.factors, m.term.factors[m.x.factors[f]])
	}
	for _, y := range x.Items {
		out.factors = append(out.factors, m.made[y].at)
	}
	return out
}

// intermediates describes the intermediates of all contractions, by name. rest is the number of
// multiply-adds that go directly to the result.
func (c *compilation) intermediates() (made map[string]analysis.Intermediate, rest float64) {
	made = map[string]analysis.Intermediate{}
	for _, x := range c.contractions {
		if x == nil {
			continue
		}
		rest += x.plan.Root.Products
		x.plan.Root.Each(func(y *network.Contraction) {
			if y != x.plan.Root {
				made[y.Name] = analysis.Intermediate{Uses: y.Uses, Added: y.Products, Entries: y.Entries}
			}
		})
	}
	return made, rest
}

// networkText returns a text that describes the plan chosen for each term. It also gives the costs
// of the plans that other values of --network would choose.
func (c *compilation) networkText() string {
	var b strings.Builder
	for k, x := range c.contractions {
		fmt.Fprintf(&b, "%s\n", c.normal.Terms[k])
		if x == nil {
			b.WriteString(
				"one nest of loops: there is no product of several tensors that can be " +
					"contracted\n")
			continue
		}
		b.WriteString(x.problem.Text(x.plan, c.normal.LHS.String()))
		fmt.Fprintf(&b, "direct %s\n", x.direct.Sums())
		p := *x.problem
		if p.Way, p.Tree = network.Pairwise, nil; len(p.Factors) > 2 {
			if q := planFor(&p); q != nil {
				fmt.Fprintf(&b, "pairwise %s\n", q.Sums())
			}
		}
	}
	return b.String()
}

// Package contract chooses for each term of a statement how its product is contracted: in one nest
// of loops, or with intermediates (package network).
//
// contract.go chooses the plans. onenest.go finds what one nest of loops costs.
package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/diag"
	"distaff/codegen/nest"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/codegen/operand"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// Term is a term of several factors, with the plans to contract it.
type Term struct {
	problem *network.Problem
	Factors []int         // for each factor of problem, its number among the term's factors
	Plan    *network.Plan // the chosen plan
	direct  *network.Plan // one nest of loops, in the order that all terms share
}

// Problem describes the statement whose terms are contracted, and what the caller asks for.
type Problem struct {
	Normal  *notation.Normal
	Uses    *operand.Uses
	Result  tensor.Format
	Compute tensor.Type
	Names   map[string]string // the user's names of tensors that have other names in Normal
	Size    func(v string) int64
	// Network and MaxOrder are Ask.Network and Ask.IntermediateOrder of the request.
	Network  string
	MaxOrder int
	// BySize says that the choice must not depend on what the operands store.
	BySize   bool
	Schedule []string // the scheduling commands, or nil
	// Precomputes says that the user's schedule makes intermediates itself.
	Precomputes bool
	GPU         bool
	// Gemm is the cost of products of matrices (network.Problem.Gemm).
	Gemm func(rows, cols, terms float64) float64
}

// Contractions has the chosen plan of each term of a statement.
type Contractions struct {
	in Problem
	// Terms has an element for each term of the normal form. It is nil if the term cannot be
	// contracted.
	Terms []*Term
	Order []string // the order of the loops; it follows a single term's plan with intermediates
	Notes []string
}

// Choose chooses a plan to contract the product of each term. order is the order of the loops so
// far, and notes are the notes so far. If the statement has one term whose plan makes
// intermediates, this plan also determines the order of the loops and the conversions of operands.
// Several terms keep their common order. If --network gives a tree, only the plans of terms with
// exactly its factors follow the tree. The plans of other terms are chosen as they are without
// --network.
func Choose(in Problem, order, notes []string) (*Contractions, error) {
	c := &Contractions{in: in, Order: order, Notes: notes,
		Terms: make([]*Term, len(in.Normal.Terms))}
	way, tree, err := in.Method()
	if err != nil {
		return nil, err
	}
	bound, fits := false, false // some term has the tree's factors, and a plan follows the tree
	for k, t := range c.in.Normal.Terms {
		x := c.contractible(t)
		if x == nil {
			c.noteOneNest(t, way)
			continue
		}
		c.Terms[k] = x
		x.direct = c.inOneNest(x.problem)
		x.Plan = x.direct
		x.problem.Method, x.problem.Tree = way, tree
		if tree != nil {
			if extra, missing := tree.Bind(x.problem.Factors); extra != nil || len(missing) > 0 {
				x.problem.Tree = nil
			}
		}
		x.problem.Keep = way == network.Auto && x.problem.Tree == nil &&
			!slices.ContainsFunc(c.in.Uses.List, func(u *operand.Use) bool { return u.Convert })
		bound = bound || x.problem.Tree != nil
		if plan := planFor(x.problem); plan != nil {
			fits = fits || x.problem.Tree != nil
			asked := x.problem.Tree != nil || way == network.Pairwise
			if !asked && plan.IsSingleNest() && plan.Cost < x.direct.Cost &&
				!c.in.BySize {
				plan = x.withIntermediates(plan)
			}
			if plan.Serial > 0 && !asked && !plan.Root.IsGemm() && x.problem.Searched() {
				plan = x.insideLoops(plan)
			}
			c.prefer(x, plan, asked)
		}
		if err := c.checkNest(x, t); err != nil {
			return nil, err
		}
	}
	switch {
	case tree == nil || fits:
		return c, nil
	case !bound:
		return nil, c.refuseTree(tree)
	}
	msg := "storage orders, or the other terms, do not allow the loops of this tree"
	if c.in.MaxOrder > 0 {
		msg += fmt.Sprintf(
			", or it has an intermediate of more variables than --intermediate-order=%d",
			c.in.MaxOrder)
	}
	if slices.ContainsFunc(c.Terms,
		func(x *Term) bool { return x != nil && !x.problem.Searched() }) {
		msg += fmt.Sprintf(", or it has an intermediate of more than %d tensors or variables",
			network.MaxStep)
	}
	return nil, in.refuse(msg)
}

// refuse returns an error about the whole text of --network.
func (p *Problem) refuse(msg string) *diag.Error {
	return &diag.Error{Code: diag.NetworkRefused, Msg: "--network: " + msg, Src: p.Network,
		End: len(p.Network)}
}

// planFor returns the best plan for a contraction problem, or nil if there is none. If a product is
// too large for the search, planFor contracts it by its tree or, without a tree, two factors at a
// time. If such a product has no tree and the way is Direct, planFor returns nil.
func planFor(p *network.Problem) *network.Plan {
	switch {
	case p.Searched():
		return network.Search(p)
	case p.Tree != nil:
		return network.ByTree(p, p.Tree)
	case p.Method == network.Direct:
		return nil
	}
	return network.Pairs(p)
}

// manyTimes, longNest and longGPU decide which terms are too slow in one nest of loops. A nest is
// too slow if its cost is more than manyTimes the cost of contracting two tensors at a time, and
// more than longNest (longGPU on a GPU). A nest of this cost takes some seconds.
const manyTimes, longNest, longGPU = 1000, 1e9, 1e11

// Method returns how the caller wants products to be contracted. The tree is nil unless Network
// gives one.
func (p *Problem) Method() (network.Method, *network.Tree, error) {
	given := p.Schedule != nil && !schedule.Temporaries(p.Schedule)
	switch p.Network {
	case "", "auto":
		if given {
			return network.Direct, nil, nil
		}
		return network.Auto, nil, nil
	case "direct":
		return network.Direct, nil, nil
	}
	if given {
		return 0, nil, p.refuse("the loops are given by a schedule")
	}
	if p.Network == "pairwise" {
		return network.Pairwise, nil, nil
	}
	tree, err := network.ParseTree(p.Network)
	return network.Auto, tree, err
}

// refuseTree returns an error that says why no term has the factors of a tree.
func (c *Contractions) refuseTree(tree *network.Tree) error {
	var nearest *diag.Error
	for _, t := range c.in.Normal.Terms {
		x := c.contractible(t)
		if x == nil {
			continue
		}
		extra, missing := tree.Bind(x.problem.Factors)
		switch {
		case extra != nil && nearest == nil:
			nearest = c.in.refuse("got " + extra.Name +
				", which is not a factor of the product, or not as often")
			nearest.Pos, nearest.End = extra.At, extra.At+len(extra.Name)
		case extra == nil:
			nearest = c.in.refuse("the tree must also have the factor " + missing[0])
		}
	}
	if nearest == nil {
		nearest = c.in.refuse(
			"the statement has no product of two or more tensors that can be contracted")
	}
	return nearest
}

// contractible returns a term as a product to contract. It returns nil if a factor of the term
// contains a quotient or an explicit sum, if the term sums over a variable that no factor has, or
// if too little is known of the product to estimate costs (see network.Problem.Known). Factors
// without variables, such as numbers, are not part of the product.
func (c *Contractions) contractible(t *notation.Term) *Term {
	x := &Term{problem: &network.Problem{Sizes: map[string]int64{},
		Exact: c.in.Compute.HoldsInts(), MaxOrder: cmp.Or(c.in.MaxOrder, -1), Gemm: c.in.Gemm,
		Packed: !c.in.GPU, Seconds: 1}}
	p := x.problem
	for k, f := range t.Factors {
		factor, ok := c.factorOf(f)
		if !ok {
			return nil
		}
		if slices.ContainsFunc(factor.Accesses, func(a network.Access) bool { return len(a.Vars) > 0 }) {
			p.Factors, x.Factors = append(p.Factors, factor), append(x.Factors, k)
		}
	}
	held := t.FreeVars()
	for _, v := range t.Sum {
		if !slices.Contains(held, v) {
			return nil
		}
	}
	for _, v := range c.in.Normal.Vars {
		p.Sizes[v] = c.in.Size(v)
	}
	p.Left, p.Ordered = nest.StorageOrder(c.in.Normal.LHS.Vars, c.in.Result)
	if len(c.in.Normal.Terms) > 1 {
		p.Order = c.Order
	}
	if !p.Known() {
		return nil
	}
	return x
}

// factorOf converts a factor of a term to a factor of a contraction problem. ok is false if the
// factor cannot be moved out of a sum. This is so if it contains a sum, or a quotient, which can
// fail when it is evaluated.
func (c *Contractions) factorOf(f notation.Factor) (network.Factor, bool) {
	out, ok := network.Factor{}, true
	add := func(a *notation.Access) {
		u := c.in.Uses.Of(a.Name, a.Vars)
		t := analysis.Tensor{Name: u.Tensor, Format: u.Given.Format, Type: u.Given.Type, NNZ: u.Given.NNZ,
			Counts: u.Given.Counts}
		if len(c.in.Normal.Terms) > 1 {
			if t.Format = u.Format; u.Convert {
				t.Counts = nil
			}
		}
		out.Accesses = append(out.Accesses, network.Access{Tensor: t, Vars: a.Vars})
	}
	switch f := f.(type) {
	case *notation.Access:
		out.Text = cmp.Or(c.in.Names[f.Name], f.Name)
		out.Matrix = c.in.Uses.Of(f.Name, f.Vars).Given.Type == c.in.Compute
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

// withIntermediates returns the cheapest plan that makes intermediates. If there is none, it
// returns nest, which is the plan of one nest of loops.
func (x *Term) withIntermediates(nest *network.Plan) *network.Plan {
	q := *x.problem
	q.Contracted = true
	return cmp.Or(planFor(&q), nest)
}

// insideLoops chooses between two plans. The first is the cheapest plan that makes all
// intermediates with variables inside loops. The second is the argument, which makes such an
// intermediate outside all loops. insideLoops chooses the second plan if the first does not exist,
// or if the second costs less.
func (x *Term) insideLoops(outside *network.Plan) *network.Plan {
	q := *x.problem
	q.Inside, q.Contracted = true, true
	if plan := network.Search(&q); plan != nil && plan.Cost <= outside.Cost {
		return plan
	}
	return outside
}

// prefer sets the plan of term x if the plan makes intermediates. The user must have asked for the
// plan, or it must cost less than one nest. asked is true if the user asked for it. If the
// statement has no other term, prefer also adopts the plan's loops and conversions.
func (c *Contractions) prefer(x *Term, plan *network.Plan, asked bool) {
	if plan.IsSingleNest() || !asked && plan.Cost >= x.direct.Cost {
		return
	}
	if x.Plan = plan; len(c.in.Normal.Terms) == 1 {
		c.adoptLoops(x.problem, plan)
	}
}

// useOf returns the use that an access of a contraction problem belongs to.
func (c *Contractions) useOf(a *network.Access) *operand.Use {
	return c.in.Uses.Of(a.Tensor.Name, a.Vars)
}

// adoptLoops takes three things from plan: the order of the loops, the format of each use of a
// tensor, and the conversions to these formats. p is the problem that plan solves.
func (c *Contractions) adoptLoops(p *network.Problem, plan *network.Plan) {
	c.Notes = nil
	c.Order = plan.Root.CompleteOrder(nil, c.in.Normal.Vars)
	for _, s := range c.in.Uses.List {
		s.Format, s.Convert = s.Given.Format, false
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
			if !convert || s.Convert {
				continue
			}
			c.Notes = s.Reorder(orders[f], c.in.Size, c.Notes)
		}
	}
}

// Intermediates describes the intermediates of all contractions, by name. rest is the number of
// multiply-adds that go directly to the result.
func (c *Contractions) Intermediates() (made map[string]analysis.Intermediate, rest float64) {
	made = map[string]analysis.Intermediate{}
	for _, x := range c.Terms {
		if x == nil {
			continue
		}
		rest += x.Plan.Root.Products
		x.Plan.Root.Each(func(y *network.Contraction) {
			if y != x.Plan.Root {
				made[y.Name] = analysis.Intermediate{Uses: y.Uses, Added: y.Products, Entries: y.Entries}
			}
		})
	}
	return made, rest
}

// String returns a text that describes the plan chosen for each term. It also gives the costs
// of the plans that other values of --network would choose.
func (c *Contractions) String() string {
	var b strings.Builder
	for k, x := range c.Terms {
		fmt.Fprintf(&b, "%s\n", c.in.Normal.Terms[k])
		if x == nil {
			b.WriteString(
				"one nest of loops: there is no product of several tensors that can be " +
					"contracted\n")
			continue
		}
		b.WriteString(x.problem.Text(x.Plan, c.in.Normal.LHS.String()))
		fmt.Fprintf(&b, "direct %s\n", x.direct.Sums())
		p := *x.problem
		if p.Method, p.Tree = network.Pairwise, nil; len(p.Factors) > 2 {
			if q := planFor(&p); q != nil {
				fmt.Fprintf(&b, "pairwise %s\n", q.Sums())
			}
		}
	}
	return b.String()
}

// Verify checks the plans with intermediates. Each contraction must have loops over all variables
// of its factors, in an order that lets them walk the factors as they are stored.
func (c *Contractions) Verify() error {
	var err error
	for _, x := range c.Terms {
		if x == nil || x.Plan.IsSingleNest() {
			continue
		}
		x.Plan.Root.Each(func(y *network.Contraction) {
			g := operand.NewGraph(y.Loops)
			for _, f := range y.Factors {
				for _, a := range x.problem.Factors[f].Accesses {
					g.Access(a.Vars, c.useOf(&a).Format)
					if k := slices.IndexFunc(a.Vars,
						func(v string) bool { return !slices.Contains(y.Loops, v) }); k >= 0 {
						err = cmp.Or(err, fmt.Errorf(
							"the loop over %s must be around %s", a.Vars[k], a.Tensor.Name))
					}
				}
			}
			err = cmp.Or(err, g.Verify(y.Loops))
		})
	}
	return err
}

// Saving returns the cost of all products in one nest of loops each, divided by the cost of the
// chosen plans. It is 1 if no plan makes intermediates.
func (c *Contractions) Saving() float64 {
	direct, chosen, made := 0.0, 0.0, false
	for _, x := range c.Terms {
		if x != nil {
			direct, chosen = direct+x.direct.Cost, chosen+x.Plan.Cost
			made = made || !x.Plan.IsSingleNest()
		}
	}
	if !made || chosen == 0 {
		return 1
	}
	return direct / chosen
}

// OneNest reports whether all terms are computed in nests of loops, without intermediates and
// products of matrices.
func (c *Contractions) OneNest() bool {
	return !slices.ContainsFunc(c.Terms, func(x *Term) bool {
		return x != nil && (!x.Plan.IsSingleNest() || x.Plan.Root.Gemm != nil)
	})
}

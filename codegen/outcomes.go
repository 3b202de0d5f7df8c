package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/network"
	"distaff/io/tensor"
)

// This file has the texts of the passes' outcomes and their verifiers, except the texts and
// verifiers of packages cin and ir.

func (c *compilation) normalText() string { return c.normal.String() + "\n" }

// verifyNormal checks that each variable of a term is on the left side or summed.
func (c *compilation) verifyNormal() error {
	for _, t := range c.normal.Terms {
		for _, v := range t.FreeVars() {
			if !slices.Contains(c.normal.LHS.Vars, v) && !slices.Contains(t.Sum, v) {
				return fmt.Errorf("%s must sum %s", t, v)
			}
		}
	}
	return nil
}

func (c *compilation) typeText() string { return c.unit.Compute.String() + "\n" }

func (c *compilation) verifyTypes() error {
	if t := c.unit.Compute; t == tensor.None || t == tensor.Bool {
		return fmt.Errorf("the statement computes in %v", t)
	}
	return nil
}

func (c *compilation) resultText() string {
	r := c.unit.Result
	how := "its own"
	switch {
	case r.Format.AllDense():
		how = "none"
	case r.FixedPattern:
		how = "given"
	case r.Shares >= 0:
		how = "those of " + c.ops[r.Shares].Name
	}
	return fmt.Sprintf("format %s, level arrays: %s, bytes of positions %v, of coordinates %v\n",
		r.Format, how, r.PosWidth, r.CrdWidth)
}

// verifyResult checks that the result has only levels that leaves can make, and that compressed
// levels have widths.
func (c *compilation) verifyResult() error {
	r := c.unit.Result
	for l, k := range r.Format.Levels {
		switch {
		case !k.IsDenseOrCompressed():
			return fmt.Errorf("level %d of the result has the kind %v, want dense or compressed", l, k)
		case k == tensor.Compressed && (r.PosWidth[l] == 0 || r.CrdWidth[l] == 0):
			return fmt.Errorf("level %d of the result needs the widths of its positions and coordinates",
				l)
		}
	}
	return nil
}

func (c *compilation) usesText() string {
	var b strings.Builder
	for _, u := range c.uses {
		fmt.Fprintf(&b, "%s(%s): %s, %d entries\n", u.tensor, strings.Join(u.vars, ","), u.given.Format,
			u.given.NNZ)
	}
	return b.String()
}

// verifyUses checks that each access of the terms belongs to a use.
func (c *compilation) verifyUses() error {
	for _, a := range c.normal.Accesses() {
		if u := c.byKey[useKey(a)]; u == nil || u.tensor != a.Name ||
			len(u.given.Format.Levels) != len(a.Vars) {
			return fmt.Errorf("%s must be among the uses of the statement", a)
		}
	}
	return nil
}

func (c *compilation) orderText() string {
	return strings.Join(c.unit.Order, " ") + "\n" + strings.Join(append(c.unit.Notes, ""), "\n")
}

// verifyOrder checks that the order contains every variable once, and that the variable of a sparse
// level comes after the variables of the levels above it.
func (c *compilation) verifyOrder() error {
	order, all := slices.Sorted(slices.Values(c.unit.Order)),
		slices.Sorted(slices.Values(c.normal.Vars))
	if !slices.Equal(order, all) {
		return fmt.Errorf("got the loop order %v, want an order of the variables %v", order, all)
	}
	g := newGraph(c.normal.Vars)
	g.access(c.normal.LHS.Vars, c.unit.Result.Format)
	for _, u := range c.uses {
		g.access(u.vars, u.format)
	}
	return g.verify(c.unit.Order)
}

// verify checks an order of loops against the constraints.
func (g *graph) verify(order []string) error {
	for k, v := range order {
		for _, u := range order[:k] {
			if g.after[v][u] {
				return fmt.Errorf(
					"%s must not come before %s, because of how a tensor is stored", u, v)
			}
		}
	}
	return nil
}

// verifyNetwork checks that each contraction has loops over all variables of its factors, in an
// order that lets them walk the factors as they are stored.
func (c *compilation) verifyNetwork() error {
	var err error
	for _, x := range c.contractions {
		if x == nil || x.plan.Whole() {
			continue
		}
		x.plan.Root.Each(func(y *network.Contraction) {
			g := newGraph(y.Loops)
			for _, f := range y.Factors {
				for _, a := range x.problem.Factors[f].Accesses {
					g.access(a.Vars, c.useOf(&a).format)
					if k := slices.IndexFunc(a.Vars,
						func(v string) bool { return !slices.Contains(y.Loops, v) }); k >= 0 {
						err = cmp.Or(err, fmt.Errorf(
							"the loop over %s must be around %s", a.Vars[k], a.Tensor.Name))
					}
				}
			}
			err = cmp.Or(err, g.verify(y.Loops))
		})
	}
	return err
}

func (c *compilation) operandsText() string {
	var b strings.Builder
	for k, a := range c.unit.Args {
		fmt.Fprintf(&b, "%s: %s %v", c.ops[k].Name, a.Format, c.ops[k].Type)
		if a.Convert {
			b.WriteString(", converted")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// verifyOperands checks that operands have distinct names, and that every use has an operand of its
// format.
func (c *compilation) verifyOperands() error {
	seen := map[string]bool{}
	for _, o := range c.ops {
		if seen[o.Name] {
			return fmt.Errorf("two operands are named %s; want different names", o.Name)
		}
		seen[o.Name] = true
	}
	for _, u := range c.uses {
		if f, ok := c.formatOf(u.name); !ok || !f.Equal(u.format) {
			return fmt.Errorf("the statement reads %s in the format %s, but the operand has another "+
				"format",
				u.tensor, u.format)
		}
	}
	return nil
}

func (c *compilation) termsText() string { return termTexts(c.nest.terms, "\n") + "\n" }

// verifyTerms checks that the terms have the same factors and sums as the terms of the normal form.
func (c *compilation) verifyTerms() error {
	again := *c.nest
	again.terms, again.taken = nil, c.taken()
	again.makeTerms(c.normal.Terms)
	return verifyFactors(again.terms, c.nest.terms)
}

func (c *compilation) sharedText() string {
	if c.sharedWith == nil {
		return "none\n"
	}
	return c.sharedWith.Key() + "\n"
}

// verifyShared checks that the nest reads the operand whose level arrays the result can have.
func (c *compilation) verifyShared() error {
	found := c.sharedWith == nil
	cin.Accesses(c.plain, func(a *cin.Access) {
		found = found ||
			a.Key() == c.sharedWith.Key() && c.sharesLevels(a)
	})
	if !found {
		return fmt.Errorf("the statement must read the levels of %s, because the result shares them",
			c.sharedWith.Key())
	}
	return nil
}

// verifyLaunches checks that the leaf is well formed. A GPU's leaf may only have serial and
// unrolled loops, because all others have become launches.
func (c *compilation) verifyLaunches() error {
	var err error
	ir.Walk(c.unit.Func.Body, func(s ir.Stmt) {
		if s, ok := s.(*ir.For); ok && c.request.Target.Kind == CUDA && s.Kind != ir.Serial &&
			s.Kind != ir.Unrolled {
			err = fmt.Errorf(
				"the loop %s is still of kind %s, want one that a GPU can run", s.V.Name, s.Kind)
		}
	})
	return cmp.Or(err, c.verifyIR())
}

// strategyText returns the default strategy as commands, or the commands of the schedule.
func (c *compilation) strategyText() string { return strings.Join(c.scheduleLines(), "\n") + "\n" }

// verifyStrategy checks three things. The strategy may refer only to statements that the nest has.
// A tile has at least one value. A constant for the size of a variable is the variable's size. If
// the leaf has no schedule, every call must also pass the whole range of that variable.
func (c *compilation) verifyStrategy() error {
	statements := map[cin.Stmt]bool{}
	cin.Walk(c.strategy.Stmt, func(s cin.Stmt) { statements[s] = true })
	for s, width := range c.strategy.Tiles {
		if width <= 0 || !statements[s] {
			return fmt.Errorf("got %d values in a tile of the loop %s, want at least 1", width,
				cin.String(s))
		}
	}
	for l := range c.strategy.Loops {
		if !statements[l] {
			return fmt.Errorf("the strategy has a choice for a loop over %s that is not in the statement", l.Var)
		}
	}
	for v, n := range c.strategy.Trips {
		if n != c.size(v) ||
			c.request.Ask.Schedule == nil && !slices.Contains(c.request.Tensors.Exact, v) {
			return fmt.Errorf(
				"%s = %d must not be compiled in, because its range may differ in another call",
				v, n)
		}
	}
	return nil
}

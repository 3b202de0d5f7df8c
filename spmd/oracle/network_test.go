package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/strategy"
)

// network draws a product of 2 to 6 factors, or of 3 to 12 if Options.Factors is set, sometimes plus
// another term. A factor may be a number or a tensor that occurs before. A variable may occur in any
// number of factors.
func (g *generator) network() *notation.Stmt {
	all := []string{"i", "j", "k", "l", "m", "n", "o"}
	g.pool = all[:3+g.rand.IntN(5)]
	n := 2 + g.pick(10, 30, 35, 15, 10)
	if g.o.Factors {
		n = 3 + g.rand.IntN(10)
	}
	s := &notation.Stmt{LHS: &notation.Access{Name: "A"}, RHS: g.networkFactor(),
		Accumulate: g.chance(0.1)}
	for range n - 1 {
		f := g.networkFactor()
		if g.chance(0.05) {
			f = &notation.Binary{Op: '+', X: f, Y: g.networkFactor()}
		}
		s.RHS = &notation.Binary{Op: '*', X: s.RHS, Y: f}
	}
	if g.chance(0.06) {
		s.RHS = &notation.Neg{X: s.RHS}
	}
	free := notation.FreeVars(s.RHS)
	g.rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	for _, v := range free {
		if g.chance(0.45) && len(s.LHS.Vars) < g.o.MaxOrder {
			s.LHS.Vars = append(s.LHS.Vars, v)
		}
	}
	if g.chance(0.15) {
		s.RHS = &notation.Binary{Op: '+', X: s.RHS, Y: g.expr(1 + g.rand.IntN(2))}
	}
	back, err := notation.Parse(s.String())
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	return back
}

// networkFactor draws a factor: mostly a new tensor of one to three modes, otherwise a number or a
// tensor that occurs before.
func (g *generator) networkFactor() notation.Expr {
	if g.chance(0.12) {
		return g.leaf()
	}
	a := &notation.Access{Name: string(rune('B' + len(g.used))),
		Vars: g.vars(min(1+g.pick(15, 55, 25, 5), g.o.MaxOrder))}
	g.used = append(g.used, a)
	return a
}

// Networks is an engine that interprets products of several tensors. The case's variant determines
// the --network option: a drawn contraction tree, pairwise, auto or direct.
type Networks struct{}

func (Networks) Name() string { return "networks" }

// Run compiles and interprets the case. If storage orders forbid the loops of a contraction tree,
// it tries other options.
func (e Networks) Run(_ context.Context, p *Prepared) (*Output, error) {
	c, how, err := e.compile(p, "leaf")
	if err != nil {
		return &Output{How: how}, err
	}
	defer c.close()
	out, err := runInterpreted(c)
	if err != nil {
		return &Output{How: how + "\n" + c.unit.Network() + c.stages()}, err
	}
	// contractions may convert operands
	out.How, out.Converted = how+"\n"+c.unit.Network()+c.stages(), nil
	return out, nil
}

// compile compiles the leaf. how is the --network option that it chose.
func (e Networks) compile(p *Prepared, name string) (c *compiled, how string, err error) {
	r := rand.New(rand.NewPCG(p.Case.Variant, 7))
	ways := []string{drawTree(r, p.Normal), "pairwise", "auto", "direct"}
	way := []int{0, 0, 0, 0, 0, 1, 1, 2, 3}[r.IntN(9)]
	order := max(r.IntN(12)-9, 0)
	for {
		how = "--network=" + ways[way]
		if order > 0 {
			how += fmt.Sprintf(" --intermediate-order=%d", order)
		}
		request := func(req *codegen.Request) error {
			req.Ask.Network, req.Ask.IntermediateOrder = ways[way], order
			return nil
		}
		c, err = compileAs(p, name, request)
		if err == nil && r.IntN(3) == 0 {
			return e.varyWorkspace(r, c, how, request)
		}
		if err == nil || way > 1 || !strings.HasPrefix(err.Error(), "--network: ") {
			return c, how, err
		}
		way += 1 + r.IntN(len(ways)-1-way)
	}
}

// varyWorkspace compiles the case again, with another data structure for one of the workspaces that
// the leaf has under a schedule. It returns c itself if the leaf has no workspaces, or if the data
// structure is refused. Otherwise it closes c and returns the new compilation.
func (Networks) varyWorkspace(r *rand.Rand, c *compiled, how string,
	request func(*codegen.Request) error) (*compiled, string, error) {
	temporaries := fmt.Sprintf("temporaries(%s)", c.p.Parsed.LHS.Name)
	scheduled := func(commands string) (*compiled, error) {
		return compileAs(c.p, "leaf", func(req *codegen.Request) error {
			req.Ask.Schedule = []string{commands}
			return request(req)
		})
	}
	plain, err := scheduled(temporaries)
	if err != nil {
		c.close()
		return plain, how + " -s=" + temporaries, err
	}
	names := spaceNames(plain.unit)
	plain.close()
	if len(names) == 0 {
		return c, how, nil
	}
	kind := []strategy.Kind{strategy.HashTable, strategy.MarkedList, strategy.Bitmap,
		strategy.Marks}[r.IntN(4)]
	name := names[r.IntN(len(names))]
	if r.IntN(4) == 0 {
		kind = strategy.Terms
	}
	commands := fmt.Sprintf("%s,workspace(%s,%s)", temporaries, name, kind)
	d, err := scheduled(commands)
	var refused *diag.Error
	// Terms requires that the entries of one operand fill the workspace.
	if kind == strategy.Terms && errors.As(err, &refused) && refused.Code == diag.ScheduleRefused {
		return c, how, nil
	}
	c.close()
	return d, how + " -s=" + commands, err
}

// drawTree draws a contraction tree of the factors of one of the statement's terms.
func drawTree(r *rand.Rand, n *notation.Normal) string {
	var parts []string
	for _, f := range n.Terms[r.IntN(len(n.Terms))].Factors {
		switch f := f.(type) {
		case *notation.Access:
			if len(f.Vars) > 0 {
				parts = append(parts, f.Name)
			}
		}
	}
	for len(parts) > 1 {
		r.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
		k := min(2+r.IntN(6)/4, len(parts)) // mostly two
		text := strings.Join(parts[:k], "*")
		if k < len(parts) {
			text = "(" + text + ")"
		}
		parts = append(slices.Clone(parts[k:]), text)
	}
	return strings.Join(parts, "")
}

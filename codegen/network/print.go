package network

import (
	"fmt"
	"slices"
	"strings"
)

// Text describes a plan to the user: its tree, its loops, its contractions (the first computed one
// first) and its costs. target is the text of the result.
func (p *Problem) Text(q *Plan, target string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tree   %s\nloops  %s\n", p.treeOf(q.Root), p.loopsOf(q.Root))
	q.Root.Each(func(c *Contraction) {
		name := target
		if c != q.Root {
			name = c.access()
		}
		fmt.Fprintf(&b, "  %s += %s   %.4g multiply-adds", name, p.productOf(c), c.Products)
		if c != q.Root && c.Kind != Scalar {
			fmt.Fprintf(&b, ", %s of %.4g places, %.4g entries in all", c.Kind, c.Places, c.Entries)
		}
		if c.Gemm != nil {
			fmt.Fprintf(&b, ", by products of matrices over %s", strings.Join(c.Gemm.Vars(), ","))
		}
		b.WriteByte('\n')
	})
	for f, list := range q.Converted {
		if slices.Contains(list, true) {
			fmt.Fprintf(&b, "  converts %s\n", p.text(f))
		}
	}
	fmt.Fprintf(&b, "total  %s\n", q.Sums())
	return b.String()
}

// worstBound is the largest ratio of a plan's cost to a lower bound that is printed. A smaller bound
// would say nothing about the plan.
const worstBound = 100

// Sums describes a plan's costs.
func (q *Plan) Sums() string {
	text := fmt.Sprintf("%.4g multiply-adds, %.4g bytes read, %.4g bytes of intermediates, cost %.4g",
		q.Products, q.Bytes, q.Memory, q.Cost)
	if q.Bound > 0 && q.Bound*worstBound >= q.Cost {
		text += fmt.Sprintf(", found by a beam: no plan costs less than %.4g", q.Bound)
	}
	return text
}

func (c *Contraction) access() string {
	if len(c.Vars) == 0 {
		return c.Name
	}
	return c.Name + "(" + strings.Join(c.Vars, ",") + ")"
}

// loopsOf returns the loops of a contraction as text. A producer appears in braces at its place
// between the loops.
func (p *Problem) loopsOf(c *Contraction) string {
	var parts []string
	for _, s := range c.Steps {
		if s.Part != nil {
			parts = append(parts, "{"+s.Part.access()+": "+p.loopsOf(s.Part)+"}")
		} else {
			parts = append(parts, s.Var)
		}
	}
	return strings.Join(parts, " ")
}

func (p *Problem) productOf(c *Contraction) string {
	var parts []string
	for _, x := range c.Items {
		parts = append(parts, x.access())
	}
	for _, f := range c.Factors {
		text := p.text(f)
		if accesses := p.Factors[f].Accesses; len(accesses) == 1 {
			text += "(" + strings.Join(accesses[0].Vars, ",") + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " * ")
}

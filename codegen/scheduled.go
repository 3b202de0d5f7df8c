package codegen

import (
	"cmp"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// perfect returns the variables of a perfect nest of loops, outermost first. In a perfect nest the
// loops are directly nested, and the innermost statement assigns or adds the sum of all terms to
// the result. Such a nest is made if there is a schedule, because a schedule can reorder, fuse and
// split its loops most freely.
//
// perfect returns nil if there is no schedule, if it begins with temporaries, or if there is no
// perfect nest. All terms must sum over the same variables. If the result has compressed levels,
// the result's variables must come before the summed ones in the order of the loops.
func (n *nest) perfect() []string {
	if !n.plain {
		return nil
	}
	t := n.target
	sums := n.terms[0].sums
	for k := range n.order {
		if n.loopGroups(n.terms, k) != nil {
			return nil
		}
	}
	for _, x := range n.terms {
		same := len(x.sums) == len(sums) &&
			!slices.ContainsFunc(x.sums, func(v string) bool { return !slices.Contains(sums, v) })
		if len(x.pending) > 0 || len(x.parts) > 0 || !same {
			return nil
		}
	}
	ordered := t.ordered
	vars := []string{}
	for _, v := range n.order {
		summed := slices.Contains(sums, v)
		if !summed && !slices.Contains(t.lhs.Vars, v) {
			continue
		}
		if len(ordered) > 0 {
			if v != ordered[0] {
				return nil
			}
			ordered = ordered[1:]
		} else if !summed && !n.result.AllDense() &&
			slices.ContainsFunc(vars, func(u string) bool { return slices.Contains(sums, u) }) {
			return nil
		}
		vars = append(vars, v)
	}
	return vars
}

// perfectNest returns the perfect nest of loops over vars.
func (n *nest) perfectNest(vars []string) cin.Stmt {
	var s cin.Stmt = &cin.Assign{LHS: n.target.lhs, Accumulate: len(n.terms[0].sums) > 0,
		RHS: n.sumOf(n.terms)}
	for k := len(vars) - 1; k >= 0; k-- {
		s = &cin.Forall{Var: vars[k], Body: s}
	}
	return s
}

// parsed returns the request's scheduling commands that apply to the request's terms.
func (c *compilation) parsed() ([]*schedule.Command, error) {
	list, err := schedule.Parse(c.request.Ask.Schedule)
	return schedule.Part(list, c.request.Statement.Elsewhere), err
}

// schedule applies the request's scheduling commands to the nest.
func (c *compilation) schedule() (err error) {
	c.unit.CIN = c.plain
	if c.request.Ask.Schedule == nil {
		return nil
	}
	if c.commands, err = c.parsed(); err != nil {
		return err
	}
	formats := map[string]tensor.Format{}
	for _, op := range c.ops {
		formats[op.Name] = op.Format
	}
	s, err := schedule.Apply(schedule.Problem{
		Strategy: c.strategyProblem,
		Stmt:     c.plain, Formats: formats, Shared: c.sharedWith != nil, Compute: c.unit.Compute,
		Size: c.size, Parts: c.request.Ask.Parts, GPU: c.request.Target.Kind == CUDA,
		Source: func(name string) string {
			name = strings.TrimRight(name, "'")
			return cmp.Or(c.request.Statement.Names[name], name)
		},
	}, c.commands)
	if err != nil {
		return err
	}
	if !s.Shared {
		c.sharedWith = nil
	}
	c.unit.CIN, c.orders = s.Stmt, s.Orders
	return nil
}

package codegen

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/schedule"
)

// perfect is a nest in which every loop is directly inside the next, and the
// innermost statement adds all terms to the result: what schedules reorder,
// fuse and split most freely. It needs terms that sum the same variables, and,
// where the result has compressed levels, a loop order that has all of the
// result's variables before the summed ones; nil where that is not so.
func (n *nest) perfect(terms []*term, t target) cin.Stmt {
	sums := terms[0].sums
	for _, x := range terms {
		same := len(x.sums) == len(sums) && !slices.ContainsFunc(x.sums, func(v string) bool { return !slices.Contains(sums, v) })
		if len(x.pending) > 0 || !same {
			return nil
		}
	}
	ordered := t.ordered
	var vars []string
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
		} else if !summed && !n.result.AllDense() && slices.ContainsFunc(vars, func(u string) bool { return slices.Contains(sums, u) }) {
			return nil
		}
		vars = append(vars, v)
	}
	var s cin.Stmt = &cin.Assign{LHS: t.lhs, Accumulate: len(sums) > 0, RHS: n.sumOf(terms)}
	for k := len(vars) - 1; k >= 0; k-- {
		s = &cin.Forall{Var: vars[k], Body: s}
	}
	return s
}

// schedule applies the request's scheduling commands.
func (c *compilation) schedule() error {
	list, err := schedule.Parse(c.Schedule)
	if err != nil {
		return err
	}
	c.share = c.shared()
	formats := map[string]format.Format{}
	for _, op := range c.ops {
		formats[op.Name] = op.Format
	}
	s, shared, err := schedule.Apply(schedule.Problem{
		Stmt: c.unit.CIN, Formats: formats, Shared: c.share != nil, Compute: c.unit.Compute, Size: c.size,
	}, list)
	if err != nil {
		return err
	}
	if !shared {
		c.share = nil
	}
	c.unit.CIN = s
	return nil
}

package codegen

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/lower"
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
func (c *compilation) schedule() (err error) {
	if c.commands, err = schedule.Parse(c.Schedule); err != nil {
		return err
	}
	c.plain = c.unit.CIN
	return c.apply()
}

// apply applies the commands to the plain statement.
func (c *compilation) apply() error {
	c.unit.CIN = c.plain
	c.share = nil
	if !c.own {
		c.share = c.shared()
	}
	formats := map[string]format.Format{}
	for _, op := range c.ops {
		formats[op.Name] = op.Format
	}
	s, shared, err := schedule.Apply(schedule.Problem{
		Stmt: c.plain, Formats: formats, Shared: c.share != nil, Compute: c.unit.Compute, Size: c.size, Parts: c.Parts,
		Source: func(name string) string {
			name = strings.TrimRight(name, "'")
			return cmp.Or(c.Names[name], name)
		},
	}, c.commands)
	if err != nil {
		return err
	}
	if !shared {
		c.share = nil
	}
	c.unit.CIN = s
	return nil
}

// refused tries once more without an operand's level arrays where lowering
// says that this would do; else it says which command it cannot follow.
func (c *compilation) refused(err error) (*ir.Func, error) {
	var no *lower.Refusal
	if !errors.As(err, &no) {
		return nil, err
	}
	if !no.Pattern || c.own {
		return nil, schedule.Blame(c.commands, c.unit.CIN, no.Var, no.Why)
	}
	c.own = true
	c.result()
	if err := c.apply(); err != nil {
		return nil, err
	}
	return c.leaf()
}

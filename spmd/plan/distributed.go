package plan

import (
	"errors"
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/distribute"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/spmd/partition"
)

// nest returns the loops that a schedule distributes over ranks, or nil if it distributes none.
func (g *Given) nest() (*place.Nest, error) {
	list, err := schedule.Parse(g.Schedule)
	if err != nil {
		return nil, err
	}
	s := distribute.Statement{Sizes: map[string]int64{}, Accesses: g.accesses()}
	for _, v := range g.Norm.Vars {
		name := g.source(v)
		if !slices.Contains(s.Loops, name) {
			s.Loops = append(s.Loops, name)
		}
		s.Sizes[name] = max(s.Sizes[name], g.Sizes[v])
	}
	for _, name := range g.Names {
		if !slices.Contains(s.Tensors, name) {
			s.Tensors = append(s.Tensors, name)
		}
	}
	nest, err := distribute.Peel(list, g.machine(), s)
	if nest == nil || err != nil {
		return nil, err
	}
	for k := range nest.Chunks {
		c := &nest.Chunks[k]
		if c.Positions == nil {
			if c.Var, err = g.oneOf(c.Var); err != nil {
				return nil, err
			}
			continue
		}
		own := *c.Positions
		if g.Old != "" && own.Tensor == g.Norm.LHS.Name {
			own.Tensor = g.Old
		}
		own.Vars = slices.Clone(own.Vars)
		for n, v := range own.Vars {
			if own.Vars[n], err = g.oneOf(v); err != nil {
				return nil, err
			}
		}
		c.Positions = &own
	}
	return nest, nil
}

// oneOf returns the variable of the normal form that the user wrote as name. It returns an error if
// there is not exactly one.
func (g *Given) oneOf(name string) (string, error) {
	var vars []string
	for _, v := range g.Norm.Vars {
		if g.source(v) == name {
			vars = append(vars, v)
		}
	}
	if len(vars) != 1 {
		return "", diag.Errorf(diag.ScheduleRefused,
			"distribute: %s is the variable of %d sums, each with its own range; rename it so "+
				"that each has its own name", name, len(vars))
	}
	return vars[0], nil
}

// accesses returns the different accesses of the right side that have variables, as the user wrote
// them.
func (g *Given) accesses() (list []distribute.Access) {
	for _, t := range g.Norm.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool {
			a, ok := e.(*notation.Access)
			if !ok || len(a.Vars) == 0 {
				return true
			}
			x := distribute.Access{Tensor: g.written(a.Name), Format: g.Format(a.Name),
				Beside: g.otherTerm(a)}
			for _, v := range a.Vars {
				x.Vars = append(x.Vars, g.source(v))
			}
			if !slices.ContainsFunc(list,
				func(y distribute.Access) bool {
					return y.Tensor == x.Tensor &&
						slices.Equal(y.Vars, x.Vars)
				}) {
				list = append(list, x)
			}
			return true
		})
	}
	return list
}

// otherTerm returns the text of a term that can be nonzero at coordinates where access a has no
// entry. It returns "" if every term is zero there. If such a term exists, the ranks cannot visit
// only the stored entries of a.
func (g *Given) otherTerm(a *notation.Access) string {
	for _, t := range g.Norm.Terms {
		if !slices.ContainsFunc(t.Factors, func(f notation.Factor) bool { return annihilates(f, a) }) {
			return t.String()
		}
	}
	return ""
}

// annihilates reports whether factor f is zero wherever access a has no entry.
func annihilates(f notation.Factor, a *notation.Access) bool {
	is := func(e notation.Expr) bool {
		b, ok := e.(*notation.Access)
		return ok && b.Name == a.Name && slices.Equal(b.Vars, a.Vars)
	}
	switch f := f.(type) {
	case *notation.Access:
		return is(f)
	case *notation.Quotient:
		return is(f.Num)
	}
	return false
}

// source returns the user's name of a variable of the normal form.
func (g *Given) source(v string) string {
	if s, ok := g.Norm.Source[v]; ok {
		return s
	}
	return v
}

// written returns the user's name of a tensor on the right side.
func (g *Given) written(tensor string) string {
	if tensor == g.Old {
		return g.Norm.LHS.Name
	}
	return tensor
}

// machine returns the given machine, or by default a line of all ranks.
func (g *Given) machine() *place.Machine {
	if g.Machine != nil {
		return g.Machine
	}
	return place.Line(int64(g.Ranks))
}

// distribute completes the problem for a distributed nest: it sets the nest, cuts the tensors and
// determines the operands' scopes and the owners of all blocks.
func (pl *planner) distribute(nest *place.Nest) (err error) {
	p := pl.plan
	if p.Blocking, err = nest.Blocking(p.Norm); err != nil {
		return err
	}
	p.Nest, p.Distributed = nest, true
	pl.cutTensors()
	for k := range p.Operands {
		p.Operands[k].Scope = pl.scope(p.Operands[k].Tensor)
	}
	return pl.setHomes()
}

// Before returns the partition that an operand has before the first step.
func (o *Operand) Before() *partition.Partition {
	switch {
	case o.Gathered != nil:
		return o.Gathered
	case o.Parts != nil:
		return o.Parts
	}
	return o.Partition
}

// scope returns the depth of the outermost loop that communicates the tensor. The outermost loop of
// the nest has depth 1. If no loop communicates the tensor, scope returns the number of all loops.
func (pl *planner) scope(tensor string) int {
	for k, l := range pl.plan.Nest.Loops {
		if slices.Contains(l.Communicate, tensor) {
			return k + 1
		}
	}
	return len(pl.plan.Nest.Loops)
}

// AsWritten rewrites an error in a command of the leaf schedule as an error in the user's schedule.
// Each command of the leaf schedule is derived from a command of the user's schedule. The position
// of the new error is the user's command, or an argument of this command. AsWritten returns any
// other error unchanged.
func (p *Problem) AsWritten(err error) error {
	var d *diag.Error
	if !p.Distributed || !errors.As(err, &d) || d.File != "" {
		return err
	}
	k := slices.Index(p.Nest.Leaf, d.Src)
	if k < 0 {
		return err
	}
	w, out := p.Nest.Written[k], *d
	out.Src, out.Pos, out.End = w.Text, w.Pos, w.End
	list, _ := schedule.Parse(p.Nest.Leaf[k : k+1]) // it was parsed successfully before
	if n := slices.Index(schedule.Places(list[0].Args), [2]int{d.Pos, d.End}); n >= 0 &&
		n < len(w.Args) {
		out.Pos, out.End = w.Args[n][0], w.Args[n][1]
	}
	return &out
}

// LeafSchedule returns the schedule of the leaves. given reports whether the user gave it.
// Otherwise leaves have the default schedule.
func (p *Problem) LeafSchedule() (list []string, given bool) {
	if p.Distributed {
		return p.Nest.Leaf, p.Nest.Scheduled
	}
	return p.schedule, len(p.schedule) > 0
}

package codegen

import (
	"cmp"
	"slices"
	"strings"

	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/lower/tree"
	"distaff/codegen/nest"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/codegen/share"
	"distaff/io/tensor"
)

// terms turns each term of the normal form into a product of the nest.
func (c *compilation) terms() error {
	c.nest = nest.New(nest.Problem{
		Terms: c.stmt.normal.Terms, LHS: c.stmt.normal.LHS, Order: c.unit.Order,
		Result: c.unit.Result.Format, Operands: c.ops[1:], Size: c.stmt.size, Taken: c.stmt.taken(), Compute: c.unit.Compute,
		Name:   func(a *notation.Access) string { return c.uses.Of(a.Name, a.Vars).Name },
		Rounds: c.roundsSums(), Schedule: c.request.Ask.Schedule,
	})
	return nil
}

// contract applies the plans with intermediates to the nest. It moves each intermediate out of its
// term, into a sum that is computed separately.
func (c *compilation) contract() error {
	for k, x := range c.contractions.Terms {
		if x != nil && !x.Plan.IsSingleNest() {
			c.nest.Contract(k, x.Plan, x.Factors, c.stmt.normal.Vars)
		}
	}
	c.unit.Network = c.contractions.String
	return nil
}

// loops builds the nest of loops in concrete index notation from the terms.
func (c *compilation) loops() error {
	c.plain = c.nest.Statement(c.gemms())
	c.unit.CIN = c.plain
	return nil
}

// shared finds an operand whose level arrays the result can use instead of its own. It finds none
// if the result is dense, if the caller passes the level arrays of the result, or if an earlier run
// of the passes found that the result needs its own.
func (c *compilation) shared() error {
	c.sharedWith = nil
	if !c.unit.Result.Format.AllDense() && !c.ownArrays && !c.request.Ask.FixedPattern {
		c.sharedWith = share.Find(c.plain, c.sharing())
	}
	return nil
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
		Size: c.stmt.size, Parts: c.request.Ask.Parts, GPU: c.request.Target.Kind == CUDA,
		Batches: c.batches(),
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
	c.unit.CuBLAS = slices.ContainsFunc(s.Orders, func(o schedule.Order) bool {
		return o.Order.Choice == choice.Substitute && o.Order.Word == choice.CuBLAS
	})
	return nil
}

// lookups puts tables and searches into the nest, in place of merges that take longer. It changes
// nothing if a schedule is given, or on a GPU.
func (c *compilation) lookups() error {
	c.lookedUp = nil
	if c.request.Ask.Schedule == nil && c.request.Target.Kind == CPU && !c.forGPU {
		c.unit.CIN, c.lookedUp = choice.Lookups(c.strategyProblem(c.unit.CIN, c.sharedWith != nil))
	}
	return nil
}

// arrays decides whose level arrays the result has: an operand's arrays, arrays that the caller
// passes, or its own.
func (c *compilation) arrays() error {
	u := c.unit
	u.Result = c.planned
	if a := c.sharedWith; a != nil {
		o := tree.Find(c.ops, a.Name)
		u.Result.Shares = o.Number
		u.Result.PosWidth, u.Result.CrdWidth = sharedWidths(u.Result.Format, o)
	}
	u.Result.FixedPattern = c.request.Ask.FixedPattern && !u.Result.Format.AllDense()
	return nil
}

// sharedWidths returns the widths in bytes of the pos and crd elements of a result in format f, for
// each level. Down to its last compressed level, the result uses the level arrays of operand o, and
// so has the operand's widths. The widths of the dense levels below are 0.
func sharedWidths(f tensor.Format, o *tree.Argument) (pos, crd []uint8) {
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	shared := len(f.Levels) - f.TrailingDense()
	copy(pos, o.PosWidth[:shared])
	copy(crd, o.CrdWidth[:shared])
	return pos, crd
}

// addToResult makes the leaf add to an existing result, if the request asks for it and the result
// is dense or uses an operand's level arrays. In the second case, the leaf gets a map as its last
// argument. For each entry, the map gives the position of the entry's value in the existing result.
func (c *compilation) addToResult() error {
	u := c.unit
	dense := u.Result.Format.AllDense()
	u.Args, u.Result.Accumulate = slices.Clone(c.args),
		c.request.Ask.Accumulate && (dense || u.Result.Shares >= 0)
	c.ops[0].PosWidth, c.ops[0].CrdWidth = c.planned.PosWidth, c.planned.CrdWidth
	if !u.Result.Accumulate {
		return nil
	}
	if !dense {
		result := u.Result.Format
		width := u.Result.PosWidth[len(result.Levels)-result.TrailingDense()-1]
		u.Args = append(u.Args, Arg{Map: true,
			Format:   tensor.Format{Levels: []tensor.Kind{tensor.Compressed}, Order: []int{0}},
			PosWidth: []uint8{width}, CrdWidth: []uint8{width}})
		c.ops[0].PosWidth, c.ops[0].CrdWidth = u.Result.PosWidth, u.Result.CrdWidth
	}
	target := cin.Target(u.CIN).Name
	u.CIN = cin.Map(u.CIN, func(s cin.Stmt) cin.Stmt {
		a, ok := s.(*cin.Assign)
		if !ok || a.LHS.Name != target {
			return s
		}
		return &cin.Assign{LHS: a.LHS, Accumulate: true, RHS: a.RHS}
	})
	return nil
}

// threads lets outermost loops run on CPU threads, unless a schedule says what runs where or the
// leaf runs on one thread only.
func (c *compilation) threads() error {
	t := c.request.Target
	if u := c.unit; t.Threads != 1 && c.request.Ask.Schedule == nil && t.Kind == CPU {
		shared := map[string]bool{}
		if _, outside := u.CIN.(*cin.Where); outside {
			shared = choice.SharedSpaces(c.strategyProblem(u.CIN, c.sharedWith != nil))
		}
		u.CIN = c.nest.OnThreads(u.CIN, shared)
	}
	return nil
}

package codegen

import (
	"cmp"
	"errors"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/explicit"
	"distaff/codegen/footprint"
	"distaff/codegen/schedule"
	"distaff/codegen/strategy"
)

// choose chooses the strategy of lowering: the default one, or the one that the schedule's commands
// give.
func (c *compilation) choose() error {
	p := c.strategyProblem(c.unit.CIN, c.sharedWith != nil)
	c.unit.Begun = func(entries int64, threads int, within bool) (kept, pieces int64) {
		return footprint.InitialResult(p, c.strategy, entries, threads, within)
	}
	c.unit.Workspaces = func(threads int) int64 {
		return footprint.Workspaces(p, c.strategy, threads)
	}
	if c.request.Ask.Schedule == nil && c.request.Target.Kind == CPU {
		c.strategy, c.defaults = choice.Choose(p)
		return nil
	}
	orders := make([]choice.Order, len(c.orders))
	for k, o := range c.orders {
		orders[k] = o.Order
	}
	v, defaults, err := choice.Follow(p, orders)
	if no := (*choice.Refusal)(nil); errors.As(err, &no) {
		by := c.orders[no.N].By
		return by.Refuse(by.Name + ": " + err.Error())
	}
	c.strategy, c.defaults = v, defaults
	return nil
}

// chunks adds a note to each loop on threads. The note says how the strategy divides the loop into
// chunks.
func (c *compilation) chunks() error {
	c.following = explicit.Chunks(c.strategy)
	c.explicit = cin.WithBody(c.unit.CIN, c.following.Stmt)
	return nil
}

// positions replaces the nests that the strategy runs as one loop over positions by explicit loops
// over positions. It does nothing if the result shares no operand's level arrays.
func (c *compilation) positions() error {
	if c.sharedWith != nil {
		c.explicit = explicit.Positions(c.explicit, c.following, explicit.Pattern{Access: c.sharedWith,
			Format: c.ops[c.unit.Result.Shares].Format, Result: c.ops[0].Format})
	}
	return nil
}

// strategyProblem describes statement s to the choices. shared says that the result uses an
// operand's level arrays.
func (c *compilation) strategyProblem(s cin.Stmt, shared bool) *analysis.Problem {
	p := &analysis.Problem{
		Products: c.nest.Products(), Copies: c.copies, Lookups: c.lookedUp,
		Stmt: s, Sizes: c.stmt.sizes(), Compute: c.unit.Compute, Assembly: c.assemblyOf(s, shared),
		Exact: c.request.Tensors.Exact, Result: c.request.resultName(),
		Target: analysis.Target{
			LongRow:       cmp.Or(c.request.Target.LongRow, DefaultLongRow),
			ChunkWork:     cmp.Or(c.request.Target.ChunkWork, DefaultChunkWork),
			MergeTime:     cmp.Or(c.request.Target.MergeTime, DefaultMergeTime),
			FarBytes:      cmp.Or(c.request.Target.FarBytes, DefaultFarBytes),
			CapacityBytes: c.request.Target.CapacityBytes,
			GPU:           c.request.Target.Kind == CUDA, Forms: c.request.Target.Forms,
		},
	}
	if shared {
		p.Share = c.shareKey()
	}
	p.Intermediates, p.Contracted = c.contractions.Intermediates()
	p.Precomputes = slices.ContainsFunc(c.commands,
		func(x *schedule.Command) bool { return x.Name == "precompute" })
	if c.request.Ask.Schedule != nil { // the leaf is called on whole ranges, except for Parts
		p.Exact = slices.DeleteFunc(slices.Clone(c.stmt.normal.Vars),
			func(v string) bool { return slices.Contains(c.request.Ask.Parts, v) })
	}
	for k, o := range c.ops {
		t := c.stats[k]
		t.Name, t.Format, t.Type, t.CrdWidth = o.Name, o.Format, o.Type, o.CrdWidth
		p.Tensors = append(p.Tensors, t)
	}
	return p
}

// assemblyOf returns how a leaf for statement s assembles its result.
func (c *compilation) assemblyOf(s cin.Stmt, shared bool) strategy.Assembly {
	p := strategy.Pattern{Shared: shared, Accumulate: c.unit.Result.Accumulate,
		Fixed: c.request.Ask.FixedPattern}
	t, scheduled := s.(*cin.SuchThat)
	return strategy.AssemblyOf(c.planned.Format, p,
		c.request.Target.Kind == CUDA || scheduled && t.Insert)
}

// scheduleLines returns the scheduling commands of the leaf, one for each line. If the default
// strategy chose the commands, each line ends in a comment that gives the reason for the command.
func (c *compilation) scheduleLines() []string {
	var lines []string
	if c.request.Ask.Schedule != nil {
		for _, x := range c.commands {
			lines = append(lines, x.String())
		}
		return lines
	}
	for _, o := range c.defaults {
		lines = append(lines, o.Order.String()+"  # "+o.Why)
	}
	return lines
}

package codegen

import (
	"cmp"
	"errors"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/codegen/lower"
	"distaff/codegen/lower/flat"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/schedule"
	"distaff/codegen/simt"
	"distaff/codegen/strategy"
	"distaff/codegen/workload"
)

// lower makes the leaf. If lowering refuses the statement, there are three cases:
//
//   - If the default strategy has matrix products, the passes run again without them.
//   - If the result shares level arrays with an operand, but the leaf could make its own, the
//     passes run again, beginning with the pass "shared".
//   - Otherwise lower returns an error. The error names the scheduling command that cannot be
//     followed, or --target if there are no commands.
func (c *compilation) lower() error {
	u := c.unit
	assembly := c.assemblyOf(u.CIN, c.sharedWith != nil)
	var err error
	c.lowered, err = lower.Lower(scope.Spec{
		Name: cmp.Or(c.request.Ask.Name, "leaf"), Stmt: c.explicit, Vars: u.Vars, Operands: c.ops,
		Compute: u.Compute,
		Parts:   set(c.request.Ask.Parts), Chunked: c.request.Tensors.Chunked,
		Assembly: assembly,
		Adds:     u.Result.Accumulate && u.Result.Format.AllDense(), Share: c.shareKey(),
		Strategy: c.following,
		GPU:      c.request.Target.Kind == CUDA, CuBLAS: u.CuBLAS, Extern: c.request.Ask.Extern,
		Note: func(text string) {
			if !slices.Contains(u.Notes, text) {
				u.Notes = append(u.Notes, text)
			}
		},
	})
	products, contracted := c.nest.HasProducts()
	var no *scope.Refusal
	switch {
	case err == nil:
		u.Func, u.Lattices = c.lowered.Func, c.lowered.Lattices
		u.Workload = workload.Leaf{Stmt: u.CIN, Vars: u.Vars, Operands: c.ops,
			Matrices: c.strategy.Matrices(u.CIN), Kept: c.strategy.RegisterSums(u.CIN),
			Spaces: c.strategy.Spaces, Windowed: c.lowered.Windowed,
			Joined: assembly == strategy.Append && c.planned.Format.TrailingDense() > 0 &&
				cin.Threaded(u.CIN)}
		return nil
	case !errors.As(err, &no):
		return err
	// these products are a choice of the default strategy, which loops replace
	case c.request.Ask.Schedule == nil && products:
		c.loopsAlone = true
		if contracted {
			return &restart{from: "order"}
		}
		return &restart{from: "nest"}
	case no.Pattern && !c.ownArrays:
		c.ownArrays = true
		return &restart{from: "shared"}
	case len(c.commands) == 0:
		return &diag.Error{Code: schedule.Refused,
			Msg: "--target=" + c.request.Target.Kind.String() + ": " + no.Why}
	}
	return schedule.RefusalOf(c.commands, u.CIN, no.Var, no.Why)
}

// flat makes the leaf of a long sequence of contractions of dense tensors. The later passes then do
// not run.
func (c *compilation) flat() error {
	u := c.unit
	c.isFlat = false
	made, ok := flat.Accepts(u.CIN, c.ops, u.Compute)
	if !ok || made < cmp.Or(c.request.Target.FlatFrom, DefaultFlatFrom) ||
		c.request.Target.Kind != CPU || c.request.Ask.Schedule != nil || c.request.Tensors.Chunked != "" {
		return nil
	}
	leaf := flat.Lower(flat.Problem{Name: cmp.Or(c.request.Ask.Name, "leaf"), Stmt: u.CIN,
		Vars: u.Vars, Operands: c.ops, Compute: u.Compute, Size: c.stmt.size, Whole: c.request.Tensors.Exact,
		Adds: u.Result.Accumulate})
	u.Func, c.isFlat = leaf.Func, true
	u.Workload = workload.Leaf{Stmt: u.CIN, Vars: u.Vars, Operands: c.ops, Matrices: leaf.Outermost}
	u.Begun = func(int64, int, bool) (kept, pieces int64) { return 0, 0 }
	u.Workspaces = func(int) int64 { return leaf.Bytes }
	return nil
}

// verifyFlat verifies the nest, and the leaf if package flat made it.
func (c *compilation) verifyFlat() error {
	if err := c.verifyCIN(); err != nil || !c.isFlat {
		return err
	}
	return c.verifyIR()
}

// vectorize runs innermost loops in vector lanes, on a CPU.
func (c *compilation) vectorize() error {
	if c.request.Target.Kind == CPU {
		c.unit.Workload.Gathered = rewrite.Vectorize(c.unit.Func.Body, c.lowered.Lanes)
	}
	return nil
}

// carry simplifies loops that sum over one segment of positions in each iteration. If each segment
// starts at the position where the segment before it ended, the loop keeps this position in a
// variable. ir.Carry has the other conditions. On a GPU, carry does nothing.
func (c *compilation) carry() error {
	if c.request.Target.Kind == CPU {
		ir.Carry(c.unit.Func)
	}
	return nil
}

// launch turns the loops of a GPU's leaf into launches. If there are scheduling commands, a refusal
// names the command that a GPU cannot follow.
func (c *compilation) launch() error {
	if c.request.Target.Kind != CUDA {
		return nil
	}
	err := simt.Launches(c.unit.Func)
	var no *simt.Refusal
	if !errors.As(err, &no) || len(c.commands) == 0 {
		return err
	}
	return schedule.RefusalOf(c.commands, c.unit.CIN, no.Loop, no.Error())
}

func set(list []string) map[string]bool {
	out := map[string]bool{}
	for _, v := range list {
		out[v] = true
	}
	return out
}

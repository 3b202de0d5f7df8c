package codegen

import (
	"distaff/codegen/analysis"
	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/contract"
	"distaff/codegen/lower"
	"distaff/codegen/lower/tree"
	"distaff/codegen/nest"
	"distaff/codegen/operand"
	"distaff/codegen/schedule"
	"distaff/codegen/share"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// compilation is the state of a call of Compile: the request, and the facts that passes have
// found.
type compilation struct {
	request      Request
	stmt         statement
	unit         *Unit
	planned      Result // the result if it has its own level arrays
	uses         *operand.Uses
	contractions *contract.Contractions
	copies       []analysis.Copy   // the copies of operands that were chosen
	lookedUp     []analysis.Lookup // the tables and searches that were chosen
	ops          []tree.Argument
	stats        []analysis.Tensor // the statistics of ops, with the same numbers
	args         []Arg             // the arguments that ops describe
	nest         *nest.Nest
	plain        cin.Stmt            // the nest before a schedule changes it
	sharedWith   *cin.Access         // the operand whose level arrays the result uses, or nil
	ownArrays    bool                // the result must have its own level arrays
	loopsAlone   bool                // no loops become products of matrices by default
	forGPU       bool                // the loops of a CPU are to get units of a GPU (forCPU)
	isFlat       bool                // package flat made the leaf, and no pass after it runs
	explicit     cin.Stmt            // the nest with explicit forms of loops
	following    *strategy.Value     // strategy, on the loops of explicit
	commands     []*schedule.Command // the commands of the schedule
	orders       []schedule.Order    // the commands' orders for the strategy
	strategy     *strategy.Value
	defaults     []choice.Chosen // the orders of the strategy that no command gave
	lowered      *lower.Lowered
}

func newCompilation(r Request) *compilation {
	return &compilation{request: r, unit: &Unit{Request: r}}
}

// restart is an error that makes Compile go back to an earlier pass. The field from has the name of
// this pass. The pass and all later ones run again. The pass then decides differently, because of
// what a later pass has found out.
type restart struct{ from string }

func (e *restart) Error() string { return "restart from pass " + e.from }

// formatOf returns the format of the operand called name in concrete index notation. The second
// result is false if there is none.
func (c *compilation) formatOf(name string) (tensor.Format, bool) {
	if o := tree.Find(c.ops[1:], name); o != nil {
		return o.Format, true
	}
	return tensor.Format{}, false
}

// sharing describes the result and the operands to package share.
func (c *compilation) sharing() *share.Problem {
	want := c.stmt.left()
	return &share.Problem{Vars: c.stmt.normal.LHS.Vars, Result: c.unit.Result.Format,
		Operands: c.ops[1:], Size: c.stmt.size, PosWidth: want.PosWidth, CrdWidth: want.CrdWidth}
}

// shareKey returns the key of the operand's access whose level arrays the result uses, or "" if
// there is none.
func (c *compilation) shareKey() string {
	if c.sharedWith == nil {
		return ""
	}
	return c.sharedWith.Key()
}

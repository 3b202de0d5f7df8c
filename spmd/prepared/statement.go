package prepared

import (
	"distaff/codegen"
	"distaff/codegen/strategy"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Statement is a statement at one rank, on its way to be run: planned (New), with its
// operands' blocks at their ranks (Load) and its leaves compiled (Compile). Running it (Compute)
// opens and compiles nothing. The caller closes it.
type Statement struct {
	Reader *input.Reader
	p      *input.Statement
	o      Options

	Problem *plan.Problem

	leaves []*leaf // one a group
	sum    *leaf   // result = P + Q
	// the call of the leaf of a statement on whole tensors; nil until it is bound
	bound      *whole
	near       *near          // of a program on several ranks; nil where steps go by the plan
	forms      strategy.Forms // of code, with which leaves are compiled
	into       *into          // of Options.FixedPattern; nil for a result of its own
	overwrites bool           // every rank's leaf can write over the result's old value
	over       bool           // the run writes over the result's old value
	resting    *bool          // what rests tells; nil before it was asked for
	exec       *exec.Rank
	wholes     map[string]*tcs.Tensor // operands of several blocks, whole at this rank

	replicated []bool // operands of which every rank has the whole (exec.Rank.Replicas)
	// those whose replica was gathered from the rows of the ranks, in memory of its own
	gathered []bool
	kept     []bool          // operands of which the blocks stay where leaves run
	shown    []*store.Blocks // by operand, blocks of a tensor that were as the plan wants them
	moved    comm.Counters   // by loading operands that lie elsewhere (see loaded)

	work        work
	conversions conversions // that steps read

	closers []func() error
}

// Options are how a statement is compiled and run; see spmd.Options.
type Options struct {
	// that is given, 0 for none: the same at every rank, which compile one leaf
	MemoryLimit  int64
	FixedPattern *tcs.Tensor // what values are computed into; nil for a result of its own
	Several      bool        // it will run more than once
	Locked       bool        // all runs are from one thread, which is the caller's
	Over         bool        // leaves that can write over the result's old value are wanted
	Places       bool        // operands begin, and the result ends, where their placements have them
	Replicas     bool        // small dense operands that every rank reads whole stay at every rank
	Alone        bool        // nothing but the statement has its operands' blocks
	// values of results may be where leaves run alone: the caller fetches them (env.Env.Fetch) before
	// it reads them
	Leaves  bool
	Network string // how products are contracted, as codegen.Request has it, and
	Order   int    // the most variables of an intermediate of these, 0 for any number
	// how often the statement runs at most; 0 where nobody knows, or runs are timed
	Runs   int64
	Verify bool // the compiler checks what its passes make
	Trace  func(pass string, text func() string)
}

// New is a statement of in's tensors that goes by a plan, before its operands are loaded.
func New(in *input.Reader, p *input.Statement, o Options, problem *plan.Problem) *Statement {
	k := &Statement{Reader: in, p: p, o: o, Problem: problem, wholes: map[string]*tcs.Tensor{}}
	k.exec = &exec.Rank{Comm: in.Env.Comm, Plan: k.Problem, Limit: in.Env.Limit,
		Alloc: in.Env.Arena.Alloc, Leaf: k.runStep, Add: k.add, Located: in.Env.Located, Rows: k.rows,
		Threads: in.Env.Threads,
		// where blocks are kept on a device
		Moves: o.Alone && in.Env.Code() != codegen.CUDA, Shares: in.Env.Code() != codegen.CUDA}
	k.closers = append(k.closers, k.exec.Close)
	for _, o := range k.Problem.Operands {
		k.exec.Like = append(k.exec.Like, k.likeOf(o.Tensor, in.Formats[o.Tensor]))
	}
	n := len(problem.Operands)
	k.replicated, k.gathered, k.kept = make([]bool, n), make([]bool, n), make([]bool, n)
	k.exec.Replicas, k.shown = make([]*tcs.Tensor, n), make([]*store.Blocks, n)
	if o.Replicas && problem.Ranks > 1 {
		k.SettleReplicas()
	}
	return k
}

// likeOf describes the blocks of a tensor in a format.
func (k *Statement) likeOf(name string, f tensor.Format) transfer.Like {
	return transfer.Like{Name: name,
		Layout: tensor.Layout{Dims: k.Reader.Sizes.Dims[name], Type: k.Reader.Types[name], Format: f}}
}

// Compute runs the statement once, and returns the result's blocks that live at this rank.
// Collective. The caller closes the blocks, after it has forgotten them (env.Env.Forget): they may
// be kept, and, with Options.Leaves, left.
func (k *Statement) Compute() (map[plan.Block]*tcs.Tensor, error) {
	k.work.begin()
	if err := k.fetch(); err != nil {
		return nil, k.exec.Abort(err)
	}
	blocks, err := k.exec.Compute()
	k.conversions.close()
	if err == nil {
		k.work.end(k, blocks)
	}
	if err != nil || k.into != nil {
		return blocks, err
	}
	if k.narrows() {
		if blocks, err = k.narrow(blocks); err != nil {
			return nil, err
		}
	}
	if k.Lies(k.Problem.ResultHome) == nil {
		return blocks, nil
	}
	return k.place(blocks)
}

// ComputeOver is Compute, which writes over the result's old value: that Overwrites, and that the
// blocks of the old value are the result's, is the caller's to know. The blocks that it returns are
// these. Collective.
func (k *Statement) ComputeOver() (map[plan.Block]*tcs.Tensor, error) {
	k.over = true
	defer func() { k.over = false }()
	return k.Compute()
}

// Spent is where the time of the last Compute went.
func (k *Statement) Spent() exec.Spent { return k.exec.Spent() }

// Made are the units of the leaves, one for each group of terms.
func (k *Statement) Made() []*codegen.Unit {
	var out []*codegen.Unit
	for _, s := range k.leaves {
		out = append(out, s.unit)
	}
	return out
}

// Compiler is what made the leaves.
func (k *Statement) Compiler() string { return k.leaves[0].compiler }

// Close gives back all that the statement holds; results are their owners'.
func (k *Statement) Close() {
	k.unbind()
	for i := range k.exec.Own {
		k.drop(i)
	}
	k.exec.Own = nil
	for n := len(k.closers) - 1; n >= 0; n-- {
		k.closers[n]()
	}
}

// drop gives back this rank's blocks of an operand.
func (k *Statement) drop(operand int) {
	k.unkeep(operand)
	tcs.CloseAll(k.exec.Own[operand])
	k.exec.Own[operand] = nil
	if t := k.exec.Replicas[operand]; t != nil {
		t.Close()
		k.exec.Replicas[operand] = nil
	}
}

// closing has Close close t.
func (k *Statement) closing(t *tcs.Tensor) { k.closers = append(k.closers, t.Close) }

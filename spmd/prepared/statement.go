package prepared

import (
	"maps"
	"slices"

	"distaff/codegen"
	"distaff/codegen/forms"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Statement is a statement on one rank. It is planned (New), its operands' blocks are loaded
// (Load), and its leaves are compiled (Compile). Compute then runs it, any number of times, and
// opens no files and compiles nothing. The caller closes it.
type Statement struct {
	Reader *input.Reader
	p      *input.Statement
	o      Options

	Problem *plan.Problem
	adds    bool // see Sums

	leaves     []*leaf       // one for each group of terms
	sum        *leaf         // adds two sparse blocks, P + Q; nil if none are added
	old        *leaf         // converts blocks of Problem.Added; nil if there are none
	oneStep    *oneStep      // nil if package exec runs the steps of the plan
	result     *store.Blocks // describes the blocks of the result; nil before the first run
	bound      *bound        // the call of oneStep; nil until it is bound
	forms      forms.Set     // forms of code that leaves are compiled in
	into       *into         // set if Options.FixedPattern is; otherwise nil
	overwrites bool          // whether every rank's leaf can write over the result's old value
	exec       *exec.Rank
	spent      exec.Spent             // times of the last run
	wholes     map[string]*tcs.Tensor // whole operands of this rank, besides its blocks

	replicated []bool // by operand: whether every rank has all of it (exec.Rank.Replicas)
	// by operand: whether its replica was gathered from rows of all ranks, into memory of its own
	gathered []bool
	kept     []bool          // by operand: whether its blocks stay where leaves run
	shown    []*store.Blocks // by operand: the last blocks that were as the plan needs them
	moved    comm.Counters   // messages that moved operands from their placements (see loadBlocks)

	work        work
	conversions conversions // the conversions that the last step read

	closers []func() error
}

// Options determine how a statement is compiled and run; see spmd.Options.
type Options struct {
	// limit of each rank in bytes; 0 means none was given. It is equal at every rank, so that all
	// compile the same leaf.
	MemoryLimit  int64
	FixedPattern *tcs.Tensor // tensor that gets the values; nil makes a new result
	Several      bool        // the statement will run more than once
	Locked       bool        // all runs are in one thread, the caller's
	Over         bool        // ask for leaves that can write over the result's old value
	Places       bool        // move operands from, and the result to, their placements
	Replicas     bool        // keep a replica of a small dense operand that every rank reads whole
	Alone        bool        // only the statement uses its operands' blocks
	// Leaves says that values of results may stay on the device. The caller then calls
	// env.Env.Fetch before it reads the values.
	Leaves  bool
	Network string // how products are contracted; see codegen.Request
	Order   int    // the most variables of an intermediate tensor; 0 means any number
	// upper bound of the number of runs; 0 if it is unknown or if runs are timed
	Runs   int64
	Verify bool // the compiler checks the output of its passes
	Trace  func(pass string, text func() string)
}

// New returns a statement that follows a plan. Its operands are not loaded yet.
func New(in *input.Reader, p *input.Statement, o Options, problem *plan.Problem) *Statement {
	k := &Statement{Reader: in, p: p, o: o, Problem: problem, wholes: map[string]*tcs.Tensor{},
		adds: addsValues(p.Norm)}
	k.exec = &exec.Rank{Comm: in.Env.Comm, Plan: k.Problem, Limit: in.Env.Limit,
		Alloc: in.Env.Arena.Alloc, Call: k.call, Located: in.Env.Located, Rows: k.rows,
		Threads: in.Env.Threads,
		// blocks on a device are not moved or shared
		Moves: o.Alone && in.Env.Code() != codegen.CUDA, Shares: in.Env.Code() != codegen.CUDA}
	k.closers = append(k.closers, k.exec.Close)
	for _, o := range k.Problem.Operands {
		k.exec.Like = append(k.exec.Like, k.likeOf(o.Tensor, in.Formats[o.Tensor]))
	}
	n := len(problem.Operands)
	k.replicated, k.gathered, k.kept = make([]bool, n), make([]bool, n), make([]bool, n)
	k.exec.Replicas, k.shown = make([]*tcs.Tensor, n), make([]*store.Blocks, n)
	if problem.Whole {
		k.oneStep = &oneStep{whole: true}
	} else if o.Replicas && problem.Ranks > 1 {
		k.SettleReplicas()
	}
	return k
}

// likeOf describes the blocks of a tensor in format f.
func (k *Statement) likeOf(name string, f tensor.Format) transfer.Like {
	return transfer.Like{Name: name,
		Layout: tensor.Layout{Dims: k.Reader.Sizes.Dims[name], Type: k.Reader.Types[name], Format: f}}
}

// Compute runs the statement once and returns its result. Every rank must call it.
//
// target may be nil. If it is not nil, Compute may write the result into the memory of target and
// return target. target is a former result (see CanWriteOver), or the old value of the result if
// Overwrites returns true. After an error the contents of target are undefined.
//
// Before the caller closes a new result, it must call env.Env.Forget for each of the result's
// blocks, because a device may keep copies of the blocks. With Options.Leaves, the values of a
// block may be only on the device.
func (k *Statement) Compute(target *input.Held) (*input.Held, error) {
	k.work.begin()
	if k.oneStep != nil {
		return k.computeHere(target)
	}
	if err := k.fetch(); err != nil {
		return nil, k.exec.Abort(err)
	}
	own, err := k.exec.Compute(target != nil)
	k.spent = k.exec.Spent()
	k.conversions.close()
	if err != nil {
		return nil, err
	}
	if !k.work.done {
		k.work.end(k, slices.Collect(maps.Values(own))...)
	}
	if target != nil {
		tcs.CloseAll(own)
		return target, nil
	}
	return k.deliver(own)
}

// deliver converts the computed blocks to the result's type and moves them to the result's
// placement. It takes ownership of the blocks. Every rank must call it.
func (k *Statement) deliver(own map[plan.Block]*tcs.Tensor) (_ *input.Held, err error) {
	if k.needsNarrowing() && k.into == nil {
		if own, err = k.narrow(own); err != nil {
			return nil, err
		}
	}
	if k.PlacementPieces(k.Problem.ResultHome) != nil && k.into == nil {
		if own, err = k.place(own); err != nil {
			return nil, err
		}
	}
	if k.result == nil {
		k.result = k.ResultBlocks(nil)
	}
	return &input.Held{Blocks: k.withTensors(k.result, own), AsIs: k.ResultStored()}, nil
}

// Spent returns how the last Compute spent its time.
func (k *Statement) Spent() exec.Spent { return k.spent }

// LeafUnits returns the units of the leaves, one for each group of terms.
func (k *Statement) LeafUnits() []*codegen.Unit {
	var out []*codegen.Unit
	for _, s := range k.leaves {
		out = append(out, s.unit)
	}
	return out
}

// Compiler returns the name of the backend that built the leaves.
func (k *Statement) Compiler() string { return k.leaves[0].compiler }

// Close releases everything that the statement holds, except results, which belong to the caller.
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

// drop releases this rank's blocks and replica of an operand.
func (k *Statement) drop(operand int) {
	k.unkeep(operand)
	tcs.CloseAll(k.exec.Own[operand])
	k.exec.Own[operand] = nil
	if t := k.exec.Replicas[operand]; t != nil {
		t.Close()
		k.exec.Replicas[operand] = nil
	}
}

// closing makes Close close t.
func (k *Statement) closing(t *tcs.Tensor) { k.closers = append(k.closers, t.Close) }

package prepared

import (
	"context"
	"fmt"
	"slices"
	"time"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/transfer"
)

// oneCall is the only call of a leaf that a rank makes for a OneStep. Its arguments stay bound
// until unbind, because they are the same in every run.
type oneCall struct {
	p        *Planned
	code     *Code
	operands *Operands

	call call
	made conversions // the conversions among the arguments
	// by operand: its index in call.args; -1 if a conversion is there instead, or if it is not
	// read. It is nil before call is made.
	at    []int
	ready bool // whether the arguments are set
}

// bind prepares the call: it converts operands to the formats that the leaf reads, and sets the
// arguments. It does nothing if the call is bound already.
func (x *oneCall) bind() error {
	if x.ready {
		return nil
	}
	blocks := x.blocks()
	if x.at == nil {
		if err := x.make(blocks); err != nil {
			x.made.close()
			return err
		}
	} else {
		if s := x.code.leaves[0]; x.call.leaf != s { // compiled again, for Options.FixedPattern
			x.call.leaf = s
			x.call.setRanges(nil)
		}
		for n, t := range blocks {
			if at := x.at[n]; at >= 0 {
				x.call.args[at] = t
			}
		}
	}
	c := &x.call
	c.env.Threads = min(c.leaf.env(c.bounds).Threads, x.threads())
	x.ready = true
	return nil
}

// blocks returns the blocks that the step reads, by operand. If the step does not read an operand,
// its block is nil.
func (x *oneCall) blocks() []*tcs.Tensor {
	n, rank := x.p.OneStep, x.operands.rank
	blocks := make([]*tcs.Tensor, len(x.p.Problem.Operands))
	if n.whole {
		for i, own := range rank.Own {
			blocks[i] = own[0]
		}
		return blocks
	}
	for _, need := range n.step.Need {
		i := need.Operand
		if blocks[i] = rank.Own[i][need.Block]; x.p.Replicated[i] {
			blocks[i] = rank.Replicas[i]
		}
	}
	return blocks
}

// make makes the call on the given blocks, which are indexed by operand. After an error, the caller
// closes x.made.
func (x *oneCall) make(blocks []*tcs.Tensor) error {
	s, n := x.code.leaves[0], x.p.OneStep
	args, err := x.made.arguments(s, x.p.byName(blocks))
	if err != nil {
		return err
	}
	for _, t := range x.made.made {
		if t != nil && x.p.Target.Kind == codegen.CUDA {
			x.p.Reader.Env.Keep(t)
		}
	}
	at := make([]int, len(blocks))
	for n, t := range blocks {
		at[n] = -1
		if t != nil {
			at[n] = slices.Index(args, t)
		}
	}
	if n.whole {
		x.call = s.newCall(args, nil, nil)
	} else {
		x.call = s.newCall(args, x.p.ranges(n.step), n.result.Boxes[n.step.Partial.Result])
	}
	if err := s.refuseEndless(args, x.call.bounds); err != nil {
		return err
	}
	x.at = at
	return nil
}

// threads returns the number of threads for the call.
func (x *oneCall) threads() int {
	c, threads := &x.call, x.p.Reader.Env.Threads
	if !x.p.Options.Locked {
		return threads
	}
	work := int64(0)
	for _, t := range c.args {
		work += t.Vals.Len
	}
	if c.leaf.unit.Result.Format.AllDense() {
		n := int64(1)
		for m, d := range c.leaf.dims {
			if c.box != nil {
				d = c.box[m][1] - c.box[m][0]
			}
			n *= d
		}
		work += n
	}
	if work < smallWork {
		return 1
	}
	return threads
}

// unbind releases the operands of the call, so that other tensors can replace them.
func (x *oneCall) unbind() {
	x.ready = false
	if !x.made.any() {
		clear(x.call.args)
		clear(x.call.all)
		return
	}
	x.made.close()
	x.at = nil
}

// destination returns where the call writes its result. target is a former result or old value
// whose memory may be used again, or nil. If the result has a fixed pattern, the call writes into
// the block of the pattern. Otherwise the call makes a new tensor in each of these cases:
//   - target is nil.
//   - The result must be narrowed.
//   - One rank has everything, and target shares memory with another operand.
//   - One rank has everything, and the level arrays of target differ from the arrays that a new
//     result would have.
func (x *oneCall) destination(target *input.Held) exec.Destination {
	switch {
	case x.code.pattern != nil:
		return exec.Destination{Kind: exec.Pattern, Block: x.code.pattern.made}
	case target == nil || x.p.needsNarrowing():
		return exec.Destination{}
	}
	t, c := x.p.OneStep.block(target), &x.call
	if x.p.OneStep.whole && !(c.leaf.sharesNoMemory(t, c.args) && c.leaf.hasLevels(t, c.args)) {
		return exec.Destination{}
	}
	return exec.Destination{Kind: exec.Over, Block: t}
}

// run performs the call and counts its work. target may be nil. The result is a new tensor, or this
// rank's tensor of target if over is true.
func (x *oneCall) run(target *input.Held, work *Work) (t *tcs.Tensor, over bool, err error) {
	n, env := x.p.OneStep, x.p.Reader.Env
	if err := env.Ctx.Err(); err != nil {
		return nil, false, fmt.Errorf("stopped before step 0: %w", err)
	}
	if err := x.bind(); err != nil {
		return nil, false, err
	}
	c, to := &x.call, x.destination(target)
	work.count(c)
	c.env.Progress = env.Leaf
	t, err = c.run(to, x.code.isOnlyWriter() && !n.everywhere)
	switch {
	case err != nil:
		return nil, false, x.oneError(err)
	case n.sum:
		values := transfer.Values(t)
		values.Type = t.Header.Type
		values.Len = t.Vals.Len
		if err = env.Comm.Allreduce(values, comm.Sum); err != nil && to.Kind == exec.Fresh {
			t.Close()
		}
	case to.Kind == exec.Pattern:
		t, err = x.code.pattern.finish()
	case to.Kind == exec.Fresh:
		t, err = c.leaf.finish(t)
	}
	return t, to.Kind == exec.Over, err
}

// oneError returns the error of the call. err is the error that this rank found. If every rank runs
// the same step, all ranks can find an error, and rank 0 should report it. Every other rank
// therefore waits up to a second, so that rank 0 can stop it.
func (x *oneCall) oneError(err error) error {
	env := x.p.Reader.Env
	if !x.p.OneStep.everywhere || env.Comm.Rank() == 0 {
		return err
	}
	select {
	case <-env.Ctx.Done():
		return context.Cause(env.Ctx)
	case <-time.After(time.Second):
		return err
	}
}

package prepared

import (
	"maps"
	"slices"
	"time"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/prepared/gathered"
	"distaff/spmd/reduce"
	"distaff/spmd/store"
)

// Statement is a statement on one rank. It is planned (New), its operands' blocks are loaded
// (Operands.Load), and its leaves are compiled (Compile). Compute then runs it, any number of
// times, and compiles nothing. The caller closes it.
type Statement struct {
	Planned  *Planned
	Operands *Operands
	Code     *Code
	Result   *Result

	Overwrites bool       // whether every rank's leaf can write over the result's old value
	Spent      exec.Spent // times of the last run
	Work       Work

	rank        *exec.Rank
	call        *oneCall    // the call of Planned.OneStep
	conversions conversions // the conversions that the last step read
}

// New returns a statement that follows a plan. Its operands are not loaded yet.
func New(in *input.Reader, parsed *input.Statement, o Options, problem *plan.Problem) *Statement {
	n := len(problem.Operands)
	p := &Planned{Reader: in, Parsed: parsed, Options: o, Problem: problem,
		Sums: addsValues(parsed.Norm), Replicated: make([]bool, n)}
	p.setTarget()
	if problem.Whole {
		p.OneStep = &OneStep{whole: true}
	} else if o.Replicas && problem.Ranks > 1 {
		p.SettleReplicas()
	}
	k := &Statement{Planned: p, Code: &Code{p: p}}
	k.rank = &exec.Rank{Comm: in.Env.Comm, Plan: problem, Limit: in.Env.Limit,
		Alloc: in.Env.Arena.Alloc, Call: k.step, Located: in.Env.Located, Rows: k.rows,
		Threads: in.Env.Threads, Replicas: make([]*tcs.Tensor, n)}
	for _, o := range problem.Operands {
		k.rank.Like = append(k.rank.Like, p.likeOf(o.Tensor))
	}
	k.Operands = &Operands{p: p, rank: k.rank, gathered: make([]bool, n), kept: make([]bool, n),
		shown: make([]*store.Blocks, n), wholes: map[string]*tcs.Tensor{}}
	k.Result = &Result{p: p, code: k.Code, rank: k.rank}
	k.call = &oneCall{p: p, code: k.Code, operands: k.Operands}
	return k
}

// rows returns the rows of a gathered operand that this rank's steps read.
func (k *Statement) rows(operand int) exec.Rows {
	p := k.Planned
	q := &gathered.Query{Problem: p.Problem, Formats: p.Reader.Formats, Units: k.Code.GroupUnits()}
	return q.Rows(&gathered.Held{Rank: k.rank.Comm.Rank(), Sizes: p.Reader.Sizes.Dims,
		Own: k.rank.Own}, operand)
}

// Compile compiles and loads the leaves. Every rank must call it.
func (k *Statement) Compile() error {
	p, c := k.Planned, k.Code
	like, err := k.Operands.Specs(true)
	if err != nil {
		return err
	}
	if p.Options.FixedPattern != nil {
		if err := k.fixPattern(like); err != nil {
			return err
		}
	}
	if err := c.OnTarget(func() error { return c.compileAll(like) }); err != nil {
		return err
	}
	if p.Target.Kind == codegen.CPU { // blocks on a device are not moved or shared
		k.rank.Moves, k.rank.Shares = p.Options.Alone, true
	}
	if err := c.Refused(nil); err != nil {
		return err
	}
	if err := c.load(); err != nil {
		return err
	}
	if k.Overwrites, err = c.allInPlace(); err != nil {
		return err
	}
	result := c.leaves[0].unit.Result
	k.rank.Result = p.likeOf(p.Parsed.Result)
	k.rank.Result.Layout.Type, k.rank.Result.Layout.Format = p.Reader.ResultType, result.Format
	if k.rank.Adds = c.AddsInPlace; !result.Format.AllDense() {
		k.rank.Sparse = k.sparse()
	}
	if p.OneStep.IsNear() && (!result.Format.AllDense() || result.Repack) {
		p.OneStep = nil
	}
	for i := range p.Problem.Operands {
		k.Operands.keep(i)
	}
	if p.Problem.Whole {
		return k.call.bind()
	}
	return c.loadOthers()
}

// fixPattern prepares a leaf that writes the values of the tensor given by the caller
// (Options.FixedPattern). To learn how the statement would store a result of its own, it first
// compiles the statement without the tensor. like holds the specification of each operand.
func (k *Statement) fixPattern(like map[string]codegen.Tensor) error {
	if err := k.Planned.checkPattern(k.rank.Own); err != nil {
		return err
	}
	if err := k.Code.compileGroups(like); err != nil {
		return err
	}
	err := k.call.bind()
	if err == nil {
		k.Code.pattern, err = newPattern(k.Code.leaves[0], k.call.call.args)
	}
	k.call.ready = false // it is bound to a leaf that will be compiled again
	return err
}

// sparse describes for package exec how several steps add to the same sparse block: the shape and
// the box of such a block, and the operands from which its pattern comes.
func (k *Statement) sparse() *exec.Sparse {
	p, result, like := k.Planned, k.Code.leaves[0].unit.Result, k.rank.Result
	return &exec.Sparse{
		Shape: &reduce.Shape{Name: like.Name, Layout: like.Layout,
			PosWidth: result.PosWidth, CrdWidth: result.CrdWidth},
		Box:     func(b plan.Block) [][2]int64 { return p.Problem.Result.Box(b, like.Layout.Dims) },
		Alloc:   p.Reader.Env.Arena.Alloc,
		Threads: p.Reader.Env.Threads,
		Keep:    p.Options.Several,
		Source:  k.Code.source, Ahead: codegen.MapAhead,
	}
}

// Compute runs the statement once and returns its result. Every rank must call it.
//
// target may be nil. If it is not nil, Compute may write the result into the memory of target and
// return target. target is a former result (see Planned.CanWriteOver), or the old value of the
// result if Overwrites is true. After an error the contents of target are undefined.
//
// Before the caller closes a new result, it must call env.Env.Forget for each of the result's
// blocks, because a device may keep copies of the blocks. With Options.Leaves, the values of a
// block may be only on the device.
func (k *Statement) Compute(target *input.Held) (*input.Held, error) {
	k.Work.begin()
	if k.Planned.OneStep != nil {
		return k.computeHere(target)
	}
	if err := k.Operands.fetch(); err != nil {
		return nil, k.rank.Abort(err)
	}
	own, err := k.rank.Compute(target != nil)
	k.Spent = k.rank.Spent()
	k.conversions.close()
	if err != nil {
		return nil, err
	}
	if !k.Work.done {
		k.Work.end(k.Code.leaves[0], slices.Collect(maps.Values(own))...)
	}
	if target != nil {
		tcs.CloseAll(own)
		k.changed(target)
		return target, nil
	}
	return k.Result.deliver(own)
}

// computeHere performs the one call of this rank. It returns the result, which is a new tensor or
// target. target may be nil.
func (k *Statement) computeHere(target *input.Held) (*input.Held, error) {
	n, at := k.Planned.OneStep, time.Now()
	t, over, err := k.call.run(target, &k.Work)
	if err != nil {
		return nil, err
	}
	k.Spent = exec.Spent{Leaf: time.Since(at)}
	k.Work.end(k.Code.leaves[0], t)
	switch {
	case over:
		k.changed(target)
		return target, nil
	case n.whole:
		return k.Result.deliver(map[plan.Block]*tcs.Tensor{0: t})
	}
	return n.held(k.rank.Comm.Rank(), t), nil
}

// changed tells the device that this rank's memory of h was written. It does nothing if leaves run
// on the device.
func (k *Statement) changed(h *input.Held) {
	if k.Planned.Target.Kind == codegen.CUDA {
		return
	}
	for _, t := range h.Blocks.Own {
		k.Planned.Reader.Env.Changed(t)
	}
	if h.Replica != nil {
		k.Planned.Reader.Env.Changed(h.Replica)
	}
}

// step calls a leaf for package exec.
func (k *Statement) step(c exec.Call) (*tcs.Tensor, error) {
	p := k.Planned
	switch c.Leaf {
	case exec.SumLeaf:
		return k.Code.add(c.Blocks[0], c.Blocks[1])
	case exec.OldLeaf:
		return k.Code.convertOld(c.Block, c.Blocks[0])
	}
	s := k.Code.leaves[c.Step.Group]
	box := p.Problem.Result.Box(c.Step.Partial.Result, s.dims)
	if c.To.Kind == exec.Add && emptyBox(box) { // nothing is read
		x := call{leaf: s, all: make([]*tcs.Tensor, 1), box: box}
		return x.run(c.To, false)
	}
	args, err := k.conversions.arguments(s, p.byName(c.Blocks))
	if err != nil {
		return nil, err
	}
	x := s.newCall(args, p.ranges(c.Step), box)
	if err := s.refuseEndless(args, x.bounds); err != nil {
		return nil, err
	}
	k.Work.count(&x)
	stays := p.Options.Leaves && p.Target.Kind == codegen.CUDA && k.Code.isOnlyWriter() &&
		k.rank.Sparse == nil && !k.rank.Adds && p.Problem.StaysAt(k.rank.Comm.Rank())
	return x.run(c.To, stays)
}

// Exchange replaces the operand with that name by h, another tensor of the same sizes, type and
// format. If h may have other patterns or widths, the caller then asks Fits whether the leaves can
// read it. Every rank must call it.
func (k *Statement) Exchange(name string, h *input.Held) error {
	if err := k.Planned.Reader.Hold(name, h); err != nil {
		return err
	}
	again, err := k.Operands.gatherAgain(name)
	if again {
		k.ValuesChanged()
	}
	if again || err != nil {
		return err
	}
	k.forget()
	return k.Operands.exchange(name)
}

// ValuesChanged tells the statement that the values of an operand changed in the same memory. If
// operands were converted for the leaf, the next run converts them again. The caller must call
// ValuesChanged after each such change.
func (k *Statement) ValuesChanged() {
	if k.call.made.any() {
		k.call.unbind()
	}
}

// forget drops everything that depends on the patterns of the operands.
func (k *Statement) forget() {
	k.call.unbind()
	k.Result.blocks = nil // chunks of entries may be cut elsewhere
	k.rank.Forget()
	if k.rank.Sparse != nil {
		k.rank.Sparse.Close()
	}
}

// Release releases this rank's blocks of an operand. The operand must be exchanged before the next
// run.
func (k *Statement) Release(name string) {
	k.forget()
	for _, i := range k.Planned.accesses(name) {
		k.Operands.drop(i)
	}
}

// Fits reports whether the compiled leaves can read the current operands, at every rank (see
// Code.fits): the widths of the blocks' arrays and of converted operands are the same as before,
// and the positions of the result are wide enough. Every rank must call it.
func (k *Statement) Fits() (bool, error) {
	bad := []int64{0}
	if !k.Operands.haveWidths(k.Code.leaves[0].operands) {
		bad[0] = 1
	}
	if err := k.rank.Comm.Uncounted().Allreduce(comm.Of(bad), comm.Max); err != nil || bad[0] > 0 {
		return false, err
	}
	like, err := k.Operands.Specs(false)
	return err == nil && k.Code.fits(like), err
}

// Close releases everything that the statement holds, except results, which belong to the caller.
func (k *Statement) Close() {
	k.call.unbind()
	k.Operands.close()
	k.Code.close()
	if k.rank.Sparse != nil {
		k.rank.Sparse.Close()
	}
	k.rank.Close()
}

package prepared

import (
	"math"
	"slices"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/summary"
	"distaff/spmd/transfer"
)

// Operands has this rank's blocks and replicas of a statement's operands. The blocks and replicas
// themselves are in exec.Rank, which moves them.
type Operands struct {
	p    *Planned
	rank *exec.Rank

	Moved comm.Counters // messages that moved operands from their placements (see loadBlocks)
	// by operand: whether its replica was gathered from rows of all ranks, into memory of its own
	gathered []bool
	kept     []bool                 // by operand: whether its blocks stay where leaves run
	shown    []*store.Blocks        // by operand: the last blocks that were as the plan needs them
	wholes   map[string]*tcs.Tensor // whole operands of this rank, besides its blocks
	loaded   []*tcs.Tensor          // all tensors that were in wholes
}

// Load makes this rank's blocks of every operand. Every rank must call it.
func (x *Operands) Load() error {
	for i, o := range x.p.Problem.Operands {
		if err := x.p.Reader.Env.Ctx.Err(); err != nil {
			return err
		}
		own, replica, err := x.loadOperand(i)
		if err != nil {
			return err
		}
		x.rank.Own = append(x.rank.Own, own)
		x.rank.Replicas[i] = replica
		if x.p.Problem.Whole {
			x.p.Reader.Env.Detail(summary.Describe(o.Tensor, own[0]))
		}
	}
	return nil
}

// loadOperand loads this rank's blocks of an operand. If the operand is replicated, replica is the
// whole operand; otherwise it is nil. The caller closes the blocks and the replica. Every rank must
// call it.
func (x *Operands) loadOperand(operand int) (own map[plan.Block]*tcs.Tensor, replica *tcs.Tensor,
	err error) {
	if x.p.Replicated[operand] {
		return x.loadReplica(operand)
	}
	if err := x.adoptCuts(operand); err != nil {
		return nil, nil, err
	}
	b := x.p.Reader.HeldBlocks(x.p.Problem.Operands[operand].Tensor)
	if b != nil && x.hasPlannedBlocks(operand, b) {
		own = make(map[plan.Block]*tcs.Tensor, len(b.Own))
		for n, t := range b.Own {
			own[plan.Block(n)] = t.Alias()
		}
	} else {
		own, err = x.loadBlocks(operand)
	}
	if err == nil {
		err = x.copies(operand, own)
	}
	if err != nil {
		tcs.CloseAll(own)
		return nil, nil, err
	}
	return own, nil, nil
}

// loadBlocks loads this rank's blocks of an operand. If the statement moves the operand from the
// pieces of a placement (PlacementPieces), it loads these pieces first and then moves them.
// Otherwise, if the operand's entries are cut into chunks, it tells the plan where the chunks
// begin. Every rank must call it.
func (x *Operands) loadBlocks(operand int) (map[plan.Block]*tcs.Tensor, error) {
	o, r, c := &x.p.Problem.Operands[operand], x.p.Reader, x.p.Reader.Env.Comm
	part := o.Before()
	if home := x.p.PlacementPieces(o.Home); home != nil {
		there, err := r.Blocks(c, home, o.Tensor)
		if err != nil {
			return nil, err
		}
		defer tcs.CloseAll(there)
		before := c.Counters()
		own, _, err := r.Target(part, o.Tensor).Redistribute(c,
			x.p.blocksOf(o.Tensor, home, there), true)
		x.Moved = x.Moved.Add(c.Counters().Sub(before))
		return own, err
	}
	if operand != x.p.Problem.Stored() {
		return r.Blocks(c, part, o.Tensor)
	}
	a := part.Ordered()
	a.Keys = nil
	own, err := r.Blocks(c, part, o.Tensor)
	if err == nil {
		x.p.Problem.Locate(a.Keys)
	}
	return own, err
}

// adoptCuts may change the plan of an operand that is cut into chunks of entries. The plan then
// uses the chunks into which the program's tensor is already cut, so that no entries move.
// adoptCuts changes the plan only under some conditions. For example, the tensor must have the
// planned number of chunks, the planned ranks must own the chunks, and the lengths of the chunks
// must differ by at most one position. Every rank must call adoptCuts.
func (x *Operands) adoptCuts(operand int) error {
	if operand != x.p.Problem.Stored() {
		return nil
	}
	part, b := x.p.Problem.Operands[operand].Partition,
		x.p.Reader.HeldBlocks(x.p.Problem.Operands[operand].Tensor)
	a := part.Ordered()
	if b == nil || len(part.Axes) > 1 || len(a.Ordered.Cuts) > 1 ||
		int64(len(b.From)) != part.Pieces() {
		return nil
	}
	keys := append(slices.Clone(b.From), nil)
	for n := range plan.Block(part.Pieces()) {
		if b.Owners[n] != part.OwnerOf(n) || n > 0 && len(keys[n]) != len(a.Modes) {
			return nil
		}
	}
	// the maximum over ranks of the number of positions, and of its negative
	most := []int64{math.MinInt64, math.MinInt64}
	for _, t := range b.Own {
		lo, hi := t.Interval(a.Ordered.Cuts[0].Level)
		most[0], most[1] = max(most[0], hi-lo), max(most[1], lo-hi)
	}
	if err := comm.Allreduce(x.p.Reader.Env.Comm.Uncounted(), most, comm.Max); err != nil {
		return err
	}
	if most[0]+most[1] <= 1 {
		x.p.Problem.Locate(keys)
	}
	return nil
}

// copies sends each block that several ranks own from its first owner to the others, and stores the
// received blocks in own. The messages do not count as traffic of the statement, because the copies
// are part of the operand's placement. Every rank must call it.
func (x *Operands) copies(operand int, own map[plan.Block]*tcs.Tensor) error {
	part := x.p.Problem.Operands[operand].Before()
	if part.Copies == nil {
		return nil
	}
	c := x.p.Reader.Env.Comm.Uncounted()
	for b := range plan.Block(part.Pieces()) {
		if err := x.p.Reader.Env.Fetch(own[b]); err != nil {
			return err
		}
		t, err := transfer.Spread(c, own[b], x.rank.Like[operand], part.Ranks(b), 0,
			x.p.Reader.Env.Arena.Alloc)
		if err != nil {
			return err
		}
		if t != nil {
			own[b] = t
		}
	}
	return nil
}

// hasPlannedBlocks reports whether the blocks b of a tensor have the ranges and owners that the
// plan has for an operand.
func (x *Operands) hasPlannedBlocks(operand int, b *store.Blocks) bool {
	if last := x.shown[operand]; last != nil && last.HasSameDistribution(b) {
		return true
	}
	o := x.p.Problem.Operands[operand]
	if !x.p.Reader.Target(o.Before(), o.Tensor).Same(b) {
		return false
	}
	x.shown[operand] = &store.Blocks{Owners: b.Owners, Boxes: b.Boxes}
	return true
}

// HaveBlocksOf reports whether all accesses of an operand read the very blocks of h, not copies of
// them. The result is the same at every rank.
func (x *Operands) HaveBlocksOf(operand string, h *input.Held) bool {
	return h.AsIs && !slices.ContainsFunc(x.p.accesses(operand), func(i int) bool {
		return x.p.Replicated[i] && h.Replica == nil || !x.hasPlannedBlocks(i, h.Blocks)
	})
}

// AllEntries returns blocks that together hold all entries of a distributed operand. These are the
// blocks of the operand's first access that is not cut by a repeated variable. If an access such as
// A(i,i) is cut by i, its blocks hold only the diagonal. If every access is cut in this way,
// AllEntries loads the whole tensor at one rank. The caller closes the blocks. Every rank must call
// it.
func (x *Operands) AllEntries(name string) (*store.Blocks, error) {
	access, part := x.p.cutForAll(name)
	if access >= 0 {
		b := x.p.blocksOf(name, part, x.rank.Own[access])
		for n, t := range b.Own {
			b.Own[n] = t.Alias()
		}
		return b, nil
	}
	own, err := x.p.Reader.Blocks(x.p.Reader.Env.Comm, part, name)
	if err != nil {
		return nil, err
	}
	return x.p.blocksOf(name, part, own), nil
}

// Whole returns a whole operand at this rank. If nothing is cut (Problem.Whole), the result is the
// block of an access. Otherwise this rank loads the operand again, without the other ranks. Later
// calls return the same tensor, until the operand is exchanged. The statement owns the tensor.
func (x *Operands) Whole(name string) (*tcs.Tensor, error) {
	if t := x.wholes[name]; t != nil {
		return t, nil
	}
	if x.p.Problem.Whole {
		if list := x.p.accesses(name); len(list) > 0 {
			return x.rank.Own[list[0]][0], nil
		}
	}
	c, end := local.Alone(x.p.Reader.Env.Ctx)
	defer end()
	own, err := x.p.Reader.Blocks(c, partition.Whole(x.p.Parsed.Orders[name]), name)
	if err != nil {
		return nil, err
	}
	x.wholes[name] = own[0]
	x.loaded = append(x.loaded, own[0])
	x.p.Reader.Env.Detail(summary.Describe(name, own[0]))
	return own[0], nil
}

// keep keeps this rank's blocks of an operand, and its replica, in the memory of the device that
// runs leaves. It does nothing if the operand's placement names the host's memory. It also does
// nothing if leaves run on CPUs, or if the program may change the operand's values without a
// statement (Reader.MayChange).
func (x *Operands) keep(operand int) {
	if x.p.Target.Kind == codegen.CPU || x.p.Reader.MayChange(x.p.Problem.Operands[operand].Tensor) {
		return
	}
	x.kept[operand] = true
	m := x.p.Parsed.Memory(x.p.Problem.Operands[operand].Tensor)
	x.each(operand, func(t *tcs.Tensor) { x.p.Reader.Env.KeepIn(t, m) })
}

// unkeep ends what keep began.
func (x *Operands) unkeep(operand int) {
	if x.kept[operand] {
		x.kept[operand] = false
		x.each(operand, x.p.Reader.Env.Forget)
	}
}

// each calls do with each of this rank's blocks of an operand, and with its replica.
func (x *Operands) each(operand int, do func(t *tcs.Tensor)) {
	for _, t := range x.rank.Own[operand] {
		do(t)
	}
	if t := x.rank.Replicas[operand]; t != nil {
		do(t)
	}
}

// fetch copies values of operands from the device to the host, because steps send and gather them.
func (x *Operands) fetch() error {
	for i := range x.rank.Own {
		for _, t := range x.rank.Own[i] {
			if err := x.p.Reader.Env.Fetch(t); err != nil {
				return err
			}
		}
		if err := x.p.Reader.Env.Fetch(x.rank.Replicas[i]); err != nil {
			return err
		}
	}
	return nil
}

// Loosen tells the statement that others may change the values of an operand from now on. The
// operand is then no longer kept on a device.
func (x *Operands) Loosen(name string) {
	for _, i := range x.p.accesses(name) {
		x.unkeep(i)
	}
}

// exchange loads an operand again, from another tensor. Every rank must call it.
func (x *Operands) exchange(name string) error {
	delete(x.wholes, name)
	for _, i := range x.p.accesses(name) {
		own, replica, err := x.loadOperand(i)
		if err != nil {
			return err
		}
		x.drop(i)
		x.rank.Own[i], x.rank.Replicas[i] = own, replica
		x.keep(i)
	}
	return nil
}

// drop releases this rank's blocks and replica of an operand.
func (x *Operands) drop(operand int) {
	x.unkeep(operand)
	tcs.CloseAll(x.rank.Own[operand])
	x.rank.Own[operand] = nil
	if t := x.rank.Replicas[operand]; t != nil {
		t.Close()
		x.rank.Replicas[operand] = nil
	}
}

// close releases all operands.
func (x *Operands) close() {
	for i := range x.rank.Own {
		x.drop(i)
	}
	x.rank.Own = nil
	for _, t := range x.loaded {
		t.Close()
	}
}

// MayShareBlocks reports whether a run may let other ranks read blocks b of an operand. Ranks of
// one process share the blocks' memory, and may still read it after this rank's run. All ranks
// return the same.
func (x *Operands) MayShareBlocks(operand string, b *store.Blocks) bool {
	return slices.ContainsFunc(x.p.accesses(operand), func(i int) bool {
		return x.p.OneStep == nil || !x.hasPlannedBlocks(i, b) &&
			!(x.p.Replicated[i] && b.InRows(x.p.Reader.Env.Comm.Size()))
	})
}

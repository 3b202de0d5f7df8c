package prepared

import (
	"math"
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/summary"
	"distaff/spmd/transfer"
)

// Load makes this rank's blocks of every operand. Every rank must call it.
func (k *Statement) Load() error {
	for i, o := range k.Problem.Operands {
		if err := k.Reader.Env.Ctx.Err(); err != nil {
			return err
		}
		own, replica, err := k.loadOperand(i)
		if err != nil {
			return err
		}
		k.exec.Own = append(k.exec.Own, own)
		k.exec.Replicas[i] = replica
		if k.Problem.Whole {
			k.Reader.Env.Detail(summary.Describe(o.Tensor, own[0]))
		}
	}
	return nil
}

// readBlocks makes this rank's blocks of an operand. If the operand's entries are cut into chunks,
// it tells the plan where the chunks begin. Every rank must call it.
func (k *Statement) readBlocks(operand int) (map[plan.Block]*tcs.Tensor, error) {
	o := k.Problem.Operands[operand]
	part := o.Before()
	if operand != k.Problem.Stored() {
		return k.Reader.Blocks(k.Reader.Env.Comm, part, o.Tensor)
	}
	a := part.Ordered()
	a.Keys = nil
	own, err := k.Reader.Blocks(k.Reader.Env.Comm, part, o.Tensor)
	if err == nil {
		k.Problem.Locate(a.Keys)
	}
	return own, err
}

// LocateChunks tells a plan where the chunks of a tensor's entries begin, before the tensor is
// loaded. It guesses unless Reader.Keys can compute the keys.
func (k *Statement) LocateChunks() error {
	at := k.Problem.Stored()
	if at < 0 {
		return nil
	}
	o := &k.Problem.Operands[at]
	keys, err := k.Reader.Keys(o.Tensor, o.Partition.Ordered().Ordered)
	switch {
	case err != nil:
		return err
	case keys != nil:
		k.Problem.Locate(keys)
	default:
		dims := k.Reader.Sizes.Dims[o.Tensor]
		k.Problem.Guess(dims, k.Reader.Sources[o.Tensor].EntryCount(dims))
	}
	return nil
}

// adoptCuts changes the plan of an operand that is cut into chunks of entries, so that no entries
// move. The new chunks are the chunks into which the program's tensor is already cut. Among the
// conditions are: the tensor has the planned number of chunks, the planned ranks own them, and
// their lengths differ by at most one position. Otherwise the plan stays. Every rank must call it.
func (k *Statement) adoptCuts(operand int) error {
	if operand != k.Problem.Stored() {
		return nil
	}
	part, b := k.Problem.Operands[operand].Partition,
		k.Reader.HeldBlocks(k.Problem.Operands[operand].Tensor)
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
	if err := comm.Allreduce(k.Reader.Env.Comm.Uncounted(), most, comm.Max); err != nil {
		return err
	}
	if most[0]+most[1] <= 1 {
		k.Problem.Locate(keys)
	}
	return nil
}

// WholeOperand returns a whole operand at this rank. In a job of one rank it is the operand's only
// block. Otherwise this rank alone loads the operand again, once. The Statement owns the tensor.
func (k *Statement) WholeOperand(name string) (*tcs.Tensor, error) {
	if t := k.wholes[name]; t != nil {
		return t, nil
	}
	if k.Problem.Whole {
		for i, o := range k.Problem.Operands {
			if o.Tensor == name {
				return k.exec.Own[i][0], nil
			}
		}
	}
	c, end := local.Alone(k.Reader.Env.Ctx)
	defer end()
	own, err := k.Reader.Blocks(c, partition.Whole(k.p.Orders[name]), name)
	if err != nil {
		return nil, err
	}
	k.wholes[name] = own[0]
	k.closing(own[0])
	k.Reader.Env.Detail(summary.Describe(name, own[0]))
	return own[0], nil
}

// ResultBlocks returns a description of all blocks of the result. tensors holds the blocks that
// this rank has.
func (k *Statement) ResultBlocks(tensors map[plan.Block]*tcs.Tensor) *store.Blocks {
	b := k.blocksOf(k.p.Result, k.ResultPartition(), tensors)
	b.Sums = k.Sums()
	return b
}

// Sums reports whether the statement adds values. If it does, the sign of a zero may depend on the
// plan and on how leaves are compiled.
func (k *Statement) Sums() bool { return k.adds }

// addsValues reports whether a statement sums over a variable, adds or subtracts, or is a +=.
func addsValues(n *notation.Normal) bool {
	return n.Accumulate || len(n.Terms) > 1 ||
		slices.ContainsFunc(n.Terms, func(t *notation.Term) bool {
			adds := len(t.Sum) > 0
			notation.WalkTerm(t, func(e notation.Expr) bool {
				switch e := e.(type) {
				case *notation.ReductionExpr:
					adds = true
				case *notation.Binary:
					adds = adds || e.Op == '+' || e.Op == '-'
				}
				return !adds
			})
			return adds
		})
}

// OperandBlocks returns a description of all blocks of an operand, with the tensors that this rank
// owns.
func (k *Statement) OperandBlocks(operand int) *store.Blocks {
	o := k.Problem.Operands[operand]
	return k.blocksOf(o.Tensor, o.Before(), k.exec.Own[operand])
}

// blocksOf returns a description of all blocks of a tensor in partition part. It includes the given
// tensors, except for tensors that copy another rank's block.
func (k *Statement) blocksOf(name string, part *partition.Partition,
	tensors map[plan.Block]*tcs.Tensor) *store.Blocks {
	return k.withTensors(load.Blocks(part, k.likeOf(name, k.Reader.Formats[name])), tensors)
}

// withTensors returns a copy of b that includes the given tensors, by block number, as this rank's
// blocks. A tensor is left out if another rank owns the block, because the tensor is then a copy.
func (k *Statement) withTensors(b *store.Blocks, tensors map[plan.Block]*tcs.Tensor) *store.Blocks {
	c := *b
	c.Own = make(map[int]*tcs.Tensor, len(tensors))
	for n, t := range tensors {
		if b.Owners[n] == k.Reader.Env.Comm.Rank() { // other blocks are copies
			c.Own[int(n)] = t
		}
	}
	return &c
}

// ResultLike describes the result's blocks, in the result's type, for sending them in messages.
func (k *Statement) ResultLike() transfer.Like {
	like := k.exec.Result
	like.Layout.Type = k.Reader.Types[k.p.Result]
	return like
}

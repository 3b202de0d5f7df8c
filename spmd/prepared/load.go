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

// Load makes this rank's blocks of every operand. Collective.
func (k *Statement) Load() error {
	for i, o := range k.Problem.Operands {
		if err := k.Reader.Env.Ctx.Err(); err != nil {
			return err
		}
		own, replica, err := k.here(i)
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

// blocks makes this rank's blocks of an operand. Where the operand's entries are cut, the plan is
// told where the pieces begin. Collective.
func (k *Statement) blocks(operand int) (map[plan.Block]*tcs.Tensor, error) {
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

// Foreknow locates the chunks of a tensor's entries before it is loaded, for plans: where what
// every rank has of it tells where they begin, else about.
func (k *Statement) Foreknow() error {
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

// adopt takes over the keys of a tensor that a program holds, as those at which the chunks of its
// entries begin, where it lies in as many pieces, at the same ranks, of as many entries each.
// Collective.
func (k *Statement) adopt(operand int) error {
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
	// of the numbers of positions, and of these less than 0
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

// WholeOperand is an operand at this rank, whole: its one block, or loaded once more, alone.
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

// ResultBlocks describes the result's blocks, of which own live at this rank.
func (k *Statement) ResultBlocks(own map[plan.Block]*tcs.Tensor) *store.Blocks {
	b := k.blocksOf(k.p.Result, k.ResultPartition(), own)
	b.Sums = k.Sums()
	return b
}

// Sums tells whether the statement adds: whether it sums over a variable, has several terms, or is
// a +=. It may then depend on the plan, and on how leaves are compiled, which sign a zero has.
func (k *Statement) Sums() bool {
	n := k.p.Norm
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

// OperandBlocks describes the blocks of an operand, those of this rank with them.
func (k *Statement) OperandBlocks(operand int) *store.Blocks {
	o := k.Problem.Operands[operand]
	return k.blocksOf(o.Tensor, o.Before(), k.exec.Own[operand])
}

// blocksOf describes the blocks of a tensor that is cut so.
func (k *Statement) blocksOf(name string, part *partition.Partition,
	own map[plan.Block]*tcs.Tensor) *store.Blocks {
	b := load.Blocks(part, k.likeOf(name, k.Reader.Formats[name]))
	for n, t := range own {
		if b.Owners[n] == k.Reader.Env.Comm.Rank() { // else it is a copy
			b.Own[int(n)] = t
		}
	}
	return b
}

// ResultLike is how blocks of the result travel.
func (k *Statement) ResultLike() transfer.Like {
	like := k.exec.Result
	like.Layout.Type = k.Reader.Types[k.p.Result]
	return like
}

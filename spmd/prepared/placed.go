package prepared

import (
	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// PlacementPieces returns the partition that placement h gives to a tensor, if the statement itself
// moves the tensor. The statement moves an operand from this partition before the first step, and
// the result to this partition after the last step. The function returns nil if the tensor is not
// moved. In a program it always returns nil, because the program moves its tensors itself.
func (k *Statement) PlacementPieces(h plan.Home) *partition.Partition {
	if !k.o.Places {
		return nil
	}
	return h.Pieces
}

// ResultPartition returns the final partition of the result: after the last step, and after the
// move to its placement if it has one.
func (k *Statement) ResultPartition() *partition.Partition {
	if home := k.PlacementPieces(k.Problem.ResultHome); home != nil {
		return home
	}
	return k.Problem.FinalPartition()
}

// Moved counts the messages that moved operands from their placements to the blocks of the steps.
func (k *Statement) Moved() comm.Counters { return k.moved }

// loadBlocks loads this rank's blocks of an operand. If the operand has a placement with other
// pieces, it loads these pieces first and then moves them. Every rank must call it.
func (k *Statement) loadBlocks(operand int) (map[plan.Block]*tcs.Tensor, error) {
	o := &k.Problem.Operands[operand]
	home := k.PlacementPieces(o.Home)
	if home == nil {
		return k.readBlocks(operand)
	}
	there, err := k.Reader.Blocks(k.Reader.Env.Comm, home, o.Tensor)
	if err != nil {
		return nil, err
	}
	defer tcs.CloseAll(there)
	before := k.Reader.Env.Comm.Counters()
	own, _, err := k.Reader.Target(o.Before(), o.Tensor).Redistribute(k.Reader.Env.Comm,
		k.blocksOf(o.Tensor, home, there), true)
	k.moved = k.moved.Add(k.Reader.Env.Comm.Counters().Sub(before))
	return own, err
}

// ToPlacement describes how the blocks that steps make are combined into the pieces of the result's
// placement.
func (k *Statement) ToPlacement() *assemble.Sum {
	dims := k.Reader.Sizes.Dims[k.p.Result]
	return &assemble.Sum{Like: k.likeOf(k.p.Result, k.Reader.Formats[k.p.Result]),
		Parts:  assemble.PiecesOf(k.Problem.Result, dims),
		Pieces: assemble.PiecesOf(k.ResultPartition(), dims)}
}

// place combines the result's blocks into the pieces of its placement, and takes ownership of the
// blocks. Every rank must call it.
func (k *Statement) place(blocks map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	sum := k.ToPlacement()
	sum.Like = k.ResultLike()
	own, err := sum.Run(k.Reader.Env.Comm, blocks, k.pieces())
	if err != nil {
		return nil, err
	}
	return k.exec.Copy(k.ResultPartition(), sum.Like, own)
}

// pieces returns the options for assembling pieces of the result.
func (k *Statement) pieces() assemble.Options {
	o := assemble.Options{Alloc: k.Reader.Env.Arena.Alloc, Limit: k.Reader.Env.Limit,
		Threads: k.Reader.Env.Threads, Abort: k.exec.Abort}
	if k.exec.Sparse != nil {
		shape := *k.exec.Sparse.Shape
		shape.Layout.Type = k.ResultLike().Layout.Type
		o.Shape = &shape
	}
	return o
}

// Complete prepares blocks b of the result for statements that read them. It does nothing if the
// statement is one call at each rank. Otherwise it copies their values from the device and, unless
// readers convert the blocks, adds to each block the coordinates that neighboring blocks store
// (assemble.Complete). Every rank must call it.
func (k *Statement) Complete(b *store.Blocks) error {
	if k.oneStep != nil {
		return nil
	}
	for _, t := range b.Own {
		if err := k.Reader.Env.Fetch(t); err != nil {
			return err
		}
	}
	if !k.ResultStored() { // readers convert the blocks anyway
		return nil
	}
	return assemble.Complete(k.Reader.Env.Comm, b, k.pieces())
}

// Completing returns, for each rank, an upper bound of the number of bytes that Complete needs
// besides the blocks. pos and crd are the element widths of the blocks' arrays in bytes, and the
// function size returns the sizes of a block. Outside of a program the bound is 0, because a result
// that is only written to files is not completed.
func (k *Statement) Completing(pos, crd []uint8, size plan.Sizes) []int64 {
	if k.o.Places {
		return make([]int64, k.Problem.Ranks)
	}
	return assemble.CompleteCost(k.ResultBlocks(nil), k.Problem.Ranks, pos, crd, size)
}

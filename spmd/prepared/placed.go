package prepared

import (
	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// Lies is how a tensor lies where its placement is not what the steps go by: an operand before the
// first step, and the result after the last. Nil for any other, and for those of a program, which
// brings its tensors itself.
func (k *Statement) Lies(h plan.Home) *partition.Partition {
	if !k.o.Places {
		return nil
	}
	return h.Pieces
}

// ResultPartition is how the result lies after the last step.
func (k *Statement) ResultPartition() *partition.Partition {
	if lies := k.Lies(k.Problem.ResultHome); lies != nil {
		return lies
	}
	return k.Problem.FinalPartition()
}

// Moved is what was sent and received to bring operands from where they lie to where the steps want
// them.
func (k *Statement) Moved() comm.Counters { return k.moved }

// loaded makes this rank's blocks of an operand: of one that lies elsewhere than the steps want it,
// from its blocks there. Collective.
func (k *Statement) loaded(operand int) (map[plan.Block]*tcs.Tensor, error) {
	o := &k.Problem.Operands[operand]
	lies := k.Lies(o.Home)
	if lies == nil {
		return k.blocks(operand)
	}
	there, err := k.Reader.Blocks(k.Reader.Env.Comm, lies, o.Tensor)
	if err != nil {
		return nil, err
	}
	defer tcs.CloseAll(there)
	before := k.Reader.Env.Comm.Counters()
	own, _, err := k.Reader.Target(o.Before(), o.Tensor).Redistribute(k.Reader.Env.Comm,
		k.blocksOf(o.Tensor, lies, there), true)
	k.moved = k.moved.Add(k.Reader.Env.Comm.Counters().Sub(before))
	return own, err
}

// ToPlacement is how the blocks of the result, which the steps have made, become the pieces of its
// placement.
func (k *Statement) ToPlacement() *assemble.Sum {
	dims := k.Reader.Sizes.Dims[k.p.Result]
	return &assemble.Sum{Like: k.likeOf(k.p.Result, k.Reader.Formats[k.p.Result]),
		Parts:  assemble.PiecesOf(k.Problem.Result, dims),
		Pieces: assemble.PiecesOf(k.ResultPartition(), dims)}
}

// place brings blocks of the result, which it takes over, to where the result lies. Collective.
func (k *Statement) place(blocks map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	sum := k.ToPlacement()
	sum.Like = k.ResultLike()
	own, err := sum.Run(k.Reader.Env.Comm, blocks, k.pieces())
	if err != nil {
		return nil, err
	}
	return k.exec.Copy(k.ResultPartition(), sum.Like, own)
}

// pieces are the options to make pieces of the result with.
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

// Complete gives the blocks of the result, which other statements are to read as they are, the
// coordinates that blocks beside them store (assemble.Complete). Collective.
func (k *Statement) Complete(b *store.Blocks) error {
	if !k.ResultStored() { // they are assembled anew where they are read
		return nil
	}
	return assemble.Complete(k.Reader.Env.Comm, b, k.pieces())
}

// Completing is what Complete takes at most at each rank beside the blocks, of the sizes and widths
// that these are taken to have. It is nothing outside of a program, where nothing but files is made
// of the result.
func (k *Statement) Completing(pos, crd []uint8, size plan.Sizes) []int64 {
	if k.o.Places {
		return make([]int64, k.Problem.Ranks)
	}
	return assemble.CompleteCost(k.ResultBlocks(nil), k.Problem.Ranks, pos, crd, size)
}

package prepared

import (
	"maps"
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Result brings the blocks that the steps of a run have made into the final blocks of the result.
type Result struct {
	p    *Planned
	code *Code
	rank *exec.Rank

	// describes the blocks of the result; nil before the first run, and after Statement.forget
	blocks *store.Blocks
}

// deliver converts the computed blocks to the result's type and moves them to the result's
// placement, unless the result has a fixed pattern. It takes ownership of the blocks. Every rank
// must call it.
func (x *Result) deliver(own map[plan.Block]*tcs.Tensor) (_ *input.Held, err error) {
	if x.code.pattern == nil {
		if x.p.needsNarrowing() {
			if own, err = x.narrow(own); err != nil {
				return nil, err
			}
		}
		if x.p.PlacementPieces(x.p.Problem.ResultHome) != nil {
			if own, err = x.place(own); err != nil {
				return nil, err
			}
		}
	}
	if x.blocks == nil {
		x.blocks = x.p.ResultBlocks()
	}
	return &input.Held{Blocks: x.p.withTensors(x.blocks, own), AsIs: x.code.resultIsStored()}, nil
}

// narrow converts the computed blocks to the result's type, and takes ownership of the blocks. If
// some ranks fail, for example because a value does not fit, the job ends with the error of the
// lowest of them. Every rank must call it.
func (x *Result) narrow(blocks map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	var err error
	for _, b := range slices.Sorted(maps.Keys(blocks)) {
		wide := blocks[b]
		if blocks[b], err = x.p.withValues(wide, x.p.Reader.Types[x.p.Parsed.Result]); err == nil {
			if err = x.p.narrowValues(blocks[b], wide); err == nil {
				wide.Close()
				continue
			}
			blocks[b].Close()
		}
		blocks[b] = wide
		break
	}
	if err = load.Agree(x.p.Reader.Env.Comm, err); err != nil {
		tcs.CloseAll(blocks)
		return nil, err
	}
	return blocks, nil
}

// place combines the result's blocks into the pieces of its placement, and takes ownership of the
// blocks. Every rank must call it.
func (x *Result) place(blocks map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	sum := x.p.ToPlacement()
	sum.Like = x.like()
	own, err := sum.Run(x.p.Reader.Env.Comm, blocks, x.pieces())
	if err != nil {
		return nil, err
	}
	return x.rank.Copy(x.p.ResultPartition(), sum.Like, own)
}

// pieces returns the options for assembling pieces of the result.
func (x *Result) pieces() assemble.Options {
	env := x.p.Reader.Env
	o := assemble.Options{Alloc: env.Arena.Alloc, Limit: env.Limit, Threads: env.Threads,
		Abort: x.rank.Abort}
	if x.rank.Sparse != nil {
		shape := *x.rank.Sparse.Shape
		shape.Layout.Type = x.like().Layout.Type
		o.Shape = &shape
	}
	return o
}

// like describes the result's blocks, in the result's type, for sending them in messages.
func (x *Result) like() transfer.Like {
	like := x.rank.Result
	like.Layout.Type = x.p.Reader.Types[x.p.Parsed.Result]
	return like
}

// Complete prepares blocks b of the result for statements that read them. It does nothing if the
// statement is one call at each rank. Otherwise it copies their values from the device and, unless
// readers convert the blocks, adds to each block the coordinates that neighboring blocks store
// (assemble.Complete). Every rank must call it.
func (x *Result) Complete(b *store.Blocks) error {
	if x.p.OneStep != nil {
		return nil
	}
	for _, t := range b.Own {
		if err := x.p.Reader.Env.Fetch(t); err != nil {
			return err
		}
	}
	if !x.code.resultIsStored() { // readers convert the blocks anyway
		return nil
	}
	return assemble.Complete(x.p.Reader.Env.Comm, b, x.pieces())
}

package prepared

import (
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/bridge"
	"distaff/spmd/comm/local"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/summary"
	"distaff/spmd/transfer"
)

// Load makes this rank's blocks of every operand. Collective.
func (k *Statement) Load() error {
	for i, o := range k.Problem.Operands {
		if err := k.Ctx.Err(); err != nil {
			return err
		}
		own, err := k.Blocks(k.Comm, k.Problem, k.Problem.Operands[i].Modes, o.Tensor)
		if err != nil {
			return err
		}
		for _, t := range own {
			k.closing(t)
		}
		k.exec.Own = append(k.exec.Own, own)
		if k.Problem.Whole {
			k.Detail(summary.Describe(o.Tensor, own[0]))
		}
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
	c, end := local.Alone(k.Ctx)
	defer end()
	own, err := k.Blocks(c, plan.Whole(), slices.Repeat([]int{-1}, k.p.Orders[name]), name)
	if err != nil {
		return nil, err
	}
	k.wholes[name] = own[0]
	k.closing(own[0])
	k.Detail(summary.Describe(name, own[0]))
	return own[0], nil
}

// ResultBlocks describes the result's blocks, of which own live at this rank.
func (k *Statement) ResultBlocks(own map[plan.Block]*tcs.Tensor) *store.Blocks {
	p := k.Problem
	f := k.Formats[k.p.Result]
	b := &store.Blocks{Dims: k.Sizes.Dims[k.p.Result], Type: bridge.TCS(k.Types[k.p.Result]), Kinds: f.Letters(), Modes: f.Order, Own: map[int]*tcs.Tensor{}}
	for n := range plan.Block(p.SpaceOf(p.Result).Size()) {
		b.Owners = append(b.Owners, p.Owner(p.Result, n))
		b.Boxes = append(b.Boxes, p.Box(p.Result, n, b.Dims))
	}
	for n, t := range own {
		b.Own[int(n)] = t
	}
	return b
}

// Nonzeros counts, of each operand, the stored entries of the blocks that live at this
// rank: of those that its steps read, and of all.
func (k *Statement) Nonzeros(rank int) (used, owned []int64) {
	used, owned = make([]int64, len(k.Problem.Operands)), make([]int64, len(k.Problem.Operands))
	counts := make([]map[plan.Block]int64, len(k.Problem.Operands))
	for n, own := range k.exec.Own {
		counts[n] = map[plan.Block]int64{}
		for b, t := range own {
			counts[n][b] = summary.Entries(t)
			owned[n] += counts[n][b]
		}
	}
	for s := range k.Problem.Steps(rank) {
		for _, need := range s.Need {
			used[need.Operand] += counts[need.Operand][need.Block]
			delete(counts[need.Operand], need.Block) // once
		}
	}
	return used, owned
}

// ResultLike is how blocks of the result travel.
func (k *Statement) ResultLike() transfer.Like { return k.exec.Result }

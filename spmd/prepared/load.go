package prepared

import (
	"slices"

	"distaff/codegen/notation"
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
		own, replica, err := k.here(i)
		if err != nil {
			return err
		}
		k.exec.Own = append(k.exec.Own, own)
		k.exec.Replicas[i] = replica
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
	b := k.blocksOf(k.Problem, k.p.Result, k.Problem.Result, own)
	b.Sums = k.Sums()
	return b
}

// Sums tells whether the statement adds: whether it sums over a variable, has several terms, or is
// a +=. It may then depend on the plan, and on how leaves are compiled, which sign a zero has.
func (k *Statement) Sums() bool {
	n := k.p.Norm
	return n.Accumulate || len(n.Terms) > 1 || slices.ContainsFunc(n.Terms, func(t *notation.Term) bool {
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
	return k.blocksOf(k.Problem, o.Tensor, o.Modes, k.exec.Own[operand])
}

// blocksOf describes the blocks of a tensor whose modes are cut so by p.
func (k *Statement) blocksOf(p *plan.Problem, name string, cuts []int, own map[plan.Block]*tcs.Tensor) *store.Blocks {
	f := k.Formats[name]
	b := &store.Blocks{Dims: k.Sizes.Dims[name], Type: bridge.TCS(k.Types[name]), Kinds: f.Letters(), Modes: f.Order, Own: map[int]*tcs.Tensor{}}
	for n := range plan.Block(p.SpaceOf(cuts).Size()) {
		b.Owners = append(b.Owners, p.Owner(cuts, n))
		b.Boxes = append(b.Boxes, p.Box(cuts, n, b.Dims))
	}
	for n, t := range own {
		b.Own[int(n)] = t
	}
	return b
}

// ResultLike is how blocks of the result travel.
func (k *Statement) ResultLike() transfer.Like {
	like := k.exec.Result
	like.Type = bridge.TCS(k.Types[k.p.Result])
	return like
}

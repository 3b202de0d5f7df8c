package prepared

import (
	"slices"

	"distaff/codegen"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

// accumulates reports whether to ask the compiler for leaves that add to an existing block. It is
// useful if several steps of a rank add to one block. It is possible if leaves run on CPUs, and
// every rank can make the leaf of every unit (kernels.Backend.Complete). It returns false if the
// result has a fixed pattern. Every rank must call it.
func (p *Planned) accumulates() (bool, error) {
	if p.Target.Kind == codegen.CUDA || p.Options.FixedPattern != nil ||
		p.Problem.StepsApart() {
		return false, nil
	}
	b, err := p.Reader.Env.Backend(p.Target.Kind)
	if err != nil {
		return false, err
	}
	can := []int64{0}
	if b.Complete() {
		can[0] = 1
	}
	if err := p.Reader.Env.Comm.Uncounted().Allreduce(comm.Of(can), comm.Min); err != nil {
		return false, err
	}
	return can[0] == 1, nil
}

// source returns the index of the operand whose level arrays a group's leaf uses for the blocks
// that it makes. It returns -1 if the leaf cannot add to a block, or if the leaf reads this operand
// in a converted copy. The result must be sparse.
func (c *Code) source(group int) int {
	u := c.leaves[group].unit
	if !u.Result.Accumulate || u.Args[u.Result.Shares].Convert {
		return -1
	}
	name := u.Args[u.Result.Shares].Tensor
	return slices.IndexFunc(c.p.Problem.Operands, func(o plan.Operand) bool { return o.Name == name })
}

// canAddInPlace reports whether every step at every rank can add its contribution directly to the
// block of the result. The leaves of all groups must be able to add. For a sparse result, the
// blocks of the result have the patterns of an operand's blocks (see source). Each rank must then
// also own the blocks of this operand that its steps read.
func (c *Code) canAddInPlace() bool {
	if c.p.Reader.Formats[c.p.Parsed.Result].AllDense() {
		return !slices.ContainsFunc(c.leaves, func(s *leaf) bool { return !s.unit.Result.Accumulate })
	}
	for g := range c.leaves {
		if from := c.source(g); from < 0 || !c.p.Problem.ReadsOwn(from, g) {
			return false
		}
	}
	return true
}

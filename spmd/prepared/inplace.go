package prepared

import (
	"slices"

	"distaff/codegen"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// accumulates reports whether to ask the compiler for leaves that add to an existing block. It is
// useful if several steps of a rank add to one block. It is possible if every rank has a compiler,
// because built-in leaves and GPU leaves always make new blocks. It returns false if the result has
// a fixed pattern. Every rank must call it.
func (k *Statement) accumulates() (bool, error) {
	if k.Reader.Env.Code() == codegen.CUDA || k.o.FixedPattern != nil {
		return false, nil
	}
	if k.Problem.StepsApart() {
		return false, nil
	}
	b, err := k.Reader.Env.Backend()
	if err != nil {
		return false, err
	}
	can := []int64{0}
	if b.Complete() {
		can[0] = 1
	}
	if err := k.Reader.Env.Comm.Uncounted().Allreduce(comm.Of(can), comm.Min); err != nil {
		return false, err
	}
	return can[0] == 1, nil
}

// source returns the index of the operand whose level arrays are shared by the blocks that a
// group's leaf makes, or -1 if there is none.
func (k *Statement) source(group int) int {
	u := k.leaves[group].unit
	if !u.Result.Accumulate || u.Args[u.Result.Shares].Convert {
		return -1
	}
	name := u.Args[u.Result.Shares].Tensor
	return slices.IndexFunc(k.Problem.Operands, func(o plan.Operand) bool { return o.Name == name })
}

// inPlace reports whether every step at every rank can add its contribution directly to the block
// of the result. The leaves of all groups must be able to add. For a sparse result, the blocks of
// the result have the patterns of an operand's blocks (see source). Each rank must then also own
// the blocks of this operand that its steps read.
func (k *Statement) inPlace() bool {
	if k.Reader.Formats[k.p.Result].AllDense() {
		return !slices.ContainsFunc(k.leaves, func(s *leaf) bool { return !s.unit.Result.Accumulate })
	}
	for g := range k.leaves {
		if from := k.source(g); from < 0 || !k.Problem.ReadsOwn(from, g) {
			return false
		}
	}
	return true
}

// AddsInPlace reports whether the leaves of a compiled statement add to blocks in place.
func (k *Statement) AddsInPlace() bool {
	return k.exec.Adds
}

// accumulate tells package exec how to let several steps add to the same sparse block. It describes
// the shape and the box of such a block, and the operands from which its pattern comes.
func (k *Statement) accumulate() {
	result := k.leaves[0].unit.Result
	like := k.exec.Result
	y := &exec.Sparse{
		Shape: &reduce.Shape{Name: like.Name, Layout: like.Layout,
			PosWidth: result.PosWidth, CrdWidth: result.CrdWidth},
		Box:     func(b plan.Block) [][2]int64 { return k.Problem.Result.Box(b, like.Layout.Dims) },
		Alloc:   k.Reader.Env.Arena.Alloc,
		Threads: k.Reader.Env.Threads,
		Keep:    k.o.Several,
		Source:  k.source, Ahead: codegen.MapAhead,
	}
	k.exec.Sparse = y
	k.closers = append(k.closers, y.Close)
}

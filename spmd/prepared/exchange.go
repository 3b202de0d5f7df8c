package prepared

import (
	"math"

	"distaff/codegen"
	"distaff/spmd/comm"
	"distaff/spmd/input"
	"distaff/spmd/partition"
	"distaff/spmd/store"
)

// Exchange replaces the operand with that name by h, another tensor of the same sizes, type and
// format. If h may have other patterns or widths, the caller then asks Fits whether the leaves can
// read it. Every rank must call it.
func (k *Statement) Exchange(name string, h *input.Held) error {
	if err := k.Reader.Hold(name, h); err != nil {
		return err
	}
	if again, err := k.gatherAgain(name); again || err != nil {
		return err
	}
	k.forget()
	if t := k.wholes[name]; t != nil {
		delete(k.wholes, name) // Close still closes it
	}
	for i, o := range k.Problem.Operands {
		if o.Tensor != name {
			continue
		}
		own, replica, err := k.loadOperand(i)
		if err != nil {
			return err
		}
		k.drop(i)
		k.exec.Own[i], k.exec.Replicas[i] = own, replica
		k.keep(i)
	}
	return nil
}

// gatherAgain gathers the new values of an operand into its existing replicas. The leaves remain
// bound to the replicas, unless an operand was converted for them. It does nothing and returns
// false if some access of the operand cannot be gathered again (canGatherAgain). Every rank must
// call it.
func (k *Statement) gatherAgain(name string) (bool, error) {
	for i, o := range k.Problem.Operands {
		if o.Tensor == name && !k.canGatherAgain(i) {
			return false, nil
		}
	}
	b := k.Reader.HeldBlocks(name)
	for i, o := range k.Problem.Operands {
		if o.Tensor != name {
			continue
		}
		if err := k.gather(k.exec.Replicas[i], b); err != nil {
			return false, err
		}
	}
	k.ValuesChanged()
	return true, nil
}

// canGatherAgain reports whether the replica of an operand was gathered and its new tensor can be
// gathered as well. All ranks return the same.
func (k *Statement) canGatherAgain(operand int) bool {
	o := k.Problem.Operands[operand]
	b := k.Reader.HeldBlocks(o.Tensor)
	return k.gathered[operand] && k.exec.Replicas[operand] != nil && b != nil &&
		!k.Reader.HasReplica(o.Tensor) && InRows(b, k.Reader.Env.Comm.Size()) &&
		k.Reader.Env.Code() != codegen.CUDA
}

// ValuesChanged tells the statement that the values of an operand changed in the same memory.
// Operands that were converted for the leaf are then converted again. The caller must call it after
// any of these changes.
func (k *Statement) ValuesChanged() {
	if k.bound != nil && k.bound.made.any() {
		k.unbind()
	}
}

// forget drops everything that depends on the patterns of the operands.
func (k *Statement) forget() {
	k.unbind()
	k.result = nil // chunks of entries may be cut elsewhere
	k.exec.Forget()
	if k.exec.Sparse != nil {
		k.exec.Sparse.Close()
	}
}

// Release releases this rank's blocks of an operand. The operand must be exchanged before the next
// run.
func (k *Statement) Release(name string) {
	k.forget()
	for i, o := range k.Problem.Operands {
		if o.Tensor == name {
			k.drop(i)
		}
	}
}

// AllEntries returns blocks that together hold all entries of a distributed operand. If an access
// has a different variable for each mode, these are the blocks of that access. If every access
// repeats a variable, as A(i,i) does, their blocks hold only the diagonal. AllEntries then loads
// the whole tensor at one rank. The caller closes the blocks. Every rank must call it.
func (k *Statement) AllEntries(name string) (*store.Blocks, error) {
	access, part := k.cutForAll(name)
	if access >= 0 {
		b := k.OperandBlocks(access)
		for n, t := range b.Own {
			b.Own[n] = t.Alias()
		}
		return b, nil
	}
	own, err := k.Reader.Blocks(k.Reader.Env.Comm, part, name)
	if err != nil {
		return nil, err
	}
	return k.blocksOf(name, part, own), nil
}

// Where describes the blocks that AllEntries returns, without making them.
func (k *Statement) Where(name string) *store.Blocks {
	_, part := k.cutForAll(name)
	return k.blocksOf(name, part, nil)
}

// cutForAll returns the access whose blocks AllEntries returns, and their partition. access is -1
// if AllEntries loads the whole tensor.
func (k *Statement) cutForAll(name string) (access int, part *partition.Partition) {
	order := 0
	for i, o := range k.Problem.Operands {
		if o.Tensor != name {
			continue
		}
		if order = o.Partition.Order; !o.Partition.Diagonal() {
			return i, o.Before()
		}
	}
	return -1, partition.Whole(order)
}

// HasBlocksOf reports whether the blocks that the statement reads of an operand are the blocks of h
// themselves, and no copies, at every rank. h must be stored in the operand's format.
func (k *Statement) HasBlocksOf(operand int, h *input.Held) bool {
	if k.replicated[operand] && h.Replica == nil {
		return false
	}
	return k.hasPlannedBlocks(operand, h.Blocks)
}

// hasPlannedBlocks reports whether b, the blocks of a tensor, are cut and owned as the plan wants
// it for an operand.
func (k *Statement) hasPlannedBlocks(operand int, b *store.Blocks) bool {
	if last := k.shown[operand]; last != nil && last.LaidAs(b) {
		return true
	}
	o := k.Problem.Operands[operand]
	if !k.Reader.Target(o.Before(), o.Tensor).Same(b) {
		return false
	}
	k.shown[operand] = &store.Blocks{Owners: b.Owners, Boxes: b.Boxes}
	return true
}

// ResultStored reports whether the result's blocks have the requested format. If they do not, they
// have a format that leaves can write, and are converted when they are read.
func (k *Statement) ResultStored() bool {
	return k.Problem.Whole || !k.leaves[0].unit.Result.Repack
}

// Fits reports whether the compiled leaves can read the current operands, at every rank: the widths
// of the blocks' arrays are the same as before, and the positions of the result are wide enough.
// Every rank must call it.
func (k *Statement) Fits() (bool, error) {
	bad := []int64{0}
	if !k.sameWidths() {
		bad[0] = 1
	}
	c := k.Reader.Env.Comm.Uncounted()
	if err := c.Allreduce(comm.Of(bad), comm.Max); err != nil || bad[0] > 0 {
		return false, err
	}
	like, err := k.operandSpecs()
	if err != nil {
		return false, err
	}
	more := false // than 32 bits can count
	for name, t := range like {
		was := k.leaves[0].operands[name]
		more = more || t.NNZ > was.NNZ
		if (t.NNZ > math.MaxInt32) != (was.NNZ > math.MaxInt32) { // widths of converted arrays
			return false, nil
		}
	}
	r := k.leaves[0].unit.Result
	if !more || r.Format.AllDense() || r.Shares >= 0 {
		return true, nil
	}
	all := k.leafOf(like)
	all.norm = k.Problem.Summed()
	pos, _, err := codegen.Widths(all.request())
	if err != nil {
		return false, err
	}
	for l := range pos {
		if pos[l] > r.PosWidth[l] {
			return false, nil
		}
	}
	return true, nil
}

// sameWidths reports whether the arrays of this rank's blocks have the widths that the leaves read.
func (k *Statement) sameWidths() bool {
	for i, o := range k.Problem.Operands {
		like := k.leaves[0].operands[o.Name]
		for _, t := range k.exec.Own[i] {
			for l, lev := range t.Levels {
				if lev.Pos.Width != like.PosWidth[l] || lev.Crd.Width != like.CrdWidth[l] {
					return false
				}
			}
		}
	}
	return true
}

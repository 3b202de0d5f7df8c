package prepared

import (
	"math"

	"distaff/codegen"
	"distaff/spmd/comm"
	"distaff/spmd/input"
	"distaff/spmd/partition"
	"distaff/spmd/store"
)

// Exchange puts another tensor in the place of an operand, of the same sizes, type and
// format: see Fits. Collective.
func (k *Statement) Exchange(name string, h *input.Held) error {
	if err := k.Reader.Hold(name, h); err != nil {
		return err
	}
	if again, err := k.gatherAgain(name); again || err != nil {
		return err
	}
	k.forget()
	if t := k.wholes[name]; t != nil {
		delete(k.wholes, name) // Close closes it
	}
	for i, o := range k.Problem.Operands {
		if o.Tensor != name {
			continue
		}
		own, replica, err := k.here(i)
		if err != nil {
			return err
		}
		k.drop(i)
		k.exec.Own[i], k.exec.Replicas[i] = own, replica
		k.keep(i)
	}
	return nil
}

// gatherAgain brings the values of an operand into the replicas that were gathered of it, whose
// leaves stay bound to them; false where it is not only read from such. Collective.
func (k *Statement) gatherAgain(name string) (bool, error) {
	for i, o := range k.Problem.Operands {
		if o.Tensor == name && !k.gathers(i) {
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
	k.Rewritten()
	return true, nil
}

// gathers tells whether the replica of an operand was gathered, and a tensor that takes its place
// is gathered as well. The same at every rank.
func (k *Statement) gathers(operand int) bool {
	o := k.Problem.Operands[operand]
	b := k.Reader.HeldBlocks(o.Tensor)
	return k.gathered[operand] && k.exec.Replicas[operand] != nil && b != nil &&
		!k.Reader.HasReplica(o.Tensor) && InRows(b, k.Reader.Env.Comm.Size()) &&
		k.Reader.Env.Code() != codegen.CUDA
}

// Rewritten says that the values of an operand are others, in the same memory: conversions of
// operands are made anew.
func (k *Statement) Rewritten() {
	if k.bound != nil && k.bound.made.any() {
		k.unbind()
	}
}

// forget drops what runs keep of the operands' patterns.
func (k *Statement) forget() {
	k.unbind()
	k.exec.Forget()
	if k.exec.Sparse != nil {
		k.exec.Sparse.Close()
	}
}

// Release gives back this rank's blocks of an operand, which is exchanged before the
// next run.
func (k *Statement) Release(name string) {
	k.forget()
	for i, o := range k.Problem.Operands {
		if o.Tensor == name {
			k.drop(i)
		}
	}
}

// AllOf is an operand over the ranks, all of its entries: the blocks of an access whose modes
// are cut along different variables, or else the whole of it at one rank, since the blocks of
// A(i,i) are those on the diagonal. The caller closes the blocks. Collective.
func (k *Statement) AllOf(name string) (*store.Blocks, error) {
	access, part := k.allOf(name)
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

// Where describes the blocks that AllOf has, none of which need be there.
func (k *Statement) Where(name string) *store.Blocks {
	_, part := k.allOf(name)
	return k.blocksOf(name, part, nil)
}

// allOf is how AllOf has an operand cut, and the access that is; -1 for none.
func (k *Statement) allOf(name string) (access int, part *partition.Partition) {
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

// Shows tells whether the blocks of an operand are those of the tensor itself, which is stored as
// the operand is, at every rank.
func (k *Statement) Shows(operand int, h *input.Held) bool {
	if k.replicated[operand] && h.Replica == nil {
		return false
	}
	return k.same(operand, h.Blocks)
}

// same tells whether a tensor lies in the blocks that the plan wants of an operand.
func (k *Statement) same(operand int, b *store.Blocks) bool {
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

// ResultStored tells whether the blocks of results are stored as the result is to be: others
// have the levels that leaves can write.
func (k *Statement) ResultStored() bool {
	return k.Problem.Whole || !k.leaves[0].unit.Result.Repack
}

// Fits tells whether the leaves were compiled for blocks as wide as the operands', and for
// results with as many entries as they can make, at every rank. Collective.
func (k *Statement) Fits() (bool, error) {
	bad := []int64{0}
	if !k.sameWidths() {
		bad[0] = 1
	}
	c := k.Reader.Env.Comm.Uncounted()
	if err := c.Allreduce(comm.Of(bad), comm.Max); err != nil || bad[0] > 0 {
		return false, err
	}
	like, err := k.like()
	if err != nil {
		return false, err
	}
	more := false // than 32 bits may count
	for name, t := range like {
		was := k.leaves[0].operands[name]
		more = more || t.NNZ > was.NNZ
		if (t.NNZ > math.MaxInt32) != (was.NNZ > math.MaxInt32) { // of a conversion's arrays
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

// sameWidths tells whether this rank's blocks are as wide as the leaves want them.
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

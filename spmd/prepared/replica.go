package prepared

import (
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// replicaMost is the largest size in bytes of a dense operand that every rank keeps whole because
// all ranks read it. resultMost is the largest size of a result that every rank may have whole.
const (
	replicaMost = 16 << 20
	resultMost  = 64 << 10
)

// SettleReplicas decides which operands every rank keeps whole, and whether the statement is near
// (see Near). All ranks decide the same.
func (k *Statement) SettleReplicas() {
	all := k.Problem.Broadcasts()
	mark := func(everywhere bool) {
		for i, o := range k.Problem.Operands {
			k.replicated[i] = (all[i] || everywhere) && k.Reader.Formats[o.Tensor].AllDense() &&
				k.bytes(o.Tensor) <= replicaMost
		}
	}
	k.oneStep = k.newOneStep()
	mark(k.oneStep != nil && k.oneStep.everywhere)
	if k.oneStep != nil && !k.oneStep.hasBlocks(k) {
		k.oneStep = nil
		mark(false)
	}
}

// Replicated reports, for each operand, whether every rank has the whole operand.
func (k *Statement) Replicated() []bool { return k.replicated }

// bytes returns the size in bytes of a dense tensor.
func (k *Statement) bytes(name string) float64 {
	n := float64(k.likeOf(name, k.Reader.Formats[name]).Layout.Type.Size())
	for _, d := range k.Reader.Sizes.Dims[name] {
		n *= float64(d)
	}
	return n
}

// loadOperand loads this rank's blocks of an operand. If the operand is replicated, replica is the
// whole operand; otherwise it is nil. The caller closes the blocks and the replica. Every rank must
// call it.
func (k *Statement) loadOperand(operand int) (own map[plan.Block]*tcs.Tensor, replica *tcs.Tensor,
	err error) {
	o := k.Problem.Operands[operand]
	if !k.replicated[operand] {
		if err := k.adoptCuts(operand); err != nil {
			return nil, nil, err
		}
		if b := k.Reader.HeldBlocks(o.Tensor); b != nil && k.hasPlannedBlocks(operand, b) {
			own = make(map[plan.Block]*tcs.Tensor, len(b.Own))
			for n, t := range b.Own {
				own[plan.Block(n)] = t.Alias()
			}
		} else {
			own, err = k.loadBlocks(operand)
		}
		if err == nil {
			err = k.copies(operand, own)
		}
		if err != nil {
			tcs.CloseAll(own)
			return nil, nil, err
		}
		return own, nil, nil
	}
	owner := o.Partition.OwnerOf(0)
	k.gathered[operand] = false
	if replica = k.Reader.Replica(o.Tensor); replica == nil {
		b := k.Reader.HeldBlocks(o.Tensor)
		k.gathered[operand] = b != nil && InRows(b, k.Reader.Env.Comm.Size())
		if k.gathered[operand] {
			replica, err = k.gatherNew(o.Tensor, b)
		} else if own, err = k.Reader.Blocks(k.Reader.Env.Comm, o.Partition, o.Tensor); err == nil {
			replica, err = k.broadcast(o.Tensor, own[0], owner)
		}
	}
	if err != nil {
		tcs.CloseAll(own)
		return nil, nil, err
	}
	if own == nil {
		own = map[plan.Block]*tcs.Tensor{}
		if k.Reader.Env.Comm.Rank() == owner {
			own[0] = replica.Alias()
		}
	}
	return own, replica, nil
}

// copies sends each block that several ranks own from its first owner to the others, and stores the
// received blocks in own. The messages do not count as traffic of the statement, because the copies
// are part of the operand's placement. Every rank must call it.
func (k *Statement) copies(operand int, own map[plan.Block]*tcs.Tensor) error {
	part := k.Problem.Operands[operand].Before()
	if part.Copies == nil {
		return nil
	}
	c := k.Reader.Env.Comm.Uncounted()
	for b := range plan.Block(part.Pieces()) {
		if err := k.Reader.Env.Fetch(own[b]); err != nil {
			return err
		}
		t, err := transfer.Spread(c, own[b], k.exec.Like[operand], part.Ranks(b), 0,
			k.Reader.Env.Arena.Alloc)
		if err != nil {
			return err
		}
		if t != nil {
			own[b] = t
		}
	}
	return nil
}

// InRows reports whether each rank has exactly one of the blocks, and the block of each rank holds
// the range of rows that follows the range of the rank before. Rows are coordinates of the
// outermost level.
func InRows(b *store.Blocks, ranks int) bool {
	if len(b.Layout.Dims) == 0 || len(b.Owners) != ranks {
		return false
	}
	end := int64(0)
	for n, owner := range b.Owners {
		if owner != n {
			return false
		}
		for m, r := range b.Boxes[n] {
			switch {
			case m != b.Layout.Format.Order[0] && r != [2]int64{0, b.Layout.Dims[m]},
				m == b.Layout.Format.Order[0] && r[0] != end:
				return false
			case m == b.Layout.Format.Order[0]:
				end = r[1]
			}
		}
	}
	return end == b.Layout.Dims[b.Layout.Format.Order[0]]
}

// gatherNew allocates a whole dense tensor at every rank, and fills it with the rows that the ranks
// have in b. Every rank must call it.
func (k *Statement) gatherNew(name string, b *store.Blocks) (*tcs.Tensor, error) {
	t, err := k.newDense(name)
	if err != nil {
		return nil, err
	}
	if err := k.gather(t, b); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// gather fills the whole dense tensor t at every rank with the rows that the ranks have in b. Every
// rank must call it.
func (k *Statement) gather(t *tcs.Tensor, b *store.Blocks) error {
	row := int64(t.Header.Type.Size())
	for _, m := range b.Layout.Format.Order[1:] {
		row *= b.Layout.Dims[m]
	}
	counts := make([]int64, len(b.Owners))
	for n, box := range b.Boxes {
		r := box[b.Layout.Format.Order[0]]
		counts[n] = (r[1] - r[0]) * row
	}
	me := k.Reader.Env.Comm.Rank()
	send := comm.Buf{}
	if counts[me] > 0 { // the block may be a part of an array with more rows
		own := b.Own[me]
		first := (b.Boxes[me][b.Layout.Format.Order[0]][0]-own.Levels[0].Offset)*row -
			own.Vals.First*int64(
				t.Header.Type.Size())
		send = transfer.Values(own).Slice(first, first+counts[me])
	}
	if err := k.Reader.Env.Comm.Allgatherv(send, transfer.Values(t), counts); err != nil {
		return err
	}
	t.Trust()
	return nil
}

// broadcast sends a whole dense tensor from rank root to all ranks, and returns it at every rank. t
// is the tensor at rank root and is ignored at other ranks. Every rank must call it.
func (k *Statement) broadcast(name string, t *tcs.Tensor, root int) (*tcs.Tensor, error) {
	var err error
	if k.Reader.Env.Comm.Rank() == root {
		t = t.Alias()
	} else if t, err = k.newDense(name); err != nil {
		return nil, err
	}
	if err := k.Reader.Env.Comm.Bcast(transfer.Values(t), root); err != nil {
		t.Close()
		return nil, err
	}
	t.Trust()
	return t, nil
}

// newDense allocates a dense tensor. Its values are undefined.
func (k *Statement) newDense(name string) (*tcs.Tensor, error) {
	like := k.likeOf(name, k.Reader.Formats[name])
	shape := &tcs.Shape{Header: tcs.Header{Dims: like.Layout.Dims, Type: like.Layout.Type},
		Format: like.Layout.Format,
		Counts: make([]int64, len(like.Layout.Format.Levels))}
	return tcs.NewIn(shape, name, k.Reader.Env.Arena.Alloc)
}

// ReplicaOf returns this rank's replica of an operand, or nil at every rank if the operand is not
// replicated. The caller closes it.
func (k *Statement) ReplicaOf(name string) *tcs.Tensor {
	for i, o := range k.Problem.Operands {
		if t := k.exec.Replicas[i]; o.Tensor == name && t != nil {
			return t.Alias()
		}
	}
	return nil
}

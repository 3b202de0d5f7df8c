package prepared

import (
	"slices"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// loadReplica loads a replicated operand and returns it as replica. At the rank that owns the
// operand, own holds the operand too, as block 0. The caller closes the blocks in own and the
// replica. Every rank must call it.
func (x *Operands) loadReplica(operand int) (own map[plan.Block]*tcs.Tensor, replica *tcs.Tensor,
	err error) {
	o, r, c := x.p.Problem.Operands[operand], x.p.Reader, x.p.Reader.Env.Comm
	x.gathered[operand] = false
	if replica = r.Replica(o.Tensor); replica == nil {
		b := r.HeldBlocks(o.Tensor)
		if x.gathered[operand] = b != nil && b.InRows(c.Size()); x.gathered[operand] {
			replica, err = x.newReplica(o.Tensor, nil, func(t *tcs.Tensor) error { return x.gather(t, b) })
		} else if own, err = r.Blocks(c, o.Partition, o.Tensor); err == nil {
			replica, err = x.newReplica(o.Tensor, own[0], func(t *tcs.Tensor) error {
				return c.Bcast(transfer.Values(t), o.Partition.OwnerOf(0))
			})
		}
	}
	if err != nil {
		tcs.CloseAll(own)
		return nil, nil, err
	}
	if own == nil {
		own = map[plan.Block]*tcs.Tensor{}
		if c.Rank() == o.Partition.OwnerOf(0) {
			own[0] = replica.Alias()
		}
	}
	return own, replica, nil
}

// newReplica returns a whole dense tensor after the function fill has filled it at every rank. At a
// rank that has the whole tensor already, block is this tensor, and its memory is used; otherwise
// block is nil. Every rank must call it.
func (x *Operands) newReplica(name string, block *tcs.Tensor,
	fill func(t *tcs.Tensor) error) (t *tcs.Tensor, err error) {
	if block != nil {
		t = block.Alias()
	} else {
		like := x.p.likeOf(name)
		t, err = tcs.NewIn(&tcs.Shape{
			Header: tcs.Header{Dims: like.Layout.Dims, Type: like.Layout.Type},
			Format: like.Layout.Format, Counts: make([]int64, len(like.Layout.Format.Levels))},
			name, x.p.Reader.Env.Arena.Alloc)
		if err != nil {
			return nil, err
		}
	}
	if err := fill(t); err != nil {
		t.Close()
		return nil, err
	}
	t.Trust()
	return t, nil
}

// gatherAgain gathers the new values of an operand into its existing replicas, so that calls remain
// bound to the replicas. It does nothing and returns false in each of these cases:
//   - The replica of some access was not gathered.
//   - The operand's new tensor cannot be gathered, or has a replica.
//   - Leaves run on devices.
//
// All ranks return the same. Every rank must call it.
func (x *Operands) gatherAgain(name string) (bool, error) {
	r, b := x.p.Reader, x.p.Reader.HeldBlocks(name)
	list := x.p.accesses(name)
	if b == nil || r.HasReplica(name) || !b.InRows(r.Env.Comm.Size()) ||
		x.p.Target.Kind == codegen.CUDA ||
		slices.ContainsFunc(list, func(i int) bool {
			return !x.gathered[i] || x.rank.Replicas[i] == nil
		}) {
		return false, nil
	}
	for _, i := range list {
		if err := x.gather(x.rank.Replicas[i], b); err != nil {
			return false, err
		}
	}
	return true, nil
}

// gather fills the whole dense tensor t at every rank with the rows that the ranks have in b. Every
// rank must call it.
func (x *Operands) gather(t *tcs.Tensor, b *store.Blocks) error {
	row := int64(t.Header.Type.Size())
	for _, m := range b.Layout.Format.Order[1:] {
		row *= b.Layout.Dims[m]
	}
	counts := make([]int64, len(b.Owners))
	for n, box := range b.Boxes {
		r := box[b.Layout.Format.Order[0]]
		counts[n] = (r[1] - r[0]) * row
	}
	me := x.p.Reader.Env.Comm.Rank()
	send := comm.Buf{}
	if counts[me] > 0 { // the block may be a part of an array with more rows
		own := b.Own[me]
		first := (b.Boxes[me][b.Layout.Format.Order[0]][0]-own.Levels[0].Offset)*row -
			own.Vals.First*int64(t.Header.Type.Size())
		send = transfer.Values(own).Slice(first, first+counts[me])
	}
	if err := x.p.Reader.Env.Comm.Allgatherv(send, transfer.Values(t), counts); err != nil {
		return err
	}
	t.Trust()
	return nil
}

// Replica returns this rank's replica of an operand, or nil at every rank if the operand is not
// replicated. The caller closes it.
func (x *Operands) Replica(name string) *tcs.Tensor {
	for _, i := range x.p.accesses(name) {
		if t := x.rank.Replicas[i]; t != nil {
			return t.Alias()
		}
	}
	return nil
}

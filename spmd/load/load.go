// Package load makes the blocks of a tensor at the ranks that own them (SuperTaco (2019), section
// 4.4). Each rank reads a piece of the input: an equal share of the bytes of a .tcs file (Piece),
// or the lines that start in an equal share of a text file (text.Part). It determines the block of
// every entry and sends the entry to the owner of the block, which assembles its blocks (Scatter).
// Rows of a tensor that every rank can map are not moved: the block is a view of the file (Views).
//
// A rank stores its blocks and a bounded number of entries that are being sent. If the input is not
// in the blocks' storage order, the rank first stores its entries packed. They are sorted in place,
// and their memory is released while the blocks are filled. An error in the input is reported by
// the rank with the first mistake, and it ends the job at all ranks (Agree).
//
// # Files
//
//	load.go      a target's blocks; blocks that are views
//	tensor.go    blocks of a tensor that every rank has
//	cut.go       each rank's piece of this tensor
//	locate.go    keys that cut the storage order, and blocks between keys
//	held.go      blocks of a tensor that is distributed in other blocks
//	verify.go    a file that all ranks check together
//	scatter.go   blocks of a stream at each rank
//	route.go     the block of each entry
//	exchange.go  messages with entries
//	slots.go     dense levels inside other levels, across blocks
//	agree.go     steps that succeed at all ranks or at none
//	cost.go      estimates of memory and of messages, before there are entries
package load

import (
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Target describes the blocks that are made from a tensor's entries.
type Target struct {
	Partition *partition.Partition
	Spec      coo.Spec // of the whole tensor; Box is set for each block
	Cfg       coo.Config
}

// isWhole reports whether there is one rank and one block, which is the whole tensor.
func (g *Target) isWhole(c comm.Comm) bool { return c.Size() == 1 && g.Partition.Pieces() == 1 }

// blocks returns the blocks that a rank owns, in order.
func (g *Target) blocks(rank int) []plan.Block {
	var list []plan.Block
	for b := range plan.Block(g.Partition.Pieces()) {
		if g.Partition.OwnerOf(b) == rank {
			list = append(list, b)
		}
	}
	return list
}

// Blocks describes the target's blocks at all ranks. The result contains no tensors.
func (g *Target) Blocks() *store.Blocks {
	s := &g.Spec
	return Blocks(g.Partition,
		transfer.Like{Name: s.Name, Layout: tensor.Layout{Dims: s.Dims, Type: s.Type, Format: s.Format}})
}

// Blocks describes the blocks of a tensor with the given partition. like holds the layout of the
// tensor. The result contains no tensors.
func Blocks(part *partition.Partition, like transfer.Like) *store.Blocks {
	x := &store.Blocks{Layout: like.Layout,
		Own: map[int]*tcs.Tensor{}, Guessed: part.Guessed()}
	x.Owners, x.Boxes = make([]int, 0, part.Pieces()), make([][][2]int64, 0, part.Pieces())
	for b := range plan.Block(part.Pieces()) {
		x.Owners = append(x.Owners, part.OwnerOf(b))
		x.Boxes = append(x.Boxes, part.Box(b, like.Layout.Dims))
		if part.Ordered() != nil {
			from, to := part.Keys(b)
			x.From, x.To = append(x.From, from), append(x.To, to)
		}
	}
	return x
}

// Viewable reports whether every block of t can be a view that is a contiguous part of t's arrays.
// This requires that no mode is cut except the mode of the outermost level. If that mode is cut,
// the level must not be a singleton level.
func (g *Target) Viewable(t *tcs.Tensor) bool {
	for m := range g.Partition.Order {
		if g.Partition.AxisOf(m) >= 0 &&
			(len(t.Levels) == 0 || t.Levels[0].Mode != m || t.Levels[0].Kind.IsSingle()) {
			return false
		}
	}
	return true
}

// Views makes this rank's blocks as views of t, which every rank must have. The caller closes them.
func (g *Target) Views(rank int, t *tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	own := map[plan.Block]*tcs.Tensor{}
	for _, b := range g.blocks(rank) {
		from, to := g.Partition.Keys(b)
		v, err := t.View(tcs.Block{Box: g.Partition.Box(b, t.Header.Dims), From: from, To: to})
		if err != nil {
			tcs.CloseAll(own)
			return nil, err
		}
		if own[b] = v; from == nil && to == nil {
			continue
		}
		if err := v.OwnEdges(g.Cfg.Limit); err != nil {
			tcs.CloseAll(own)
			return nil, err
		}
	}
	return own, nil
}

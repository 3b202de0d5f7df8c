// Package load makes the blocks of a tensor at the ranks that own them (source
// 000, section 4.4). Each rank reads a piece of the input: a part with as many
// stored entries as any other's. It finds for every entry the block that it
// belongs to, and sends it to that block's owner, which assembles its blocks in
// two passes. Rows of a tensor that every rank can map are not moved at all:
// the block is a view of the file.
package load

import (
	"fmt"
	"io"
	"slices"
	"sort"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

// Target says what to make of the entries.
type Target struct {
	Plan *plan.Problem
	// Cuts lists, for each mode of the tensor, the split variable that cuts it,
	// or -1: plan.Operand.Modes.
	Cuts []int
	Spec coo.Spec // of the whole tensor; Box is set for each block
	Cfg  coo.Config
}

func (g *Target) space() plan.Space { return g.Plan.SpaceOf(g.Cuts) }

// blocks lists the blocks that rank owns, in order.
func (g *Target) blocks(rank int) []plan.Block {
	var list []plan.Block
	for b := range plan.Block(g.space().Size()) {
		if g.Plan.Owner(g.Cuts, b) == rank {
			list = append(list, b)
		}
	}
	return list
}

// Piece is rank r's share of t: an even part of its stored values, in storage
// order. The caller closes it.
func Piece(t *tcs.Tensor, r, ranks int) (*tcs.Tensor, error) {
	n := t.Vals.Len
	at := func(k int) int64 {
		return t.Vals.First + n/int64(ranks)*int64(k) + n%int64(ranks)*int64(k)/int64(ranks)
	}
	return t.View(tcs.Block{Cut: true, Level: -1, Lo: at(r), Hi: at(r + 1)})
}

// Viewable tells whether every block of t is a contiguous part of its arrays:
// nothing but the outermost stored mode is cut, and its coordinates can be searched.
func (g *Target) Viewable(t *tcs.Tensor) bool {
	for m, v := range g.Cuts {
		if v >= 0 && (len(t.Levels) == 0 || t.Levels[0].Mode != m || tcs.Singleton(t.Levels[0].Kind)) {
			return false
		}
	}
	return true
}

// Views makes this rank's blocks views of t, which every rank has. The caller
// closes them.
func (g *Target) Views(rank int, t *tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	own := map[plan.Block]*tcs.Tensor{}
	for _, b := range g.blocks(rank) {
		v, err := t.View(tcs.Block{Box: g.Plan.Box(g.Cuts, b, t.Dims)})
		if err != nil {
			closeAll(own)
			return nil, err
		}
		own[b] = v
	}
	return own, nil
}

// Scatter assembles the blocks that this rank owns from the pieces that all
// ranks read. in is this rank's piece; pieces follow one another in the order
// of ranks, so that repeated coordinates are summed in the order of the input.
// Collective. The caller closes the blocks.
func (g *Target) Scatter(c comm.Comm, in coo.Stream) (map[plan.Block]*tcs.Tensor, error) {
	x := newExchange(c, g, in.Type())
	x.part, _ = in.(text.Part)
	if err := begin(c, x.part); err != nil {
		return nil, err
	}
	for {
		more, err := x.round(in)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if x.part != nil {
		if err := settle(c, x.part, nil, nil); err != nil {
			return nil, err
		}
	}
	own, err := g.assemble(c.Rank(), x.inbox)
	if err := Agree(c, err); err != nil {
		closeAll(own)
		return nil, err
	}
	return own, nil
}

// Filter assembles the blocks that this rank owns from a stream of the whole
// tensor: it keeps what belongs to them. No communication.
func (g *Target) Filter(rank int, in coo.Stream) (map[plan.Block]*tcs.Tensor, error) {
	f := g.finder()
	box := newInbox(len(g.Cuts), in.Type(), g.blocks(rank))
	var b coo.Batch
	for {
		err := in.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		size := in.Type().Size()
		for k := range b.N {
			block, owner, err := f.find(&b, k)
			if err != nil {
				return nil, err
			}
			if owner == rank { // -1 is nobody
				box.add(block, &b, k, size)
			}
		}
	}
	return g.assemble(rank, []*inbox{box})
}

func closeAll(m map[plan.Block]*tcs.Tensor) {
	for _, t := range m {
		t.Close()
	}
}

// finder finds the block of an entry and that block's owner.
type finder struct {
	g      *Target
	space  plan.Space
	tuple  []int64
	owners []int // by block
}

func (g *Target) finder() *finder {
	f := &finder{g: g, space: g.space(), tuple: make([]int64, len(g.Plan.Vars))}
	f.owners = make([]int, f.space.Size())
	for b := range f.owners {
		f.owners[b] = g.Plan.Owner(g.Cuts, plan.Block(b))
	}
	return f
}

// find returns entry k's block and its owner. Where one variable cuts two modes
// (a diagonal), entries in which their ranges differ are in no block: owner is -1.
func (f *finder) find(b *coo.Batch, k int) (plan.Block, int, error) {
	off := false
	for m, v := range f.g.Cuts {
		if v < 0 {
			continue
		}
		cuts := f.g.Plan.Vars[v].Cuts
		x := b.Coords[m][k]
		if x < 0 || x >= cuts[len(cuts)-1] {
			return 0, 0, &coo.Error{Exit: 3, Name: f.g.Spec.Name, Msg: fmt.Sprintf("coordinate %d of mode %d is past its size, %d", x+1, m, cuts[len(cuts)-1])}
		}
		at := f.tuple[v]
		if x < cuts[at] || x >= cuts[at+1] { // most entries are in their predecessor's range
			at = int64(sort.Search(len(cuts)-1, func(i int) bool { return cuts[i+1] > x }))
		}
		if slices.Contains(f.g.Cuts[:m], v) {
			off = off || at != f.tuple[v]
			continue
		}
		f.tuple[v] = at
	}
	if off {
		return 0, -1, nil
	}
	block := f.space.Of(f.tuple)
	return block, f.owners[block], nil
}

// assemble makes the blocks of a rank from what came, sender by sender.
func (g *Target) assemble(rank int, from []*inbox) (map[plan.Block]*tcs.Tensor, error) {
	own := map[plan.Block]*tcs.Tensor{}
	for _, b := range g.blocks(rank) {
		spec := g.Spec
		spec.Box = g.Plan.Box(g.Cuts, b, spec.Dims)
		var parts []*entries
		for _, box := range from {
			if e := box.blocks[b]; e != nil {
				parts = append(parts, e)
			}
		}
		in := &memory{parts: parts, dims: spec.Dims, typ: from[0].typ}
		t, err := coo.Assemble(in, spec, g.Cfg)
		if err != nil {
			closeAll(own)
			return nil, err
		}
		own[b] = t
		for _, box := range from {
			delete(box.blocks, b)
		}
	}
	return own, nil
}

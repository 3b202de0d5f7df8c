package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// assembly describes how the pieces of the result are assembled from the parts that ranks have. If
// there is an addend (the old value of a +=), its pieces are the first parts, and added is their
// number. The blocks that steps make are the next parts.
func assembly(p *plan.Problem, like transfer.Like) (s *assemble.Sum, added int) {
	s = &assemble.Sum{Like: like, Pieces: assemble.PiecesOf(p.Assembled, like.Layout.Dims)}
	if p.Added != nil {
		s.Parts = assemble.PiecesOf(p.Operands[p.Added.Operand].Partition, like.Layout.Dims)
		added = len(s.Parts)
	}
	for b := range plan.Block(p.Result.Pieces()) {
		box, from, to := p.Part(b, like.Layout.Dims)
		s.Parts = append(s.Parts,
			assemble.Piece{Rank: p.Result.OwnerOf(b), Region: assemble.Region{Box: box, From: from, To: to}})
	}
	return s, added
}

// parts returns this rank's parts of an assembly, by part number (see assembly). The parts are the
// rank's blocks and the rank's pieces of the addend, which are converted to the format of the
// blocks. added is the number of the addend's pieces at all ranks. parts takes ownership of blocks.
func (r *Rank) parts(blocks map[plan.Block]*tcs.Tensor, added int) (map[plan.Block]*tcs.Tensor,
	error) {
	if added == 0 {
		return blocks, nil
	}
	parts := make(map[plan.Block]*tcs.Tensor, len(blocks))
	for b, t := range blocks {
		parts[b+plan.Block(added)] = t
	}
	for b, t := range r.Own[r.Plan.Added.Operand] {
		var err error
		parts[b], err = r.Call(Call{Leaf: OldLeaf, Block: b, Blocks: []*tcs.Tensor{t}})
		if err != nil {
			delete(parts, b)
			tcs.CloseAll(parts)
			return nil, r.Abort(err)
		}
	}
	return parts, nil
}

// assemble returns this rank's pieces of the result, which are assembled from the blocks of all
// ranks. blocks holds the complete blocks of this rank; assemble takes ownership of these blocks.
// Every rank must call it.
func (r *Rank) assemble(blocks map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	s, added := assembly(r.Plan, r.Result)
	parts, err := r.parts(blocks, added)
	if err != nil {
		return nil, err
	}
	o := assemble.Options{Alloc: r.Alloc, Limit: r.Limit, Threads: r.Threads, Tag: tagCombine,
		Abort: r.Abort}
	if r.Sparse != nil {
		o.Shape = r.Sparse.Shape
	}
	own, err := s.Run(r.Comm, parts, o)
	if err != nil {
		return nil, err
	}
	return r.Copy(r.Plan.Assembled, r.Result, own)
}

// Copy sends each piece of the result from its owner to the other ranks that store a copy. own
// holds this rank's pieces. Copy returns own. If it fails, it closes these pieces. Every rank must
// call it.
func (r *Rank) Copy(part *partition.Partition, like transfer.Like,
	own map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	if part.Copies == nil {
		return own, nil
	}
	for b := range plan.Block(part.Pieces()) {
		if err := r.spread(b, own[b], like, part.Ranks(b)); err != nil {
			tcs.CloseAll(own)
			return nil, err
		}
	}
	return own, nil
}

// assembled adds to c the messages of the assembly, and the memory that the pieces take in addition
// to the blocks that they are made of.
func (f *Forecast) assembled(c *Cost) {
	part := f.Plan.Assembled
	c.assembled = true
	for rank := range c.ranks {
		c.ranks[rank].stays = 0
	}
	for b := range plan.Block(part.Pieces()) {
		ranks := part.Ranks(b)
		for _, to := range f.copies(c, f.FinalPieces(b), ranks[0], ranks[1:]) {
			if f.Watch != nil {
				f.Watch.Part(part.Box(b, f.Like.Layout.Dims), f.FinalPieces(b), ranks[0], to)
			}
		}
	}
	if a := f.Plan.Added; a != nil { // in addition to the operand
		part := f.Plan.Operands[a.Operand].Partition
		for b := range plan.Block(part.Pieces()) {
			c.ranks[part.OwnerOf(b)].added += f.Operands[a.Operand](b).Memory()
		}
	}
	var box [][2]int64
	size := func(_ int, r assemble.Region) plan.Size {
		box = r.Box
		return f.Part(box)
	}
	s, _ := assembly(f.Plan, f.Like)
	pieces := s.Cost(f.Plan.Ranks, f.PosWidth, f.CrdWidth, f.Drift,
		func(r assemble.Region) plan.Size { return f.Part(r.Box) })
	for rank := range c.ranks {
		c.ranks[rank].added += pieces.Peak[rank]
		c.ranks[rank].stays += pieces.Kept[rank]
	}
	s.Moves(size, func(z plan.Size, from, to int) {
		c.travel(z, from, to)
		if f.Watch != nil {
			f.Watch.Part(box, z, from, to)
		}
	})
}

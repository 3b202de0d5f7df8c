package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// assembly is what a plan's result is put together of, and the pieces that it becomes: the blocks
// that steps make, which overlap, behind those that are added to them, of which there are some.
func assembly(p *plan.Problem, like transfer.Like) (s *assemble.Sum, added int) {
	s = &assemble.Sum{Like: like, Pieces: assemble.PiecesOf(p.Assembled, like.Dims)}
	if p.Added != nil {
		s.Parts = assemble.PiecesOf(p.Operands[p.Added.Operand].Partition, like.Dims)
		added = len(s.Parts)
	}
	for b := range plan.Block(p.Result.Pieces()) {
		box, from, to := p.Part(b, like.Dims)
		s.Parts = append(s.Parts,
			assemble.Piece{Rank: p.Result.OwnerOf(b), Region: assemble.Region{Box: box, From: from, To: to}})
	}
	return s, added
}

// parts are the blocks of an assembly that are at this rank, by their numbers there. It takes
// blocks over.
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
		if parts[b], err = r.Added(b, t); err != nil {
			delete(parts, b)
			tcs.CloseAll(parts)
			return nil, r.Abort(err)
		}
	}
	return parts, nil
}

// assemble makes the pieces of the result that live at this rank of the blocks, which it takes
// over, that are complete here, and those of other ranks. Collective.
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

// Copy brings pieces of the result, which their owners have in own, to the other ranks where they
// live. It returns own, whose pieces it closes where it fails. Collective.
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

// assembled counts what is sent to put the result together, and what its pieces take beside the
// blocks that they are made of.
func (f *Forecast) assembled(c *Cost) {
	part := f.Plan.Assembled
	c.assembled = true
	for rank := range c.ranks {
		c.ranks[rank].stays = 0
	}
	for b := range plan.Block(part.Pieces()) {
		ranks := part.Ranks(b)
		for _, to := range f.copies(c, f.Resting(b), ranks[0], ranks[1:]) {
			if f.Watch != nil {
				f.Watch.Part(part.Box(b, f.Like.Dims), f.Resting(b), ranks[0], to)
			}
		}
	}
	if a := f.Plan.Added; a != nil { // beside the operand
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

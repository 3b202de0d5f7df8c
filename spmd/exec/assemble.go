package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// assembly is what a plan's result is put together of: the blocks that steps make, which overlap, and
// the pieces that they become.
func assembly(p *plan.Problem, like transfer.Like) *assemble.Sum {
	s := &assemble.Sum{Like: like, Pieces: assemble.PiecesOf(p.Assembled, like.Dims)}
	s.Parts = make([]assemble.Piece, 0, p.Result.Pieces())
	for b := range plan.Block(p.Result.Pieces()) {
		box, from, to := p.Part(b, like.Dims)
		s.Parts = append(s.Parts, assemble.Piece{Rank: p.Result.OwnerOf(b), Region: assemble.Region{Box: box, From: from, To: to}})
	}
	return s
}

// assemble makes the pieces of the result that live at this rank of the blocks, which it takes over, that are
// complete here, and those of other ranks. Collective.
func (r *Rank) assemble(blocks map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	s := assembly(r.Plan, r.Result)
	o := assemble.Options{Alloc: r.Alloc, Limit: r.Limit, Threads: r.Threads, Tag: tagCombine, Abort: r.Abort}
	if r.Sparse != nil {
		o.Shape = r.Sparse.Shape
	}
	own, err := s.Run(r.Comm, blocks, o)
	if err != nil {
		return nil, err
	}
	for b := range plan.Block(r.Plan.Assembled.Pieces()) {
		ranks := r.Plan.Assembled.Ranks(b)
		if err := r.spread(plan.Sum{Result: b, Owner: ranks[0], Copies: ranks[1:]}, own[b]); err != nil {
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
	for b := range plan.Block(part.Pieces()) {
		ranks := part.Ranks(b)
		c.ranks[ranks[0]].added += f.Resting(b).Memory()
		for _, to := range f.copies(c, f.Resting(b), ranks[0], ranks[1:]) {
			if f.Watch != nil {
				f.Watch.Part(part.Box(b, f.Like.Dims), f.Resting(b), ranks[0], to)
			}
		}
	}
	var box [][2]int64
	size := func(_ int, r assemble.Region) plan.Size {
		box = r.Box
		return f.Part(box)
	}
	assembly(f.Plan, f.Like).Moves(size, func(z plan.Size, from, to int) {
		c.travel(z, from, to)
		if f.Watch != nil {
			f.Watch.Part(box, z, from, to)
		}
	})
}

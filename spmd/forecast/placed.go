package forecast

import (
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/assemble"
	"distaff/spmd/estimate"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// countMoves counts the messages that bring operands from their placements to the blocks of the
// steps, and the result to its placement.
func (x *planner) countMoves() {
	for n, o := range x.forecast.p.Operands {
		home := x.forecast.k.PlacementPieces(o.Home)
		if home == nil {
			continue
		}
		from := x.forecast.k.Reader.Target(home, o.Tensor).Blocks()
		x.forecast.k.Reader.Target(o.Before(), o.Tensor).Moves(from, true,
			estimate.Round(x.forecast.tensors[n].Entries), func(z plan.Size, from, to int) {
				m := x.countMessage(n, z, from, to)
				for _, rank := range []int{from, to} {
					if d := x.detail(rank); d != nil {
						d.Moves = append(d.Moves, m)
					}
				}
			})
	}
	if x.forecast.k.PlacementPieces(x.forecast.p.ResultHome) == nil {
		return
	}
	var box [][2]int64 // box of the next message
	size := func(_ int, r assemble.Region) plan.Size {
		box = r.Box
		return x.forecast.finalResult().In(r.Box)
	}
	x.forecast.k.ToPlacement().Moves(size, func(z plan.Size, from, to int) {
		m := x.countMessage(len(x.out.Tensors)-1, z, from, to)
		m.Box = box
		for _, rank := range []int{from, to} {
			if d := x.detail(rank); d != nil {
				d.Sums = append(d.Sums, PlannedSum{m, true})
			}
		}
	})
	x.countCopies(x.forecast.k.ResultPartition())
}

// countCopies counts the messages that copy pieces of the result. The owner of a piece sends it by
// a multicast to the other ranks that store a copy. part is the partition of the result by its
// placement.
func (x *planner) countCopies(part *partition.Partition) {
	if part.Copies == nil {
		return
	}
	for b := range plan.Block(part.Pieces()) {
		z, ranks := x.forecast.finalResult().Block(b), part.Ranks(b)
		for k, to := range ranks[1:] {
			sent := z
			if k > 0 {
				sent = plan.Size{}
			}
			tensor.Add(&x.out.Tensors[len(x.out.Tensors)-1].Moved, z.Bytes)
			tensor.Add(&x.out.Comm.BytesSent[ranks[0]], sent.Bytes)
			tensor.Add(&x.out.Comm.MessagesSent[ranks[0]], sent.Arrays)
			tensor.Add(&x.out.Comm.BytesReceived[to], z.Bytes)
			m := PlannedMove{PlannedBlock: PlannedBlock{Tensor: x.forecast.Result(),
				Box: x.forecast.finalResult().Box(b), Entries: z.Entries, Bytes: z.Bytes}, From: ranks[0], To: to,
				Forwarded: k > 0}
			for _, rank := range []int{ranks[0], to} {
				if d := x.detail(rank); d != nil {
					d.Sums = append(d.Sums, PlannedSum{m, true})
				}
			}
		}
	}
}

// countMessage counts a message with a part of tensor k from one rank to another. z is the size of
// the part.
func (x *planner) countMessage(k int, z plan.Size, from, to int) PlannedMove {
	t := &x.out.Tensors[k]
	tensor.Add(&t.Moved, z.Bytes)
	tensor.Add(&x.out.Comm.BytesSent[from], z.Bytes)
	tensor.Add(&x.out.Comm.MessagesSent[from], z.Arrays)
	tensor.Add(&x.out.Comm.BytesReceived[to], z.Bytes)
	return PlannedMove{PlannedBlock: PlannedBlock{Tensor: t.Name, Entries: z.Entries, Bytes: z.Bytes},
		From: from, To: to}
}

// loadCost returns the cost of loading an operand into its initial blocks. If the operand is cut
// along its storage order and its blocks cannot be views, it is first read in equal ranges (see
// input.Stored). The cost then includes this reading. An operand that a program has already is not
// read in equal ranges.
func (x *Forecast) loadCost(operand int, in load.Input) load.Cost {
	o, s, ranks := &x.p.Operands[operand], x.homes[operand], x.p.Ranks
	g := x.k.Reader.Target(s.Partition, o.Tensor)
	if from, asIs := x.k.Reader.HeldIn(o.Tensor); from != nil && s.Partition.Located() {
		c, moved := g.RedistributeCost(from, asIs, in, s.Block, ranks, x.want.MemoryLimit)
		if moved {
			return c
		}
		return load.ExistingCost(s.Partition, s.Block, ranks)
	}
	if operand != x.p.Stored() || x.k.Reader.Sources[o.Tensor].Held() || g.UsesBetween(in, ranks) {
		return g.Cost(in, s.Block, ranks, x.want.MemoryLimit)
	}
	plain := input.Even(g, ranks)
	even := s.As(tensor.Format{Levels: plain.Spec.Format.Levels, Order: s.Layout.Format.Order})
	same := even.Layout.Format.Equal(s.Layout.Format)
	even.Partition = plain.Partition
	in.AsIs, in.Records = in.AsIs && same, x.loadInput(operand, even).Records
	even.SetMinWidths(s.Widths())
	c := plain.Cost(in, even.Block, ranks, x.want.MemoryLimit)
	sum := &assemble.Sum{Like: transfer.Like{Name: o.Tensor,
		Layout: tensor.Layout{Dims: s.Layout.Dims, Type: s.Layout.Type, Format: even.Layout.Format}},
		Parts:  assemble.PiecesOf(plain.Partition, s.Layout.Dims),
		Pieces: assemble.PiecesOf(s.Partition, s.Layout.Dims)}
	pos, crd := even.Widths()
	pieces := sum.Cost(ranks, pos, crd, drift(s),
		func(r assemble.Region) plan.Size { return even.In(r.Box) })
	own, copying := make([]int64, ranks), make([]int64, ranks)
	for b := range plan.Block(s.Partition.Pieces()) {
		rank, z := s.Partition.OwnerOf(b), s.Block(b)
		own[rank] += z.Memory()
		if !same {
			copying[rank] = max(copying[rank], x.assemblyMemory(s, z))
		}
	}
	for rank := range ranks {
		c.Peak[rank] = max(c.Peak[rank], c.Kept[rank]+pieces.Peak[rank],
			pieces.Kept[rank]+own[rank]+copying[rank])
		if same {
			own[rank] += pieces.Left[rank]
		}
		if in.Tensor != nil && (rank == 0 || !in.Alone) {
			own[rank] += tcsfile.Decompressed(in.Tensor) // while the file is open
		}
	}
	c.Kept = own
	return c
}

// drift returns upper limits of the errors of a tensor's estimates. The errors arise if the bounds
// of the tensor's chunks are guessed (see estimate.Tensor.Drift).
func drift(s *estimate.Tensor) assemble.Drift {
	share, chunks := s.Drift()
	return assemble.Drift{Share: share, Regions: chunks}
}

// moveCost returns the cost of moving an operand from its placement to the blocks of the steps.
// moved is false if the operand is in those blocks already.
func (x *Forecast) moveCost(operand int) (c load.Cost, moved bool) {
	o, s := &x.p.Operands[operand], x.tensors[operand]
	home := x.k.PlacementPieces(o.Home)
	if home == nil {
		return c, false
	}
	from := x.k.Reader.Target(home, o.Tensor).Blocks()
	in := load.Input{Entries: estimate.Round(s.Entries),
		Records: func(b plan.Block, roomed bool) int64 { return s.Records(b, s.Entries, roomed) }}
	return x.k.Reader.Target(o.Before(), o.Tensor).RedistributeCost(from, true, in, s.Block, x.p.Ranks,
		x.want.MemoryLimit)
}

// placingMemory returns two figures in bytes for each rank. peak is the largest memory while the
// result moves to its placement. kept is the memory of the rank's pieces of the result after the
// move. blocks[r] is the memory of the blocks that the steps of rank r have made.
func (x *Forecast) placingMemory(blocks []int64) (peak, kept []int64) {
	if x.k.PlacementPieces(x.p.ResultHome) == nil {
		return blocks, blocks
	}
	pos, crd := x.finalResult().Widths()
	c := x.k.ToPlacement().Cost(x.p.Ranks, pos, crd, drift(x.result()),
		func(r assemble.Region) plan.Size { return x.finalResult().In(r.Box) })
	for rank := range c.Peak {
		c.Peak[rank] += blocks[rank]
	}
	part := x.k.ResultPartition()
	for b := range plan.Block(part.Pieces()) {
		for _, rank := range part.Ranks(b)[1:] {
			n := x.finalResult().Block(b).Memory()
			c.Peak[rank], c.Kept[rank] = c.Peak[rank]+n, c.Kept[rank]+n
		}
	}
	return c.Peak, c.Kept
}

// completingMemory returns, for each rank, the bytes that completing the result needs in addition
// to its blocks. Completing gives the same stored coordinates to all blocks whose ranges differ
// only in dense inner levels (see prepared.Result.Complete).
func (x *Forecast) completingMemory() []int64 {
	if x.k.Options.Places || len(x.units) > 0 && x.units[0].Result.Repack {
		return make([]int64, x.p.Ranks)
	}
	pos, crd := x.finalResult().Widths()
	return assemble.CompleteCost(x.k.ResultBlocks(), x.p.Ranks, pos, crd, x.finalResult().Block)
}

package forecast

import (
	"distaff/io/tensor"
	"distaff/spmd/assemble"
	"distaff/spmd/estimate"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// moves counts what brings operands from their placements, and the result to its own, where the
// steps go by other blocks.
func (x *planner) moves() {
	for n, o := range x.forecast.p.Operands {
		lies := x.forecast.k.Lies(o.Home)
		if lies == nil {
			continue
		}
		from := x.forecast.k.Reader.Target(lies, o.Tensor).Blocks()
		x.forecast.k.Reader.Target(o.Before(), o.Tensor).Moves(from, true,
			estimate.Round(x.forecast.tensors[n].Entries), func(z plan.Size, from, to int) {
				m := x.travel(n, z, from, to)
				for _, rank := range []int{from, to} {
					if d := x.detail(rank); d != nil {
						d.Moves = append(d.Moves, m)
					}
				}
			})
	}
	if x.forecast.k.Lies(x.forecast.p.ResultHome) == nil {
		return
	}
	var box [][2]int64 // of what travels next
	size := func(_ int, r assemble.Region) plan.Size {
		box = r.Box
		return x.forecast.resting().In(r.Box)
	}
	x.forecast.k.ToPlacement().Moves(size, func(z plan.Size, from, to int) {
		m := x.travel(len(x.out.Tensors)-1, z, from, to)
		m.Box = box
		for _, rank := range []int{from, to} {
			if d := x.detail(rank); d != nil {
				d.Sums = append(d.Sums, PlannedSum{m, true})
			}
		}
	})
	x.copied(x.forecast.k.ResultPartition())
}

// copied counts what brings pieces of the result to the other ranks where its placement has them,
// each in one multicast.
func (x *planner) copied(part *partition.Partition) {
	if part.Copies == nil {
		return
	}
	for b := range plan.Block(part.Pieces()) {
		z, ranks := x.forecast.resting().Block(b), part.Ranks(b)
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
				Box: x.forecast.resting().Box(b), Entries: z.Entries, Bytes: z.Bytes}, From: ranks[0], To: to,
				Forwarded: k > 0}
			for _, rank := range []int{ranks[0], to} {
				if d := x.detail(rank); d != nil {
					d.Sums = append(d.Sums, PlannedSum{m, true})
				}
			}
		}
	}
}

// travel counts what goes of a tensor from one rank to another.
func (x *planner) travel(k int, z plan.Size, from, to int) PlannedMove {
	t := &x.out.Tensors[k]
	tensor.Add(&t.Moved, z.Bytes)
	tensor.Add(&x.out.Comm.BytesSent[from], z.Bytes)
	tensor.Add(&x.out.Comm.MessagesSent[from], z.Arrays)
	tensor.Add(&x.out.Comm.BytesReceived[to], z.Bytes)
	return PlannedMove{PlannedBlock: PlannedBlock{Tensor: t.Name, Entries: z.Entries, Bytes: z.Bytes},
		From: from, To: to}
}

// loaded is what it takes to make an operand's blocks as it lies: of one that is cut along its
// storage order and cannot be shown so, in even ranges first (input.Stored).
func (x *Forecast) loaded(operand int, in load.Input) load.Cost {
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
	in.AsIs, in.Records = in.AsIs && same, x.foretold(operand, even).Records
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
			copying[rank] = max(copying[rank], x.assembling(s, z))
		}
	}
	for rank := range ranks {
		c.Peak[rank] = max(c.Peak[rank], c.Kept[rank]+pieces.Peak[rank],
			pieces.Kept[rank]+own[rank]+copying[rank])
		if same {
			own[rank] += pieces.Left[rank]
		}
		if in.Tensor != nil && (rank == 0 || !in.Alone) {
			own[rank] += in.Tensor.Decompressed() // for as long as it is open
		}
	}
	c.Kept = own
	return c
}

// drift is how far from where they are taken to begin a tensor's chunks may begin.
func drift(s *estimate.Tensor) assemble.Drift {
	share, chunks := s.Drift()
	return assemble.Drift{Share: share, Regions: chunks}
}

// moving is what it takes beside an operand as it lies to bring it to the blocks that the steps go
// by; false where these are the same.
func (x *Forecast) moving(operand int) (c load.Cost, moved bool) {
	o, s := &x.p.Operands[operand], x.tensors[operand]
	lies := x.k.Lies(o.Home)
	if lies == nil {
		return c, false
	}
	from := x.k.Reader.Target(lies, o.Tensor).Blocks()
	in := load.Input{Entries: estimate.Round(s.Entries),
		Records: func(b plan.Block, roomed bool) int64 { return s.Records(b, s.Entries, roomed) }}
	return x.k.Reader.Target(o.Before(), o.Tensor).RedistributeCost(from, true, in, s.Block, x.p.Ranks,
		x.want.MemoryLimit)
}

// placing is what bringing the result to its placement takes at each rank, where the steps make
// other blocks, and what it has of the result then; blocks is what it has of those.
func (x *Forecast) placing(blocks []int64) (peak, kept []int64) {
	if x.k.Lies(x.p.ResultHome) == nil {
		return blocks, blocks
	}
	pos, crd := x.resting().Widths()
	c := x.k.ToPlacement().Cost(x.p.Ranks, pos, crd, drift(x.result()),
		func(r assemble.Region) plan.Size { return x.resting().In(r.Box) })
	for rank := range c.Peak {
		c.Peak[rank] += blocks[rank]
	}
	part := x.k.ResultPartition()
	for b := range plan.Block(part.Pieces()) {
		for _, rank := range part.Ranks(b)[1:] {
			n := x.resting().Block(b).Memory()
			c.Peak[rank], c.Kept[rank] = c.Peak[rank]+n, c.Kept[rank]+n
		}
	}
	return c.Peak, c.Kept
}

// completing is what it takes at each rank beside the result's blocks to give those of a program
// the coordinates that blocks beside them store.
func (x *Forecast) completing() []int64 {
	if len(x.units) > 0 && x.units[0].Result.Repack {
		return make([]int64, x.p.Ranks)
	}
	pos, crd := x.resting().Widths()
	return x.k.Completing(pos, crd, x.resting().Block)
}

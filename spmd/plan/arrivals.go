package plan

import (
	"cmp"
	"iter"
	"slices"

	"distaff/spmd/plan/flow"
)

// Arrival describes what a rank needs in one scope of an operand. Blocks lists the blocks that the
// scope's steps read. Fetches lists those blocks in Blocks that the rank did not need in its
// previous scope. If the operand is stored in parts, Blocks and Fetches list parts of blocks,
// numbered as in Operand.Parts.
type Arrival struct {
	T       int64 // number of the scope at the rank, counted from 0
	Blocks  []Block
	Fetches []Fetch // in the order of blocks
}

// Fetch is a block, or a part of a block, that a rank fetches.
type Fetch struct {
	Need Need
	From int // the sender; the rank itself if it owns the block and nothing is sent
	// List holds the ranks of the multicast that sends the block, From first. It is nil if nothing
	// is sent.
	List []int
}

// Traffic computes how the blocks of all operands move from rank to rank. Only one goroutine may
// use a Traffic at a time, because it has working memory.
type Traffic struct {
	p     *Problem
	flows []*flow.Flow // by operand
	lanes [][]*Lane    // by operand
}

// Lane computes how the blocks of an operand move from rank to rank. If the operand is stored in
// parts, a Lane concerns one part of each block.
type Lane struct {
	Flow *flow.Flow
	p    *Problem
	// returns what is sent of the block whose range along axis k is at[k]; false if the block has
	// no such part
	part func(at []int64) (Block, bool)
	at   []int64
	o    *Operand
}

// Traffic returns the traffic of all operands.
func (p *Problem) Traffic() *Traffic {
	t := &Traffic{p: p}
	for k := range p.Operands {
		o := &p.Operands[k]
		f := flow.New(p.Walk(), p.flow(k))
		t.flows = append(t.flows, f)
		if o.Parts == nil {
			t.lanes = append(t.lanes,
				[]*Lane{{Flow: f, p: p, o: o,
					part: func(at []int64) (Block, bool) { return o.Partition.Of(at), true }}})
			continue
		}
		var lanes []*Lane
		for n := range o.parts.maxCount {
			lanes = append(lanes, p.lane(k, n))
		}
		t.lanes = append(t.lanes, lanes)
	}
	return t
}

// lane returns the Lane that moves part number n of each of an operand's blocks.
func (p *Problem) lane(operand int, n int64) *Lane {
	o, t := &p.Operands[operand], p.flow(operand)
	out := make([]int64, len(o.Parts.Axes))
	t.Lacks = func(at []int64) bool { return !o.parts.rangesOf(at, n, out) }
	t.Owner = func(at []int64) int {
		if !o.parts.rangesOf(at, n, out) {
			return 0
		}
		return o.Parts.Owner(out)
	}
	if t.Copies = nil; o.Parts.Copies != nil {
		t.Copies = func(at []int64) []int {
			if !o.parts.rangesOf(at, n, out) {
				return []int{0}
			}
			return o.Parts.Copies(out)
		}
	}
	return &Lane{Flow: flow.New(p.Walk(), t), p: p, o: o, part: func(at []int64) (Block, bool) {
		ok := o.parts.rangesOf(at, n, out)
		return o.Parts.Of(out), ok
	}}
}

// Block returns what is sent of block b: b itself, or the lane's part of b. It returns false if b
// has no such part.
func (l *Lane) Block(b Block) (Block, bool) {
	if l.o.Parts == nil {
		return b, true
	}
	if l.at == nil {
		l.at = make([]int64, len(l.o.Partition.Axes))
	}
	l.o.Partition.At(b, l.at)
	return l.part(l.at)
}

// partAt returns the number of the block whose range along axis k is ranges[k]. If the operand is
// stored in parts, partAt instead returns the number of the part of this block that the lane moves.
// The block must have such a part.
func (l *Lane) partAt(ranges []int64) Block {
	b, _ := l.part(ranges)
	return b
}

// flow returns the flow.Tensor of an operand. It describes how the operand is cut, which ranks own
// its blocks, and which points of the nest read it.
func (p *Problem) flow(operand int) flow.Tensor {
	o := &p.Operands[operand]
	if p.Added != nil && p.Added.Operand == operand {
		return flow.Tensor{Owner: func([]int64) int { return 0 },
			Reads: func([]int64) bool { return false }}
	}
	t := flow.Tensor{Cut: o.Cut, Owner: o.Partition.Owner, Copies: o.Partition.Copies, Scope: o.Scope,
		Direct: !p.Distributed}
	if len(o.Groups) < len(p.Blocking.Groups) || len(p.Blocking.Groups) > 1 {
		tuple := make([]int64, len(p.Blocking.Vars))
		t.Reads = func(point []int64) bool {
			p.tuple(point, tuple)
			return slices.ContainsFunc(o.Groups,
				func(g int) bool { return p.Blocking.Runs(g, tuple) })
		}
	}
	return t
}

// Arrivals returns the arrivals of an operand at a rank: one for each scope whose steps read it, in
// order.
func (t *Traffic) Arrivals(rank, operand int) (list []Arrival) {
	for _, l := range t.lanes[operand] {
		list = append(list, l.arrivals(rank, operand)...)
	}
	slices.SortStableFunc(list, func(a, b Arrival) int { return cmp.Compare(a.T, b.T) })
	n := 0
	for _, a := range list { // merge the arrivals of all lanes in each scope
		if n > 0 && list[n-1].T == a.T {
			x := &list[n-1]
			x.Blocks, x.Fetches = append(x.Blocks, a.Blocks...), append(x.Fetches, a.Fetches...)
			continue
		}
		list[n] = a
		n++
	}
	list = list[:n]
	for _, a := range list {
		slices.SortFunc(a.Fetches,
			func(a, b Fetch) int { return cmp.Compare(a.Need.Block, b.Need.Block) })
	}
	return list
}

// arrivals returns the arrivals of one lane.
func (l *Lane) arrivals(rank, operand int) (list []Arrival) {
	for t, pieces := range l.Flow.Instances(rank) {
		a := Arrival{T: t}
		for _, at := range pieces {
			a.Blocks = append(a.Blocks, l.partAt(at))
		}
		list = append(list, a)
	}
	k := 0
	for x := range l.Flow.Fetches(rank) {
		for list[k].T != x.T {
			k++
		}
		fetch := Fetch{Need: Need{operand, l.partAt(x.At)}, From: x.From}
		if x.From != rank {
			fetch.List = l.multicast(x, rank)
		}
		list[k].Fetches = append(list[k].Fetches, fetch)
	}
	return list
}

// multicast returns the ranks of the multicast that brings the piece of fetch x to a rank. The
// sender is the first of them, and the receivers follow.
func (l *Lane) multicast(x flow.Fetch, rank int) []int {
	if l.p.Direct() {
		return []int{x.From, rank}
	}
	return append([]int{x.From}, l.Flow.Receivers(x.T, x.At, x.From)...)
}

// Direct reports whether the owner of a block sends the block to every rank that needs it, one rank
// after another. If Direct is false, ranks may forward blocks that several ranks need.
//
// Direct returns true in a block schedule. It also returns true if the ranks count their scopes
// independently, because a rank that forwards a block could then be many steps behind the ranks
// that wait for the block.
func (p *Problem) Direct() bool { return !p.Distributed || !p.Walk().Aligned() }

// Send is a block, or a part of a block, that a rank sends to other ranks. The receivers receive
// the block in their scope number T.
type Send struct {
	Need Need
	T    int64
	List []int // the sending rank, then the receivers
}

// Sends returns what a rank sends of an operand, in the order of scopes, then of blocks, then of
// receivers.
func (t *Traffic) Sends(rank, operand int) []Send {
	var list []Send
	for _, l := range t.lanes[operand] {
		for s := range l.Flow.Sends(rank) {
			send := Send{Need: Need{operand, l.partAt(s.At)}, T: s.T}
			if !t.p.Direct() {
				send.List = append([]int{rank}, s.To...)
				list = append(list, send)
				continue
			}
			for _, to := range s.To {
				send.List = []int{rank, to}
				list = append(list, send)
			}
		}
	}
	slices.SortStableFunc(list,
		func(a, b Send) int {
			return cmp.Or(cmp.Compare(a.T, b.T),
				cmp.Compare(a.Need.Block, b.Need.Block))
		})
	return list
}

// Arrivals returns the arrivals of an operand at a rank, as Traffic.Arrivals does.
func (p *Problem) Arrivals(rank,
	operand int) []Arrival {
	return p.Traffic().Arrivals(rank, operand)
}

// Sends returns what a rank sends of an operand, as Traffic.Sends does.
func (p *Problem) Sends(rank, operand int) []Send { return p.Traffic().Sends(rank, operand) }

// Needs yields the number of each scope that reads an operand at a rank, in order. With each number
// it yields the blocks that the steps of the scope read. The slice is reused for the next scope.
func (t *Traffic) Needs(rank, operand int) iter.Seq2[int64, []flow.Need] {
	return t.flows[operand].Needs(rank)
}

// Alike yields lists of ranks whose scopes read the same blocks of an operand. Each rank is in one
// list. The slice is reused for the next list.
func (t *Traffic) Alike(operand int) iter.Seq[[]int] { return t.flows[operand].Alike() }

// Lanes returns the lanes of an operand. If the operand is stored in parts, lane n moves part
// number n of each block. Otherwise a single lane moves the blocks.
func (t *Traffic) Lanes(operand int) []*Lane { return t.lanes[operand] }

// Sent yields the multicasts of an operand. Each one is a block, or a part of a block, with two
// numbers: the sender, and the number of times that the sender sends the block in this multicast.
// This number is 1 unless owners send blocks directly (see Direct). In that case it is the number
// of receivers. A block that has several multicasts is yielded several times.
func (t *Traffic) Sent(operand int) iter.Seq2[Block, [2]int] {
	return func(yield func(Block, [2]int) bool) {
		for _, l := range t.lanes[operand] {
			for m := range l.Flow.Multicasts() {
				times := 1
				if t.p.Direct() { // one message for each receiver
					times = m.To
				}
				if b, _ := l.Block(Block(m.Piece)); !yield(b, [2]int{m.From, times}) {
					return
				}
			}
		}
	}
}

// Broadcasts reports for each operand whether one broadcast sends it to every rank: there are
// several ranks, the operand has a single block with one owner, every rank reads it, and it is
// neither gathered nor stored in parts.
func (p *Problem) Broadcasts() []bool {
	list := make([]bool, len(p.Operands))
	single := func(o Operand) bool {
		return o.Partition.Pieces() == 1 && o.Partition.Copies == nil && o.Gathered == nil &&
			o.Parts == nil
	}
	if p.Ranks == 1 || !slices.ContainsFunc(p.Operands, single) {
		return list
	}
	for k, o := range p.Operands {
		list[k] = single(o)
	}
	w, runs := p.Walk(), make([]bool, len(p.Blocking.Groups))
	for r := range p.Ranks {
		p.groupsAt(w, r, runs)
		for k, o := range p.Operands {
			list[k] = list[k] && slices.ContainsFunc(o.Groups, func(g int) bool { return runs[g] })
		}
	}
	return list
}

// groupsAt sets, for each group, whether a rank runs it.
func (p *Problem) groupsAt(w *flow.Walk, rank int, runs []bool) {
	clear(runs)
	tuple := make([]int64, len(p.Blocking.Vars))
	for point := range w.Points(rank) {
		p.tuple(point, tuple)
		for g := range runs {
			runs[g] = runs[g] || p.Blocking.Runs(g, tuple)
		}
		if !slices.Contains(runs, false) {
			return
		}
	}
}

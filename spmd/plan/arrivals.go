package plan

import (
	"cmp"
	"iter"
	"slices"

	"distaff/spmd/plan/flow"
)

// Arrival is what one scope of an operand brings to a rank: the blocks that the scope's steps
// read, and those of them that the rank did not have in the scope before.
type Arrival struct {
	T       int64 // the number of the scope at the rank, counted from 0
	Blocks  []Block
	Fetches []Fetch // in the order of blocks
}

// Fetch is a block that a rank comes to hold.
type Fetch struct {
	Need
	From int // the rank that has it: the rank itself where it lives there, and nothing travels
	// List is the ranks of the multicast that brings it, From first; nil where nothing travels.
	List []int
}

// Traffic is how the blocks of all operands go from rank to rank. It has working memory, so that only one
// goroutine may use it at a time.
type Traffic struct {
	p     *Problem
	flows []*flow.Flow // by operand
}

// Traffic follows the blocks of all operands.
func (p *Problem) Traffic() *Traffic {
	t := &Traffic{p: p}
	for k := range p.Operands {
		t.flows = append(t.flows, p.flow(k))
	}
	return t
}

// flow is how blocks of an operand go from rank to rank.
func (p *Problem) flow(operand int) *flow.Flow {
	o := &p.Operands[operand]
	if p.Added != nil && p.Added.Operand == operand {
		return flow.New(p.Walk(), flow.Tensor{Owner: func([]int64) int { return 0 }, Reads: func([]int64) bool { return false }})
	}
	t := flow.Tensor{Cut: o.Cut, Owner: o.Partition.Owner, Copies: o.Partition.Copies, Scope: o.Scope, Direct: !p.Distributed}
	if len(o.Groups) < len(p.Groups) || len(p.Groups) > 1 {
		tuple := make([]int64, len(p.Vars))
		t.Reads = func(point []int64) bool {
			p.tuple(point, tuple)
			return slices.ContainsFunc(o.Groups, func(g int) bool { return p.runs(g, tuple) })
		}
	}
	return flow.New(p.Walk(), t)
}

// Arrivals lists the scopes of an operand at a rank in which a step reads it, in order.
func (t *Traffic) Arrivals(rank, operand int) []Arrival {
	var list []Arrival
	p, f := t.p, t.flows[operand]
	part := p.Operands[operand].Partition
	for t, pieces := range f.Instances(rank) {
		a := Arrival{T: t}
		for _, at := range pieces {
			a.Blocks = append(a.Blocks, part.Of(at))
		}
		list = append(list, a)
	}
	k := 0
	for x := range f.Fetches(rank) {
		for list[k].T != x.T {
			k++
		}
		fetch := Fetch{Need: Need{operand, part.Of(x.At)}, From: x.From}
		if x.From != rank {
			fetch.List = p.list(f, x, rank)
		}
		list[k].Fetches = append(list[k].Fetches, fetch)
	}
	for _, a := range list {
		slices.SortFunc(a.Fetches, func(a, b Fetch) int { return cmp.Compare(a.Block, b.Block) })
	}
	return list
}

// list is the multicast that brings a fetch of a rank.
func (p *Problem) list(f *flow.Flow, x flow.Fetch, rank int) []int {
	if p.Direct() {
		return []int{x.From, rank}
	}
	return append([]int{x.From}, f.Receivers(x.T, x.At, x.From)...)
}

// Direct tells whether every block goes from a rank where it lives to one rank after another: in a
// block schedule, and where ranks number their scopes apart, so that one that passed a block on might be many
// steps behind the others. Elsewhere ranks pass on what several want.
func (p *Problem) Direct() bool { return !p.Distributed || !p.Walk().Aligned() }

// Send is a block that a rank sends to others, in their scopes of number T.
type Send struct {
	Need
	T    int64
	List []int // the rank, then its receivers
}

// Sends lists what a rank sends of an operand, by number of the scope, then by block, then by
// receiver.
func (t *Traffic) Sends(rank, operand int) []Send {
	var list []Send
	p := t.p
	part := p.Operands[operand].Partition
	for s := range t.flows[operand].Sends(rank) {
		send := Send{Need: Need{operand, part.Of(s.At)}, T: s.T}
		if !p.Direct() {
			send.List = append([]int{rank}, s.To...)
			list = append(list, send)
			continue
		}
		for _, to := range s.To {
			send.List = []int{rank, to}
			list = append(list, send)
		}
	}
	slices.SortStableFunc(list, func(a, b Send) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Block, b.Block)) })
	return list
}

// Arrivals lists those of Traffic.Arrivals, at one rank.
func (p *Problem) Arrivals(rank, operand int) []Arrival { return p.Traffic().Arrivals(rank, operand) }

// Sends lists those of Traffic.Sends, of one rank.
func (p *Problem) Sends(rank, operand int) []Send { return p.Traffic().Sends(rank, operand) }

// Needs are the scopes of an operand at a rank in which a step reads it, in order, with the blocks that
// they read. The slice is used again for the next scope.
func (t *Traffic) Needs(rank, operand int) iter.Seq2[int64, []flow.Need] {
	return t.flows[operand].Needs(rank)
}

// Alike yields all ranks, in lists of those whose scopes read the same blocks of an operand. The slice is used
// again for the next list.
func (t *Traffic) Alike(operand int) iter.Seq[[]int] { return t.flows[operand].Alike() }

// Sent yields, for all ranks, what each sends of an operand: the block, the rank, and in how many multicasts.
func (t *Traffic) Sent(operand int) iter.Seq2[Block, [2]int] {
	return func(yield func(Block, [2]int) bool) {
		for m := range t.flows[operand].Multicasts() {
			times := 1
			if t.p.Direct() { // to one rank after another
				times = m.To
			}
			if !yield(Block(m.Piece), [2]int{m.From, times}) {
				return
			}
		}
	}
}

// Broadcasts tells for each operand whether one broadcast brings it to every
// rank: it has a single block at one rank, and every rank reads it.
func (p *Problem) Broadcasts() []bool {
	list := make([]bool, len(p.Operands))
	single := func(o Operand) bool {
		return o.Partition.Pieces() == 1 && o.Partition.Copies == nil && o.Gathered == nil
	}
	if p.Ranks == 1 || !slices.ContainsFunc(p.Operands, single) {
		return list
	}
	for k, o := range p.Operands {
		list[k] = single(o)
	}
	w, runs := p.Walk(), make([]bool, len(p.Groups))
	for r := range p.Ranks {
		p.groupsAt(w, r, runs)
		for k, o := range p.Operands {
			list[k] = list[k] && slices.ContainsFunc(o.Groups, func(g int) bool { return runs[g] })
		}
	}
	return list
}

// groupsAt sets for each group whether a rank runs it.
func (p *Problem) groupsAt(w *flow.Walk, rank int, runs []bool) {
	clear(runs)
	tuple := make([]int64, len(p.Vars))
	for point := range w.Points(rank) {
		p.tuple(point, tuple)
		for g := range runs {
			runs[g] = runs[g] || p.runs(g, tuple)
		}
		if !slices.Contains(runs, false) {
			return
		}
	}
}

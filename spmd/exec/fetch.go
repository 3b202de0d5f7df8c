package exec

import (
	"fmt"
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// fetcher brings operand blocks to a rank in the order of its plan. Of each operand it holds the
// blocks of the scope in use, and those of the next one while they arrive.
type fetcher struct {
	r    *Rank
	in   []*incoming // by operand
	step int         // the number of the step whose blocks are asked for next
}

// incoming is one operand at a rank.
type incoming struct {
	r       *Rank
	operand int
	// always, if not nil, is the one block, which every rank has from the beginning.
	always  *tcs.Tensor
	foreign bool    // always came from another rank
	rows    *gather // of which always is made; nil of an operand that is not gathered

	arrivals []plan.Arrival // of scopes that were not begun
	sends    []plan.Send    // that were not begun
	t        int64          // the scope in use; -1 before the first
	held     map[plan.Block]*held
	joined   map[plan.Block]*tcs.Tensor // blocks that were put together of the parts in held
	coming   chan arrived               // the blocks of the next scope on their way; nil for none
	leaving  []*transfer.Sending
}

// held is a block at this rank.
type held struct {
	t       *tcs.Tensor
	foreign bool                // it came from another rank, and is closed when dropped
	leaving []*transfer.Sending // to others that read it next
}

// arrived is the blocks that came for a scope.
type arrived struct {
	blocks map[plan.Block]*held
	err    error
}

// newFetcher starts the sends of each operand's first scope, its fetches and what is gathered, and
// runs the broadcasts. What it returns with an error is to be finished too. Collective.
func (r *Rank) newFetcher() (*fetcher, error) {
	f := &fetcher{r: r}
	bcast := r.Plan.Broadcasts()
	if r.traffic == nil {
		r.traffic = make([]traffic, len(bcast))
		t := r.Plan.Traffic()
		for k := range bcast {
			if !bcast[k] && r.Plan.Operands[k].Gathered == nil {
				r.traffic[k] = traffic{t.Arrivals(r.Comm.Rank(), k), t.Sends(r.Comm.Rank(), k)}
			}
		}
	}
	for k := range bcast {
		x := r.traffic[k]
		f.in = append(f.in, &incoming{r: r, operand: k, arrivals: x.arrivals, sends: x.sends, t: -1,
			held: map[plan.Block]*held{}, joined: map[plan.Block]*tcs.Tensor{}})
	}
	for k, in := range f.in {
		if bcast[k] || r.Plan.Operands[k].Gathered != nil {
			continue
		}
		if err := in.send(0); err != nil {
			return f, err
		}
		in.start()
	}
	for k, in := range f.in {
		if r.Plan.Operands[k].Gathered != nil {
			if err := in.gather(); err != nil {
				return f, err
			}
		}
	}
	for k, in := range f.in {
		if bcast[k] {
			if err := in.broadcast(); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

// traffic is what comes to a rank of one operand, and what it sends.
type traffic struct {
	arrivals []plan.Arrival
	sends    []plan.Send
}

// broadcast brings the one block of an operand to every rank, unless each has it.
func (in *incoming) broadcast() error {
	r, k := in.r, in.operand
	if r.Replicas != nil && r.Replicas[k] != nil {
		in.always = r.Replicas[k]
		return nil
	}
	owner := r.Plan.Operands[k].Partition.OwnerOf(0)
	t, err := transfer.Bcast(r.Comm, r.Own[k][0], r.Like[k], owner, r.Alloc)
	in.always, in.foreign = t, owner != r.Comm.Rank()
	return err
}

// gather begins to bring the rows of an operand that this rank reads. Collective.
func (in *incoming) gather() error {
	r, k := in.r, in.operand
	if r.gathers == nil {
		r.gathers = make([]*gather, len(r.Plan.Operands))
	}
	if r.gathers[k] == nil {
		g, err := r.newGather(k, r.Rows(k))
		if err != nil {
			return err
		}
		r.gathers[k] = g
	}
	in.rows = r.gathers[k]
	in.always = in.rows.read
	return in.rows.start()
}

// tagOf is the first of an operand's two tags (see transfer.Multicast). Those of all operands lie
// below tagSpread.
func tagOf(operand int) int { return 2 * operand }

func (in *incoming) own(b plan.Block) *tcs.Tensor {
	t := in.r.Own[in.operand][b]
	if t == nil {
		panic(fmt.Sprintf("BUG: rank %d does not hold block %d of %s", in.r.Comm.Rank(), b,
			in.r.Plan.Operands[in.operand].Tensor))
	}
	return t
}

// send begins the sends to scopes of others up to number t: of blocks that live here, and of those
// that came for the scope in use. Where none are passed on it begins all: where, besides, the
// numbers of two ranks say nothing of which is the earlier, no rank then waits for one that waits
// for it.
func (in *incoming) send(t int64) error {
	for len(in.sends) > 0 && (in.sends[0].T <= t || in.r.Plan.Direct()) {
		s := in.sends[0]
		in.sends = in.sends[1:]
		var block *tcs.Tensor
		leaving := &in.leaving
		if here := in.held[s.Need.Block]; here != nil && here.foreign {
			block, leaving = here.t, &here.leaving
		} else {
			block = in.own(s.Need.Block)
		}
		sending, err := transfer.Multicast(in.r.Comm, block, s.List, tagOf(in.operand))
		if err != nil {
			return err
		}
		*leaving = append(*leaving, sending)
	}
	return nil
}

// start begins to receive the blocks of the next scope. Between ranks of one process nothing
// travels: these blocks are taken when they are read (see arrive), and no goroutine wakes beside
// the leaf for each step.
func (in *incoming) start() {
	if in.coming != nil || len(in.arrivals) == 0 || in.r.Comm.OneProcess() {
		return
	}
	fetches := in.arrivals[0].Fetches
	if !slices.ContainsFunc(fetches, travels) {
		return
	}
	ch := make(chan arrived, 1)
	in.coming = ch
	go func() { ch <- in.receive(fetches) }()
}

// travels tells whether a block comes from another rank.
func travels(x plan.Fetch) bool { return x.List != nil }

// receive receives those of some blocks that come from other ranks, one after another: ranks that
// have several in common receive them in the same order.
func (in *incoming) receive(fetches []plan.Fetch) arrived {
	r, a := in.r, arrived{blocks: map[plan.Block]*held{}}
	for _, x := range fetches {
		if !travels(x) {
			continue
		}
		t, sending, err := transfer.RecvMulticast(r.Comm, r.Like[in.operand], x.List, tagOf(in.operand),
			r.Alloc)
		if err != nil {
			a.err = err
			break
		}
		a.blocks[x.Need.Block] = &held{t, true, []*transfer.Sending{sending}}
	}
	return a
}

// to goes on to scope t: its blocks are held when it returns, and others are under way.
func (in *incoming) to(t int64) error {
	if t == in.t || in.always != nil {
		return nil
	}
	in.t = t
	for b, x := range in.joined {
		if len(in.parts(b)) == 0 { // an empty block, for which nothing arrives
			delete(in.joined, b)
			x.Close()
		}
	}
	if len(in.arrivals) > 0 && in.arrivals[0].T == t {
		a := in.arrivals[0]
		in.arrivals = in.arrivals[1:]
		if err := in.arrive(a); err != nil {
			return err
		}
	}
	in.start()
	return in.send(t + 1)
}

// arrive takes in the blocks of a scope, and drops those that it does not read.
func (in *incoming) arrive(a plan.Arrival) error {
	for b, h := range in.held {
		if slices.Contains(a.Blocks, b) {
			continue
		}
		delete(in.held, b)
		if err := h.drop(); err != nil {
			return err
		}
	}
	for b, t := range in.joined {
		if !slices.Contains(a.Blocks, in.parts(b)[0]) {
			delete(in.joined, b)
			t.Close()
		}
	}
	if err := in.take(in.came(a)); err != nil {
		return err
	}
	for _, x := range a.Fetches {
		if x.List == nil {
			in.held[x.Need.Block] = &held{t: in.own(x.Need.Block)}
		}
	}
	return nil
}

// came waits for the blocks of a scope that come from other ranks.
func (in *incoming) came(a plan.Arrival) arrived {
	if in.coming == nil {
		return in.receive(a.Fetches)
	}
	came := <-in.coming
	in.coming = nil
	return came
}

// take holds blocks that came from other ranks.
func (in *incoming) take(came arrived) error {
	for b, h := range came.blocks {
		if old := in.held[b]; old != nil { // of a scope before the last
			if err := old.drop(); err != nil {
				return err
			}
		}
		in.held[b] = h
	}
	return came.err
}

// parts lists the parts of a block of an operand that lies in parts; nil for none.
func (in *incoming) parts(b plan.Block) []plan.Block {
	if o := &in.r.Plan.Operands[in.operand]; o.Parts != nil {
		return o.PartsOf(b)
	}
	return nil
}

// block is a block of the scope in use, put together of its parts where it has several.
func (in *incoming) block(b plan.Block) (*tcs.Tensor, error) {
	o, like := &in.r.Plan.Operands[in.operand], in.r.Like[in.operand]
	if o.Parts == nil {
		return in.held[b].t, nil
	}
	if t := in.joined[b]; t != nil {
		return t, nil
	}
	var list []*tcs.Tensor
	for _, n := range in.parts(b) {
		list = append(list, in.held[n].t)
	}
	if len(list) == 1 { // which is all of it
		return list[0], nil
	}
	t, err := assemble.Join(like, o.Partition.Box(b, like.Dims), list, in.r.Alloc)
	if err == nil {
		in.joined[b] = t
	}
	return t, err
}

// drop closes a block that came from another rank, when it has left for others.
func (h *held) drop() (err error) {
	for _, s := range h.leaving {
		if e := s.Wait(); err == nil {
			err = e
		}
	}
	if h.foreign {
		h.t.Close()
	}
	return err
}

// blocks returns the operand blocks of step s, and starts the fetches of those that follow. Before
// it waits it sends what others may wait for that are at the steps that this rank lacks.
func (f *fetcher) blocks(s plan.Step) ([]*tcs.Tensor, error) {
	for k, in := range f.in {
		if err := in.send(s.Instances[k]); err != nil {
			return nil, err
		}
	}
	for k, in := range f.in {
		if err := in.to(s.Instances[k]); err != nil {
			return nil, err
		}
	}
	step := f.step
	f.step++
	out := make([]*tcs.Tensor, len(f.in))
	for _, need := range s.Need {
		in := f.in[need.Operand]
		if in.rows != nil {
			if err := in.rows.ready(step); err != nil {
				return nil, err
			}
		}
		if out[need.Operand] = in.always; in.always == nil {
			var err error
			if out[need.Operand], err = in.block(need.Block); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// finish sends what others still want, drops what is held and waits until this rank's blocks
// have left.
func (f *fetcher) finish(sends bool) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, in := range f.in {
		if sends {
			note(in.send(1 << 62))
		}
	}
	for _, in := range f.in {
		if in.coming != nil {
			for _, h := range (<-in.coming).blocks {
				note(h.drop())
			}
		}
		for _, h := range in.held {
			note(h.drop())
		}
		tcs.CloseAll(in.joined)
		if in.always != nil && in.foreign {
			in.always.Close()
		}
		if in.rows != nil {
			note(in.rows.finish())
		}
		for _, s := range in.leaving {
			note(s.Wait())
		}
	}
	return first
}

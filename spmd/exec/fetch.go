package exec

import (
	"fmt"
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// fetcher fetches operand blocks for a rank in the order of its plan. The plan divides the rank's
// steps into scopes, and a scope's blocks are fetched together. For each operand, fetcher stores
// the blocks of the current scope. Unless all ranks are in one process, it also receives the blocks
// of the next scope.
type fetcher struct {
	r    *Rank
	in   []*incoming // by operand
	step int         // number of the next step that needs blocks
}

// incoming holds the blocks of one operand at a rank.
type incoming struct {
	r       *Rank
	operand int
	// always is the operand's single block, which is available from the beginning, except for
	// rows that are still gathered; or nil.
	always  *tcs.Tensor
	foreign bool    // always came from another rank
	rows    *gather // the rows that always consists of; nil if the operand is not gathered

	arrivals []plan.Arrival // of scopes that have not started
	sends    []plan.Send    // that have not started
	t        int64          // the current scope; -1 before the first
	held     map[plan.Block]*held
	joined   map[plan.Block]*tcs.Tensor // blocks that were assembled from parts in held
	coming   chan arrived               // delivers the blocks of the next scope; nil if none is due
	leaving  []*transfer.Sending
}

// held is a block at this rank.
type held struct {
	t       *tcs.Tensor
	foreign bool                // it came from another rank and is closed when it is dropped
	leaving []*transfer.Sending // to other ranks that read it next
}

// arrived holds the blocks of an operand that this rank received for one scope of its plan.
type arrived struct {
	blocks map[plan.Block]*held
	err    error
}

// newFetcher starts the communication of a run. It starts the fetches and sends of each operand's
// first scope, starts to gather the rows of gathered operands, and performs the broadcasts
// (plan.Problem.Broadcasts). The caller must call finish, even if newFetcher returns an error.
// Every rank must call newFetcher.
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

// traffic lists the planned messages of one operand that a rank receives and sends.
type traffic struct {
	arrivals []plan.Arrival
	sends    []plan.Send
}

// broadcast sends the single block of an operand to every rank, unless every rank has it.
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

// gather starts to gather the rows of an operand that this rank reads. Every rank must call it.
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

// tagOf returns the first of an operand's two message tags (see transfer.Multicast). The tags of
// all operands are below tagSpread.
func tagOf(operand int) int { return 2 * operand }

func (in *incoming) own(b plan.Block) *tcs.Tensor {
	t := in.r.Own[in.operand][b]
	if t == nil {
		panic(fmt.Sprintf("BUG: rank %d does not hold block %d of %s", in.r.Comm.Rank(), b,
			in.r.Plan.Operands[in.operand].Tensor))
	}
	return t
}

// send starts sending the blocks that other ranks need in their scopes up to scope t. This rank
// owns these blocks, or has received them for its own current scope.
//
// If ranks never forward blocks (plan.Problem.Direct), the first call starts the sends of all
// scopes. Ranks that count their scopes independently then do not wait for each other.
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

// start starts a goroutine that receives the blocks of the next scope. It does nothing if all ranks
// are in one process. Blocks are not copied there, so the method arrive gets them when they are
// needed, and a goroutine would only compete with the leaf.
func (in *incoming) start() {
	if in.coming != nil || len(in.arrivals) == 0 || in.r.Comm.OneProcess() {
		return
	}
	fetches := in.arrivals[0].Fetches
	if !slices.ContainsFunc(fetches, isForeign) {
		return
	}
	ch := make(chan arrived, 1)
	in.coming = ch
	go func() { ch <- in.receive(fetches) }()
}

// isForeign reports whether a block comes from another rank.
func isForeign(x plan.Fetch) bool { return x.List != nil }

// receive receives the blocks in fetches that come from other ranks, one after another. If
// receiving a block fails, the result holds the error.
//
// If two ranks both receive several blocks, both receive them in the same order. With different
// orders, the two ranks could wait for each other (see transfer.RecvMulticast).
func (in *incoming) receive(fetches []plan.Fetch) arrived {
	r, a := in.r, arrived{blocks: map[plan.Block]*held{}}
	for _, x := range fetches {
		if !isForeign(x) {
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

// advanceTo makes t the current scope. When it returns, in.held contains the blocks of this scope.
// If ranks are in several processes, the blocks of the next scope are being received.
func (in *incoming) advanceTo(t int64) error {
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

// arrive waits for the blocks of a new scope and stores the blocks in in.held. It removes from
// in.held the blocks that the new scope does not read. The argument a describes the new scope.
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

// came waits for the blocks that other ranks send for the scope of arrival a, and returns the
// blocks. If receiving the blocks failed, the result holds the error.
func (in *incoming) came(a plan.Arrival) arrived {
	if in.coming == nil {
		return in.receive(a.Fetches)
	}
	came := <-in.coming
	in.coming = nil
	return came
}

// take stores in in.held the blocks that this rank received from other ranks. If receiving the
// blocks failed, take returns the error.
func (in *incoming) take(came arrived) error {
	for b, h := range came.blocks {
		if old := in.held[b]; old != nil { // from an earlier scope
			if err := old.drop(); err != nil {
				return err
			}
		}
		in.held[b] = h
	}
	return came.err
}

// parts returns the parts of a block, or nil if the operand is not stored in parts.
func (in *incoming) parts(b plan.Block) []plan.Block {
	if o := &in.r.Plan.Operands[in.operand]; o.Parts != nil {
		return o.PartsOf(b)
	}
	return nil
}

// block returns a block of the current scope. A block that is stored in several parts is assembled.
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
	if len(list) == 1 { // the part is the whole block
		return list[0], nil
	}
	t, err := assemble.Join(like, o.Partition.Box(b, like.Layout.Dims), list, in.r.Alloc)
	if err == nil {
		in.joined[b] = t
	}
	return t, err
}

// drop waits until a block is forwarded, and closes it if it came from another rank.
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

// blocks waits for the operand blocks of step s and returns them. Before it waits, it starts all
// sends that other ranks may be waiting for, because ranks could otherwise wait for each other.
// When it returns, the blocks of later steps are being fetched, unless all ranks are in one
// process.
func (f *fetcher) blocks(s plan.Step) ([]*tcs.Tensor, error) {
	for k, in := range f.in {
		if err := in.send(s.Instances[k]); err != nil {
			return nil, err
		}
	}
	for k, in := range f.in {
		if err := in.advanceTo(s.Instances[k]); err != nil {
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

// finish ends all fetches: it drops all blocks, and waits until all sends are complete. If sends is
// true, it first sends what other ranks still need.
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

package exec

import (
	"fmt"

	"distaff/io/tcs"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// fetcher brings operand blocks to a rank in the order of its plan. Of each
// operand it holds the block in use, and the next one while that arrives.
type fetcher struct {
	r       *Rank
	queue   []queued       // this rank's fetches, in order
	next    []int          // for each operand, the first of its fetches not started
	held    []*tcs.Tensor  // for each operand, the block in use
	foreign []bool         // held came from another rank, and is closed when dropped
	coming  []chan arrival // for each operand, the block on its way; nil for none
	sent    []*transfer.Sending
	bcast   []bool // operands that one broadcast brings to every rank
}

type queued struct {
	plan.Fetch
	seq int
}

type arrival struct {
	t   *tcs.Tensor
	err error
}

// newFetcher starts every send of this rank, runs the broadcasts, and starts
// the first fetch of each operand. Collective.
func (r *Rank) newFetcher() (*fetcher, error) {
	n := len(r.Plan.Operands)
	f := &fetcher{r: r, next: make([]int, n), held: make([]*tcs.Tensor, n), foreign: make([]bool, n), coming: make([]chan arrival, n), bcast: r.Plan.Broadcasts()}
	seq := 0
	for fetch := range r.Plan.Fetches(r.Comm.Rank()) {
		if !f.bcast[fetch.Operand] {
			f.queue = append(f.queue, queued{fetch, seq})
		}
		seq++
	}
	for _, s := range r.Plan.Sends(r.Comm.Rank()) {
		if f.bcast[s.Operand] {
			continue
		}
		block, err := f.own(s.Need)
		if err != nil {
			return nil, err
		}
		sending, err := transfer.Send(r.Comm, block, s.To, tagOf(s.Seq))
		if err != nil {
			return nil, err
		}
		f.sent = append(f.sent, sending)
	}
	for k, all := range f.bcast {
		if !all {
			f.start(k)
			continue
		}
		if r.Replicas != nil && r.Replicas[k] != nil {
			f.held[k] = r.Replicas[k]
			continue
		}
		owner := r.Plan.Owner(r.Plan.Operands[k].Modes, 0)
		t, err := transfer.Bcast(r.Comm, r.Own[k][0], r.Like[k], owner, r.Alloc)
		if err != nil {
			return nil, err
		}
		f.held[k], f.foreign[k] = t, owner != r.Comm.Rank()
	}
	return f, nil
}

// tagOf is the tag of a rank's fetch number seq. Messages of one pair and tag
// keep their order, so that numbers may wrap.
func tagOf(seq int) int { return seq % (tagCombine - 1) }

func (f *fetcher) own(n plan.Need) (*tcs.Tensor, error) {
	t := f.r.Own[n.Operand][n.Block]
	if t == nil {
		panic(fmt.Sprintf("BUG: rank %d does not hold block %d of %s", f.r.Comm.Rank(), n.Block, f.r.Plan.Operands[n.Operand].Tensor))
	}
	return t, nil
}

// start starts operand k's next fetch from another rank, if there is one and
// it comes before any of the rank's own blocks.
func (f *fetcher) start(k int) {
	i := f.following(k)
	if i < 0 || f.coming[k] != nil || f.queue[i].Owner == f.r.Comm.Rank() {
		return
	}
	q := f.queue[i]
	f.next[k] = i + 1
	ch := make(chan arrival, 1)
	f.coming[k] = ch
	go func() {
		t, err := transfer.Recv(f.r.Comm, f.r.Like[k], q.Owner, tagOf(q.seq), f.r.Alloc)
		ch <- arrival{t, err}
	}()
}

// following is the index of operand k's first fetch not started, or -1.
func (f *fetcher) following(k int) int {
	for i := f.next[k]; i < len(f.queue); i++ {
		if f.queue[i].Operand == k {
			return i
		}
	}
	return -1
}

// blocks returns the operand blocks of step number n, which is s, and starts
// the fetches of those that follow.
func (f *fetcher) blocks(s plan.Step, n int) ([]*tcs.Tensor, error) {
	out := make([]*tcs.Tensor, len(f.r.Plan.Operands))
	for _, need := range s.Need {
		k := need.Operand
		if !f.bcast[k] {
			if err := f.advance(k, n); err != nil {
				return nil, err
			}
		}
		out[k] = f.held[k]
	}
	return out, nil
}

// advance makes operand k's block of step n the one in use.
func (f *fetcher) advance(k, n int) error {
	if ch := f.coming[k]; ch != nil {
		if f.queue[f.next[k]-1].Step > n {
			return nil // the next block is under way; this step still uses the old one
		}
		f.drop(k)
		a := <-ch
		f.coming[k] = nil
		if a.err != nil {
			return a.err
		}
		f.held[k], f.foreign[k] = a.t, true
	} else if i := f.following(k); i >= 0 && f.queue[i].Step <= n {
		q := f.queue[i]
		f.next[k] = i + 1
		f.drop(k)
		t, err := f.own(q.Need)
		if err != nil {
			return err
		}
		f.held[k], f.foreign[k] = t, false
	}
	f.start(k)
	return nil
}

func (f *fetcher) drop(k int) {
	if f.foreign[k] && f.held[k] != nil {
		f.held[k].Close()
	}
	f.held[k], f.foreign[k] = nil, false
}

// finish drops what is held and waits until this rank's blocks have left.
func (f *fetcher) finish() error {
	for k := range f.held {
		f.drop(k)
		if ch := f.coming[k]; ch != nil {
			if a := <-ch; a.t != nil {
				a.t.Close()
			}
			f.coming[k] = nil
		}
	}
	var first error
	for _, s := range f.sent {
		if err := s.Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

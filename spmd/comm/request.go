package comm

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Request is a message or a broadcast under way. One goroutine at a time may
// use it; Wait (or a Test that says done) must be called once at least, and
// the buffer stays untouched until then.
type Request struct {
	g    *group
	kind string // "send", "receive", "broadcast"
	peer int    // in the group
	tag  int
	call *call // the collective it serves, nil for point to point
	buf  Buf   // keeps a Go buffer alive
	size int64 // of buf, in bytes

	op  Pending
	bg  *background
	cnt bool // a receive whose bytes count

	finished atomic.Bool // read by the watchdog
	bytes    int64
	err      error
}

// background is a collective that a goroutine of ours carries out.
type background struct {
	mu    sync.Mutex
	done  bool
	err   error
	wakes []chan struct{}
}

func (b *background) finish(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.err = true, err
	for _, w := range b.wakes {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// poll says whether b is done; if not, wake is signalled when it is.
func (b *background) poll(wake chan struct{}) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done && wake != nil {
		for _, w := range b.wakes {
			if w == wake {
				return false, nil
			}
		}
		b.wakes = append(b.wakes, wake)
	}
	return b.done, b.err
}

// Wait blocks until the request is done, or the job fails.
func (r *Request) Wait() error { return WaitAll(r) }

// Test says, without blocking for others, whether the request is done. It may
// carry out the copy of a message whose two sides have met.
func (r *Request) Test() (bool, error) {
	if done := r.poll(nil); done {
		return true, r.err
	}
	if err := r.g.cancelled(); err != nil {
		r.release(err)
		return true, r.err
	}
	return false, nil
}

// Bytes is the length of a finished receive's message.
func (r *Request) Bytes() int64 { return r.bytes }

// poll moves the request on; it notes the result when it is done.
func (r *Request) poll(wake chan struct{}) bool {
	if r.finished.Load() {
		return true
	}
	if r.bg != nil {
		done, err := r.bg.poll(wake)
		if done {
			r.finish(r.buf.Bytes(), err)
		}
		return done
	}
	done, n, err := r.op.Test()
	if done {
		if err != nil {
			err = r.wrap(err)
		} else if r.call != nil && r.kind == "receive" && n != r.buf.Bytes() {
			err = r.wrap(fmt.Errorf("got %d bytes, want %d: the ranks disagree about the size", n, r.buf.Bytes()))
		}
		r.finish(n, err)
	}
	return done
}

func (r *Request) finish(n int64, err error) {
	r.bytes, r.err = n, err
	if r.cnt && err == nil {
		r.g.countReceived(n)
	}
	r.g.board.Progress.Add(1)
	r.buf, r.op, r.bg = Buf{}, nil, nil
	r.finished.Store(true)
}

// release gives an unfinished request up, with the job's failure as its error.
// Its buffer is the caller's again.
func (r *Request) release(cause error) {
	if r.finished.Load() {
		return
	}
	if r.bg != nil { // its goroutine sees the failure too
		wake := make(chan struct{}, 1)
		if done, _ := r.bg.poll(wake); !done {
			<-wake
		}
	} else {
		r.op.Release()
	}
	r.finish(0, r.wrap(cause))
}

func (r *Request) wrap(err error) error {
	if r.call != nil {
		return r.g.fail(r.call.String()+": "+r.kind, r.peer, -1, err)
	}
	op := "Irecv"
	switch r.kind {
	case "send":
		op = "Isend"
	case "broadcast":
		op = "Ibcast"
	}
	return r.g.fail(op, r.peer, r.tag, err)
}

// describe says what the request is, with job-wide ranks.
func (r *Request) describe() string {
	prep := "from"
	if r.kind == "send" {
		prep = "to"
	}
	s := fmt.Sprintf("%s %s rank %d", r.kind, prep, r.g.members[r.peer])
	if r.call == nil && r.kind != "broadcast" {
		s += fmt.Sprintf(", tag %d", r.tag)
		if !r.g.first {
			s += " on " + r.g.name
		}
	}
	return s
}

// WaitAll blocks until every request is done, and returns the first error. Nil
// requests are skipped. If the job fails meanwhile, all are given up.
func WaitAll(rs ...*Request) error {
	var few [2]*Request
	pending := few[:0]
	var first error
	note := func(r *Request) {
		if r.err != nil && first == nil {
			first = r.err
		}
	}
	for _, r := range rs {
		switch {
		case r == nil:
		case r.poll(nil):
			note(r)
		default:
			pending = append(pending, r)
		}
	}
	if len(pending) == 0 {
		return first
	}
	p := newParking(pending)
	for {
		left := pending[:0]
		for _, r := range pending {
			if r.poll(p.wake) {
				note(r)
			} else {
				left = append(left, r)
			}
		}
		if len(left) == 0 {
			return first
		}
		pending = left
		if err := p.park(pending); err != nil {
			for _, r := range pending {
				r.release(err)
				note(r)
			}
			return first
		}
	}
}

// parking blocks a goroutine on requests, in sight of the watchdog.
type parking struct {
	g    *group
	w    waiting
	ops  []Pending
	wake chan struct{} // for background requests, nil without one

	opRoom  [2]Pending
	reqRoom [2]*Request
}

func newParking(rs []*Request) *parking {
	p := &parking{}
	p.ops, p.w.reqs = p.opRoom[:0], p.reqRoom[:0]
	for _, r := range rs {
		if r == nil {
			continue
		}
		if p.g == nil {
			p.g = r.g
			p.w.call = r.call
			p.w.background = r.call != nil && r.call.background
		}
		if r.bg != nil && p.wake == nil {
			p.wake = make(chan struct{}, 1)
		}
	}
	return p
}

func (p *parking) park(pending []*Request) error {
	p.ops = p.ops[:0]
	for _, r := range pending {
		if r.op != nil {
			p.ops = append(p.ops, r.op)
		}
	}
	// The watchdog reads this list while the caller shortens its own; between two waits it reads none.
	p.w.reqs = append(p.w.reqs[:0], pending...)
	p.g.board.enter(&p.w)
	defer p.g.board.leave(&p.w)
	return p.g.t.Park(p.ops, p.wake)
}

package comm

import (
	"fmt"
	"sync/atomic"
)

// Request is a message under way. Only one goroutine may use it at a time. The caller must call
// Wait at least once, or Test until it returns true, and must leave the buffer alone until then.
type Request struct {
	g    *group
	kind string // "send" or "receive"
	peer int    // the other rank's number in the group
	tag  int
	call *call // the collective that the message belongs to; nil if the message is point to point
	buf  Buf   // keeps a buffer on the Go heap alive
	size int64 // size of buf in bytes

	op        Pending
	isCounted bool // a receive whose bytes Counters counts

	finished atomic.Bool // read by the watchdog
	bytes    int64
	err      error
}

// Wait blocks until the request is done or the job has failed.
func (r *Request) Wait() error { return WaitAll(r) }

// Test reports whether the request is done, without waiting for other ranks. It may copy a message
// whose sender and receiver are both ready.
func (r *Request) Test() (bool, error) {
	if r.poll() {
		return true, r.err
	}
	if err := r.g.cancelled(); err != nil {
		r.release(err)
		return true, r.err
	}
	return false, nil
}

// Bytes returns the length in bytes of the message that a finished receive got.
func (r *Request) Bytes() int64 { return r.bytes }

// poll reports whether the request is done. If the request is done, poll also stores its result in
// r. It may copy a message whose sender and receiver are both ready.
func (r *Request) poll() bool {
	if r.finished.Load() {
		return true
	}
	done, n, err := r.op.Test()
	if done {
		if err != nil {
			err = r.wrap(err)
		} else if r.call != nil && r.kind == "receive" && n != r.buf.Bytes() {
			err = r.wrap(fmt.Errorf(
				"got a message of %d bytes, want %d: the ranks disagree about its size", n,
				r.buf.Bytes()))
		}
		r.finish(n, err)
	}
	return done
}

func (r *Request) finish(n int64, err error) {
	r.bytes, r.err = n, err
	if r.isCounted && err == nil {
		r.g.countReceived(n)
	}
	r.g.core.board.Progress.Add(1)
	r.buf, r.op = Buf{}, nil
	r.finished.Store(true)
}

// release ends an unfinished request. cause, for example the failure of the job, becomes the cause
// of the request's error. The caller must not use a buffer from Alloc again afterwards, because MPI
// may still use it.
func (r *Request) release(cause error) {
	if r.finished.Load() {
		return
	}
	r.op.Release()
	r.finish(0, r.wrap(cause))
}

func (r *Request) wrap(err error) error {
	if r.call != nil {
		return r.g.fail(r.call.String()+": "+r.kind, r.peer, -1, err)
	}
	op := "Irecv"
	if r.kind == "send" {
		op = "Isend"
	}
	return r.g.fail(op, r.peer, r.tag, err)
}

// describe describes the request in words, with the job-wide number of the other rank.
func (r *Request) describe() string {
	prep := "from"
	if r.kind == "send" {
		prep = "to"
	}
	s := fmt.Sprintf("%s %s rank %d", r.kind, prep, r.g.core.members[r.peer])
	if r.call == nil {
		s += fmt.Sprintf(", tag %d", r.tag)
		if !r.g.core.first {
			s += " on " + r.g.core.name
		}
	}
	return s
}

// WaitAll blocks until every request is done, and returns the first error. It skips nil requests.
// If the job fails meanwhile, it ends the unfinished requests with the failure.
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
		case r.poll():
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
			if r.poll() {
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

// parking blocks a goroutine until some of its requests may be done. The rank's board shows what it
// waits for.
type parking struct {
	g   *group
	w   waiting
	ops []Pending

	opRoom  [2]Pending
	reqRoom [2]*Request
}

func newParking(rs []*Request) *parking {
	p := &parking{g: rs[0].g, w: waiting{call: rs[0].call}}
	p.ops, p.w.reqs = p.opRoom[:0], p.reqRoom[:0]
	return p
}

func (p *parking) park(pending []*Request) error {
	p.ops = p.ops[:0]
	for _, r := range pending {
		p.ops = append(p.ops, r.op)
	}
	// The watchdog may read this list only while the board shows the wait. The caller shortens its
	// own list between waits.
	p.w.reqs = append(p.w.reqs[:0], pending...)
	p.g.core.board.enter(&p.w)
	defer p.g.core.board.leave(&p.w)
	return p.g.core.t.Park(p.ops)
}

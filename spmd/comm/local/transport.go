package local

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"distaff/spmd/comm"
)

// eager is the largest size, in bytes, of a short message. The sender copies a short message into
// the buffer of a receive that waits for it, or else into the mailbox. A longer message is always
// copied directly from the sender's buffer to the receiver's buffer.
const eager = 16 << 10

// world is a job.
type world struct {
	ranks  []*rank
	ctx    context.Context
	cancel context.CancelCauseFunc
	spins  bool // waits spin before they sleep, because every rank has a processor
}

// rank is the mailbox and the transport of one rank.
type rank struct {
	w      *world
	board  *comm.Board
	agreed error

	mu      sync.Mutex
	posted  map[key][]*op      // receives that wait for a message
	arrived map[key][]*message // messages that wait for a receive
}

// key identifies the messages that a receive can match. from is the number of the sending rank in
// the whole job, not in the group.
type key struct {
	link      uint32
	from, tag int32
}

func newWorld(ctx context.Context, n int) *world {
	w := &world{}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	if n <= runtime.GOMAXPROCS(0) {
		w.spins = true
	}
	for r := range n {
		w.ranks = append(w.ranks,
			&rank{w: w, board: comm.NewBoard(r, n), posted: map[key][]*op{},
				arrived: map[key][]*message{}})
	}
	return w
}

// Fail cancels the job. Only the first cause counts.
func (w *world) Fail(err error) { w.cancel(err) }

func (p *rank) Fail(err error)           { p.w.Fail(err) }
func (p *rank) Context() context.Context { return p.w.ctx }
func (p *rank) Flat() bool               { return true }
func (p *rank) OneProcess() bool         { return true }

// Alloc allocates Go memory, because ranks share the heap.
func (p *rank) Alloc(n int64) (comm.Buf, error) {
	const align = 64
	s := make([]byte, n+align)
	shift := -uintptr(unsafe.Pointer(&s[0])) & (align - 1)
	return comm.Of(s[shift : int64(shift)+n]), nil
}

func (p *rank) Free(comm.Buf) {}

// link is a group's link at one rank.
type link struct {
	p       *rank
	id      uint32
	members []int
}

func (p *rank) Open(id int, members []int) comm.Link {
	return &link{p: p, id: uint32(id), members: members}
}

// Groups returns no limit.
func (p *rank) Groups() int { return math.MaxInt }

// leftover returns an error if a message or a receive was never matched.
func (w *world) leftover() error {
	for r, p := range w.ranks {
		for k, q := range p.arrived {
			return comm.Failure(r, len(w.ranks),
				fmt.Errorf(
					"the rank ended without receiving a message of %d bytes from rank %d with "+
						"tag %d", q[0].n,
					k.from, k.tag))
		}
		for k := range p.posted {
			return comm.Failure(r, len(w.ranks),
				fmt.Errorf(
					"the rank ended with an open receive from rank %d with tag %d, whose "+
						"message was never sent",
					k.from, k.tag))
		}
	}
	return nil
}

// spinBusy, spinAlone and maxSpin say what a rank does while it waits, if every rank has a
// processor. The rank first spins, because waking its goroutine is slow. Usually the goroutine is
// locked to its thread, so two threads must wake one after the other.
//
// If both ranks of a message are running, they usually meet within spinBusy. After spinBusy, the
// waiting rank yields its processor between two checks, so that a rank without a processor can run
// there. After spinAlone, it also calls the Go scheduler. This call can be as slow as sleeping,
// because the locked thread must hand its scheduler slot (Go's P) to another thread. After maxSpin,
// the rank sleeps.
const (
	spinBusy  = 5 * time.Microsecond
	spinAlone = 200 * time.Microsecond
	maxSpin   = 2 * time.Millisecond
)

// spinUntil spins until ready returns true, but not longer than limit. It reports whether ready
// returned true.
func spinUntil(ready func() bool, limit time.Duration) bool {
	begin := time.Now()
	for {
		for range 32 {
			if ready() {
				return true
			}
		}
		since := time.Since(begin)
		if since >= limit {
			return false
		}
		if since >= spinAlone {
			runtime.Gosched()
		}
		if since >= spinBusy {
			syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}

// Park blocks until an operation is done, or a call of its Test would make progress, or the job is
// cancelled.
func (p *rank) Park(ops []comm.Pending) error {
	ready := func() bool {
		for _, o := range ops {
			if o.(*op).ready() {
				return true
			}
		}
		return false
	}
	if p.w.spins && spinUntil(ready, maxSpin) {
		return nil
	}
	w := make(waiter, 1)
	for _, o := range ops {
		o.(*op).waiter.Store(&w)
	}
	if ready() {
		return nil
	}
	select {
	case <-w:
		return nil
	case <-p.w.ctx.Done():
		return context.Cause(p.w.ctx)
	}
}

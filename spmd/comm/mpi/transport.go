package mpi

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// releaseTime is the time to wait, after a failure, for messages under way.
const releaseTime = 300 * time.Millisecond

// transport is one rank's transport.
type transport struct {
	e      *engine
	ctx    context.Context
	cancel context.CancelCauseFunc
	board  *comm.Board
	world  int64 // the communicator of all messages except control messages
	mon    *monitor
	// spin is the time that a wait polls without sleeping. It is 0 if ranks share cores.
	spin time.Duration

	pending atomic.Int64
	bytes   atomic.Int64  // bytes of the messages that are pending
	kick    chan struct{} // wakes the progress goroutine
}

func (t *transport) Context() context.Context { return t.ctx }
func (t *transport) Flat() bool               { return false }
func (t *transport) OneProcess() bool         { return false }

// Fail passes the failure to the monitor, which tells the other ranks and ends this rank's waits.
func (t *transport) Fail(err error) { t.mon.fail(err) }

func (t *transport) Alloc(n int64) (comm.Buf, error) {
	p, err := cAlloc(n)
	return comm.Mem(p, n, tensor.Byte), err
}

func (t *transport) Free(b comm.Buf) { cFree(b.Ptr) }

// link is one group's view of the communicator that all groups share. Tags contain the group's
// number. Making a group therefore needs no blocking call of MPI.
type link struct {
	t       *transport
	tag     int // what the group adds to each tag
	members []int
}

func (t *transport) Open(id int, members []int) comm.Link {
	return &link{t, id * comm.TagLimit, members}
}

func (t *transport) Groups() int { return (t.e.tagLimit + 1) / comm.TagLimit }

// op is a message that is being sent or received. A message in memory of the Go heap is copied to a
// staging buffer. This is necessary because an MPI library may keep the address of a buffer
// registered with the network, although the Go heap later uses the memory for something else.
type op struct {
	t     *transport
	r     int64
	bytes int64 // length of a send, or size of a receive's buffer
	stage unsafe.Pointer
	user  comm.Buf // buffer of a receive that is staged
}

func (l *link) Isend(b comm.Buf, to, tag int) (comm.Pending, error) {
	o := &op{t: l.t, bytes: b.Bytes()}
	n := b.Bytes()
	p := b.Ptr
	if b.Heap && n > 0 {
		var err error
		if o.stage, err = cAlloc(n); err != nil {
			return nil, err
		}
		copy(unsafe.Slice((*byte)(o.stage), n), unsafe.Slice((*byte)(b.Ptr), n))
		p = o.stage
	} else if n == 0 {
		p = nil
	}
	r, err := l.t.e.isend(l.t.world, p, n, l.members[to], l.tag+tag)
	return o.started(r, err)
}

func (l *link) Irecv(b comm.Buf, from, tag int) (comm.Pending, error) {
	o := &op{t: l.t, bytes: b.Bytes()}
	n := b.Bytes()
	p := b.Ptr
	if b.Heap && n > 0 {
		var err error
		if o.stage, err = cAlloc(n); err != nil {
			return nil, err
		}
		o.user = b
		p = o.stage
	} else if n == 0 {
		p = nil
	}
	r, err := l.t.e.irecv(l.t.world, p, n, l.members[from], l.tag+tag)
	return o.started(r, err)
}

func (o *op) started(r int64, err error) (comm.Pending, error) {
	if err != nil {
		cFree(o.stage)
		return nil, err
	}
	o.r = r
	o.t.bytes.Add(o.bytes)
	if o.t.pending.Add(1) == 1 {
		select {
		case o.t.kick <- struct{}{}:
		default:
		}
	}
	return o, nil
}

func (o *op) Test() (bool, int64, error) {
	done, n, err := o.t.e.test(o.r)
	if !done {
		return false, 0, nil
	}
	if err == comm.ErrTruncated {
		err = fmt.Errorf("%w, which has %d bytes", err, o.bytes)
	}
	o.t.ended(o)
	if o.stage != nil {
		if err == nil && o.user.Ptr != nil {
			copy(unsafe.Slice((*byte)(o.user.Ptr), n), unsafe.Slice((*byte)(o.stage), n))
		}
		cFree(o.stage)
		o.stage = nil
	}
	return true, n, err
}

// Release cancels a receive whose message has not arrived, and waits for a message that is partly
// sent. After a failure the other side may be gone, so the wait is limited to releaseTime. A
// message that is still unfinished then stays open until the process ends.
func (o *op) Release() {
	o.t.e.cancelReceive(o.r)
	for {
		if done, _, _ := o.Test(); done {
			return
		}
		if o.t.mon.sinceFailure() > releaseTime {
			o.t.ended(o)
			return
		}
		o.t.e.poll([]int64{o.r}, 100_000)
	}
}

func (t *transport) ended(o *op) {
	t.bytes.Add(-o.bytes)
	t.pending.Add(-1)
}

// large is a number of bytes. If the messages under way have at least this many bytes, each poll
// calls MPI for some time instead of once. The reason is that some MPIs move a large message in
// parts, and need a call for every few parts.
const large = 1 << 20

// pollTime returns how long, in nanoseconds, one call polls MPI. It is more than 0 while the
// messages under way have many bytes in total (large), because some MPIs move large messages in
// parts and need a call for every few parts.
func (t *transport) pollTime() int64 {
	if t.bytes.Load() >= large {
		return 40_000
	}
	return 0
}

// minPause, pause and maxPause are lengths of pauses between polls of MPI. A poll takes the core
// from a leaf that computes there, for about 40 µs including the wake-up and the leaf's cache
// misses afterwards. Therefore the pauses grow while nothing moves.
const (
	minPause = 20 * time.Microsecond
	pause    = 200 * time.Microsecond
	maxPause = 2 * time.Millisecond
)

// progress calls MPI at intervals while messages are under way, so that they move although no
// goroutine waits.
func (t *transport) progress(quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		case <-t.kick:
		}
		last, next := int64(0), pause
		for n := t.pending.Load(); n > 0 && t.ctx.Err() == nil; n = t.pending.Load() {
			if n != last {
				last, next = n, pause
			}
			time.Sleep(next)
			begun, burst := time.Now(), t.pollTime()
			t.e.poll(nil, burst)
			// parts of a message arrived
			if next = min(2*next, maxPause); burst > 0 && time.Since(begun) > 2*time.Duration(burst) {
				next = pause
			}
		}
	}
}

// Park waits until one of the operations may be done. Meanwhile it polls MPI: first without pauses,
// and later with growing pauses. There are two exceptions:
//
//   - If ranks share cores, or while a leaf of this rank is running, Park pauses from the
//     beginning, because others need the core.
//   - Otherwise, Park does not pause at all while many bytes (large) are under way.
func (t *transport) Park(ops []comm.Pending) error {
	rs := make([]int64, len(ops))
	for i, o := range ops {
		rs[i] = o.(*op).r
	}
	start := time.Now()
	next := minPause
	for {
		burst, spin, most := t.pollTime(), t.spin, pause
		computing := t.board.Computing()
		if computing != nil {
			spin, most = 0, maxPause
		}
		waited := time.Since(start)
		if waited < spin {
			burst = 20_000
		}
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if t.e.poll(rs, burst) > 0 {
			return nil
		}
		if waited >= spin && (spin == 0 || burst == 0) {
			next = min(next, most)
			select { // if computing is nil, only the first case can happen
			case <-time.After(next):
			case <-computing:
			}
			next = next * 5 / 4
		}
	}
}

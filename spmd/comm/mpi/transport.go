package mpi

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"distaff/spmd/comm"
)

// releaseTime is how long after a failure messages under way are waited for.
const releaseTime = 300 * time.Millisecond

// transport is one rank's side of the job.
type transport struct {
	e      *engine
	ctx    context.Context
	cancel context.CancelCauseFunc
	board  *comm.Board
	world  int64 // the communicator of all messages but the monitors'
	mon    *monitor
	// spin is how long a wait polls before it sleeps between polls; zero where
	// ranks share cores.
	spin time.Duration

	pending atomic.Int64
	bytes   atomic.Int64  // of the messages that are pending
	kick    chan struct{} // wakes the progress goroutine
}

func (t *transport) Context() context.Context { return t.ctx }
func (t *transport) Flat() bool               { return false }
func (t *transport) OneProcess() bool         { return false }

// Fail hands the failure to the monitor, which tells the others, and ends this
// rank's waits.
func (t *transport) Fail(err error) { t.mon.fail(err) }

func (t *transport) Alloc(n int64) (comm.Buf, error) {
	p, err := cAlloc(n)
	return comm.Mem(p, n, comm.Byte), err
}

func (t *transport) Free(b comm.Buf) { cFree(b.Ptr) }

// link is a group's part of the job's one communicator: tags hold the group's
// number. So no call of MPI that makes groups, and blocks meanwhile, is needed.
type link struct {
	t       *transport
	tag     int // of the group's tag 0
	members []int
}

func (t *transport) Open(id int, members []int) comm.Link {
	return &link{t, id * comm.TagLimit, members}
}

func (t *transport) Groups() int { return (t.e.tagLimit + 1) / comm.TagLimit }

// op is a message under way. Memory of the Go heap is staged: an MPI may keep
// an address registered with the network beyond what the heap knows of.
type op struct {
	t     *transport
	r     int64
	bytes int64 // bytes, of a receive what there is room for
	stage unsafe.Pointer
	user  comm.Buf // where a staged receive belongs
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
		err = fmt.Errorf("%w, which has room for %d bytes", err, o.bytes)
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

// Release cancels a receive that nothing has come for, and gives a message that
// is half way the chance to end. After a failure the other side may be gone, so
// the wait is bounded; what is left then ends with the process.
func (o *op) Release() {
	o.t.e.giveUp(o.r)
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

// large is how many bytes under way are worth more than a glance each time: an
// MPI that moves them in parts needs a call for each few.
const large = 1 << 20

// patience is how long to look out for parts of messages, in nanoseconds.
func (t *transport) patience() int64 {
	if t.bytes.Load() >= large {
		return 40_000
	}
	return 0
}

// A look for what has moved takes the core from a leaf that computes there, for some 40 µs with
// waking up and what the leaf then lacks in its caches. So the pauses between looks grow while
// nothing moves.
const (
	leastPause = 20 * time.Microsecond
	pause      = 200 * time.Microsecond
	mostPause  = 2 * time.Millisecond
)

// progress moves messages on while nobody waits for them.
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
			begun, burst := time.Now(), t.patience()
			t.e.poll(nil, burst)
			// parts of a message came
			if next = min(2*next, mostPause); burst > 0 && time.Since(begun) > 2*time.Duration(burst) {
				next = pause
			}
		}
	}
}

// Park polls, at first without pause, then with growing ones; while a large message comes to a core
// of its own, without. Where the rank computes meanwhile, the core is the leaf's: there are pauses
// from the beginning, which end with the leaf.
func (t *transport) Park(ops []comm.Pending) error {
	rs := make([]int64, len(ops))
	for i, o := range ops {
		rs[i] = o.(*op).r
	}
	start := time.Now()
	next := leastPause
	for {
		burst, spin, most := t.patience(), t.spin, pause
		computing := t.board.Computing()
		if computing != nil {
			spin, most = 0, mostPause
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
			select { // no case but the first where computing is nil
			case <-time.After(next):
			case <-computing:
			}
			next = next * 5 / 4
		}
	}
}

package local

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"distaff/spmd/comm"
)

// op is one side of a message, a send or a receive, that is under way.
type op struct {
	board *comm.Board
	ptr   unsafe.Pointer
	n     int64 // bytes to send, or the size of the receive's buffer
	at    *rank // the rank whose mailbox the operation is queued in
	key   key
	send  bool

	pair   atomic.Pointer[pair] // set when both sides have met and a copy must be made
	done   atomic.Bool
	got    int64
	err    error
	waiter atomic.Pointer[waiter]
}

// waiter wakes a parked goroutine.
type waiter chan struct{}

// pair is a long message whose send and receive have been matched. Either side may copy the data.
// The side that sets claim first does so. Release sets claim in order to cancel both sides.
type pair struct {
	send, recv *op
	claim      atomic.Bool
}

// message is a message in a mailbox that waits for its receive. If the message is short, data is a
// copy of its contents. If it is long, send is the sender's operation, from whose buffer the
// contents are copied.
type message struct {
	data []byte
	send *op
	n    int64
}

// shortMessages holds the memory of short messages that were received, for reuse.
var shortMessages = sync.Pool{New: func() any { return new(message) }}

func (o *op) wake() {
	if w := o.waiter.Load(); w != nil {
		select {
		case *w <- struct{}{}:
		default:
		}
	}
}

func (o *op) finish(got int64, err error) {
	o.got, o.err = got, err
	o.ptr = nil
	o.board.Progress.Add(1)
	o.done.Store(true)
	o.wake()
}

// ready reports whether Test would make progress.
func (o *op) ready() bool {
	if o.done.Load() {
		return true
	}
	x := o.pair.Load()
	return x != nil && !x.claim.Load()
}

// Test copies the message if its send and receive are matched and nobody has begun to copy it. It
// returns whether the operation is done, the length of the message, and the error.
func (o *op) Test() (bool, int64, error) {
	if x := o.pair.Load(); x != nil && x.claim.CompareAndSwap(false, true) {
		x.copy()
	}
	if o.done.Load() {
		return true, o.got, o.err
	}
	return false, 0, nil
}

func (x *pair) copy() {
	s, r := x.send, x.recv
	n := s.n
	deliver(r, unsafe.Slice((*byte)(s.ptr), n))
	s.finish(n, nil)
}

// deliver copies a message to its receive, and finishes the receive.
func deliver(r *op, data []byte) {
	n := int64(len(data))
	if n > r.n {
		r.finish(0, fmt.Errorf("%w: the message has %d bytes, but the buffer has %d",
			comm.ErrTruncated, n, r.n))
		return
	}
	if n > 0 {
		copy(unsafe.Slice((*byte)(r.ptr), n), data)
	}
	r.finish(n, nil)
}

// Release ends the operation. It removes the operation from the mailbox. If the operation is
// matched already, Release cancels both sides, or waits until a copy that has begun is done.
func (o *op) Release() {
	if o.done.Load() {
		return
	}
	if o.unqueue() {
		o.finish(0, context.Canceled)
		return
	}
	if x := o.pair.Load(); x != nil && x.claim.CompareAndSwap(false, true) {
		x.recv.finish(0, context.Canceled)
		x.send.finish(0, context.Canceled)
		return
	}
	for !o.done.Load() {
		runtime.Gosched()
	}
}

// unqueue removes the operation from its mailbox. It returns false if the operation is already
// matched with its send or receive.
func (o *op) unqueue() bool {
	p := o.at
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.send {
		for i, m := range p.arrived[o.key] {
			if m.send == o {
				setQueue(p.arrived, o.key, append(p.arrived[o.key][:i:i], p.arrived[o.key][i+1:]...))
				return true
			}
		}
		return false
	}
	for i, r := range p.posted[o.key] {
		if r == o {
			setQueue(p.posted, o.key, append(p.posted[o.key][:i:i], p.posted[o.key][i+1:]...))
			return true
		}
	}
	return false
}

// setQueue stores q in m, or deletes the key if q is empty.
func setQueue[T any](m map[key][]T, k key, q []T) {
	if len(q) == 0 {
		delete(m, k)
	} else {
		m[k] = q
	}
}

// pop removes and returns the first element of a queue, or nil if the queue is empty.
func pop[T any](m map[key][]*T, k key) *T {
	q := m[k]
	if len(q) == 0 {
		return nil
	}
	first := q[0]
	q[0] = nil
	setQueue(m, k, q[1:])
	return first
}

// meet connects the two sides of a long message: the send s and the receive r.
func meet(s, r *op) {
	x := &pair{send: s, recv: r}
	s.pair.Store(x)
	r.pair.Store(x)
}

func (l *link) Isend(b comm.Buf, to, tag int) (comm.Pending, error) {
	dst := l.p.w.ranks[l.members[to]]
	k := key{l.id, int32(l.p.board.Rank), int32(tag)}
	o := &op{board: l.p.board, ptr: b.Ptr, n: b.Bytes(), at: dst, key: k, send: true}
	data := unsafe.Slice((*byte)(b.Ptr), o.n)
	short := o.n <= eager
	dst.mu.Lock()
	r := pop(dst.posted, k)
	switch {
	case r != nil && !short:
		meet(o, r)
	case r == nil && short:
		m := shortMessages.Get().(*message)
		m.data, m.n = append(m.data[:0], data...), o.n
		dst.arrived[k] = append(dst.arrived[k], m)
	case r == nil:
		dst.arrived[k] = append(dst.arrived[k], &message{send: o, n: o.n})
	}
	dst.mu.Unlock()
	if r != nil {
		if short {
			deliver(r, data)
		} else {
			r.wake()
		}
	}
	if short {
		o.finish(o.n, nil)
	}
	return o, nil
}

func (l *link) Irecv(b comm.Buf, from, tag int) (comm.Pending, error) {
	p := l.p
	k := key{l.id, int32(l.members[from]), int32(tag)}
	o := &op{board: p.board, ptr: b.Ptr, n: b.Bytes(), at: p, key: k}
	p.mu.Lock()
	m := pop(p.arrived, k)
	switch {
	case m == nil:
		p.posted[k] = append(p.posted[k], o)
	case m.send != nil:
		meet(m.send, o)
	}
	p.mu.Unlock()
	if m != nil {
		if m.send == nil {
			deliver(o, m.data)
			shortMessages.Put(m)
		} else {
			m.send.wake()
		}
	}
	return o, nil
}

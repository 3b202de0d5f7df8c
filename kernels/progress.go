package kernels

import (
	"sync/atomic"
)

// Progress records how much of a leaf's work is done. It can be in the Env of many calls, but of
// only one call at a time. Any goroutine may read it while a leaf runs.
type Progress struct {
	at      counts
	calls   atomic.Int64
	running atomic.Bool
}

// counts has the layout of dst_progress in dst.h.
type counts struct{ loop, done, total, span int64 }

// begin prepares p for a call.
func (p *Progress) begin() {
	for _, n := range []*int64{&p.at.total, &p.at.loop, &p.at.done, &p.at.span} {
		atomic.StoreInt64(n, 0)
	}
	p.calls.Add(1)
	p.running.Store(true)
}

// end notes that a call has ended.
func (p *Progress) end() { p.running.Store(false) }

// counts returns the counters that the leaf's C code updates while it runs, or nil if p is nil.
func (p *Progress) counts() *counts {
	if p == nil {
		return nil
	}
	return &p.at
}

// Calls returns the number of calls that have begun.
func (p *Progress) Calls() int64 { return p.calls.Load() }

// Running reports whether a leaf runs.
func (p *Progress) Running() bool { return p.running.Load() }

// Loop returns the number, from 1, of the loop that the leaf is in, or was in last, and how many of
// the loop's total units of work are done. total is 0 if no loop has begun, or if the next loop is
// just beginning.
func (p *Progress) Loop() (number, done, total int64) {
	number = atomic.LoadInt64(&p.at.loop)
	total = atomic.LoadInt64(&p.at.total)
	done = min(atomic.LoadInt64(&p.at.done), total)
	if atomic.LoadInt64(&p.at.loop) != number {
		return number, 0, 0
	}
	return number, done, total
}

package comm

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Board records what one rank waits for. The rank's groups and its transport write the board. The
// transport reads it, mainly in its watchdog, which ends a job that is stuck. Progress grows with
// every message that starts or ends at the rank.
type Board struct {
	Rank     int
	Ranks    int // number of ranks of the job
	Progress atomic.Uint64

	finished atomic.Pointer[time.Time]
	mu       sync.Mutex
	busy     int           // number of goroutines that compute
	idle     chan struct{} // closed when busy becomes 0; nil while busy is 0
	waits    map[*waiting]struct{}
}

// NewBoard returns the board of a rank; rank and ranks are its number and the number of ranks in
// the job.
func NewBoard(rank, ranks int) *Board {
	return &Board{Rank: rank, Ranks: ranks, waits: map[*waiting]struct{}{}}
}

// beginComputing records that one more goroutine of the rank computes. The rank then does not count
// as waiting, even if its other goroutines wait (Comm.Busy).
func (b *Board) beginComputing() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy++; b.busy == 1 {
		b.idle = make(chan struct{})
	}
}

// endComputing ends one call of beginComputing.
func (b *Board) endComputing() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy--; b.busy == 0 {
		close(b.idle)
		b.idle = nil
	}
}

// Computing returns a channel that is closed when no goroutine of the rank computes any more. It
// returns nil if none computes now.
func (b *Board) Computing() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.idle
}

// Finish records that the rank's function has returned.
func (b *Board) Finish() {
	now := time.Now()
	b.finished.Store(&now)
}

// waiting is the wait of one goroutine.
type waiting struct {
	call  *call // the collective; nil if the message is point to point
	reqs  []*Request
	since time.Time
}

func (b *Board) enter(w *waiting) {
	w.since = time.Now()
	b.mu.Lock()
	b.waits[w] = struct{}{}
	b.mu.Unlock()
}

func (b *Board) leave(w *waiting) {
	b.mu.Lock()
	delete(b.waits, w)
	b.mu.Unlock()
}

// Report is the state of a rank, for the watchdog.
type Report struct {
	Rank       int
	Finished   bool          // the rank's function has returned
	Waiting    bool          // some goroutine waits and none computes, or the rank has finished
	For        time.Duration // duration of the longest wait, or time since the rank finished
	Progress   uint64
	Bytes      int64  // bytes of the messages that the rank waits for
	Collective string // such as "Bcast #3 on world", or ""
	Text       string // the waits in words, or that the rank computes or has finished
}

// Report returns the current state of the rank.
func (b *Board) Report() Report {
	r := Report{Rank: b.Rank, Progress: b.Progress.Load()}
	if at := b.finished.Load(); at != nil {
		r.For = time.Since(*at)
		r.Finished, r.Waiting, r.Text = true, true, "has finished"
		return r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var texts []string
	for w := range b.waits {
		r.Waiting = true
		r.For = max(r.For, time.Since(w.since))
		for _, q := range w.reqs {
			if !q.finished.Load() {
				r.Bytes += q.size
			}
		}
		if w.call != nil {
			r.Collective = w.call.String()
		}
		texts = append(texts, w.String())
	}
	sort.Strings(texts)
	r.Text = strings.Join(texts, "; ")
	if b.busy > 0 {
		r.Waiting = false
	}
	if r.Text == "" {
		r.Text = "computes"
	}
	return r
}

// String describes the wait: "waits in Bcast #3 on world (root 0): receive from rank 0".
func (w *waiting) String() string {
	var s strings.Builder
	s.WriteString("waits")
	if w.call != nil {
		fmt.Fprintf(&s, " in %s%s", w.call, w.call.detail)
	}
	const most = 4
	n := 0
	for _, r := range w.reqs {
		if r.finished.Load() {
			continue
		}
		switch n++; {
		case n == 1:
			s.WriteString(": ")
		case n <= most:
			s.WriteString(", ")
		}
		if n <= most {
			s.WriteString(r.describe())
		}
	}
	if n > most {
		fmt.Fprintf(&s, " and %d more", n-most)
	}
	return s.String()
}

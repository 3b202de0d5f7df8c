package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"distaff/spmd/comm"
)

// The times of the monitor.
const (
	tick       = 20 * time.Millisecond
	settleTime = 2 * time.Second // time that ranks have to clean up after a failure
	// When a job aborts, MPICH's launcher drops output that it has not yet read.
	drainTime = 200 * time.Millisecond
	abortTime = 5 * time.Second // time after which a rank that gets no answer aborts by itself
	// time after which the process of a failed rank exits, whatever MPI does
	dieTime = 8 * time.Second
)

// The kinds of control message. Rank 0 sends messages to all ranks down a binary tree.
const (
	ctlFail   = "fail"   // to rank 0: this rank has failed
	ctlCancel = "cancel" // to all ranks: the job fails with this failure
	ctlDone   = "done"   // to rank 0: this rank has cleaned up
	ctlEnd    = "end"    // to rank 0: this rank's function has returned nil or an agreed failure
	ctlBye    = "bye"    // to all ranks: the functions of all ranks have returned
	ctlExit   = "exit"   // to all ranks: all have cleaned up, and each must exit
	ctlAlive  = "alive"  // to the previous node: the first rank of this node lives
	ctlStuck  = "stuck"  // to rank 0: this rank has waited for a long time
	ctlMoved  = "moved"  // to rank 0: this rank no longer waits
)

// control is a message between monitors.
type control struct {
	Kind string
	Rank int // the rank that failed
	// the rank that prints the failure; another rank prints it if the failed rank is dead
	Reporter   int
	Code       int
	Text       string       `json:",omitempty"`
	Collective string       `json:",omitempty"`
	Report     *comm.Report `json:",omitempty"`
}

const maxControl = 16 << 10

// monitor is one rank's part in ending the job. Fields that the mutex does not guard belong to the
// monitor's goroutine.
type monitor struct {
	t     *transport
	link  int64
	stuck time.Duration // how long all ranks may wait while nothing moves; negative for no limit
	onErr func(error)
	// exits means that each rank of a failed job exits by itself. If one rank aborts the job under
	// srun, srun reports the exit code of the ranks that it kills.
	exits bool
	note  func(string)

	mu       sync.Mutex
	failed   error        // the failure of this rank or of the job
	failedAt time.Time    // when this rank learnt of the failure
	returned bool         // the rank's function has returned
	places   []comm.Place // known once all ranks have started
	// the exit code if the rank's function returned without a failure of its own: 0, or the code of
	// an agreed failure
	endCode int

	wake   chan struct{}
	mayEnd chan struct{} // closed when the job may end in order
	quit   chan struct{} // closed when the monitor has stopped

	hasReported bool     // this rank has sent its failure to rank 0
	agreed      *control // the failure that ends the job
	// nothing more must be printed here: the failure was printed, or another rank prints it
	isPrinted atomic.Bool
	cleaned   bool
	done      int // at rank 0: number of ranks that have cleaned up, and when the last one did
	doneAt    time.Time
	ended     map[int]int
	endSent   bool
	stop      bool
	sends     []controlSend
	guard     guard

	lastProgress uint64
	progressAt   time.Time
	nextReport   time.Time
	reported     bool
	reports      map[int]stuckReport
	allStuck     int
	longSince    time.Time
	warned       bool
}

type controlSend struct {
	r int64
	p unsafe.Pointer
}

type stuckReport struct {
	comm.Report
	at time.Time
}

func newMonitor(t *transport, o Options) *monitor {
	return &monitor{
		t: t, stuck: o.Stuck, onErr: o.OnFail, note: o.Note,
		wake: make(chan struct{}, 1), mayEnd: make(chan struct{}), quit: make(chan struct{}),
		ended: map[int]int{}, reports: map[int]stuckReport{}, progressAt: time.Now(),
	}
}

// fail stores this rank's failure, if it is the first, and ends the rank's waits.
func (m *monitor) fail(err error) {
	m.mu.Lock()
	if m.failed == nil {
		m.failed, m.failedAt = err, time.Now()
		time.AfterFunc(dieTime, m.die)
	}
	m.mu.Unlock()
	m.t.cancel(err)
	m.wakeMonitor()
}

// die ends this process some time after its rank has failed. It is needed if a call of MPI (maybe
// MPI_Abort) does not return, because the call then blocks the monitor, which would otherwise end
// the process. The launcher and the other ranks see that the process is gone.
func (m *monitor) die() {
	m.mu.Lock()
	failed := m.failed
	m.mu.Unlock()
	if m.isPrinted.CompareAndSwap(false, true) {
		m.onErr(failed)
	}
	comm.Exit(comm.ExitCode(failed))
}

func (m *monitor) sinceFailure() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil {
		return 0
	}
	return time.Since(m.failedAt)
}

func (m *monitor) wakeMonitor() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// finish is called when the rank's function has returned err. It returns when all ranks have ended
// without a failure or with the same agreed failure. After any other failure it never returns.
func (m *monitor) finish(err error) {
	var agreed *comm.AgreedError
	switch {
	case err == nil || errors.As(err, &agreed):
		m.mu.Lock()
		m.returned, m.endCode = true, comm.ExitCode(err)
		m.mu.Unlock()
		comm.End(comm.ExitCode(err))
	default:
		m.mu.Lock()
		m.returned = true
		m.mu.Unlock()
		m.fail(comm.Failure(m.t.e.rank, m.t.e.size, err))
	}
	m.t.board.Finish()
	m.wakeMonitor()
	<-m.mayEnd
}

// run is the monitor's goroutine.
func (m *monitor) run() {
	defer close(m.quit)
	// Cancelling the caller's context ends the job too.
	stopWatch := context.AfterFunc(m.t.ctx, func() { m.fail(context.Cause(m.t.ctx)) })
	defer stopWatch()
	timer := time.NewTimer(tick)
	for !m.stop {
		select {
		case <-timer.C:
		case <-m.wake:
		}
		timer.Reset(tick)
		m.receive()
		m.watchRanks()
		m.step()
		m.watchStuck()
		m.reap()
	}
	m.flush()
	m.guard.close()
	close(m.mayEnd)
}

// step does the next action that ends the job, for example reporting a failure to rank 0, cleaning
// up, or calling MPI_Abort. It does nothing if the job is not ending.
func (m *monitor) step() {
	rank, size := m.t.e.rank, m.t.e.size
	m.mu.Lock()
	failed, failedAt, returned, code := m.failed, m.failedAt, m.returned, m.endCode
	m.mu.Unlock()
	if failed == nil {
		if returned && !m.endSent {
			m.endSent = true
			m.send(0, control{Kind: ctlEnd, Code: code})
		}
		if rank == 0 && len(m.ended) == size {
			m.endAll(code)
		}
		return
	}
	since := time.Since(failedAt)
	if !m.hasReported && m.agreed == nil {
		m.hasReported = true
		m.send(0, m.failure(failed))
	}
	if m.agreed != nil && m.isPrinted.CompareAndSwap(false, true) && m.agreed.Reporter == rank {
		m.onErr(m.words(failed))
	}
	if m.agreed != nil && !m.cleaned && (returned || since > settleTime/2) {
		m.cleaned = true
		comm.Cleanup()
		m.send(0, control{Kind: ctlDone})
	}
	switch {
	case m.agreed != nil && rank == 0 && m.done == size && m.exits:
		m.send(0, control{Kind: ctlExit})
	case m.agreed != nil && rank == 0 &&
		(m.done == size && time.Since(m.doneAt) > drainTime || since > settleTime):
		m.t.e.abort(m.agreed.Code)
	case since > abortTime:
		if m.isPrinted.CompareAndSwap(false, true) {
			m.onErr(failed)
		}
		if !m.cleaned {
			comm.Cleanup()
		}
		code := comm.ExitCode(failed)
		if m.agreed != nil {
			code = m.agreed.Code
		}
		m.t.e.abort(code)
	}
}

// failure returns the message for a failure of this rank.
func (m *monitor) failure(err error) control {
	c := control{Kind: ctlFail, Rank: m.t.e.rank, Reporter: m.t.e.rank, Code: comm.ExitCode(err),
		Text: err.Error()}
	var re *comm.RankError
	if errors.As(err, &re) {
		c.Rank, c.Text = re.Rank, re.Err.Error()
	}
	if len(c.Text) > maxControl/4 {
		c.Text = c.Text[:maxControl/4] + "..."
	}
	return c
}

// words returns the failure that the ranks agreed on, as the error to print. failed is this rank's
// own failure. If it is the failure that the ranks agreed on, words returns failed itself, because
// the text that the ranks exchanged may be shortened. Otherwise words returns an error with the
// exchanged text.
func (m *monitor) words(failed error) error {
	if c := m.failure(failed); c.Rank == m.agreed.Rank && c.Code == m.agreed.Code &&
		c.Text == m.agreed.Text {
		return failed
	}
	return &comm.RankError{Rank: m.agreed.Rank, Alone: m.t.e.size == 1, Code: m.agreed.Code,
		Err: errors.New(m.agreed.Text)}
}

// endAll runs at rank 0 when the functions of all ranks have returned. It tells all ranks to close
// MPI if every rank has the given exit code. Otherwise it ends the job with an error.
func (m *monitor) endAll(code int) {
	for r, c := range m.ended {
		if c != code {
			m.fail(fmt.Errorf("rank %d ended with code %d, but rank 0 with %d", r, c, code))
			return
		}
	}
	m.send(0, control{Kind: ctlBye})
}

// send sends a control message. A message to this rank itself is handled at once.
func (m *monitor) send(to int, c control) {
	if to == m.t.e.rank {
		m.handle(to, c)
		return
	}
	b, err := json.Marshal(c)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	p, err := cAlloc(int64(len(b)))
	if err != nil {
		return // the launcher, or the time limit of another rank, ends the job
	}
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	r, err := m.t.e.isend(m.link, p, int64(len(b)), to, 1)
	if err != nil {
		cFree(p)
		return
	}
	m.sends = append(m.sends, controlSend{r, p})
}

// spread passes a message on to the children of this rank in the binary tree of ranks. A rank has
// at most two children.
func (m *monitor) spread(c control) {
	for _, to := range []int{2*m.t.e.rank + 1, 2*m.t.e.rank + 2} {
		if to < m.t.e.size {
			m.send(to, c)
		}
	}
}

// flush waits until all messages are sent, for one second at most.
func (m *monitor) flush() {
	for end := time.Now().Add(time.Second); len(m.sends) > 0 && time.Now().Before(end); {
		m.reap()
	}
}

func (m *monitor) reap() {
	if len(m.sends) == 0 {
		return
	}
	m.t.e.poll(nil, 0)
	left := m.sends[:0]
	for _, s := range m.sends {
		if done, _, _ := m.t.e.test(s.r); done {
			cFree(s.p)
		} else {
			left = append(left, s)
		}
	}
	m.sends = left
}

// receive handles the control messages that have arrived.
func (m *monitor) receive() {
	for !m.stop {
		found, from, n, err := m.t.e.probe(m.link, 1)
		if err != nil || !found || n > maxControl {
			return
		}
		p, err := cAlloc(n)
		if err != nil {
			return
		}
		r, err := m.t.e.irecv(m.link, p, n, from, 1)
		if err != nil {
			cFree(p)
			return
		}
		done := false
		for end := time.Now().Add(abortTime); !done && time.Now().Before(end); {
			m.t.e.poll([]int64{r}, 1_000_000)
			done, _, err = m.t.e.test(r)
		}
		if !done {
			return // only part of a message: its sender is gone, and MPI keeps p
		}
		var c control
		if err == nil {
			err = json.Unmarshal(unsafe.Slice((*byte)(p), n), &c)
		}
		cFree(p)
		if err == nil {
			m.handle(from, c)
		}
	}
}

func (m *monitor) handle(from int, c control) {
	switch c.Kind {
	case ctlFail:
		if m.agreed == nil { // the job ends with the first failure that rank 0 hears of
			c.Kind = ctlCancel
			m.handle(0, c)
		}
	case ctlCancel:
		m.agreed = &c
		comm.End(c.Code)
		m.spread(c)
		m.fail(&comm.RankError{Rank: c.Rank, Alone: m.t.e.size == 1, Code: c.Code,
			Err: errors.New(c.Text)})
	case ctlDone:
		if m.done++; m.done == m.t.e.size {
			m.doneAt = time.Now()
		}
	case ctlEnd:
		m.ended[from] = c.Code
		m.wakeMonitor()
	case ctlBye:
		m.spread(c)
		m.stop = true
	case ctlAlive:
		m.guard.heard = time.Now()
	case ctlExit:
		m.spread(c)
		m.flush()
		comm.Exit(m.agreed.Code)
	case ctlStuck:
		m.reports[from] = stuckReport{*c.Report, time.Now()}
	case ctlMoved:
		delete(m.reports, from)
	}
}

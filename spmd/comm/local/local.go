// Package local runs the ranks of a job as goroutines of one process. Each rank has an operating
// system thread of its own, because the OpenMP thread pool of a leaf belongs to the thread that
// calls the leaf. With Options.Unlocked ranks have no threads of their own.
//
// # Model
//
// Every rank has a mailbox. It holds receives that wait for their message and messages that wait
// for their receive, by group, sender and tag. A short message is copied into the mailbox, and its
// send is then done. A long message stays in the sender's memory. Once its receive has started, the
// first side that waits copies it directly to the receiver's memory. Isend and Irecv therefore
// never copy much, and the receivers of a broadcast copy in parallel.
//
// The boards of all ranks are in one process, so that the watchdog knows for certain when every
// rank waits and nothing moves.
package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"distaff/spmd/comm"
)

// Options are the settings of RunWith. Zero values mean the defaults.
type Options struct {
	// Stuck is the time that all ranks may wait while nothing moves, before the watchdog ends the
	// job. The default is 2 s; a negative value turns the watchdog off.
	Stuck time.Duration
	// Unlocked lets ranks run without threads of their own. It is for ranks that call no compiled
	// leaf. Messages are faster then, because they wake goroutines and not threads.
	Unlocked bool
}

// Run runs f as ranks 0 to n-1 and waits until all ranks have ended. All goroutines that Run
// started have ended when it returns. Run returns an error in these cases:
//
//   - A rank returns an error or panics. The first such failure cancels the other ranks, and Run
//     returns it as a *comm.RankError (see comm.Failure).
//   - All ranks return the same *comm.AgreedError. It cancels no rank, and Run returns it
//     unchanged.
//   - There is a deadlock. The error is a *comm.StuckError.
//   - ctx is cancelled. The error is its cause.
//   - A message was sent but never received, or a receive got no message.
func Run(ctx context.Context, n int, f func(comm.Comm) error) error {
	return RunWith(ctx, n, Options{}, f)
}

// RunWith is Run with options.
func RunWith(ctx context.Context, n int, o Options, f func(comm.Comm) error) error {
	if n < 1 {
		return fmt.Errorf("local: got %d ranks, want at least 1", n)
	}
	if o.Stuck == 0 {
		o.Stuck = 2 * time.Second
	}
	w := newWorld(ctx, n)
	defer w.cancel(nil)
	var ranks, watch sync.WaitGroup
	for r := range w.ranks {
		ranks.Add(1)
		go func() {
			defer ranks.Done()
			if !o.Unlocked {
				runtime.LockOSThread() // never unlocked: the thread, and its OpenMP pool, end with the rank
			}
			w.run(r, f)
		}()
	}
	quit := make(chan struct{})
	if o.Stuck > 0 {
		watch.Add(1)
		go func() { defer watch.Done(); w.watch(o.Stuck, quit) }()
	}
	ranks.Wait()
	close(quit)
	watch.Wait()
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if err := w.agreedFailure(); err != nil {
		return err
	}
	return w.leftover()
}

// Alone returns the communicator of a job of one rank, for the calling goroutine. It starts no
// thread and no watchdog. end frees it. After Abort it cannot be used any more.
func Alone(ctx context.Context) (c comm.Comm, end func()) {
	w := newWorld(ctx, 1)
	p := w.ranks[0]
	return comm.World(p, 1, p.board), func() { w.cancel(nil) }
}

// run runs f as one rank.
func (w *world) run(r int, f func(comm.Comm) error) {
	p := w.ranks[r]
	returned := false
	defer func() {
		v := recover()
		switch {
		case v != nil:
			w.Fail(comm.Failure(r, len(w.ranks), &comm.PanicError{Value: v, Stack: debug.Stack()}))
		case !returned:
			w.Fail(comm.Failure(r, len(w.ranks), errors.New("the function of the rank called "+
				"runtime.Goexit instead of returning")))
		}
		p.board.Finish()
	}()
	err := f(comm.World(p, len(w.ranks), p.board))
	returned = true
	var agreed *comm.AgreedError
	switch {
	case err == nil:
	case errors.As(err, &agreed):
		p.agreed = err // the other ranks return it too
	default:
		w.Fail(comm.Failure(r, len(w.ranks), err))
	}
}

// agreedFailure returns the failure that all ranks returned by agreement (comm.Agree), or nil if no
// rank returned one. If only some ranks did, it returns an error that says so.
func (w *world) agreedFailure() error {
	for r, p := range w.ranks {
		if p.agreed != nil {
			for q, o := range w.ranks {
				if o.agreed == nil {
					return fmt.Errorf(
						"[%d] must return the failure that rank %d returned: %w", q, r,
						p.agreed)
				}
			}
			return p.agreed
		}
	}
	return nil
}

// watch detects a deadlock. It ends the job if all ranks wait and no message makes progress for the
// duration limit. It returns when the job ends or quit is closed.
func (w *world) watch(limit time.Duration, quit chan struct{}) {
	tick := time.NewTicker(max(limit/4, time.Millisecond))
	defer tick.Stop()
	var since time.Time
	var last uint64
	looks := 0 // ticks since something moved: a process that was stopped for a while is not stuck
	for {
		select {
		case <-quit:
			return
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
		var progress uint64
		reports := make([]comm.Report, len(w.ranks))
		waiting, finished := 0, 0
		for i, p := range w.ranks {
			reports[i] = p.board.Report()
			progress += reports[i].Progress
			if reports[i].Waiting {
				waiting++
			}
			if reports[i].Finished {
				finished++
			}
		}
		if waiting < len(w.ranks) || finished == len(w.ranks) || progress != last || since.IsZero() {
			since, last, looks = time.Now(), progress, 0
			continue
		}
		if looks++; looks >= 3 && time.Since(since) >= limit {
			w.Fail(&comm.StuckError{Reports: reports})
			return
		}
	}
}

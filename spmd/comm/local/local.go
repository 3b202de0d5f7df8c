// Package local runs the ranks of a job as goroutines of one process, each on
// an operating system thread of its own (the OpenMP pool of a leaf belongs to
// the thread that calls it), unless Options.Unlocked says that they need none.
//
// # Model
//
// Every rank has a mailbox: receives that wait for their message, and messages
// that wait for their receive, by group, sender and tag. A short message is
// copied into the mailbox and its send is done. A long one stays where it is;
// once its receive is there, whichever side waits first copies it, once, from
// the sender's memory to the receiver's. So Isend and Irecv never copy much,
// and a broadcast's receivers copy side by side.
//
// All ranks' boards are in one process, so the watchdog sees for certain that
// every rank waits and nothing moves.
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

// Options are Run's settings; zero values mean the defaults.
type Options struct {
	// Stuck is how long all ranks may wait with nothing moving before the
	// watchdog ends the job. Default 2 s; negative turns it off.
	Stuck time.Duration
	// Unlocked says that ranks keep no thread of their own: for those that call no compiled leaf,
	// whose messages then wake goroutines and not threads.
	Unlocked bool
}

// Run runs f as ranks 0 to n-1 and waits for all of them. The first failure,
// an error or a panic, cancels the others and is returned as a
// *comm.RankError; a cancelled ctx returns its cause. No goroutine of Run's
// is left behind. A message that was sent and never received is an error.
func Run(ctx context.Context, n int, f func(comm.Comm) error) error {
	return RunWith(ctx, n, Options{}, f)
}

// RunWith is Run with options.
func RunWith(ctx context.Context, n int, o Options, f func(comm.Comm) error) error {
	if n < 1 {
		return fmt.Errorf("local: %d ranks, want at least 1", n)
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

// Alone is the communicator of a job of one rank, for the calling goroutine: no
// thread and no watchdog is started, and an error keeps the form in which it was made.
// end gives it back. A failure that Abort reports ends it as well.
func Alone(ctx context.Context) (c comm.Comm, end func()) {
	w := newWorld(ctx, 1)
	p := w.ranks[0]
	return comm.World(p, 1, p.board), func() { w.cancel(nil) }
}

// run is one rank, on its locked thread.
func (w *world) run(r int, f func(comm.Comm) error) {
	p := w.ranks[r]
	returned := false
	defer func() {
		v := recover()
		switch {
		case v != nil:
			w.Fail(comm.Failure(r, len(w.ranks), &comm.PanicError{Value: v, Stack: debug.Stack()}))
		case !returned:
			w.Fail(comm.Failure(r, len(w.ranks), errors.New("the rank's function ended its goroutine")))
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

// agreedFailure is the failure that all ranks returned by agreement.
func (w *world) agreedFailure() error {
	for r, p := range w.ranks {
		if p.agreed != nil {
			for q, o := range w.ranks {
				if o.agreed == nil {
					return fmt.Errorf("[%d] returned without the failure that rank %d returned: %w", q, r,
						p.agreed)
				}
			}
			return p.agreed
		}
	}
	return nil
}

// watch ends the job when all ranks wait and nothing has moved for the time given.
func (w *world) watch(stuck time.Duration, quit chan struct{}) {
	tick := time.NewTicker(max(stuck/4, time.Millisecond))
	defer tick.Stop()
	var since time.Time
	var last uint64
	looks := 0 // since anything moved: a process that was stopped for a while is not stuck
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
		if looks++; looks >= 3 && time.Since(since) >= stuck {
			w.Fail(&comm.StuckError{Reports: reports})
			return
		}
	}
}

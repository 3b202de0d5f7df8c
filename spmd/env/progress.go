package env

import (
	"fmt"
	"sync/atomic"
	"time"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/kernels"
)

// progressTick is the time between two reports of progress. The first report also comes after this
// time, so shorter work reports no progress.
const progressTick = time.Second / 5

// WatchFile calls Settings.Progress with the progress of reading a file, until stop is called.
func (e *Env) WatchFile(file string, in coo.Stream) (stop func()) {
	if e.set.Progress == nil {
		return func() {}
	}
	return coo.Watch(in, progressTick, func(done, total int64) { e.set.Progress(file, done, total) })
}

// WatchWork calls Settings.Working with the progress of p, until stop is called.
func (e *Env) WatchWork(what string, p coo.Progressed) (stop func()) {
	return e.watch(func() (string, int64, int64) {
		done, total := p.Progress()
		return what, done, total
	})
}

// work is a function that returns the name of some work and how much of it is done.
type work func() (what string, done, total int64)

// Progress implements coo.Progressed.
func (w work) Progress() (done, total int64) {
	_, done, total = w()
	return done, total
}

// watch calls Settings.Working with the progress of w, until stop is called.
func (e *Env) watch(w work) (stop func()) {
	if e.set.Working == nil {
		return func() {}
	}
	end := coo.Watch(w, progressTick, func(int64, int64) { e.set.Working(w()) })
	return func() {
		end()
		e.set.Working("", 0, 0)
	}
}

// Track returns e.Leaf, which it creates at the first call. From then on the rank's leaves record
// their progress there.
func (e *Env) Track() *kernels.Progress {
	if e.Leaf == nil {
		e.Leaf = new(kernels.Progress)
	}
	return e.Leaf
}

// Runs is the progress of the runs of a statement.
type Runs struct {
	name string // the statement's result
	runs int64  // the number of runs
	// number of completed runs, and number of calls of leaves before the current run
	done, calls atomic.Int64
	leaf        *kernels.Progress
}

// WatchRuns calls Settings.Working with the progress of a statement's runs, until stop is called.
// While a leaf runs, the progress is the completed part of the leaf's current loop. If no leaf runs
// or that part is unknown, the progress is the number of completed runs. result is the name of the
// statement's result, and runs is the number of runs.
func (e *Env) WatchRuns(result string, runs int) (r *Runs, stop func()) {
	r = &Runs{name: tensor.Printable(result), runs: int64(runs), leaf: new(kernels.Progress)}
	if e.set.Working != nil {
		r.leaf = e.Track()
	}
	return r, e.watch(r.at)
}

// Done counts a completed run.
func (r *Runs) Done() {
	r.calls.Store(r.leaf.Calls())
	r.done.Add(1)
}

// at returns what is running, in words, and how much of it is done.
func (r *Runs) at() (what string, done, total int64) {
	what = "computing " + r.name
	loop, done, total := r.leaf.Loop()
	if !r.leaf.Running() || total == 0 {
		return what, r.done.Load(), r.runs
	}
	if r.runs > 1 {
		what += fmt.Sprintf(", run %d of %d", r.done.Load()+1, r.runs)
	}
	if n := r.leaf.Calls() - r.calls.Load(); n > 1 {
		what += fmt.Sprintf(", step %d", n)
	}
	return what + ofLoop(", loop %d", loop), done, total
}

// LeafAt describes how much of its loop the rank's running leaf has done. It returns "" if that is
// unknown, if no leaf runs, or if Track was not called.
func (e *Env) LeafAt() string {
	if e.Leaf == nil || !e.Leaf.Running() {
		return ""
	}
	loop, done, total := e.Leaf.Loop()
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d%%", int64(100*float64(done)/float64(total))) + ofLoop(" of loop %d", loop)
}

// ofLoop formats the number of the loop that a leaf is running, for a text about progress. It
// returns "" for the first loop.
func ofLoop(format string, loop int64) string {
	if loop <= 1 {
		return ""
	}
	return fmt.Sprintf(format, loop)
}

package env

import (
	"time"

	"distaff/io/coo"
)

// progressTick is the time between two reports of progress, and the shortest time after which there
// is a first report.
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
	if e.set.Working == nil {
		return func() {}
	}
	end := coo.Watch(p, progressTick, func(done, total int64) { e.set.Working(what, done, total) })
	return func() {
		end()
		e.set.Working("", 0, 0)
	}
}

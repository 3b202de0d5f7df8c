package env

import (
	"time"

	"distaff/io/coo"
)

// progressTick is how often progress is told, and how long what is told must have taken.
const progressTick = time.Second / 5

// WatchFile tells Settings.Progress how far the reading of a file is, until stop is called.
func (e *Env) WatchFile(file string, in coo.Stream) (stop func()) {
	if e.set.Progress == nil {
		return func() {}
	}
	return coo.Watch(in, progressTick, func(done, total int64) { e.set.Progress(file, done, total) })
}

// WatchWork tells Settings.Working how far p is, until stop is called.
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

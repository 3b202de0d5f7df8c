package env

import (
	"time"

	"distaff/io/coo"
)

// progressTick is how often progress is told, and how long what is told must have taken.
const progressTick = time.Second / 5

// WatchFile tells Settings.Progress how far the reading of a file is, until stop is called.
func (e *Env) WatchFile(file string, in coo.Stream) (stop func()) {
	p, ok := in.(coo.Progressed)
	if !ok || e.set.Progress == nil {
		return func() {}
	}
	return watch(func() {
		done, total := p.Progress()
		e.set.Progress(file, done, total)
	})
}

// WatchWork tells Settings.Working how far p is, until stop is called.
func (e *Env) WatchWork(what string, p coo.Progressed) (stop func()) {
	if e.set.Working == nil {
		return func() {}
	}
	end := watch(func() {
		done, total := p.Progress()
		e.set.Working(what, done, total)
	})
	return func() {
		end()
		e.set.Working("", 0, 0)
	}
}

// watch calls tell now and then, until stop is called.
func watch(tell func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressTick)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				tell()
			}
		}
	}()
	return func() { close(quit); <-done }
}

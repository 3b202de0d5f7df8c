package coo

import (
	"time"

	"distaff/io/tcs"
)

// Options are what a job says of one input file, over what the file says.
// The zero value takes everything from the file.
type Options struct {
	Order int     // the number of modes wanted; 0 where unknown
	Dims  []int64 // sizes from -d, one a mode, negative where not given; nil for none
	// what gave each of Dims, for messages; "" for what is not known, nil if nothing is
	DimsFrom  []string
	Type      tcs.Type // the value type wanted; Invalid for the file's own
	ZeroBased bool     // --index-base=0, for the .tns format
	Threads   int      // parsers of a text file; 0 for GOMAXPROCS
	// the folder in which standard input is kept for a second pass; "" for os.TempDir
	Tmp   string
	Trust bool  // --trust-input: the arrays of a .tcs are not checked
	Limit int64 // bytes of memory that a reader or writer may take; 0 for no limit

	Note func(string) // takes a line about what was passed over in the file; nil for none
}

// A Densed stream tells whether its file lists every coordinate (an .npy, an
// array .mtx). Such a stream leaves out entries whose bits are all zero: they
// are only there because a dense file has room for them. A stream of order 0
// always yields its entry.
type Densed interface{ Dense() bool }

// A Progressed stream tells how many of its file's bytes it has read, and how
// many there are (0 where that can't be known: a pipe). It may be asked from
// another goroutine.
type Progressed interface{ Progress() (done, total int64) }

// Watch calls tell with the progress of s, each time that every has passed, from a goroutine
// of its own, until stop is called. It does nothing for what is not Progressed.
func Watch(s any, every time.Duration, tell func(done, total int64)) (stop func()) {
	p, ok := s.(Progressed)
	if !ok {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				tell(p.Progress())
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// A Sizable stream is one whose file may have no sizes. SetDims gives it the
// sizes that were found elsewhere, before its first Next or between a Rewind and
// the next one: it is exact from then on, and a coordinate past them is an error
// with its place, and what from says gave the size: by mode, "" for nothing. from may be nil.
type Sizable interface {
	SetDims(dims []int64, from []string)
}

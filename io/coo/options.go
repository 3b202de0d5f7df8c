package coo

import (
	"time"

	"distaff/io/tensor"
)

// Options are the options of a job for reading one file. The zero value takes everything from the
// file.
type Options struct {
	Order int // the wanted number of modes, or 0 if it is unknown
	// one size for each mode, from -d; negative if it is not given; nil if no size is given
	Dims []int64
	// for messages, the source of each size in Dims; "" if it is unknown. DimsFrom may be nil
	DimsFrom  []string
	Type      tensor.Type // the wanted value type; None selects the type of the file
	ZeroBased bool        // --index-base=0, for formats whose files do not say their index base
	Delimiter byte        // --delimiter; 0: the first line of a table decides
	Threads   int         // number of threads that parse a text file; 0 selects GOMAXPROCS
	// folder that stores standard input for a second pass; "" selects os.TempDir
	Tmp   string
	Trust bool  // --trust-input: the arrays of a .tcs file are not checked
	Limit int64 // bytes of memory that a reader or writer may use; 0 means no limit

	Note func(string) // receives a message about parts of the file that were ignored; may be nil
}

// DenseReporter is a stream that reports whether its file or tensor lists every coordinate, as an
// .npy file or an array .mtx file does. Dense may return false if the tensor is too large for dense
// levels. If it returns true, the stream of a file leaves out entries whose bits are all zero,
// because the file stores them only to fill the array. A stream of order 0 always yields its entry.
type DenseReporter interface{ Dense() bool }

// A Progressed stream returns the number of bytes of its file or tensor that it has read, and the
// size of the file or tensor. The size is 0 if it is unknown, as for a pipe. Progress may be called
// from another goroutine.
type Progressed interface{ Progress() (done, total int64) }

// Watch calls tell with the progress of s at the given interval, from a goroutine of its own, until
// stop is called. If s is not Progressed, Watch does nothing.
func Watch(s any, interval time.Duration, tell func(done, total int64)) (stop func()) {
	p, ok := s.(Progressed)
	if !ok {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
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

// A Sizable stream may read a file that states no sizes. SetDims sets the sizes if another source
// gives them. Call it before the first Next, or between a Rewind and the next call of Next. From
// then on the sizes are exact, and a larger coordinate is an error. The error names the
// coordinate's place in the file and the source of the size.
//
// sources has the source of each size, or "" if the source is unknown. sources may be nil.
type Sizable interface {
	SetDims(dims []int64, sources []string)
}

package input

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"distaff/codegen/diag"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
)

// A .tcs file is mapped, and another program may write to it while leaves run. The leaf's behaviour
// is then undefined: it may fault, write anywhere in the process, or never end. Therefore the job
// ends with an error that names the file when it detects the change: by a fault (package kernels
// catches it), by the watch in this file, or before an output gets its name (Unchanged).

// watchEvery is the interval between checks of the input files while leaves run. stopEvery is the
// interval between requests to stop that are sent to a running leaf, and between the checks of
// Fault. endWithin is the time that a job may take to end after endAfter is called. After this
// time, the job's process is ended.
const (
	watchEvery = time.Second
	stopEvery  = 20 * time.Millisecond
	endWithin  = 10 * time.Second
)

// Watch checks the files of r.mapped every second until stop is called. If a file has changed, it
// stops every leaf.
func (r *Reader) Watch() (stop func()) {
	kernels.Arm()
	files := r.mapped()
	if len(files) == 0 {
		return func() {}
	}
	quit := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for told := false; ; {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			if !told {
				err := changed(files)
				if err == nil {
					continue
				}
				told = true
				r.ending.endAfter(err)
				tick.Reset(stopEvery)
			}
			kernels.Stop()
		}
	})
	return func() {
		close(quit)
		ended.Wait()
	}
}

// mapped lists the operands that are mapped files, including a caller's tensors.
func (r *Reader) mapped() []*tcs.Tensor {
	var list []*tcs.Tensor
	for _, name := range r.p.Names {
		if s := r.Sources[name]; s != nil && s.Tensor != nil && s.Tensor.File() != "" {
			list = append(list, s.Tensor)
		}
	}
	return list
}

// changed returns the error of the first file that was changed after it was opened.
func changed(files []*tcs.Tensor) error {
	for _, t := range files {
		if err := t.Changed(); err != nil {
			return err
		}
	}
	return nil
}

// ending ends the process of a job that does not end by itself.
type ending struct {
	once  sync.Once
	timer *time.Timer
}

// endAfter ends the process with the message and exit code of err if the job is not over after
// endWithin. Only the first call has an effect. A job may fail to end, for example because a leaf
// that was stopped holds a lock of the C library.
func (e *ending) endAfter(err error) {
	e.once.Do(func() {
		comm.OnExit(outfile.Cleanup)
		e.timer = time.AfterFunc(endWithin, func() {
			fmt.Fprintln(os.Stderr, diag.Lines("distaff: "+err.Error()))
			comm.Exit(comm.ExitCode(err))
		})
	})
}

// End ends the process with the message and exit code of err if the job does not end by itself
// after a while.
func (r *Reader) End(err error) { r.ending.endAfter(err) }

// cancel stops the timer. The job calls it at its end.
func (e *ending) cancel() {
	e.once.Do(func() {})
	if e.timer != nil {
		e.timer.Stop()
	}
}

// Fault explains a failure that valid inputs cannot cause. It returns an error if an input file has
// changed, or if a trusted .tcs file is invalid. Otherwise it returns nil.
func (r *Reader) Fault() error {
	// A reader may see changed data before the file's modification time changes.
	for range 3 {
		if err := r.Unchanged(); err != nil {
			return err
		}
		time.Sleep(stopEvery)
	}
	if !r.o.TrustInput {
		return nil
	}
	for _, name := range r.p.Names {
		s := r.Sources[name]
		if s == nil || s.Tensor == nil || s.In.File == "" {
			continue
		}
		err := s.Tensor.Validate()
		if err == nil {
			continue
		}
		return fault.Dataf("%s (--trust-input skipped the checks of this input)",
			strings.TrimSpace(err.Error()))
	}
	return nil
}

// BlameChangedInput replaces the error or the panic of a job if an input changed while the job ran,
// because a changed input can cause any failure. The new error names this input. BlameChangedInput
// also replaces a panic if a trusted .tcs file is invalid. It keeps an error if the context has
// ended. BlameChangedInput must be deferred.
func (r *Reader) BlameChangedInput(err *error) {
	if v := recover(); v != nil {
		broken := r.Fault()
		if broken == nil {
			panic(v)
		}
		*err = broken
		return
	}
	if *err == nil || r.Env.Ctx.Err() != nil {
		return
	}
	if changed := r.Unchanged(); changed != nil {
		*err = changed
	}
}

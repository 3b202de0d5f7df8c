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

// A .tcs file is mapped, and another program may write it while leaves run. What a leaf then makes
// of it has no meaning: it may fault, write anywhere that the process can, or never end. So the job
// ends with the file's name as soon as that is seen: by a fault (package kernels catches it), by
// the watch here, or before an output gets its name (Unchanged).

// watchEvery is how often the input files are looked at while leaves run. stopEvery is how often a
// leaf that could not be left is told again. endWithin is how long a job whose input has changed
// may take to end in order; the process is ended then.
const (
	watchEvery = time.Second
	stopEvery  = 20 * time.Millisecond
	endWithin  = 10 * time.Second
)

// Watch looks at the job's input files once a second until stop is called. Where
// one has changed it has every leaf left.
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
				r.ending.by(err)
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

// mapped lists the operands that are files, or a caller's tensors of files.
func (r *Reader) mapped() []*tcs.Tensor {
	var list []*tcs.Tensor
	for _, name := range r.p.Names {
		if s := r.Sources[name]; s != nil && s.Tensor != nil && s.Tensor.File() != "" {
			list = append(list, s.Tensor)
		}
	}
	return list
}

// changed is the error of the first file that is not as it was opened.
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

// by ends the process with an error's message and code where the job is not over after a
// while: a leaf that was left may have harmed what the rest of the program needs, or holds
// one of the C library's locks.
func (e *ending) by(err error) {
	e.once.Do(func() {
		comm.OnExit(outfile.Cleanup)
		e.timer = time.AfterFunc(endWithin, func() {
			fmt.Fprintln(os.Stderr, diag.Lines("distaff: "+err.Error()))
			comm.Exit(comm.ExitCode(err))
		})
	})
}

// End ends the process with an error's message and code, where the job that has it does not
// end by itself after a while.
func (r *Reader) End(err error) { r.ending.by(err) }

// over is called when the job has come to its end.
func (e *ending) over() {
	e.once.Do(func() {})
	if e.timer != nil {
		e.timer.Stop()
	}
}

// Fault is what is wrong with the input files of a job in which something broke that a valid input
// cannot break: one has changed, or one that was trusted is invalid. It is nil where nothing is
// found.
func (r *Reader) Fault() error {
	// A reader may see what is written before the file's time says so.
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
		return fault.Dataf("%s (the input was trusted, by --trust-input, and not checked before)",
			strings.TrimSpace(err.Error()))
	}
	return nil
}

// Blame makes the failure of a job, a panic too, that of an input that changed
// meanwhile, where one did: arrays that were checked and then overwritten break
// what the code relies on. A panic of trusted input that is invalid is that input's.
func (r *Reader) Blame(err *error) {
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

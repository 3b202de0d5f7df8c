package spmd

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"distaff/codegen/diag"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/comm"
)

// A .tcs file is mapped, and another program may write it while leaves run. What a leaf then makes
// of it has no meaning: it may fault, write anywhere that the process can, or never end. So the job ends
// with the file's name as soon as that is seen: by a fault (package kernels catches it), by the
// watch here, or before an output gets its name (unchanged).

// watchEvery is how often the input files are looked at while leaves run. stopEvery is how often a leaf that
// could not be left is told again. endWithin is how long a job whose input has changed may take to
// end in order; the process is ended then.
const (
	watchEvery = time.Second
	stopEvery  = 20 * time.Millisecond
	endWithin  = 10 * time.Second
)

// watchInputs looks at the job's input files once a second until stop is called. Where
// one has changed it has every leaf left.
func (r *run) watchInputs() (stop func()) {
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
func (r *run) mapped() []*tcs.Tensor {
	var list []*tcs.Tensor
	for _, name := range r.p.names {
		if s := r.sources[name]; s != nil && s.tensor != nil && s.tensor.File() != "" {
			list = append(list, s.tensor)
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
		comm.OnExit(Abandon)
		e.timer = time.AfterFunc(endWithin, func() {
			fmt.Fprintf(os.Stderr, "distaff: %v\n", err)
			comm.Exit(comm.ExitCode(err))
		})
	})
}

// over is called when the job has come to its end.
func (e *ending) over() {
	e.once.Do(func() {})
	if e.timer != nil {
		e.timer.Stop()
	}
}

// left is the error of a leaf that was left in its middle.
func (s *statement) left(f *kernels.FaultError) error {
	r := s.r
	err := r.inputFault()
	if err == nil && f.Signal != 0 {
		err = &Error{diag.ExitRun, fmt.Sprintf("BUG: %v; no input file has changed meanwhile; the leaf's key in the cache is %s", f, s.cacheKey())}
	}
	if err == nil { // stopped by another job of the process, or another rank, whose own error says why
		err = f
	}
	r.ending.by(err)
	return err
}

// cacheKey names the statement's leaf in the cache.
func (s *statement) cacheKey() string {
	b, err := s.r.makesLeaves()
	if err != nil {
		return "unknown: " + err.Error()
	}
	return b.Key(s.unit)
}

// inputFault is what is wrong with the input files of a job in which something broke that a valid input
// cannot break: one has changed, or one that was trusted is invalid. It is nil where nothing is found.
func (r *run) inputFault() error {
	// A reader may see what is written before the file's time says so.
	for range 3 {
		if err := r.unchanged(); err != nil {
			return err
		}
		time.Sleep(stopEvery)
	}
	if !r.job.TrustInput {
		return nil
	}
	for _, name := range r.p.names {
		s := r.sources[name]
		if s == nil || s.tensor == nil || s.in.File == "" {
			continue
		}
		err := s.tensor.Validate()
		if err == nil {
			continue
		}
		return &Error{diag.ExitData, strings.TrimSpace(err.Error()) + " (the input was trusted, by --trust-input, and not checked before)"}
	}
	return nil
}

// blameInput makes the failure of a job, a panic too, that of an input that changed
// meanwhile, where one did: arrays that were checked and then overwritten break
// what the code relies on. A panic of trusted input that is invalid is that input's.
func (r *run) blameInput(err *error) {
	if v := recover(); v != nil {
		fault := r.inputFault()
		if fault == nil {
			panic(v)
		}
		*err = fault
		return
	}
	if *err == nil || r.ctx.Err() != nil {
		return
	}
	if changed := r.unchanged(); changed != nil {
		*err = changed
	}
}

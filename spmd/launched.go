package spmd

import (
	"context"
	"errors"
	"os"

	"distaff/spmd/comm"
	"distaff/spmd/comm/mpi"
)

// OtherRank is the error of a process of a launcher's job whose failure another
// process tells, or has told. It has that failure's exit code.
type OtherRank struct{ Err error }

func (e *OtherRank) Error() string { return e.Err.Error() }
func (e *OtherRank) Unwrap() error { return e.Err }

// runLaunched runs the job as the rank that this process is of the launcher's
// job. At ranks other than 0 there is no report.
func (j *Job) runLaunched(ctx context.Context, l mpi.Launcher) (*Report, error) {
	first := func(err error) error {
		if l.Rank > 0 {
			return &OtherRank{err}
		}
		return err
	}
	// What is wrong with the job itself is said once, by one rank.
	if err := j.faults(); err != nil {
		return nil, first(err)
	}
	if j.Ranks > 1 {
		return nil, first(commandErrorf("--ranks=%d: %s has started %d ranks already; leave the flag out", j.Ranks, l.Kind, l.Size))
	}
	o := mpi.Options{Threads: j.Threads}
	if l.Rank == 0 {
		o.Note = j.note
	}
	m, err := mpi.Prepare(ctx, l, o)
	if err != nil {
		return nil, first(err)
	}
	if l.Rank == 0 || l.LocalRank == 0 { // those that compile: see loadLeaf
		server, err := startCompileServer()
		if err != nil {
			return nil, first(err)
		}
		if server != nil {
			defer server.close()
			served := *j
			served.compiler = server.run
			j = &served
		}
	}
	defer comm.OnExit(Abandon)()
	var report *Report
	var difference error
	err = m.Run(ctx, func(c comm.Comm, info mpi.Info) error {
		if c.Rank() == 0 {
			for _, n := range info.Notes {
				j.note(n)
			}
		}
		_, here := comm.Local(info.Places, c.Rank())
		rep, err := j.RunOn(c, here, 1)
		report = rep
		var d *Difference
		if errors.As(err, &d) {
			difference, err = err, nil
		}
		return err
	})
	var agreed *comm.AgreedError
	if errors.As(err, &agreed) {
		return nil, &OtherRank{err}
	}
	if err != nil {
		return nil, first(err)
	}
	return report, difference
}

// launcher is what started this process as one of several ranks, if anything did.
func launcher() (l mpi.Launcher, ok bool, err error) { return mpi.Launched(os.Getenv) }

package spmd

import (
	"context"
	"errors"
	"os"

	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/build"
	"distaff/spmd/comm"
	"distaff/spmd/comm/mpi"
	"distaff/spmd/fault"
)

// OtherRank is the error of a process of a launcher's job whose failure was told,
// or is told by another process. It has that failure's exit code.
type OtherRank struct{ Err error }

func (e *OtherRank) Error() string { return e.Err.Error() }
func (e *OtherRank) Unwrap() error { return e.Err }

// EndLaunched is for a program's main that mpirun or srun started as one of several
// ranks, with the error that ends it: where that is from before MPI was opened, such as
// of the command line, other ranks may wait for this one, and the launcher may
// let them. It has say say the error, at one rank where all fail alike, and ends the
// job. It returns the error to exit with: *OtherRank where it was said.
func EndLaunched(ctx context.Context, err error, say func(error)) error {
	l, ok, _ := launcher()
	if err == nil || !ok || mpi.Opened() {
		return err
	}
	l.Refuse(ctx, err, os.Getenv, say)
	return &OtherRank{err}
}

// ServeCompiler is what a program that runs jobs calls first in its main, at least where
// they run under mpirun or srun. In a child that a job started to compile it serves, and does not
// return. Elsewhere it returns at once. A program that does not call it starts the C compiler
// from its own process, or from the ranks'.
func ServeCompiler() { build.Serve() }

// runLaunched runs the job as the rank that this process is of the launcher's
// job. At ranks other than 0 there is no report. An error from before MPI is open is this
// process's own: see EndLaunched.
func (j *Job) runLaunched(ctx context.Context, l mpi.Launcher) (*Report, error) {
	if _, err := j.faults(l.Size); err != nil {
		return nil, err
	}
	if j.Ranks > 1 {
		return nil, fault.Commandf("--ranks=%d: %s has started %d ranks already; leave the flag out", j.Ranks, l.Kind, l.Size)
	}
	o := mpi.Options{Threads: j.Threads}
	if n, why := kernels.DefaultThreads(1, 1); o.Threads == 0 && why == "OMP_NUM_THREADS" {
		o.Threads = n
	}
	if l.Rank == 0 {
		o.Note = j.note
	}
	m, err := mpi.Prepare(ctx, l, o)
	if err != nil {
		return nil, err
	}
	if l.Rank == 0 || l.LocalRank == 0 { // those that compile: see build.Shared
		server, err := build.Start()
		if err != nil {
			return nil, err
		}
		if server != nil {
			defer server.Close()
			served := *j
			served.compiler = server.Run
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
		if err := j.sameEverywhere(c); err != nil {
			return err
		}
		_, here := comm.Local(info.Places, c.Rank())
		rep, err := j.shareCores(info.Places, c.Rank()).RunOn(c, here, 1)
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
	if err != nil { // every rank's alike
		if l.Rank > 0 {
			err = &OtherRank{err}
		}
		return nil, err
	}
	return report, difference
}

// shareCores is the job with the threads of a rank whose cores only some of the
// node's ranks share, where the user gives none: mpirun binds each rank to cores of its own.
func (j *Job) shareCores(places []comm.Place, rank int) *Job {
	if j.Threads > 0 {
		return j
	}
	q := *j
	n, why := kernels.DefaultThreads(comm.Sharing(places, rank), 1)
	q.Threads = n
	if rank == 0 {
		j.detail(tcs.Count(int64(n), "thread") + " a rank (" + why + ")")
	}
	return &q
}

// launcher is what started this process as one of several ranks, if anything did.
func launcher() (l mpi.Launcher, ok bool, err error) { return mpi.Launched(os.Getenv) }

package spmd

import (
	"context"
	"errors"
	"os"

	"distaff/spmd/build"
	"distaff/spmd/comm"
	"distaff/spmd/comm/mpi"
	"distaff/spmd/launch"
)

// OtherRank is the error of a process under a launcher (mpirun or srun) if the job failed and the
// program's main function must not report the failure, because another process reports it or this
// process has reported it. It has the exit code of the failure.
type OtherRank = launch.OtherRank

// EndLaunched ends the job if this process failed before MPI was open, or while MPI was opened or
// closed. It does so only in a process that mpirun or srun started. The program's main function
// calls EndLaunched with the error that ends the process.
//
// After such a failure (for example, a wrong flag) other ranks may wait for this process forever.
// Therefore EndLaunched reports the error by a call of report, and ends the job. If several ranks
// of a node fail at about the same time, only one of them calls report. EndLaunched returns err if
// there is nothing to end, and otherwise an *OtherRank. The process must exit with the exit code of
// the returned error.
func EndLaunched(ctx context.Context, err error, report func(error)) error {
	l, ok, _ := launch.Launched()
	var unmet *launch.OpenError
	if err == nil || !ok || mpi.Opened() && !errors.As(err, &unmet) {
		return err
	}
	l.Refuse(ctx, err, os.Getenv, report)
	return &OtherRank{Err: err}
}

// ServeCompiler must be called first in the main function of a program that runs jobs under mpirun
// or srun, and may be called in any other program. If a job started this process in order to
// compile, ServeCompiler serves compile requests and never returns; otherwise it returns at once. A
// program that does not call it starts the C compiler from its own process.
func ServeCompiler() { build.Serve() }

// runLaunched runs the job as one rank of the launcher's job. The report is nil at ranks other than
// 0. An error that occurs before MPI is open is not sent to the other ranks: see EndLaunched.
func (j *Job) runLaunched(ctx context.Context, l mpi.Launcher) (*Report, error) {
	if _, err := j.parseAndCheck(l.Size); err != nil {
		return nil, err
	}
	var report *Report
	var difference error
	err := j.launched(ctx, l, func(c comm.Comm, o Options, here int) error {
		k := *j
		k.Options = o
		if err := k.description().CheckSame(c); err != nil {
			return err
		}
		rep, err := k.RunOn(c, here, 1)
		report = rep
		var d *Difference
		if errors.As(err, &d) {
			difference, err = err, nil
		}
		return err
	})
	if err != nil {
		return nil, discard(report, err)
	}
	return report, difference
}

// launched opens MPI as one rank of the launcher's job and calls f with the communicator, the
// options for this rank and the number of ranks on this machine.
func (o Options) launched(ctx context.Context, l mpi.Launcher,
	f func(c comm.Comm, o Options, here int) error) error {
	set := launch.Options{Ranks: o.Ranks, Threads: o.Threads, Note: o.Note, Detail: o.Detail,
		Abandon: Abandon}
	return launch.Run(ctx, l, set, func(c comm.Comm, r launch.Rank) error {
		o.Threads, o.local = r.Threads, r.Local
		if r.Compiler != nil {
			o.compiler = r.Compiler
		}
		return f(c, o, r.Here)
	})
}

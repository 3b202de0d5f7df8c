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

// OtherRank is the error of a process of a launcher's job whose failure was told,
// or is told by another process. It has that failure's exit code.
type OtherRank = launch.OtherRank

// EndLaunched is for a program's main that mpirun or srun started as one of several ranks, with the
// error that ends it: where that is from before MPI was opened, such as of the command line, other
// ranks may wait for this one, and the launcher may let them. So it is where MPI opens, and ranks
// do not meet. It has say say the error, at one rank where all fail alike, and ends the job. It
// returns the error to exit with: *OtherRank where it was said.
func EndLaunched(ctx context.Context, err error, say func(error)) error {
	l, ok, _ := launch.Launched()
	var unmet *launch.Unmet
	if err == nil || !ok || mpi.Opened() && !errors.As(err, &unmet) {
		return err
	}
	l.Refuse(ctx, err, os.Getenv, say)
	return &OtherRank{Err: err}
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
	var report *Report
	var difference error
	err := j.launched(ctx, l, func(c comm.Comm, o Options, here int) error {
		k := *j
		k.Options = o
		if err := k.told().Same(c); err != nil {
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
		return nil, err
	}
	return report, difference
}

// launched opens MPI as the rank that this process is of the launcher's job, and runs f, with
// the options as they are for this rank; here of the ranks are on this machine.
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

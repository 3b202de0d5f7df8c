// Package launch is the way of a process that mpirun or srun started as one of several ranks
// into MPI and to its work (launch.go), and the ranks' agreement that they were told the
// same (same.go).
package launch

import (
	"context"
	"errors"
	"os"
	"runtime"

	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
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

// Unmet is the error of a process that opened or closed MPI in vain. What others have met with, or
// whether there are others, it does not know.
type Unmet struct{ Err error }

func (e *Unmet) Error() string { return e.Err.Error() }
func (e *Unmet) Unwrap() error { return e.Err }

// Options are what was asked for.
type Options struct {
	Ranks        int          // in this process, which must not be asked for beside a launcher
	Threads      int          // a rank; 0 for the default
	Note, Detail func(string) // at rank 0
	Abandon      func()       // what is to be done before the process exits in its middle
}

// Rank is what a rank has found out.
type Rank struct {
	Threads  int // of this rank
	Here     int // ranks on this machine
	Local    int // this one's number among them
	Compiler func(ctx context.Context, c cc.Command) (string, error)
}

// mostCompilers is the largest number of compilers that run side by side under MPI. Each has a
// process that waits for it from before MPI is open.
const mostCompilers = 4

// Run opens MPI as the rank that this process is, and runs f.
func Run(ctx context.Context, l mpi.Launcher, set Options,
	f func(c comm.Comm, r Rank) error) error {
	if set.Ranks > 1 {
		return fault.Commandf("--ranks=%d: %s has started %d ranks already; leave the flag out",
			set.Ranks, l.Kind, l.Size)
	}
	o := mpi.Options{Threads: set.Threads}
	if n, why := kernels.DefaultThreads(1, 1); o.Threads == 0 && why == "OMP_NUM_THREADS" {
		o.Threads = n
	}
	if l.Rank == 0 {
		o.Note = set.Note
	}
	m, err := mpi.Prepare(ctx, l, o)
	if err != nil {
		return err
	}
	rank := Rank{Threads: set.Threads}
	if l.Rank == 0 || l.LocalRank == 0 { // those that compile: see build.Shared
		n := 1
		if l.Rank == 0 { // which compiles a job's leaves side by side: see env.Env.Ahead
			n = min(runtime.NumCPU(), mostCompilers)
		}
		servers, err := build.StartPool(n)
		if err != nil {
			return err
		}
		if servers != nil {
			defer servers.Close()
			rank.Compiler = servers.Run
		}
	}
	defer comm.OnExit(set.Abandon)()
	err = m.Run(ctx, func(c comm.Comm, info mpi.Info) error {
		if c.Rank() == 0 && set.Note != nil {
			for _, n := range info.Notes {
				set.Note(n)
			}
		}
		rank.Local, rank.Here = comm.Local(info.Places, c.Rank())
		rank.shareCores(info.Places, c.Rank(), set.Detail)
		return f(c, rank)
	})
	var agreed *comm.AgreedError
	if errors.As(err, &agreed) {
		return &OtherRank{err}
	}
	if err != nil { // of MPI itself
		err = &Unmet{err}
	}
	return err
}

// shareCores gives a rank threads whose cores only some of the node's ranks share,
// where the user gives none: mpirun binds each rank to cores of its own. Where the ranks have more
// threads than cores, those that wait sleep: OpenMP's library knows of one process's alone.
func (r *Rank) shareCores(places []comm.Place, rank int, detail func(string)) {
	sharing := comm.Sharing(places, rank)
	if r.Threads == 0 {
		n, why := kernels.DefaultThreads(sharing, 1)
		r.Threads = n
		if rank == 0 && detail != nil {
			detail(tcs.Count(int64(n), "thread") + " a rank (" + why + ")")
		}
	}
	if r.Threads > 1 && sharing*r.Threads > kernels.Cores() {
		kernels.WaitPassively()
	}
}

// Launched is what started this process as one of several ranks, if anything did.
func Launched() (l mpi.Launcher, ok bool, err error) { return mpi.Launched(os.Getenv) }

// Package launch starts the work of a process that mpirun or srun started as one of several ranks:
// it opens MPI and runs a function as that rank (launch.go). It also checks that all ranks were
// given the same job (same.go).
package launch

import (
	"context"
	"errors"
	"os"
	"runtime"

	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd/build"
	"distaff/spmd/comm"
	"distaff/spmd/comm/mpi"
	"distaff/spmd/fault"
)

// OtherRank is the error of a process under a launcher (mpirun or srun) if the job failed, but the
// program's main function must not report the failure. Either another process reports the failure,
// or this process has reported it already. OtherRank has the exit code of the failure.
type OtherRank struct{ Err error }

func (e *OtherRank) Error() string { return e.Err.Error() }
func (e *OtherRank) Unwrap() error { return e.Err }

// OpenError is the error of a process that failed to open or close MPI. The process does not know
// whether other ranks have failed too, or whether they wait for this process.
type OpenError struct{ Err error }

func (e *OpenError) Error() string { return e.Err.Error() }
func (e *OpenError) Unwrap() error { return e.Err }

// Options holds the options of a job that package launch uses.
type Options struct {
	Ranks        int          // ranks in this process; more than 1 is refused
	Threads      int          // threads of each rank; 0 for the default
	Note, Detail func(string) // called at rank 0; may be nil
	Abandon      func()       // called before the process exits although the job has not ended
}

// Rank describes this process as a rank of a job.
type Rank struct {
	Threads  int // threads of this rank
	Here     int // number of ranks on this machine
	Local    int // the rank's number among them
	Compiler func(ctx context.Context, c cc.Command) (string, error)
}

// mostCompilers is the largest number of compilers that rank 0 runs at the same time under MPI.
// Each of them needs a process that is started before MPI is open.
const mostCompilers = 4

// Run opens MPI in a process that the launcher l started, and calls f once, as the rank of this
// process. f gets the communicator of all ranks and a description of this rank.
func Run(ctx context.Context, l mpi.Launcher, set Options,
	f func(c comm.Comm, r Rank) error) error {
	if set.Ranks > 1 {
		return fault.Commandf("--ranks=%d: %s has already started %d ranks; leave the flag out",
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
	if l.Rank == 0 || l.LocalRank == 0 { // the ranks that compile: see build.Shared
		n := 1
		if l.Rank == 0 { // rank 0 compiles several leaves at a time: see env.Env.CompileAhead
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
	if err != nil { // an error of MPI itself
		err = &OpenError{err}
	}
	return err
}

// shareCores sets the number of threads of a rank if the user gives none. It takes the number from
// OMP_NUM_THREADS. If this variable is not set, the ranks that may run on the same cores divide
// these cores among them. (mpirun usually binds each rank to cores of its own.)
//
// If a rank has several threads, and the ranks together have more threads than cores, shareCores
// makes waiting threads sleep instead of spin. It changes nothing if the user has chosen how
// threads wait (see kernels.WaitPassively).
func (r *Rank) shareCores(places []comm.Place, rank int, detail func(string)) {
	sharing := comm.Sharing(places, rank)
	if r.Threads == 0 {
		n, why := kernels.DefaultThreads(sharing, 1)
		r.Threads = n
		if rank == 0 && detail != nil {
			detail(tensor.Count(int64(n), "thread") + " a rank (" + why + ")")
		}
	}
	if r.Threads > 1 && sharing*r.Threads > kernels.Cores() {
		kernels.WaitPassively()
	}
}

// Launched returns the launcher that started this process as one of several ranks. ok is false if
// there is none.
func Launched() (l mpi.Launcher, ok bool, err error) { return mpi.Launched(os.Getenv) }

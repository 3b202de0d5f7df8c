// Package mpi runs the ranks of a job as processes of a real MPI, through a
// wrapper that is opened at run time: this program links no MPI, so one binary
// works with any.
//
// # Model
//
// Launched reads from the environment what started the process: mpirun of Open
// MPI, mpiexec of MPICH and its kin, or srun. Prepare finds the wrapper for that
// MPI: the one that DISTAFF_MPI_WRAPPER names, one installed beside the binary,
// or one built from the C source embedded here by the site's mpicc and kept in
// the cache. The wrapper's file says which MPI it was built for, so one of the
// wrong MPI is refused before it is loaded. Job.Run then opens MPI and runs a
// rank's function. No process is started after that: forking is not safe then.
//
// All calls into MPI go through the wrapper's one mutex and none of them blocks, so any thread may
// communicate where MPI grants MPI_THREAD_SERIALIZED or more. Where it grants less, one thread, the
// one that opened MPI, makes all the calls. While messages are under way a goroutine makes progress
// every 200 µs to 2 ms, more seldom the longer nothing moves, and longer while parts of a large
// message come, so that they travel while ranks compute.
//
// # Ending
//
// A monitor in every process speaks with rank 0's over a link of its own. A rank that fails tells
// rank 0, which chooses one failure, tells all ranks, whose waits then end, and ends the job with
// that failure's exit code when they have cleaned up, by MPI_Abort (under srun, by each rank's
// exit), or by MPI_Abort after two seconds. A rank that cannot reach rank 0 aborts by itself, and
// the process of a failed rank that MPI does not end, MPI_Abort neither, ends by itself after eight
// seconds. Every rank watches one neighbour on its node and reports its death, and nodes watch each
// other, for launchers that would wait on. Ranks that all wait, with nothing moving, report what
// they wait for; rank 0 then ends the job as stuck.
//
// # Files
//
//	launch.go     what started the process
//	run.go        Run: MPI opened, the job, MPI closed
//	unopened.go   ranks that fail before MPI is open
//	wrapper.go    the wrapper of one MPI, built and found
//	engine.go     calls of the wrapper
//	transport.go  comm.Transport
//	monitor.go    failures told to all ranks
//	guard.go      ranks whose processes die
//	stuck.go      ranks that wait for ever
//	probe.go      a wrapper opened in a process of its own
package mpi

// Package mpi runs the ranks of a job as processes of an MPI library. It calls the library through
// a wrapper, a shared object that is opened at run time. The program itself does not link an MPI
// library, so one binary works with any.
//
// # Model
//
// Launched reads from the environment which launcher started the process: mpirun of Open MPI,
// mpiexec of MPICH and its relatives, or srun. Prepare finds the wrapper for the launcher's MPI. It
// takes the wrapper that DISTAFF_MPI_WRAPPER names, a wrapper that is installed next to the binary,
// or one that it builds with the site's mpicc from the C source embedded here and keeps in the
// cache. The wrapper's file says which MPI it was built for, so a wrapper of another MPI is refused
// before it is loaded. Job.Run then opens MPI and runs the rank's function. After that no process
// is started any more, because forking is not safe then.
//
// All calls of MPI hold the wrapper's one mutex, and none of them blocks. If MPI grants
// MPI_THREAD_SERIALIZED or more, any thread may therefore communicate. If it grants less, the
// thread that opened MPI makes all calls. While messages are under way, a goroutine makes progress
// every 200 µs to 2 ms, so that messages move while ranks compute. The longer nothing moves, the
// longer the pause; while the parts of a large message arrive, each poll lasts longer.
//
// # Ending
//
// A monitor in every process communicates with the monitor of rank 0 over a link of its own. A rank
// that fails tells rank 0. Rank 0 chooses one failure and tells all ranks, whose waits then end.
// When all ranks have cleaned up, or after two seconds, rank 0 ends the job with the exit code of
// that failure, by MPI_Abort. Under srun each rank exits by itself instead. A rank that cannot
// reach rank 0 aborts by itself. If MPI_Abort does not end the process of a failed rank either, the
// process exits after eight seconds.
//
// Every rank watches the process of one other rank on its node and reports its death. Nodes watch
// each other. Without this, some launchers would wait for a dead rank forever. Ranks that wait long
// while nothing moves report to rank 0, which ends the job as stuck if all ranks report.
//
// # Files
//
//	launch.go     the launcher that started the process
//	run.go        Run: opens MPI, runs the job, closes MPI
//	unopened.go   ranks that fail before MPI is open
//	wrapper.go    finds and builds the wrapper of an MPI
//	engine.go     calls of the wrapper
//	transport.go  comm.Transport
//	monitor.go    tells all ranks about a failure
//	guard.go      detects ranks whose processes die
//	stuck.go      detects that all ranks wait forever
//	probe.go      opens a wrapper in a separate process
package mpi

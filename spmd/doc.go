// Package spmd runs statements of tensor index notation on data, on one or more ranks. Go programs
// import it, and the distaff command is built on it.
//
// # Model
//
// A Job holds what the command line of distaff holds: a statement, how its tensors are stored,
// where they come from and where results are written. Run takes the job through its phases:
//
//	load     files, generated data and tensors in memory are converted to the formats that the
//	         job asks for; sizes are inferred; missing or contradictory inputs are refused
//	         before anything large is read
//	compile  the statement is compiled into a function, its leaf, or the leaf comes from a cache
//	compute  the leaf runs: Warmup runs that are not timed, then Repeat timed runs
//	store    results are written under temporary names, and renamed together once all of
//	         them are complete
//
// If a result was kept, Job.FixedPattern computes it again from operands that have the same
// patterns and other values. Only the numeric phase runs then, and writes the values in place.
//
// A Program holds tensors in memory over all its ranks, and statements that are prepared once and
// run many times. A FileJob runs a program that is written in a job file.
//
// # Tensors in memory
//
// Dense, CSR, CSC, COO and CSF make tensors from slices of the program, without copying them.
// InMemory turns such a tensor into an entry of Job.Inputs. The memory remains the caller's.
// Between runs the caller may change the values, but not the positions, the coordinates or any
// length. The tensor refers to the slices until Close, which does not free the slices. A result may
// share the positions and coordinates of an operand that has the same pattern. Values, Pos and Crd
// return the memory of any tensor as slices, including Report.Result; the slices must not be used
// after Close. A wrong argument is an error that names the argument, with exit code 3.
//
// # Errors
//
// An error that the user can mend has an ExitCode method: 2 for the statement and its flags, 3 for
// data, 4 for a difference that Check found, 5 for memory. All other errors have exit code 1.
//
// # Files
//
//	program.go   Start: a program of several statements over tensors that stay in memory
//	jobfile.go   FileJob: a program in a file
//	job.go       Job: a statement with its data
//	run.go       Run and RunOn: a job on its ranks, as a program of one statement (program.Job)
//	compile.go   Compile: a job that is compiled but not run
//	plan.go      Plan: a job that is planned but not run
//	launched.go  a process that mpirun or srun started as one of several ranks
//	tensors.go   tensors made from slices
//	samejob.go   checks that all ranks were given the same job
//	distribution.go  machines and placements
//	refuse.go    refuses options that are wrong or not supported
//	stats.go     the statistics of a job
//	wrappers.go  installs the wrappers of MPI libraries
//	machine.go   measures the machine
package spmd

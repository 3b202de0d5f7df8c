// Package spmd runs a statement on data: the front door for Go programs, and
// what the distaff command drives.
//
// # Model
//
// A Job says what the command line says: a statement of tensor index notation,
// how its tensors are stored, where they come from and where results go. Run
// takes it through its phases:
//
//	load     files, generators and tensors in memory become tensors in the formats
//	         that the job asks for; sizes are inferred, what is missing or
//	         contradicts is refused before anything large is read
//	compile  the statement becomes a leaf, a compiled function, or comes from the
//	         cache of leaves
//	compute  the leaf runs, warmup and repeat times
//	store    results are written under temporary names, and renamed into place
//	         together once all of them are complete
//
// A result that was kept can be computed again from other values of the same
// patterns (Job.FixedPattern): then the numeric phase alone writes its values in place.
//
// # Tensors in memory
//
// Dense, CSR, CSC, COO and CSF make tensors over slices of the program, without copying them, for
// Job.Inputs (InMemory). The memory stays the caller's, who may change the values between runs, but
// not the length, positions or coordinates. A tensor shows it until Close, which frees nothing of
// it. A result may show the positions and coordinates of an operand with the same pattern. Values,
// Pos and Crd give the memory of any tensor as slices, that of Report.Result too; they are not to
// be used after Close. A wrong argument is an error that names it, with exit code 3.
//
// # Errors
//
// A mistake of the user's is an error with an ExitCode method: 2 for the
// statement and its flags, 3 for data, 4 for a difference that Check found, 5
// for memory; other errors are 1.
//
// # Files
//
//	program.go   Start: a program, of several statements over tensors that stay
//	jobfile.go   FileJob: a program in a file
//	job.go       Job: a statement with its data
//	run.go       Run and RunOn: a job at its ranks, whose phases package run has
//	compile.go   a job compiled and not run
//	plan.go      a job planned and not run
//	launched.go  a process that a launcher started
//	tensors.go   tensors of slices
//	samejob.go   that all ranks are told the same
//	distribution.go  machines and placements
//	refuse.go    what is not built
//	stats.go     the statistics of a job
//	wrappers.go  the MPI wrappers, installed
//	machine.go   the machine, measured
package spmd

// Package comm is the communicator: the interface that the runtime is written
// against. comm/local runs ranks as goroutines, comm/mpi over a real MPI;
// commtest is the suite that both pass.
package comm

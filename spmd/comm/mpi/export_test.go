package mpi

// ForceFunneled has all calls made by the thread that opened MPI, as where MPI
// grants no more.
func ForceFunneled() { funneled = true }

package mpi

import "time"

// ForceFunneled makes the thread that opened MPI make all calls, as if MPI granted no more.
func ForceFunneled() { funneled = true }

// ForceApart makes ranks watch each other as if on different nodes, with a short limit.
func ForceApart(limit time.Duration) { soloSilence = limit }

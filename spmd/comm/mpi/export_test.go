package mpi

import "time"

// ForceFunneled has all calls made by the thread that opened MPI, as where MPI
// grants no more.
func ForceFunneled() { funneled = true }

// ForceApart has ranks watch each other as across nodes, with little patience.
func ForceApart(limit time.Duration) { soloSilence = limit }

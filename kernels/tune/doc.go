// Package tune measures the machine that runs: how fast its caches and its memory are read, written
// and gathered from, its multiply-adds, atomic additions, parallel regions and calls of leaves.
//
// # Model
//
// A Model is these figures as data, in bytes, seconds and rates, for one thread and for all that
// the process may use. It says which levels serve data of a size that is read again and again, by
// how much each (Level.misses), and what reading and writing them takes at least. Messages between
// ranks, which package spmd/messages measures, stand in it too. Everything that asks how fast the
// machine is asks a Model; nothing that decides the bits of a result does.
//
// # Measuring
//
// The loops that are timed are leaves (loops/probes.c), compiled as all leaves are, so that a
// figure is what a leaf can reach. Measure runs each of them for some milliseconds, again and again
// until its time is spent, and takes the best of each: what slows a loop down is other work of the
// machine. It wants the machine for itself, and so never runs beside a job.
//
// A model is kept in the cache of leaves under the kind of CPU, how many of them there are and
// Version, as an object with a hash: what another could have written is not taken.
//
// # Files
//
//	model.go    Model: the figures, and what follows from them
//	caches.go   the levels of memory, as the kernel tells them
//	probes.go   the loops that are timed, compiled and called; loops/probes.c is their text
//	predict.go  Leaf, and what one takes by a Model
//	measure.go  Measure: which loops, how often, within which time
//	possible.go figures that cannot be
//	beside.go   whether other work ran beside
//	forms.go    which forms of code are fastest (strategy.Choices)
//	shipped.go  forms for CPUs that were measured
//	keep.go     models in the cache
package tune

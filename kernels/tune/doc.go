// Package tune measures the machine that it runs on: the speed of reads, writes and gathers at each
// level of memory, and the cost of multiply-adds, atomic additions, parallel regions and leaf
// calls.
//
// # Model
//
// A Model holds these measurements as data, in bytes, seconds and rates per second. Most figures
// are given for one thread and for all threads that the process may use. Two things are computed
// from a Model: the share of a repeatedly read data set that each cache serves (Level.missShare),
// and the least time that reading and writing the data takes. Package spmd/messages measures
// messages between ranks and adds its figures to the Model. All code that needs the speed of the
// machine reads it from a Model. Code that determines the bits of a result never does.
//
// # Measuring
//
// The timed loops are leaves (loops/probes.c), compiled like every other leaf, so a figure is one
// that a leaf can reach. Measure runs each loop for some milliseconds, repeatedly until its time is
// spent. It takes the best result of each, because a loop is slowed down only by other work on the
// machine. Measure needs the machine for itself and therefore never runs while a job runs.
//
// The cache of compiled leaves also stores the model. The model's key is made of the kind of CPU,
// the number of CPUs and Version. The stored object carries a hash, and an object that someone else
// could have written is refused.
//
// # Files
//
//	model.go     Model: the figures, and the memory time that follows from them
//	caches.go    the levels of memory, as the kernel reports them
//	probes.go    the timed loops: compiling and calling them; their text is loops/probes.c
//	predict.go   Leaf, and the time that a Model predicts for it
//	measure.go   Measure: which loops run, how often, and for how long
//	possible.go  figures that are physically impossible
//	otherwork.go how busy other processes kept the machine
//	forms.go     which forms of code are fastest (forms.Measurements)
//	shipped.go   forms for CPUs that were measured in advance
//	keep.go      models in the cache
package tune

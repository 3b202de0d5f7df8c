// Package prepared holds a statement between its plan and its results.
//
// A Statement is made from a plan. Load makes the rank's blocks of the operands, Compile compiles
// one leaf for each group of terms, and Compute runs the steps of the plan. Every rank has a
// Statement of its own, and all ranks call the same methods in the same order.
//
// A run is a sequence of calls. Each call has a leaf, its arguments, and a destination
// (exec.Destination): a new block, a block that is written over, a block that is added to, or a
// tensor whose pattern stays. Package exec moves blocks between ranks and makes the calls of the
// plan's steps. If each rank has one step and all of its blocks, the step is one call, whose
// arguments are bound once for all runs. This is so on one rank that has everything, and for a
// "near" statement on several ranks.
//
// Some dense operands are not cut into blocks that move as a whole. A replicated operand is whole
// at every rank. A gathered operand is cut into rows, and each rank receives the rows that it
// reads.
//
//	statement.go  Statement and its Options: made, loaded, compiled, run, closed
//	load.go       blocks of operands at their ranks, or whole at one rank; the result's blocks
//	compile.go    a leaf for each group of terms, and the leaf that adds two blocks
//	leaf.go       one leaf: its unit, its ranges, its result's memory
//	over.go       leaves that write over the result's old value
//	gather.go     the rows of gathered operands that a rank reads
//	call.go       one call of a leaf: its arguments, its ranges, and the place of its result
//	onestep.go    statements whose ranks each run one step on blocks that they have
//	replica.go    small operands that every rank has whole
//	keep.go       operands and results that stay in the memory where leaves run
//	placed.go     tensors whose placements differ from the blocks of the steps
//	exchange.go   other tensors in place of loaded operands
//	empty.go      terms over empty index spaces, whose loops would do nothing
//	inplace.go    steps that add to one sparse block
//	narrow.go     an int32 result of int64 sums
//	into.go       values computed into an existing result (spmd.Job.FixedPattern)
//	bounds.go     bound() commands that do not hold
//	work.go       the least work of the leaves of a run
//	refused.go    leaf calls that would fail or never end, for runs and plans
//	balance.go    the number of entries that each rank computes with
package prepared

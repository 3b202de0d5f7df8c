// Package prepared is a statement between its plan and its results.
//
//	statement.go  Statement: made of a plan, loaded, compiled, run, closed
//	load.go       operands' blocks at their ranks, and whole at one; the result's blocks
//	compile.go    a leaf for each group of terms, and the sum of two blocks
//	leaf.go       one leaf: its unit, its arguments, its result's memory, its call
//	over.go       leaves that write over the result's old value
//	whole.go      the one leaf of a statement on whole tensors, bound to its arguments
//	gather.go     the rows of gathered operands that a rank reads
//	near.go       a statement of which each rank runs one step, over what it has
//	replica.go    small operands that every rank has whole
//	keep.go       operands and results that stay where leaves run
//	placed.go     tensors whose placement the steps do not go by
//	exchange.go   other operands in the place of those that were loaded
//	run.go        a step of the plan: a leaf on the blocks that came
//	empty.go      terms over empty index spaces, which loop over nothing
//	inplace.go    steps that add to one sparse block
//	narrow.go     an int32 result of int64 sums
//	into.go       values into a result that is there (spmd.Job.FixedPattern)
//	bounds.go     bound() commands that do not hold
//	work.go       what the leaves of a run have to do at least
//	refused.go    calls of leaves that would fail or never end, for runs and plans
//	balance.go    entries that each rank computes with
package prepared

// Package prepared holds a statement between its plan and its results.
//
// A Statement is made from a plan. Its parts are fields:
//
//   - Planned is the statement with its plan: all that is known before operands are loaded.
//     Forecasts need no more than this and the units of leaves.
//   - Operands has the rank's blocks of the operands. Operands.Load makes them.
//   - Code has the leaves: one for each group of terms. Compile makes them.
//   - Result makes the final blocks of the result from the blocks of the steps.
//
// Compute runs the steps of the plan. Every rank has a Statement of its own, and all ranks call the
// same methods in the same order.
//
// A run is a sequence of calls. Each call has a leaf, its arguments, and a destination
// (exec.Destination): a new block, a block that is written over, a block that is added to, or a
// tensor whose pattern stays. Package exec moves blocks between ranks and makes the calls of the
// plan's steps. If each rank has one step and all of its blocks (OneStep), the step is one call,
// whose arguments are bound once for all runs. This is so on one rank that has everything, and for
// a "near" statement on several ranks.
//
// Some dense operands are not cut into blocks that move as a whole. A replicated operand is whole
// at every rank. A gathered operand is cut into rows, and each rank receives the rows that it
// reads (package gathered).
//
//	statement.go  Statement: made, compiled, run, closed; other tensors in place of operands
//	onecall.go    the one call of a rank, bound once
//	result.go     the result's blocks: narrowed, moved to their placement, completed
//	refused.go    leaf calls that would fail or never end, for runs and plans
//	target.go     what leaves run on: the GPU, or the CPU if the GPU does not take the statement
//	code.go       Code: a leaf for each group of terms, and leaves that work on blocks of the result
//	pattern.go    values computed into an existing result (spmd.Job.FixedPattern)
//	inplace.go    steps that add to one block
//	work.go       the least work of the leaves of a run
//	schedule.go   the part of the user's schedule that a leaf follows
//	call.go       one call of a leaf: its arguments, its ranges, and the place of its result
//	empty.go      terms over empty index spaces, whose loops would do nothing
//	operands.go   Operands: blocks of operands at their ranks, or whole at one rank
//	rebind.go     operands that get other arrays of the same layout
//	replica.go    small operands that every rank has whole
//	balance.go    the number of entries that each rank computes with
//	specs.go      the operands' widths and counts, for the compiler
//	over.go       results that are written over
//	leaf.go       one leaf: its unit, its ranges, its result's memory
//	steps.go      the loop steps and the work of a leaf
//	narrow.go     an int32 result of int64 sums
//	onestep.go    statements whose ranks each run one step on blocks that they have
//	planned.go    Planned and Options: names, partitions, descriptions of blocks
//	bounds.go     bound() commands that do not hold
package prepared

// Package place is the language of distribution and its meaning, as data:
// which part of an iteration space, and which block of a tensor, belongs to
// which rank. It touches no tensor and no communicator.
//
// # Block schedules (SuperTaco, sections 4.1 and 4.5)
//
// A block schedule cuts the ranges of index variables into contiguous split
// ranges. The statement then runs once for every block: a choice of one range
// for each split variable. Block loops nest in a given order. The mapping
// variables of a block, read as one number, say which rank runs it; the same
// rule, with the variables that a tensor lacks set to 0, says at which rank a
// block of a tensor lives.
//
// A reduction variable that is split makes several blocks contribute to one
// block of the result. They accumulate in place where one rank runs them one
// after another; where the variable is extended, or where ranks differ, each
// makes a partial block of its own, and a tree sums these.
package place

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
//
// # Machines, nests and placements (source 002, section 3)
//
// A machine is a grid of points, or a hierarchy of grids; a point is run by a rank. A nest is loops
// that run over the points, or in order at each: they go through chunks of index variables, and
// what is under them is the leaf. Package distribute makes it from scheduling commands. A placement
// says for a tensor what becomes of it along each dimension of a machine: one of its modes is cut,
// or each coordinate has a copy, or one coordinate has all. What is cut is the range of coordinates
// of a mode, or the stored entries, in storage order.
//
// # Files
//
//	blockspec.go  block schedules as text
//	blocking.go   and resolved for a statement
//	machine.go    machines
//	cosma.go      the machine that COSMA chooses for a product
//	nest.go       nests of loops over a machine
//	nested.go     block schedules as nests, and the blocks of nests
//	placement.go  placements as text
//	home.go       and resolved on a machine
//	ordered.go    cuts by stored entries
package place

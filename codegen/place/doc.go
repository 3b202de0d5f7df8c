// Package place describes distribution as data: which part of an iteration space, and which block
// of a tensor, belongs to which rank. It uses no tensors and no communicator.
//
// # Block schedules (SuperTaco, sections 4.1 and 4.5)
//
// A block schedule cuts the ranges of index variables into contiguous split ranges. A block is a
// choice of one range for each split variable, and the statement runs once for every block. Block
// loops nest in a given order. The mapping variables of a block, read as one number, decide which
// rank runs it. The same rule decides which rank stores a block of a tensor; variables that the
// tensor does not have are then set to 0.
//
// If a reduction variable is split, several blocks contribute to the same block of the result. If
// one rank runs them one after another, they accumulate in place. If the variable is extended, or
// the blocks run on different ranks, each makes a partial block, and a tree reduction sums the
// partial blocks.
//
// # Machines, nests and placements (DISTAL (2022), section 3)
//
// A machine is a grid of points, or a hierarchy of grids. Each point is run by a rank. A nest is a
// list of loops that are distributed over the points, or run in order at each point. The loops go
// through chunks of index variables, and the statement inside them is the leaf. Package distribute
// makes nests from scheduling commands. A placement says for each dimension of a machine how a
// tensor is distributed along it: one mode is cut, or each coordinate has a copy, or one coordinate
// has everything. A cut divides the range of coordinates of a mode, or the stored entries in
// storage order.
//
// # Files
//
//	blockspec.go  block schedules as text
//	blocking.go   block schedules resolved for a statement
//	machine.go    machines
//	cosma.go      the machine that COSMA chooses for a product
//	nest.go       nests of loops over a machine
//	nested.go     block schedules as nests, and the blocks of nests
//	placement.go  placements as text
//	home.go       placements resolved on a machine
//	ordered.go    cuts by stored entries
package place

// Package choice chooses how a statement in concrete index notation is lowered. The result is a
// strategy (package strategy): plain data, which is complete before lowering starts.
//
// A choice (Choice) is a row of the table Choices, and has a file of its own. It has the parameters
// of a scheduling command, the default, and functions that put an instruction on the statement's
// loops and into the strategy, or say why this is impossible. An instruction (Order) is a choice
// with its arguments; it can be read from a scheduling command and printed as one. The default
// strategy consists of instructions with reasons. It is made by following these instructions, as a
// schedule of the user is.
//
// Choices read the statement, its formats and statistics from analysis.Facts.
//
// The choices:
//
//	temporaries.go  temporaries for sums
//	hoist.go        sums that are computed before loops
//	lookup.go       tables and searches in place of merges
//	assemble.go     one or two passes over a result that grows
//	layout.go       copies of dense operands
//	count.go        constant trip counts
//	unroll.go       copies of a loop's body
//	gallop.go       merges: searching
//	mergeby.go      merges: predicated, and in windows
//	onebody.go      merges: one body for all cases
//	jam.go          unroll-and-jam
//	workspace.go    kinds of workspaces
//	substitute.go   loops that a library or a user's function runs
//	units.go        units that run the iterations of loops
//	threads.go      how loops are cut for threads
//	ownpart.go      parts of a result variable's range, one for each thread
//	rowlanes.go     the rows of a tile, distributed over a GPU's threads
//	flatten.go      one loop over the positions of a shared pattern
//	longrows.go     rows that are too long for one thread
//	tile.go         rows that are summed in registers
//	vectorize.go    vector lanes
//	nontemporal.go  results that are stored past the caches
//	fetch.go        prefetching
//
// What they have in common:
//
//	choice.go      what a choice is
//	order.go       instructions and their parameters: reading and printing
//	choose.go      the table; the default strategy, and the strategy of a schedule
//	grid.go        the rules of a GPU's units
//	inorder.go     the default workspaces: filled in order, everywhere, or by a schedule's precompute
//	workspaces.go  the default workspaces: places, lists of terms; the capacity of a result
//	visits.go      how often loops run, and what their merges cost
//	hashrows.go    hash tables that store a row of values for each key
//	termrows.go    lists of terms that each add a row
//	positional.go  workspaces with a place for each position of a tile
package choice

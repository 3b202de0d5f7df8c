// Package strategy chooses how a statement in concrete index notation is lowered. The choice is a
// value (Value) that is complete before lowering starts. It says for each loop how it is cut for
// threads, its tiles, vector lanes, prefetching, long rows and merging. It also has the kind of
// each workspace and the initial capacity of the result. Package lower follows the value, and knows
// no sizes, statistics or target.
//
//	assembly.go       how the result is written
//	strategy.go       the value: plain data, with a reason for each choice
//	problem.go        the input of a choice: the statement, formats, statistics, the target
//	choose.go         the default strategy, and the plain strategy
//	threads.go        which loops run on threads, and how they are cut
//	ownpart.go        parts of a result variable's range, one for each thread
//	longrows.go       rows that are too long for one thread
//	positionloop.go   one loop over the positions of a shared pattern
//	tiles.go          rows that are summed in registers
//	trips.go          constant trip counts
//	forms.go          forms of code that are chosen by measurement
//	memory.go         prefetching, and vector lanes of loops that gather
//	nontemporal.go    results that are stored past the caches
//	merges.go         predicated merges
//	cases.go          one body for all cases of a merge
//	jam.go            unroll-and-jam
//	loops.go          the variables that the loops of a schedule determine
//	workspaces.go     kinds of workspaces, the capacity of a result
//	hashrows.go       hash tables that store a row of values for each key
//	termrows.go       lists of terms that each add a row
//	spacebytes.go     memory of workspaces
//	inorder.go        workspaces that are filled in order, everywhere, or by a schedule's precompute
//	positional.go     workspaces with a place for each position of a tile
//	rowlanes.go       the rows of a tile, distributed over a GPU's threads
//	list.go           the default strategy as a list of orders
//	orders.go         an order: one choice, as a scheduling command makes it
//	orders_threads.go orders for loops on threads
//	orders_substitute.go  orders for loops that a BLAS or a user's function runs
//	orders_memory.go  orders for merges, tiles, lanes, prefetching and workspaces
package strategy

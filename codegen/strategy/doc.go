// Package strategy chooses how a statement in concrete index notation is lowered, as a
// value, before it is: how each loop is cut for threads, its tiles, lanes, prefetching,
// long rows and merging, the kind of each workspace, and the capacity of the result. Package
// lower takes its orders from the value, and knows no sizes, statistics or target.
//
//	assembly.go       how the result is written
//	strategy.go       the value: plain data, with a reason at each choice
//	problem.go        what is chosen for: the statement, formats, statistics, the target
//	choose.go         the default chooser, and the plain strategy
//	threads.go        which loops run on threads, and how they are cut
//	ownpart.go        parts of the range of a variable of the result, one for each thread
//	longrows.go       rows too long for one thread
//	positionloop.go   one loop over the positions of a shared pattern
//	tiles.go          rows summed in registers
//	trips.go          constant trip counts
//	forms.go          forms of code of which the fastest is measured
//	memory.go         prefetching, and lanes of loops that gather
//	nontemporal.go    results that are stored past the caches
//	merges.go         predicated merges
//	cases.go          one body for all cases of a merge
//	jam.go            unroll-and-jam
//	loops.go          which variables the loops of a schedule are over
//	workspaces.go     kinds of workspaces, the capacity of a result
//	hashrows.go       hash tables with a row of values behind each key
//	termrows.go       lists of terms that each add a row
//	spacebytes.go     what workspaces take
//	inorder.go        workspaces that a schedule makes
//	positional.go     those with a place for each position of a tile
//	rowlanes.go       rows of such a tile, shared out among a GPU's threads
//	list.go           the default strategy as a list of orders
//	orders.go         an order: one choice, as a scheduling command makes it
//	orders_threads.go orders of loops on threads
//	orders_substitute.go  the orders of loops that a BLAS, or a function of the user's, runs
//	orders_memory.go  orders of merges, tiles, lanes, prefetching and workspaces
package strategy

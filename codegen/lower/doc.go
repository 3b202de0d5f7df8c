// Package lower turns concrete index notation into imperative code.
//
// A statement is lowered from the outside in, in an environment (env). The environment has the
// coordinate of every bound variable. It also has, for each access, a cursor, which says how far
// these coordinates lead down the levels of the access's tensor. A cursor has a position, or a run
// of positions if coordinates may repeat. It also has a presence: an IR condition that folds to
// true or false if the surrounding code already decides it.
//
// A forall asks the merge lattice which coordinates to visit and emits loops over them. It lowers
// its body once for each case, which is a set of present operands. Absent accesses then vanish from
// the body. If there would be too many cases, or their bodies would be too large, one body is
// lowered with presences as conditions. The same code here makes both forms from different
// presences.
//
// Every lowering function returns the condition under which something was assigned, because a
// sparse result has a coordinate exactly if something was assigned below it.
//
// # Who calls whom
//
// Lower calls stmt, which calls forall, where, assign and seq. These call stmt for the statements
// inside them. The state at a place in the nest is in env.go. Four packages are below this one:
// emit builds code, tree has the level arrays of tensors and the cursors of accesses, space has the
// workspaces, and rewrite finds forms in code: products of matrices, lanes, passes that only count.
//
//	spec.go      what is lowered; lower.go, the entry
//	stmt.go      the case of each kind of statement
//	lowerer.go   what is the same everywhere in a leaf
//	env.go       what is known at a place: scoped.go, in immutable lists; state.go, about loops of
//	             a schedule
//
// Loops over the coordinates of one variable, and expressions:
//
//	forall.go    which kind of loop a forall becomes; loops over a whole range
//	iter.go      a loop over the segment of one sparse level
//	coiterate.go loops over several segments together, with a case for each set of
//	predicated.go  present operands, or with one body and predicates;
//	windows.go     sums of segments that a result appends, merged in windows
//	gallop.go    intersections by searching
//	expr.go      values with their presence
//	gemm.go      loops that a BLAS runs; extern.go, loops that a user's function runs
//	spmm.go      loops over a sparse matrix that a GPU library runs
//	tile.go      rows of the result that are summed in registers, tile by tile
//	rowcopy.go   rows of operands that are read from registers
//	prefetch.go  rows that are fetched ahead
//
// Workspaces:
//
//	where.go     a producer and its consumer;
//	spaces.go    how loops fill the workspaces of package space, by row or on threads;
//	termrows.go  a list of terms with the factors of added rows;
//	dense.go     an array that is filled everywhere or nowhere,
//	positionspace.go  a place for each position of an operand in a tile, which
//	positionsums.go   a consumer may sum in one loop
//
// Threads:
//
//	parallel.go    chunks of about equal work
//	reduce.go      sums: each chunk has its own place, or each thread some rows of the result
//	positionloop.go  a nest as one loop over positions
//	privatize.go     privatization: threads add to copies of the result, or to their own
//	                 workspaces
//
// Units of a GPU: units.go says what a loop on a unit becomes, and finds the rows where blocks
// begin; rowlanes.go distributes the rows of a tile of positions over threads.
//
// Long rows, for which the other threads would wait:
//
//	longrows_dense.go     in dense results and shared patterns: each row on all threads
//	longrows_sparse.go    in appended results: rows are cut at coordinates inside them
//	longrows_products.go  in sums in workspaces: rows are computed before the loop, in bands of
//	                      coordinates
//
// The result. An assembly writes it; strategy.Assembly chooses the assembly:
//
//	assembly.go  the interface, and the moves of the result's cursor; result.go, the common parts
//	assign.go    assignments
//
//	result_dense.go   all levels are dense; random access in general
//	result_shared.go  the pattern is an operand's
//	result_mapped.go  the pattern includes an operand's; values are added
//	result_fixed.go   the pattern is given: the numeric phase, which finds coordinates.
//	                  It walks the result's rows if possible. fixed_sums.go sums in the
//	                  result instead of a workspace
//	result_append.go  coordinates are appended; growing.go, the loops that append
//	ordered_chunks.go chunks of an appended result, placed one after another while they
//	joined_chunks.go  are made, or joined at the end
//	result_twopass.go coordinates are counted, then written; on a GPU, row by row
//
// Schedules. Loops over derived variables of one component are lowered together:
//
//	derived.go   chooses the way; the effects of a schedule on a loop
//	forms.go     converts bounds and coordinates from package provenance's forms to code
//	bounds.go    natural order: bounds inference by intervals that become narrower
//	guards.go    any other order: loops that count, and guards
//	fused.go     intervals of fused variables and their positions
//	points.go    products of sizes, which are checked for overflow
//	keptrows.go  the last row of a walk on a GPU, which is added where threads meet
//	repeats.go   tiles that end only after all repeats of a coordinate
package lower

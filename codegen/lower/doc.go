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
// inside them. The state at a place in the nest is in env.go and operand.go.
//
//	lower.go     Spec and Lower; the lowerer, which emits statements into blocks
//
// Loops over the coordinates of one variable, and expressions:
//
//	forall.go    which kind of loop a forall becomes; loops over a whole range
//	iter.go      a loop over the segment of one sparse level
//	coiterate.go loops over several segments together, with a case for each set of
//	predicated.go  present operands, or with one body and predicates;
//	windows.go     sums of segments that a result appends, merged in windows
//	gallop.go    intersections by searching
//	lattices.go  the merge lattices of all loops, recorded for --emit=lattice
//	locate.go    finds a coordinate that is already bound in a dense or sparse level
//	expr.go      values with their presence
//	gemm.go      loops that a BLAS runs; extern.go, loops that a user's function runs
//	spmm.go      loops over a sparse matrix that a GPU library runs
//	tile.go      rows of the result that are summed in registers, tile by tile
//	rowcopy.go   rows of operands that are read from registers
//	vector.go    innermost loops in vector lanes; prefetch.go, rows that are fetched ahead
//
// Workspaces:
//
//	where.go     a producer and its consumer; workspace.go, the kinds of workspaces:
//	bitmap.go    a bitmap,
//	marks.go     marks alone, which several threads may set,
//	placed.go    parts that kinds with a place for each coordinate (box.go) have in common,
//	terms.go     a list of all terms, which is sorted at the end;
//	termrows.go  such a list with the factors of added rows,
//	hash.go      a hash table; hashrows.go, with a row of values for each key (spacerow.go),
//	ordered.go   a list that is filled in order,
//	rowlist.go   any of these over several variables whose rows are found without a search,
//	dense.go     an array that is filled everywhere or nowhere,
//	positionspace.go  a place for each position of an operand in a tile, which
//	positionsums.go   a consumer may sum in one loop
//
// Threads:
//
//	parallel.go    chunks of about equal work
//	reduce.go      sums, each chunk into its own place
//	rows.go        sums in which each thread has some rows of the result
//	positionloop.go  a nest as one loop over positions
//	privatize.go     privatization: threads add to copies of the result,
//	privatize_workspace.go  or to their own workspaces
//
// Units of a GPU: units.go says what a loop on a unit becomes, and finds the rows where blocks
// begin; rowlanes.go distributes the rows of a tile of positions over threads.
//
// Long rows, for which the other threads would wait:
//
//	longrows_dense.go     in dense results and shared patterns: each row on all threads
//	longrows_sparse.go    in appended results: rows are cut at coordinates inside them
//	longrows_products.go  in sums in workspaces: rows are computed before the loop, in bands of
//	longrows_sums.go      coordinates
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
//	                  fixed_rows.go walks the result's rows if possible, fixed_sums.go
//	                  sums in the result instead of a workspace
//	result_append.go  coordinates are appended; growing.go, the loops that append,
//	                  capacity.go, the initial memory
//	ordered_chunks.go chunks of an appended result, placed one after another while they
//	joined_chunks.go  are made, or joined at the end
//	result_twopass.go coordinates are counted, then written; strip.go removes from the
//	                  counting pass what does not count. result_rows.go does both row by
//	                  row on a GPU
//
// Schedules. Loops over derived variables of one component are lowered together:
//
//	derived.go   chooses the way; the effects of a schedule on a loop
//	forms.go     converts bounds and coordinates from package provenance's forms to code
//	bounds.go    natural order: bounds inference by intervals that become narrower
//	guards.go    any other order: loops that count, and guards
//	fused.go     intervals of fused variables (fusedpos.go, their positions)
//	points.go    products of sizes, which are checked for overflow
//	keptrows.go  the last row of a walk on a GPU, which is added where threads meet
//	repeats.go   tiles that end only after all repeats of a coordinate
package lower

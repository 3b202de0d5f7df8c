// Package lower turns concrete index notation into imperative code.
//
// A statement is lowered from the outside in, in an environment: the coordinate of
// every variable bound so far, and for each access a cursor, how far down its
// tensor's levels these coordinates lead. A cursor has a position (a run of
// positions, where coordinates may repeat) and a presence: an IR condition
// that folds to true or false where the code around it already decides.
//
// A forall asks the merge lattice which coordinates to visit, emits loops over
// them, and lowers its body once for each case of what is present: absent
// accesses then vanish from the body. Where cases would be too many, or their
// bodies too large, one body is lowered with presences left as conditions; both
// forms are the same code here, run on different presences.
//
// Every lowering function returns whether anything was assigned, as a
// condition, since a sparse result holds a coordinate exactly where something
// was assigned below it.
//
// # Who calls whom
//
// Lower calls stmt, which calls forall, where, assign and seq; these call stmt for what is
// inside of them. What a place in the nest knows is in env.go and operand.go.
//
//	lower.go     Spec and Lower; the lowerer, which emits statements into blocks
//
// Loops over the coordinates of one variable, and expressions:
//
//	forall.go    which kind of loop a forall becomes; loops over a whole range
//	iter.go      a loop over the segment of one sparse level
//	coiterate.go loops over several segments together, a case for each set of
//	predicated.go  those that are present, or one body with predicates;
//	windows.go     sums of segments that a result appends, merged in windows
//	gallop.go    intersections by searching
//	lattices.go  the merge lattices of all loops, recorded for --emit=lattice
//	locate.go    a coordinate that is bound already, in a dense or sparse level
//	expr.go      values with their presence
//	gemm.go      loops that a BLAS runs; extern.go, loops that a function of the user's runs
//	spmm.go      loops that a library of a GPU runs over a sparse matrix
//	tile.go      rows of the result that are summed in registers, tile by tile
//	rowcopy.go   rows of operands that are read from registers
//	vector.go    innermost loops in lanes; prefetch.go, rows that are fetched ahead
//
// Workspaces:
//
//	where.go     a producer and its consumer; workspace.go the kinds: a list with
//	bitmap.go    marks, a bitmap,
//	marks.go     marks alone, of which threads may set some each,
//	placed.go    which have a place for each coordinate (box.go) and are read in order,
//	terms.go     a list of all terms, which is sorted in the end; termrows.go, of what the rows are made of that they add,
//	hash.go      a hash table; hashrows.go, with a row of values behind each key (spacerow.go),
//	ordered.go   a list that is filled in order,
//	rowlist.go   any of these over several variables, where its rows are found without a search,
//	dense.go     an array that is filled everywhere or nowhere,
//	positionspace.go  a place for each position of an operand that a tile has, which
//	positionsums.go   a consumer may sum in one loop
//
// Threads:
//
//	parallel.go    chunks of about equal work
//	reduce.go      sums, each chunk into a place of its own
//	rows.go        sums of which each thread has some rows of the result
//	positionloop.go  a nest as one loop over positions
//	privatize.go     privatization: threads add to copies of the result,
//	privatize_workspace.go  or to workspaces of their own
//
// Units of a GPU: units.go says what a loop on one becomes, and has the rows in which blocks begin;
// rowlanes.go has the rows of a tile of positions shared out among threads.
//
// Long rows, which would leave the work of the other threads to one:
//
//	longrows_dense.go     of dense results and shared patterns: each on all threads
//	longrows_sparse.go    of appended results: cut at coordinates inside them
//	longrows_products.go  of sums in workspaces: computed before the loop, by bands of
//	longrows_sums.go      coordinates
//
// The result. An assembly is how it is written; strategy.Assembly says which:
//
//	assembly.go  the interface, and how the result's cursor moves; result.go what all have
//	assign.go    in common; assignments
//
//	result_dense.go   all levels are dense; random access in general
//	result_shared.go  the pattern is an operand's
//	result_mapped.go  the pattern holds an operand's; values are added
//	result_fixed.go   the pattern is given: the numeric phase, which finds coordinates.
//	                  fixed_rows.go walks the result's rows where it can, fixed_sums.go
//	                  sums in the result what a workspace would have
//	result_append.go  coordinates are appended; growing.go the loops that do so,
//	                  capacity.go how much memory that begins with
//	ordered_chunks.go chunks of an appended result, placed one after another as they
//	joined_chunks.go  are made, or joined in the end
//	result_twopass.go coordinates are counted, then written; strip.go removes from the
//	                  counting pass what does not count. result_rows.go has them row by
//	                  row, on a GPU
//
// Schedules. Loops over derived variables of one component are lowered together:
//
//	derived.go   which way; what a schedule says of a loop
//	forms.go     bounds and coordinates, which package provenance gives as forms, as code
//	bounds.go    in natural order: bounds inference, by intervals that become narrower
//	guards.go    in any other order: loops that count, and guards
//	fused.go     intervals of fused variables (fusedpos.go, their positions)
//	points.go    numbers of points and lengths that sizes multiply to, which are checked
//	keptrows.go  the last row of a walk on a GPU, added where threads meet
//	repeats.go   tiles that end where the repeats of a coordinate do
package lower

// Package lower turns concrete index notation into imperative code.
//
// A statement is lowered from the outside in, in an environment (scope.Env). The environment has
// the coordinate of every bound variable. It also has, for each access, a cursor, which says how
// far these coordinates lead down the levels of the access's tensor. A cursor has a position, or a
// run of positions if coordinates may repeat. It also has a presence: an IR condition that folds to
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
// inside them. The packages below this one, each importing only earlier ones:
//
//	emit     builds code
//	tree     the level arrays of tensors, and the cursors of accesses
//	space    workspaces
//	rewrite  finds forms in code: products of matrices, lanes, passes that only count
//	scope    the leaf and the environment, and values of expressions
//	bounds   ranges of a schedule's loops
//	units    loops on threads, in lanes and on a GPU
//	merge    the loop over the coordinates of one variable
//	result   how the result is written
//	positions  loops over the positions of a tile
//	library  calls that replace loops
//
// They call back for the statements inside their loops, by scope.Leaf.Stmt.
//
//	lower.go     the entry
//	stmt.go      the case of each kind of statement
//	lowerer.go   what belongs to one leaf
//	forall.go    which kind of loop a forall becomes
//	assign.go    assignments
//	tile.go      rows of the result that are summed in registers, tile by tile
//
// Workspaces:
//
//	where.go     a producer and its consumer;
//	spaces.go    how loops fill the workspaces of package space, by row or on threads;
//	termrows.go  a list of terms with the factors of added rows;
//	dense.go     an array that is filled everywhere or nowhere
//	reduction.go the values of reductions other than sums
//
// Threads:
//
//	reduce.go      sums: each chunk has its own place, or each thread some rows of the result
//	positionloop.go  the nodes of a loop over positions
//	privatize.go     privatization: threads add to copies of the result, or to their own
//	                 workspaces
//	longrows_products.go  long rows of sums in workspaces: they are computed before the loop, in
//	                      bands of coordinates
//
// Schedules. Loops over derived variables of one component are lowered together:
//
//	derived.go   chooses the way
//	bounds.go    natural order: bounds inference by intervals that become narrower
//	guards.go    any other order: loops that count, and guards
//	fused.go     nested loops over fused variables
package lower

// Package flow computes which pieces of a tensor each rank receives, and from which ranks, when a
// nest of loops runs over ranks.
//
// A point of a nest is one value for each loop. A rank runs its points in the order of the loops.
// The scope of a tensor is the number of outermost loops whose iterations fetch its pieces. An
// instance is a maximal sequence of a rank's points with the same values of the scope's loops. The
// instances of a rank are numbered from 0. A rank fetches a piece in an instance if it needs the
// piece in this instance and did not need it in the instance before. The source of the piece is:
//
//   - the rank itself, if it owns the piece;
//   - otherwise a rank that is not an owner and needed the piece in the instance before. An
//     instance must have the same values of the loops at all ranks (Walk.Aligned). If several ranks
//     qualify, the nearest is the source, unless an owner is at least as near;
//   - otherwise the nearest owner.
//
// The nearest rank is the one whose coordinates differ in the fewest dimensions of the machine, and
// among equals the lowest. All ranks that fetch a piece in the same instance from the same source
// form one multicast.
//
// The ranks that need a piece are found by solving equations for the values of the loops, given the
// digits of the piece's chunks. The points of all ranks are not searched.
//
// # Files
//
//   - walk.go: the points of each rank, in order
//   - system.go: the points whose chunks have given numbers
//   - flow.go: tensors, their pieces and the owners of the pieces
//   - need.go: the pieces that a rank needs, and the ranks that need a piece
//   - fetch.go: the pieces that a rank fetches, and their sources
//   - send.go: the multicasts that a rank starts
//   - count.go: fetches and multicasts for callers that only count
//   - alike.go: ranks that need the same pieces
package flow

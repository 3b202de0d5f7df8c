// Package flow says which pieces of a tensor come to which rank when a nest of loops runs over
// ranks, and from where.
//
// A point of a nest is the values of all its loops. The points of a rank run in the order of the
// loops. The pieces of a tensor are brought when one of the loops of its scope goes on: an instance
// of a scope is a longest run of a rank's points at which the scope's loops keep their values, and
// instances are numbered from 0 at each rank. What a rank needs in an instance and did not need in
// the one before, it fetches:
//
//   - from itself, where the piece lives there;
//   - else from a rank that needed it in the instance before, where instances are the same
//     values of the loops at all ranks (Walk.Aligned) and the piece does not live at that rank anyway;
//     of several the nearest, and where several could forward it and one at which it lives is as near, from that one;
//   - else from the nearest of the ranks where it lives.
//
// The nearest is the rank whose coordinates differ in the fewest dimensions of the machine, of
// several the lowest. All ranks that fetch a piece in the same instance from the same rank are one
// multicast.
//
// Who needs a piece is found by solving the digits of its chunks for the values of the loops,
// not by a search over the points of all ranks.
//
// # Files
//
//   - walk.go: the points of ranks, in the order in which they run
//   - system.go: the points where chunks have given numbers
//   - flow.go: tensors, their pieces, and the ranks where those live
//   - need.go: the pieces that a rank needs, and the ranks that need a piece
//   - fetch.go: the pieces that come to a rank, and where they come from
//   - send.go: the multicasts that a rank begins
//   - count.go: what comes and goes, for one that counts it
//   - alike.go: ranks that need the same
package flow

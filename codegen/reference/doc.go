// Package reference evaluates a statement from its definition, over
// coordinates: it says what is right. It knows nothing of formats, loops or
// schedules, and is slow.
//
// A tensor is a set of coordinates, each with a value; what is not in the set
// is absent. A result's coordinate is present where a term of the normal form
// is, at any values of the variables that the term sums:
//
//   - an access is present where its tensor is; a number or a scalar everywhere;
//   - a product is present where all its factors are, and only there are its
//     factors multiplied (or divided: no error arises elsewhere);
//   - a sum is present where any of its terms is, and adds those that are;
//   - a quotient is present where its numerator is; an absent denominator is
//     zero. Integers divided by zero are an error that names the coordinate.
//
// Every operation is carried out in the statement's compute type. Besides its
// value, each coordinate gets a bound on the rounding error of any other order
// of evaluation (Point.Tolerance), and whether none can differ (Point.Exact).
//
// Not every point of the iteration space is visited: the points of a term are
// found by joining the entries of its sparse factors (join.go), a superset of
// those where it is present, at each of which the definition is then applied.
//
// # Files
//
//	eval.go     a problem, and its points
//	team.go     its points by several threads
//	compile.go  the right side as closures
//	join.go     the points of a term
//	row.go      the points of one row, accumulated
//	point.go    a point, and how near two values are to be
//	tensor.go   tensors as maps of coordinates
//	arith.go    arithmetic of all types
package reference

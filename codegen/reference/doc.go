// Package reference evaluates a statement from its definition, over coordinates: its results define
// what is right. It knows nothing of formats, loops or schedules, and is slow.
//
// A tensor is a set of coordinates, each with a value. A coordinate that is not in the set is
// absent. A coordinate of the result is present if a term of the normal form is present there, for
// any values of the variables that the term sums:
//
//   - An access is present where its tensor is. A number or a scalar is present everywhere.
//
//   - A product is present where all its factors are. The factors are multiplied (or divided) only
//     there, so that no error occurs elsewhere.
//
//   - A sum is present where any of its terms is, and adds the terms that are present.
//
//   - A quotient is present where its numerator is. An absent denominator is zero. An integer
//     division by zero is an error that names the coordinate.
//
//   - A call is present where one of its arguments is, or everywhere if the function is not zero at
//     zeros. An absent argument is zero.
//
// Every operation is computed in the statement's compute type. Each coordinate also gets a bound on
// the difference that another order of evaluation may make by rounding (Point.Tolerance), and says
// whether there can be any difference (Point.Exact).
//
// The evaluator does not visit every point of the iteration space. It joins the entries of a term's
// sparse factors (join.go), which finds all points where the term may be present, and applies the
// definition at these points.
//
// # Files
//
//	eval.go     a problem, and its points
//	team.go     evaluation on several threads
//	compile.go  the right-hand side as closures
//	join.go     the points of a term
//	row.go      the points of one row, accumulated
//	point.go    a point, and whether another value agrees with it
//	tensor.go   tensors as maps of coordinates
//	made.go     the tensors that take the place of indices
//	arith.go    arithmetic of all types
package reference

package c

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// loop prints a loop. The form of the loop depends on its kind, on whether it runs in strips, and
// on whether it is in the function of a parallel loop.
func (f *cfunc) loop(s *ir.For) {
	part := f.shares[s]
	outer := f.outermost
	f.outermost = false
	defer func() { f.outermost = outer }()
	if s.Kind == ir.Parallel && !f.piece {
		f.parallel(s, outer)
		return
	}
	if part != nil {
		f.serialStrips(s, part)
		return
	}
	if s.Kind == ir.Vector && f.vectorizable(s) {
		f.inVectorLoop = true
		if l := f.lineLoop(s); l != nil {
			l.write()
		} else {
			f.vector(s)
		}
		f.inVectorLoop = false
		return
	}
	f.serialLoop(s)
}

// serialLoop prints a loop as a serial or unrolled loop without strips.
func (f *cfunc) serialLoop(s *ir.For) {
	if s.Kind == ir.Unrolled {
		f.unrolledLoop(s)
		return
	}
	end := f.end(s.Hi, f.Variable(s.V), s.Body)
	f.plainLoop(s, f.expr(s.Lo, 0), end)
}

// plainLoop prints a serial loop over [lo, end), which are C expressions.
func (f *cfunc) plainLoop(s *ir.For, lo, end string) {
	f.head(s, lo, end)
	if picksRows(s.Body) {
		f.leaf.file.need("alone")
		f.Scoped(func() { f.Line("dst_alone();") })
	}
	f.nested(s.Body)
	f.Line("}")
}

// isTail reports whether a While loop looks like the tail of a merge: a loop that stores the
// remaining entries of one operand, after the merge has reached the end of the others. Usually few
// entries are left, so vectorizing a tail is not worthwhile. A tail is printed with the macro
// dst_alone, which keeps GCC from vectorizing it.
func isTail(s *ir.While) bool {
	stores := false
	for _, t := range s.Body.List {
		switch t.(type) {
		case *ir.Store:
			stores = true
		case *ir.Declare, *ir.Assign:
		default:
			return false
		}
	}
	b, ok := s.Cond.(*ir.Binary)
	return ok && stores && b.Op == ir.Lt
}

// picksRows reports whether the body of a loop loads a coordinate and uses it in an inner vector
// loop. The coordinate may choose the row that the vector loop visits. Iterations of the outer loop
// then work on unrelated rows, and GCC must not merge their vector loops. The outer loop is
// therefore printed with the macro dst_alone, which prevents the merging. Vector loops with sums do
// not count.
func picksRows(b *ir.Block) bool {
	indexed := map[*ir.Var]bool{} // variables that depend on a coordinate
	follows := func(x ir.Expr) (yes bool) {
		ir.WalkExpr(x, func(y ir.Expr) {
			switch y := y.(type) {
			case *ir.Load:
				yes = yes || y.Widen
			case *ir.Var:
				yes = yes || indexed[y]
			}
		})
		return yes
	}
	for _, t := range b.List {
		switch t := t.(type) {
		case *ir.Declare:
			indexed[t.V] = t.V.Typ == tensor.Int64 && follows(t.Init)
		case *ir.For:
			lanes := false
			if t.Kind == ir.Vector && len(t.Reduce) == 0 {
				ir.WalkExprs(t.Body, func(x ir.Expr) {
					v, ok := x.(*ir.Var)
					lanes = lanes || ok && indexed[v]
				})
			}
			if lanes {
				return true
			}
		}
	}
	return false
}

// unrolledLoop prints a loop whose body is unrolled by a factor. The factor is the number of
// iterations in a group. A loop over whole groups tests its condition once for each group, and a
// plain loop runs the rest. If the loop has at most one group, or if the factor is 1, it is printed
// as one loop.
func (f *cfunc) unrolledLoop(s *ir.For) {
	n := unrollFactor(s)
	if hasAtMost(s, n) || n == 1 {
		f.fullyUnrolled(s, n, f.expr(s.Lo, 0), f.expr(s.Hi, clike.PrecSum))
		return
	}
	v := f.Variable(s.V)
	from, end, whole, at := f.Temps.Fresh(v+"_from"), f.Temps.Fresh(v+"_end"),
		f.Temps.Fresh(v+"_whole"), f.Temps.Fresh(v+"_at")
	f.Line("const int64_t %s = %s;", from, f.expr(s.Lo, 0))
	f.Line("const int64_t %s = %s;", end, f.expr(s.Hi, 0))
	f.Line("const int64_t %s = %s + (%s - %s) / %d * %d;", whole, from, end, from, n*s.Step, n*s.Step)
	f.Line("for (int64_t %s = %s; %s < %s; %s += %d) {", at, from, at, whole, at, n*s.Step)
	f.Scoped(func() { f.fullyUnrolled(s, n, at, fmt.Sprintf("%s + %d", at, n*s.Step)) })
	f.Line("}")
	f.head(s, whole, end)
	f.nested(s.Body)
	f.Line("}")
}

// fullyUnrolled prints a loop of at most n iterations, with a pragma to unroll it completely. If n
// is 1, it prints a loop of any length without the pragma.
func (f *cfunc) fullyUnrolled(s *ir.For, n int64, lo, hi string) {
	if n > 1 {
		f.leaf.file.need(unrolled)
		f.pragma("GCC unroll %d", n)
	}
	f.head(s, lo, hi)
	f.nested(s.Body)
	f.Line("}")
}

// hasAtMost reports whether a loop is known to have at most n iterations.
func hasAtMost(s *ir.For, n int64) bool {
	k, ok := clike.Trips(s)
	return ok && k <= n
}

// head prints the first line of a loop from lo to end.
func (f *cfunc) head(s *ir.For, lo, end string) {
	v := f.Variable(s.V)
	step := v + "++"
	if s.Step != 1 {
		step = fmt.Sprintf("%s += %s", v, clike.Integer(f, s.Step, 0))
	}
	f.Line("for (int64_t %s = %s; %s < %s; %s) {", v, lo, v, end, step)
}

// end returns the C expression of a loop's upper bound. C evaluates it before every iteration. If
// body can change the value of hi, or if hi is not cheap to compute, end prints the declaration of
// a constant before the loop and returns the name of the constant.
func (f *cfunc) end(hi ir.Expr, v string, body *ir.Block) string {
	text := f.expr(hi, clike.PrecSum)
	if clike.Stable(hi, body) {
		return text
	}
	name := f.Temps.Fresh(v + "_end")
	f.Line("const int64_t %s = %s;", name, f.expr(hi, 0))
	return name
}

// Limits of unrolling. GCC's compile time grows with the square of the length of the code that
// unrolling a loop produces.
const (
	maxCopies           = 64   // copies of a loop's body
	maxStatements       = 1024 // statements of all copies, for more than minCopies copies
	minCopies           = 8    // copies that maxStatements does not prevent
	maxNestedStatements = 2048 // statements of all copies, for any number of copies
	loopWeight          = 4    // how many times the statements in a loop count
)

// unrollFactor returns the number of copies of an unrolled loop's body. This is the requested
// factor, but at most the number of iterations. If full unrolling is requested, it is the number of
// iterations, or 16 if the number is unknown. The result is smaller if the copies would be too many
// or too long for GCC to compile fast. The result is 1 if the body always fails, because such a
// loop has at most one iteration, and GCC would warn if the loop were unrolled.
func unrollFactor(s *ir.For) int64 {
	n := s.Factor
	if alwaysFails(s.Body) {
		return 1
	}
	if k, ok := clike.Trips(s); ok && (n == 0 || n > k) {
		n = max(k, 1)
	} else if n == 0 {
		n = 16
	}
	each := statements(s.Body)
	most := max(minCopies, min(maxCopies, maxStatements/each))
	return max(1, min(n, most, maxNestedStatements/each))
}

// alwaysFails reports whether every path through a block reports a failure of the leaf. It returns
// false if b is nil.
func alwaysFails(b *ir.Block) bool {
	if b == nil {
		return false
	}
	return slices.ContainsFunc(b.List, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Fail:
			return true
		case *ir.Block:
			return alwaysFails(s)
		case *ir.If:
			return alwaysFails(s.Then) && alwaysFails(s.Else)
		}
		return false
	})
}

// statements estimates the number of statements of a block after the loops in it are unrolled.
func statements(b *ir.Block) int64 {
	n := int64(1)
	for _, s := range b.List {
		switch s := s.(type) {
		case *ir.For:
			k := int64(loopWeight) // it may be vectorized
			if s.Kind == ir.Unrolled {
				if k = unrollFactor(s); !hasAtMost(s, k) {
					k++ // the plain loop for the rest
				}
			}
			n += 1 + k*statements(s.Body)
		case *ir.While:
			n += 1 + statements(s.Body)
		case *ir.If:
			n += 1 + statements(s.Then)
			if s.Else != nil {
				n += statements(s.Else)
			}
		case *ir.Block:
			n += statements(s)
		case *ir.Ordered:
			n += statements(s.Body)
		default:
			n++
		}
	}
	return n
}

// vectorizable reports whether OpenMP allows a Vector loop to be vectorized: nothing leaves it, and
// it contains no other Vector loop. In a piece of a parallel loop it also contains no atomic store.
func (f *cfunc) vectorizable(s *ir.For) bool {
	if fails(s.Body) {
		return false
	}
	ok := true
	ir.Walk(s.Body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Store:
			ok = ok && !(t.Atomic && f.piece)
		case *ir.For:
			ok = ok && t.Kind != ir.Vector
		}
	})
	return ok
}

// vector prints an omp simd loop. Complex sums are computed as two scalars, for the real and the
// imaginary part, because compilers vectorize those and not a complex sum.
func (f *cfunc) vector(s *ir.For) {
	v := f.Variable(s.V)
	end := f.Temps.Fresh(v + "_end")
	if clike.Stable(s.Hi, s.Body) {
		end = f.expr(s.Hi, clike.PrecSum)
	} else {
		f.Line("const int64_t %s = %s;", end, f.expr(s.Hi, 0))
	}
	var sums []string
	split := map[*ir.Var][2]string{}
	for _, r := range s.Reduce {
		switch {
		case !f.leaf.live[r]:
		case r.Typ.IsComplex():
			name := f.Variable(r)
			pair := [2]string{f.Temps.Fresh(name + "_re"), f.Temps.Fresh(name + "_im")}
			split[r] = pair
			f.Line("%s %s = 0, %s = 0;", ctype(clike.Component(r.Typ)), pair[0], pair[1])
			sums = append(sums, pair[0], pair[1])
		default:
			sums = append(sums, f.Variable(r))
		}
	}
	clause := ""
	if len(sums) > 0 {
		clause = " reduction(+ : " + strings.Join(sums, ", ") + ")"
	}
	f.pragma("omp simd%s", clause)
	f.head(s, f.expr(s.Lo, 0), end)
	f.Scoped(func() { f.splitSums(s.Body.List, split) })
	f.Line("}")
	for _, r := range s.Reduce {
		if pair, ok := split[r]; ok {
			f.Line("%s += %s(%s, %s);", f.Variable(r), f.leaf.file.helper("make", r.Typ), pair[0], pair[1])
		}
	}
}

// splitSums prints statements, and splits sums of complex numbers. parts maps a complex variable to
// the names of two scalars, for the real and the imaginary part. An addition to the variable is
// printed as two additions, one to each scalar.
func (f *cfunc) splitSums(list []ir.Stmt, parts map[*ir.Var][2]string) {
	before := f.split
	f.split = parts
	f.stmts(list)
	f.split = before
}

package c

import (
	"slices"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// lineLoop is a vector loop whose store bypasses the caches. The loop collects each whole cache
// line in a local array and then stores the line.
type lineLoop struct {
	function *cfunc
	s        *ir.For
	st       *ir.Store
	n        int64  // number of elements in a line
	v        string // the loop's variable
}

// lineLoop prepares s to be printed as a loop over whole cache lines, which are stored past the
// caches. It returns nil if no store of s bypasses the caches, or if s is known to have fewer
// iterations than a line has elements.
func (f *cfunc) lineLoop(s *ir.For) *lineLoop {
	if !s.Nontemporal {
		return nil
	}
	for _, t := range s.Body.List {
		if st, ok := t.(*ir.Store); ok && !st.Accumulate {
			l := &lineLoop{f, s, st, lineBytes / st.A.Elem.Size(), f.Variable(s.V)}
			if trips, ok := clike.Trips(s); ok && trips < l.n {
				return nil
			}
			return l
		}
	}
	return nil
}

// write prints the loop. Whole cache lines are stored past the caches. The elements before the
// first whole line and after the last one are stored normally. If the loop has a constant length
// that is a multiple of a line, the code is simpler. All lines are then stored past the caches if
// the first element begins a line, and none are otherwise.
func (l *lineLoop) write() {
	l.function.leaf.file.need("line")
	l.function.storeLines = true
	if trips, ok := clike.Trips(l.s); ok && trips%l.n == 0 && l.s.Step == 1 {
		l.function.Line("{")
		l.function.Scoped(func() {
			to := l.address(l.function.expr(l.s.Lo, 0))
			l.function.Line("if (dst_before_line(%s, %d, sizeof(*%s)) == 0) {", to, trips, to)
			l.function.Scoped(func() {
				l.function.pragma("GCC unroll %d", min(trips/l.n, maxCopies))
				lo := l.function.expr(l.s.Lo, 0)
				l.wholeLines(to, lo, lo, l.function.expr(l.s.Hi, 0))
			})
			l.function.Line("} else {")
			l.function.Scoped(func() { l.plain(l.function.expr(l.s.Lo, 0), l.function.expr(l.s.Hi, 0)) })
			l.function.Line("}")
		})
		l.function.Line("}")
		return
	}
	l.function.Line("{")
	l.function.Scoped(func() {
		from, end, head, tail := l.function.Temps.Fresh(l.v+"_from"), l.function.Temps.Fresh(l.v+"_end"),
			l.function.Temps.Fresh(l.v+"_head"), l.function.Temps.Fresh(l.v+"_tail")
		l.function.Line("const int64_t %s = %s;", from, l.function.expr(l.s.Lo, 0))
		l.function.Line("const int64_t %s = %s;", end, l.function.expr(l.s.Hi, 0))
		to := l.address(from)
		l.function.Line("const int64_t %s = %s + dst_before_line(%s, %s - %s, sizeof(*%s));", head, from,
			to, end, from, to)
		l.function.Line("const int64_t %s = %s + (%s - %s) / %d * %d;", tail, head, end, head, l.n, l.n)
		l.plain(from, head)
		l.wholeLines(to, from, head, tail)
		l.plain(tail, end)
	})
	l.function.Line("}")
}

// declare prints the declarations in the loop's body that x depends on. at is the number of the
// iteration, a C expression.
func (l *lineLoop) declare(x ir.Expr, at string) {
	reads := map[*ir.Var]bool{}
	note := func(x ir.Expr) {
		ir.WalkExpr(x, func(x ir.Expr) {
			if v, ok := x.(*ir.Var); ok {
				reads[v] = true
			}
		})
	}
	note(x)
	var needed []ir.Stmt
	for _, t := range slices.Backward(l.s.Body.List) {
		if d, ok := t.(*ir.Declare); ok && reads[d.V] {
			needed = append(needed, d)
			note(d.Init)
		}
	}
	if reads[l.s.V] {
		l.function.Line("const int64_t %s = %s;", l.v, at)
	}
	slices.Reverse(needed)
	l.function.stmts(needed)
}

// address prints the declaration of a variable with the address of the element that an iteration
// stores, and returns the variable's name. origin is the number of this iteration, a C expression.
func (l *lineLoop) address(origin string) string {
	to := l.function.Temps.Fresh(l.function.Array(l.st.A) + "_to")
	l.function.Line("%s *%s;", ctype(l.st.A.Elem), to)
	l.function.Line("{")
	l.function.Scoped(func() {
		l.declare(l.st.Index, origin)
		l.function.Line("%s = %s + %s;", to, l.function.Array(l.st.A),
			l.function.expr(l.st.Index, clike.PrecSum))
	})
	l.function.Line("}")
	return to
}

// wholeLines prints the loop over [lo, hi) as a loop over cache lines. The elements that this range
// stores must fill whole lines. origin is the number of an iteration, and base is the address of
// the element that this iteration stores. The addresses of the other elements are computed from
// base.
func (l *lineLoop) wholeLines(base, origin, lo, hi string) {
	at, lane, line := l.function.Temps.Fresh(l.v+"_line"), l.function.Temps.Fresh("lane"),
		l.function.Temps.Fresh("line")
	l.function.Line("for (int64_t %s = %s; %s < %s; %s += %d) {", at, lo, at, hi, at, l.n)
	l.function.Scoped(func() {
		l.function.Line("%s %s[%d];", ctype(l.st.A.Elem), line, l.n)
		l.function.pragma("omp simd")
		l.function.Line("for (int %s = 0; %s < %d; %s++) {", lane, lane, l.n, lane)
		l.function.Scoped(func() {
			l.declare(l.st.X, at+" + "+lane)
			l.function.Line("%s[%s] = %s;", line, lane, l.function.expr(l.st.X, 0))
		})
		l.function.Line("}")
		l.function.Line("dst_put_line(%s + (%s - %s), %s);", base, at, origin, line)
	})
	l.function.Line("}")
}

// plain prints the loop over [lo, hi) as an ordinary vector loop.
func (l *lineLoop) plain(lo, hi string) {
	l.function.pragma("omp simd")
	l.function.head(l.s, lo, hi)
	l.function.Scoped(func() { l.function.stmts(l.s.Body.List) })
	l.function.Line("}")
}

// endLines prints, at the end of the function, the fence that makes the stored lines visible to
// other threads.
func (f *cfunc) endLines() {
	if f.storeLines {
		f.Line("dst_lines_put();")
	}
}

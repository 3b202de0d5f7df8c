package c

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// Leaves report their progress if the caller asks for it (dst_progress). Each outermost loop counts
// by itself. Its iterations run in strips, and the leaf reports after each strip, so that the code
// of an iteration does not change. A parallel loop over chunks of work has few iterations. In such
// a loop, the loops inside an iteration run in strips.

// share is the part of a chunk's work that belongs to one loop, or to several adjacent loops
// together.
type share struct {
	n, of       int     // this is share n, from 0, of the given number of equal shares
	first, last *ir.For // the share's range is from first.Lo to last.Hi
	from, end   string  // the range in C, after first was printed
}

// shares returns the outermost loops of a block that run in strips, each with its share of the
// block's work. piece is true if the block is in the function of a parallel loop. Consecutive loops
// over adjacent ranges have one share.
func (l *leaf) shares(b *ir.Block, piece bool) map[*ir.For]*share {
	all := map[*ir.For]*share{}
	var list []*share
	var visit func(b *ir.Block)
	visit = func(b *ir.Block) {
		var before *ir.For // the last loop in b with a share
		at := 0            // its index
		for i, s := range b.List {
			switch s := s.(type) {
			case *ir.Block:
				visit(s)
			case *ir.If:
				visit(s.Then)
				if s.Else != nil {
					visit(s.Else)
				}
			case *ir.For:
				if !inStrips(s, piece) {
					continue
				}
				if before != nil && ir.Same(before.Hi, s.Lo) && settled(s.Hi, b.List[at:i]) {
					all[s] = all[before]
					all[s].last = s
				} else {
					all[s] = &share{n: len(list), first: s, last: s}
					list = append(list, all[s])
				}
				before, at = s, i
			}
		}
	}
	visit(b)
	for _, s := range list {
		s.of = len(list)
	}
	return all
}

// inStrips reports whether the outermost loop s may run in strips. It returns false for three kinds
// of loops: loops with a constant number of at most maxCopies iterations, loops with a short body,
// and loops with sums. piece is true if s is in the function of a parallel loop.
func inStrips(s *ir.For, piece bool) bool {
	if s.Kind != ir.Serial && (s.Kind != ir.Parallel || !piece) || len(s.Reduce) > 0 {
		return false
	}
	if n, ok := clike.Trips(s); ok && n <= maxCopies {
		return false
	}
	long := len(s.Body.List) > 2
	ir.Walk(s.Body, func(t ir.Stmt) {
		switch t.(type) {
		case *ir.For, *ir.While, *ir.Gemm, *ir.Call:
			long = true
		}
	})
	return long
}

// settled reports whether the statements in list leave the value of x unchanged: x loads nothing,
// and no statement sets or declares a variable of x.
func settled(x ir.Expr, list []ir.Stmt) bool {
	ok := true
	vars := map[*ir.Var]bool{}
	ir.WalkExpr(x, func(y ir.Expr) {
		switch y := y.(type) {
		case *ir.Var:
			vars[y] = true
		case *ir.Load, *ir.Search:
			ok = false
		}
	})
	for _, s := range list {
		ir.WalkRows(s, func(_ ir.Stmt, r *ir.Row) {
			for v, role := range r.Vars() {
				ok = ok && !(vars[v] && (role == ir.Sets || role == ir.Declares))
			}
		})
	}
	return ok
}

// chunked reports whether the iterations of a parallel loop are chunks of work that report their
// own progress.
func (l *leaf) chunked(s *ir.For) bool {
	return s.Dynamic && s.Chunk == 1 && len(l.shares(s.Body, true)) > 0
}

// bound returns a C expression for a loop bound x. If x is not a literal or a variable that body
// leaves unchanged, bound prints the declaration of a constant with the given name and returns the
// name.
func (f *cfunc) bound(x ir.Expr, name string, body *ir.Block) string {
	switch x.(type) {
	case *ir.Var, *ir.Lit:
		if clike.Stable(x, body) {
			return f.expr(x, clike.PrecSum)
		}
	}
	name = f.Temps.Fresh(name)
	f.Line("const int64_t %s = %s;", name, f.expr(x, 0))
	return name
}

// serialStrips prints a serial loop that runs in strips and reports progress after each strip. part
// is the loop's share of the work. If the loop is inside a chunk of a parallel loop, it reports the
// progress of the chunk. Otherwise it reports its own progress.
func (f *cfunc) serialStrips(s *ir.For, part *share) {
	v := f.Variable(s.V)
	from, end := f.bound(s.Lo, v+"_from", s.Body), f.bound(s.Hi, v+"_end", s.Body)
	if f.toldVar != "" && s == part.first {
		if part.from, part.end = from, end; part.last != s {
			part.end = f.bound(part.last.Hi, v+"_last", s.Body)
		}
	}
	at, size, next := f.Temps.Fresh(v+"_at"), f.Temps.Fresh(v+"_size"), f.Temps.Fresh(v+"_next")
	step := clike.Integer(f, s.Step, 0)
	strip := "dst_begin_strips"
	if f.toldVar != "" {
		strip = "dst_strip"
		f.leaf.file.need("tell")
	}
	f.leaf.file.need("progress")
	f.Line("const int64_t %s = %s(env, %s, %s, %s);", size, strip, from, end, step)
	f.Line("for (int64_t %s = %s; %s < %s; %s += %s) {", at, from, at, end, at, size)
	f.Scoped(func() {
		f.Line("const int64_t %s = %s - %s > %s ? %s + %s : %s;", next, end, at, size, at, size, end)
		f.plainLoop(s, at, next)
		if f.toldVar != "" {
			f.tell(next, part)
		} else {
			f.Line("dst_done(env, %s - %s, %s);", at, from, size)
		}
	})
	f.Line("}")
}

// tell prints the report of a chunk's progress. next is the position that the loops of share s have
// reached.
func (f *cfunc) tell(next string, s *share) {
	done, of := fmt.Sprintf("%s - %s", next, s.from), fmt.Sprintf("%s - %s", s.end, s.from)
	if s.of > 1 {
		done = fmt.Sprintf("%d * (%s) + %s", s.n, of, done)
		of = fmt.Sprintf("%d * (%s)", s.of, of)
	}
	f.Line("dst_tell(env, &%s, %s, %s);", f.toldVar, done, of)
}

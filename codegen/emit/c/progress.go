package c

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// Leaves tell how far they are if their caller asks (dst_progress). Each loop that is in no other
// loop is told as one. Its iterations run in strips, between which the leaf tells what is done, so
// that the code of an iteration does not change. A parallel loop over chunks of work has few
// iterations: there, the loops inside an iteration run in strips.

// share is the part of a chunk's work that a loop is.
type share struct {
	n, of       int     // number n, from 0, of so many parts, which count as equal
	first, last *ir.For // the part's range is that from first.Lo to last.Hi
	from, end   string  // the range in C, once first is printed
}

// shares returns the loops of a block that are in no other loop and run in strips, each with its
// share of the block's work. piece says that the block is in the function of a parallel loop.
// Consecutive loops over adjacent ranges share one share.
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

// inStrips reports whether a loop that is in no other loop may run in strips. It is not if it
// takes no time to speak of, or if its sums are in lanes: their order would be another one.
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

// settled reports whether x has its value before the statements of list, none of which declares or
// changes what it is made of.
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
		ir.Walk(s, func(s ir.Stmt) {
			switch s := s.(type) {
			case *ir.Declare:
				ok = ok && !vars[s.V]
			case *ir.Assign:
				ok = ok && !vars[s.V]
			}
		})
	}
	return ok
}

// chunked reports whether the iterations of a parallel loop are chunks of work, each of which tells
// how far it is.
func (l *leaf) chunked(s *ir.For) bool {
	return s.Dynamic && s.Chunk == 1 && len(l.shares(s.Body, true)) > 0
}

// bound returns the bound x of a loop in C: a variable or a number that body does not change, or else
// a constant of the given name, which it declares.
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

// serialStrips writes a plain loop that tells its progress. One that is in no chunk of a parallel loop
// has a progress of its own.
func (f *cfunc) serialStrips(s *ir.For, part *share) {
	v := f.Variable(s.V)
	from, end := f.bound(s.Lo, v+"_from", s.Body), f.bound(s.Hi, v+"_end", s.Body)
	if f.told != "" && s == part.first {
		if part.from, part.end = from, end; part.last != s {
			part.end = f.bound(part.last.Hi, v+"_last", s.Body)
		}
	}
	at, size, next := f.Temps.Fresh(v+"_at"), f.Temps.Fresh(v+"_size"), f.Temps.Fresh(v+"_next")
	step := clike.Integer(f, s.Step, 0)
	strip := "dst_begin_strips"
	if f.told != "" {
		strip = "dst_strip"
		f.leaf.file.need("tell")
	}
	f.leaf.file.need("progress")
	f.Line("const int64_t %s = %s(env, %s, %s, %s);", size, strip, from, end, step)
	f.Line("for (int64_t %s = %s; %s < %s; %s += %s) {", at, from, at, end, at, size)
	f.Scoped(func() {
		f.Line("const int64_t %s = %s - %s > %s ? %s + %s : %s;", next, end, at, size, at, size, end)
		f.plainLoop(s, at, next)
		if f.told != "" {
			f.tell(next, part)
		} else {
			f.Line("dst_done(env, %s - %s, %s);", at, from, size)
		}
	})
	f.Line("}")
}

// tell writes the line that tells what is done of a chunk, as far as position next of a part of it.
func (f *cfunc) tell(next string, s *share) {
	done, of := fmt.Sprintf("%s - %s", next, s.from), fmt.Sprintf("%s - %s", s.end, s.from)
	if s.of > 1 {
		done = fmt.Sprintf("%d * (%s) + %s", s.n, of, done)
		of = fmt.Sprintf("%d * (%s)", s.of, of)
	}
	f.Line("dst_tell(env, &%s, %s, %s);", f.told, done, of)
}

// beginChunks begins the progress of a parallel loop whose iterations are chunks that tell theirs.
func (f *cfunc) beginChunks(s *ir.For, c *call) {
	f.leaf.file.need("progress")
	n := fmt.Sprintf("%s - %s", c.end, c.begin)
	if s.Step != 1 {
		n = fmt.Sprintf("(%s - 1) / %s + 1", n, clike.Integer(f, s.Step, 0))
	}
	f.Line("dst_begin(env, %s, 1);", n)
}

// beginPieces begins the progress of a parallel loop whose pieces are told, once their length is
// declared.
func (f *cfunc) beginPieces(c *call) {
	if c.told {
		f.leaf.file.need("progress")
		f.Line("dst_begin_pieces(env, %s - %s, %s);", c.end, c.begin, c.size)
	}
}

package c

import (
	"fmt"

	"distaff/codegen/ir"
)

// piece describes the C function that runs a piece of a parallel loop's range.
type piece struct {
	name            string
	arrays          []*ir.Array
	tables          []*ir.Table
	vars            []*ir.Var
	reduce          []*ir.Var // sums that it returns through pointers
	env             bool
	fails           bool
	atomic          bool // it has a parameter that selects atomic stores
	ordered         bool // its iterations have an ordered section
	reportsProgress bool // it reports the progress of each iteration
}

// pieceOf returns the C function that runs a piece of the parallel loop s. When pieceOf is called
// for s the first time, it also prints the C function. outermost is true if s is in no other loop.
func (l *leaf) pieceOf(s *ir.For, outermost bool) *piece {
	if p, ok := l.printed[s]; ok {
		return p
	}
	u := l.usageIn(true, s.Body)
	p := &piece{name: l.pieces[s], env: u.env, fails: u.fails}
	f := l.newFunc()
	if p.reportsProgress = outermost && l.chunked(s); p.reportsProgress {
		f.shares, p.env = l.shares(s.Body, true), true
	}
	f.piece, f.fault = true, "fault"
	f.nameAll(u)
	f.Variable(s.V)
	p.atomic = storesAtomically(s.Body)
	ordered := ir.OrderedOf(s)
	if p.ordered = ordered != nil; p.ordered {
		f.orderedOf, f.changing = s, map[*ir.Array]bool{}
		for _, a := range l.usageIn(true, ordered.Body).arrays {
			f.changing[a] = !a.Const
		}
	}
	reduced := map[*ir.Var]bool{}
	for _, r := range s.Reduce {
		if l.live[r] && u.seen[r] {
			p.reduce = append(p.reduce, r)
			reduced[r] = true
		}
	}
	var params []string
	for _, a := range u.arrays {
		if !u.isMade[a] {
			p.arrays = append(p.arrays, a)
			params = append(params, f.arrayParam(a))
		}
	}
	for _, t := range u.tables {
		if !u.isMade[t] {
			p.tables = append(p.tables, t)
			params = append(params, "dst_array *"+f.table(t))
		}
	}
	for _, v := range u.vars {
		if !u.declared[v] && !reduced[v] && v != s.V {
			p.vars = append(p.vars, v)
			params = append(params, ctype(v.Typ)+" "+f.Variable(v))
		}
	}
	v := f.Variable(s.V)
	begin, end := f.Temps.Fresh(v+"_begin"), f.Temps.Fresh(v+"_end")
	params = append(params, "int64_t "+begin, "int64_t "+end)
	var outs []string
	for _, r := range p.reduce {
		out := f.Temps.Fresh(f.Variable(r) + "_out")
		outs = append(outs, out)
		params = append(params, ctype(r.Typ)+" *"+out)
	}
	if p.env {
		params = append(params, "dst_env *env")
	}
	if p.fails {
		params = append(params, "dst_fault *fault")
	}
	if p.atomic {
		params = append(params, "int shared")
	}
	if p.ordered {
		params = append(params, "dst_ordered *ordered")
	}
	f.declareOwned(u, u.made, u.madeTables)
	for _, r := range p.reduce {
		f.Line("%s %s = 0;", ctype(r.Typ), f.Variable(r))
	}
	f.head(s, begin, end)
	if p.reportsProgress {
		f.toldVar = f.Temps.Fresh(v + "_told")
		f.Scoped(func() {
			f.Line("int64_t %s = 0;", f.toldVar)
			f.stmts(s.Body.List)
			f.Line("dst_tell(env, &%s, 1, 1);", f.toldVar)
		})
	} else {
		f.nested(s.Body)
	}
	f.Line("}")
	f.endLines()
	for i, r := range p.reduce {
		f.Line("*%s = %s;", outs[i], f.Variable(r))
	}
	f.release(u.made, u.madeTables)
	result := "void"
	if p.fails {
		result = "int"
		if f.owns {
			f.Line("return rc;")
		} else {
			f.Line("return 0;")
		}
	}
	unused := ""
	if p.fails && !failsByItself(s.Body) {
		unused = "    (void)fault;\n"
	}
	fmt.Fprintf(&l.file.body, "\n// The loop over %s, from %s up to %s.\n", v, begin, end)
	l.printed[s] = p
	switch {
	case p.atomic:
		// The function has two calls. Each gets a copy, and one copy has no atomic instructions.
		result = "inline __attribute__((always_inline)) " + result
	case p.fails && failsByItself(s.Body):
		// If GCC inlines the calls, it keeps more of the data that a Fail reports in registers: a
		// product of sparse matrices into a given pattern takes 0.95 to 0.96 of the time.
	default:
		// One function for both calls, because a second copy would double the compile time.
		result = "__attribute__((noinline)) " + result
	}
	fmt.Fprintf(&l.file.body, "%s {\n%s%s%s}\n",
		prototype(result, p.name, params), unused, f.numbers.lines(), f.Text())
	return p
}

// failsByItself reports whether b has a Fail statement, which stores coordinates in the fault.
func failsByItself(b *ir.Block) bool {
	found := false
	ir.Walk(b, func(s ir.Stmt) {
		if _, ok := s.(*ir.Fail); ok {
			found = true
		}
	})
	return found
}

// storesAtomically reports whether b has an atomic store.
func storesAtomically(b *ir.Block) bool {
	found := false
	ir.Walk(b, func(s ir.Stmt) {
		if st, ok := s.(*ir.Store); ok && st.Atomic {
			found = true
		}
	})
	return found
}

package c

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// file is a C file that is being printed.
type file struct {
	names   *clike.Namer    // names of functions
	needs   map[string]bool // helpers that are used, in the form of need
	body    strings.Builder
	calls   []*ir.Call // one call of each user function that leaves call
	longest int        // size in bytes of the largest leaf in body, with the functions of its pieces
}

func newFile(names *clike.Namer) *file { return &file{names: names, needs: map[string]bool{}} }

// unknownPragmas turns off warnings of compilers without OpenMP. They ignore the pragmas, and the
// leaf is then serial.
const unknownPragmas = `#ifndef _OPENMP
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif
`

// loopWarning turns off a wrong warning of GCC. GCC unrolls a body, and a later copy may contain an
// empty loop from x + 1 up to x. Because of -fwrapv, GCC supposes that x + 1 may wrap around, and
// warns that the loop would then have too many iterations.
const (
	loopWarning = `#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#endif
`
	unrolled = "unrolled" // the key in file.needs that adds loopWarning
)

// lessOptimized is a pragma that makes GCC optimize less. The reason is that the time of some
// optimizations grows with the square of a function's length. The pragma is printed before the
// prelude if the prelude and the longest leaf together have more than maxOptimized bytes of text.
// An example of such a leaf is a sum of dozens of sparse operands.
const (
	lessOptimized = "#pragma GCC optimize (\"O1\", \"no-dse\")\n"
	maxOptimized  = 150_000
)

func (f *file) text() string {
	prelude := f.prelude()
	text := prelude + f.prototypes() + f.body.String()
	if len(prelude)+f.longest > maxOptimized {
		text = lessOptimized + text
	}
	if f.needs[unrolled] {
		text = loopWarning + text
	}
	return header + unknownPragmas + text + f.userText()
}

// leaf is a leaf that is being printed.
type leaf struct {
	file     *file
	fn       *ir.Func
	symbol   string
	printed  map[*ir.For]*piece
	live     map[*ir.Var]bool     // variables that are read
	assigned map[*ir.Var]bool     // variables that change after their declaration
	computed map[*ir.Var]bool     // variables that hold computed values (isComputed)
	used     map[any]bool         // variables, arrays and tables that a statement uses
	pieces   map[*ir.For]string   // names of the functions of parallel loops
	slots    map[ir.Slot]lateSlot // slots that are published at the end
	order    []*ir.Publish        // one Publish for each of these slots, in order
	tail     bool                 // nothing can fail after the first Publish
	quick    bool                 // its own functions are not optimized (see manyGemms)
	values   []*ir.Lit            // numbers that are read from the environment
}

// lateSlot names the locals that hold an array, and its allocated length, until the array can be
// published.
type lateSlot struct{ name, len string }

func (f *file) leaf(fn *ir.Func) {
	begin := f.body.Len()
	l := &leaf{file: f, fn: fn, symbol: Symbol(fn.Name), pieces: map[*ir.For]string{},
		printed: map[*ir.For]*piece{}}
	l.live, l.assigned = ir.Reads(fn.Body), clike.Assigned(fn.Body)
	l.computed = computedVars(fn.Body)
	if f.names.Unnamed() {
		l.values = values(fn)
	}
	l.used = l.usage(fn.Body).seen
	hasBody := false
	// Functions get their names first, so that no local has the name of a function.
	outer(fn.Body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.For:
			if s.Kind == ir.Parallel {
				l.pieces[s] = f.names.Part(l.symbol, s.V.Name)
				return
			}
			hasBody = true
		case *ir.While:
			hasBody = true
		}
	})
	l.tail = publishesLast(fn.Body)
	l.quick = isMostlyGemms(fn)
	bodyName := ""
	if hasBody {
		bodyName = f.names.Fresh(l.symbol + "_body")
	}
	main := l.main(bodyName)
	f.body.WriteString(main)
	if !l.quick {
		f.longest = max(f.longest, f.body.Len()-begin)
	}
}

// outer calls fn for the statements in s that are not in a parallel loop.
func outer(s ir.Stmt, fn func(ir.Stmt)) {
	fn(s)
	if f, ok := s.(*ir.For); ok && f.Kind == ir.Parallel {
		return
	}
	for _, t := range ir.Inside(s) {
		outer(t, fn)
	}
}

// usage describes what statements use and do.
type usage struct {
	values     []*ir.Lit // the values of the leaf
	vars       []*ir.Var // in the order of their first use
	arrays     []*ir.Array
	tables     []*ir.Table
	declared   map[*ir.Var]bool
	made       []*ir.Array // arrays made by Alloc and Take
	madeTables []*ir.Table
	seen       map[any]bool // the variables, arrays and tables above
	isMade     map[any]bool // arrays and tables that the statements make
	env        bool         // they allocate, free, ask for threads, or read numbers
	fails      bool
	publishes  bool
	piece      bool // the statements are in the function of a parallel loop
}

// usage returns what the given statements of the leaf's own function use. For statements in the
// function of a parallel loop, see usageIn.
func (l *leaf) usage(list ...ir.Stmt) *usage { return l.usageIn(false, list...) }

// usageIn returns what the given statements use. piece is true if the statements are in the
// function of a parallel loop. Parallel loops among them are then serial and need no threads.
func (l *leaf) usageIn(piece bool, list ...ir.Stmt) *usage {
	u := &usage{values: l.values, piece: piece, declared: map[*ir.Var]bool{}, seen: map[any]bool{},
		isMade: map[any]bool{}}
	for _, s := range list {
		ir.WalkRows(s, func(s ir.Stmt, r *ir.Row) {
			if r.IsDead(l.live) {
				return
			}
			u.stmt(s, r)
			for x := range r.Exprs() {
				ir.WalkExpr(x, u.expr)
			}
		})
	}
	return u
}

func (u *usage) stmt(s ir.Stmt, r *ir.Row) {
	for a, role := range r.Arrays() {
		if role == ir.MakesLocal { // no use: one that nothing else uses is left out
			u.isMade[a] = true
			continue
		}
		u.array(a)
		if role == ir.Makes {
			u.make(a)
		}
	}
	for t, role := range r.Tables() {
		u.table(t)
		if role == ir.Makes && !u.isMade[t] {
			u.isMade[t] = true
			u.madeTables = append(u.madeTables, t)
		}
	}
	for v, role := range r.Vars() {
		if role != ir.Sums {
			u.variable(v)
		}
		if role == ir.Declares {
			u.declared[v] = true
		}
	}
	u.env = u.env || r.Traits&(ir.Allocates|ir.Frees) != 0
	u.fails = u.fails || r.Traits&(ir.Allocates|ir.Ends) != 0
	switch s := s.(type) {
	case *ir.For:
		u.env = u.env || s.Kind == ir.Parallel && !u.piece
	case *ir.Publish:
		u.publishes = true
	}
}

func (u *usage) expr(x ir.Expr) {
	switch x := x.(type) {
	case *ir.Var:
		u.variable(x)
	case *ir.Load, *ir.Search:
		u.array(ir.ArrayOf(x))
	case *ir.Lit:
		u.env = u.env || valueOf(u.values, x) >= 0
	}
}

func (u *usage) variable(v *ir.Var) {
	if !u.seen[v] {
		u.seen[v] = true
		u.vars = append(u.vars, v)
	}
}

func (u *usage) array(a *ir.Array) {
	if !u.seen[a] {
		u.seen[a] = true
		u.arrays = append(u.arrays, a)
	}
}

func (u *usage) table(t *ir.Table) {
	if !u.seen[t] {
		u.seen[t] = true
		u.tables = append(u.tables, t)
	}
}

// make records that the statements allocate the array a. It also records that they use the
// environment, because the code that releases the array needs it.
func (u *usage) make(a *ir.Array) {
	u.env = true
	if !u.isMade[a] {
		u.isMade[a] = true
		u.made = append(u.made, a)
	}
}

// publishesLast reports whether nothing can fail after the first Publish in b.
func publishesLast(b *ir.Block) bool {
	first := slices.IndexFunc(b.List, func(s ir.Stmt) bool {
		found := false
		ir.Walk(s, func(s ir.Stmt) {
			_, publishes := s.(*ir.Publish)
			found = found || publishes
		})
		return found
	})
	return first < 0 || !slices.ContainsFunc(b.List[first:], fails)
}

// fails reports whether a statement or a statement inside it may fail.
func fails(s ir.Stmt) bool {
	found := false
	ir.WalkRows(s, func(_ ir.Stmt, r *ir.Row) {
		found = found || r.Traits&(ir.Allocates|ir.Ends) != 0
	})
	return found
}

// slotExpr returns the C expression of a slot of the arguments.
func slotExpr(s ir.Slot) string {
	arg := fmt.Sprintf("t[%d]->", s.Arg)
	level := fmt.Sprintf("%slevels[%d].", arg, s.Level)
	switch s.Field {
	case ir.Vals:
		return arg + "vals"
	case ir.NNZ:
		return arg + "vals.len"
	case ir.End:
		return level + "crd.first + " + level + "crd.len"
	}
	return level + s.Field.String()
}

// rowsExpr returns the arguments of dst_rows for a tensor with dense levels: the array of values,
// and the number of values that precede the array in the whole tensor. This number is a product of
// level sizes, which is written out. Compilers would vectorize a loop over the levels, which takes
// a tenth of the total compile time of a small leaf.
func rowsExpr(s ir.Slot) string {
	t := fmt.Sprintf("t[%d]->", s.Arg)
	first := t + "levels[0].offset"
	for level := range s.Level {
		first += fmt.Sprintf(" * %slevels[%d].size", t, level+1)
	}
	return fmt.Sprintf("&%svals, %s", t, first)
}

// reads reports whether the leaf loads elements of an array or adds to them.
func (l *leaf) reads(a *ir.Array) bool {
	found := false
	ir.WalkRows(l.fn.Body, func(_ ir.Stmt, r *ir.Row) {
		for b, role := range r.Arrays() {
			found = found || b == a && (role == ir.Loads || role == ir.Updates)
		}
		for x := range r.Exprs() {
			ir.WalkExpr(x, func(x ir.Expr) { found = found || ir.ArrayOf(x) == a })
		}
	})
	return found
}

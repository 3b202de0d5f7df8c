package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
)

// Operand is a tensor as the leaf sees it.
type Operand struct {
	Name               string // in the statement
	Arg                int    // index of the leaf's argument; 0 is the result
	Format             format.Format
	Type               ir.Type
	PosWidth, CrdWidth []uint8
	// Rows, of an operand whose levels are all dense: where the sizes of those below the first are
	// compiled in, its values are passed by rows that begin at coordinate 0.
	Rows bool
}

// Spec is what to lower.
type Spec struct {
	Name     string
	Stmt     cin.Stmt
	Vars     []string  // in the order of the leaf's bounds
	Operands []Operand // Operands[0] is the result
	Compute  ir.Type
	// Parts are the variables of a scheduled statement of which a call has a part
	// of the range, and operands that store no more than that; it has the whole of others.
	Parts map[string]bool
	// Chunked, if not "", is the operand of whose entries a call has a chunk: others may store
	// coordinates outside of the ranges of its variables.
	Chunked string
	// Strategy is how loops and workspaces are made, and with what capacity the result begins.
	Strategy *strategy.Value
	// Assembly is how the result is written.
	Assembly strategy.Assembly
	// Adds, of a Dense result: it holds values as the leaf begins, to which all assignments add.
	Adds bool
	// GPU: the leaf is for a GPU. What stands outside of its loops on blocks is the host's.
	GPU bool
	// Share, of a SharedPattern or Mapped result, is the key of the access whose
	// level arrays the result has, down to its last compressed level: values, or
	// blocks of dense levels below, are written at its positions. Of a Mapped result, which
	// has others too, crd[p] of level 0 of the argument behind all operands, as wide as
	// the pos array of the result's last compressed level, is the
	// result's position q for Share's position p, or -1-q where the values there are
	// not set yet.
	Share string
	// Extern is the C function called name that file defines; nil where there are none.
	Extern func(file, name string) (*ir.Extern, error)
	// Note, if not nil, is told of what the schedule says and is done in another way.
	Note func(string)
}

// Refusal is why a schedule cannot be followed, where that shows only as its
// loops are lowered.
type Refusal struct {
	// Var is the variable of the loop that cannot be, as lowering names it: one
	// that the schedule made, or an original one.
	Var string
	Why string
	// Pattern: a result whose level arrays are its own would do.
	Pattern bool
}

func (r *Refusal) Error() string { return r.Why }

// Lowered is a leaf, with what Vectorize knows of its loops.
type Lowered struct {
	Func *ir.Func
	// Windowed are the variables whose loops are merged in windows.
	Windowed map[string]bool
	// Gathered are those whose loops gather in lanes, once Vectorize has run.
	Gathered map[string]bool
	l        *lowerer
}

// Vectorize marks the innermost loops that run in lanes, in place.
func (x *Lowered) Vectorize() { x.l.vectorize(x.Func.Body) }

// Simplify takes out what a schedule's loops compute for nothing, in place. A local
// that is a parameter stays: its name says what the parameter is there.
func (x *Lowered) Simplify() {
	if x.l.derives() {
		params := x.Func.Params
		x.Func.Params = nil
		ir.Simplify(x.Func)
		x.Func.Params = params
	}
}

// Lower makes the leaf of a verified statement. An error is a *Refusal; without
// a schedule there is none.
func Lower(s Spec) (x *Lowered, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Refusal:
			x, err = nil, r
		default:
			panic(r)
		}
	}()
	return lower(s), nil
}

func lower(s Spec) *Lowered {
	l := &lowerer{
		spec: &s, names: map[string]int{}, ops: map[string]*operand{}, bounds: map[string][2]*ir.Var{},
		levels: map[string][]string{}, scalars: map[string]*ir.Var{},
		spaces: map[string]adder{}, segments: map[*ir.For]string{}, over: map[*ir.For]string{},
		cuts: map[*cin.Forall]strategy.Cut{}, early: map[string]bool{},
		before: &ir.Block{}, numbered: map[string]bool{}, computed: map[string]ir.Expr{},
		called: map[string]bool{}, windowed: map[string]bool{}, gathered: map[string]bool{},
		promotions: map[string]bool{}, writtenOnce: map[*ir.Store]bool{}, used: newUsed(),
	}
	l.readSchedule(s.Stmt)
	s.Stmt = cin.Standing(s.Stmt, cin.Relations(s.Stmt))
	l.numbers = strategy.Numbers(s.Stmt)
	f := &ir.Func{Name: s.Name}
	for _, v := range s.Vars {
		b := [2]*ir.Var{l.newVar(v + "_lo"), l.newVar(v + "_hi")}
		l.bounds[v] = b
		f.Bounds = append(f.Bounds, b)
	}
	for _, r := range l.sched.g.Relations() {
		if r.Kind == provenance.Precompute && l.sched.g.MadeBy(r.From[0]) == nil {
			v := l.sched.g.Original(r.From[0])
			l.bounds[r.To[0]] = l.bounds[v]
		}
	}
	for _, o := range s.Operands {
		l.ops[o.Name] = newOperand(l, o)
	}
	lhs := cin.Target(s.Stmt)
	for _, mode := range s.Operands[0].Format.Order {
		l.resultVars = append(l.resultVars, lhs.Vars[mode])
	}
	l.compileIn(lhs)
	cin.Accesses(s.Stmt, l.compileIn)
	f.Body = l.inScope(func() {
		l.out = l.newResult()
		l.assembly = l.newAssembly(s.Assembly)
		inChunks := false
		cin.Walk(s.Stmt, func(s cin.Stmt) {
			f, ok := s.(*cin.Forall)
			inChunks = inChunks || ok && f.Unit == cin.CPUThread && l.assigns(f)
		})
		if cin.Threaded(s.Stmt) || l.hasGemm() && !s.GPU {
			l.threads = l.newVar("threads")
			f.Threads = l.threads
		}
		if s.GPU {
			l.refuseSpaces(s.Stmt)
		}
		e := l.rootEnv(s.Stmt)
		l.checkBounds(e)
		l.checkCounts()
		l.assembly.whole(inChunks, func() {
			l.clearBefore(s.Stmt, e)
			l.stmt(s.Stmt, e.clone(), false)
		})
	})
	f.Body.List = slices.Concat(l.before.List, f.Body.List)
	l.refuseUncalled()
	f.Params = l.params
	slices.SortFunc(f.Params, func(p, q ir.Param) int {
		return cmp.Or(cmp.Compare(p.Slot.Arg, q.Slot.Arg), cmp.Compare(p.Slot.Level, q.Slot.Level),
			cmp.Compare(p.Slot.Field, q.Slot.Field))
	})
	return &Lowered{Func: f, Windowed: l.windowed, Gathered: l.gathered, l: l}
}

// compileIn notes which sizes of an access's levels are compiled in: those along variables whose
// trip count is. A row of such a level is then found by a shift, without a register for its size
// and another for its offset.
func (l *lowerer) compileIn(a *cin.Access) {
	op := l.ops[a.Name]
	if op == nil {
		return
	}
	for level, v := range l.levelVars(a) {
		if t, ok := l.spec.Strategy.Trips[v]; ok {
			op.trips[level] = t.N
		}
	}
}

type lowerer struct {
	spec   *Spec
	names  map[string]int
	ops    map[string]*operand
	bounds map[string][2]*ir.Var
	levels map[string][]string // by access key: the variable of each storage level
	params []ir.Param
	out    *result
	// assembly is how out is written.
	assembly assembly
	// threads is the number of threads; nil where the leaf is serial.
	threads *ir.Var
	// resultVars is the variable of each storage level of the result.
	resultVars []string
	scalars    map[string]*ir.Var // scalar temporaries that producers add to
	spaces     map[string]adder   // workspaces that producers add to
	// made holds the workspaces of the scope at hand, by name: the copies of a
	// where that cases make share one.
	made map[string]workspace
	// places are those of the scope whose sums go to a result with given level arrays.
	places map[string]*ir.Array
	// dense are those of the scope that are filled everywhere or nowhere, or at all positions
	// of a tile.
	dense map[string]*ir.Array

	// own is the part of a variable's range that the thread at hand has: workspaces have places for it
	// alone.
	own map[string]coordRange
	// longRows has the long rows of the parallel loop at hand, where a workspace sums them.
	longRows *longProductRows
	// warps is the number of loops on a GPU's warps around what is emitted.
	warps int
	// numbers are those of the statements, by which the strategy has them, and cuts are
	// those of the loops that lowering itself runs on threads.
	numbers map[cin.Stmt]int
	cuts    map[*cin.Forall]strategy.Cut
	// over has the variable of each loop of the statement, segments those of the loops over segments
	// that are to run in lanes though they gather.
	over     map[*ir.For]string
	segments map[*ir.For]string
	sched    *schedule
	// early has the places of loops inside of one that is split where fetching rows ahead begins to
	// ask for entries past the operand's end: true before that.
	early map[string]bool
	// called are the orders whose functions the code calls, by their text.
	called map[string]bool
	// windowed are the variables whose loops are merged in windows.
	windowed map[string]bool
	// gathered are those whose loops gather in lanes.
	gathered map[string]bool
	// promotions are the scalars that stand for one value of the result.
	promotions map[string]bool
	// writtenOnce are the stores to the caller's memory of values that are written once, unless
	// addsAfter says that statements which follow add to what the first one stored.
	writtenOnce map[*ir.Store]bool
	addsAfter   bool
	// hooks lower loops that lowering itself made.
	hooks map[*cin.Forall]func(*env, bool) ir.Expr

	used used // the lattices of the loops so far

	// before is what runs before all else: it checks that the points of fused spaces can be numbered.
	// numbered are these spaces, by their variables. computed is what else it computes once.
	before   *ir.Block
	numbered map[string]bool
	computed map[string]ir.Expr

	blk *ir.Block // where statements are emitted
	// pre and post are run around the scope at hand, the function or a chunk
	// of it: they hold what is allocated once for all of it.
	pre, post *ir.Block
}

// fresh is a name not used before in the function.
func (l *lowerer) fresh(name string) string {
	n := l.names[name]
	l.names[name] = n + 1
	if n == 0 {
		return name
	}
	return l.fresh(name + "_" + strconv.Itoa(n))
}

func (l *lowerer) newVar(name string) *ir.Var { return ir.NewVar(l.fresh(name), ir.Int64) }

func (l *lowerer) newArray(name string,
	t ir.Type) *ir.Array {
	return ir.NewArray(l.fresh(name), t)
}

// alloc makes an array of n elements, which are 0 if zero says so.
func (l *lowerer) alloc(name string, t ir.Type, n ir.Expr, zero bool) *ir.Array {
	arr := l.newArray(name, t)
	l.emit(&ir.Alloc{A: arr, Len: n, Zero: zero})
	return arr
}

func (l *lowerer) emit(s ir.Stmt) { l.blk.List = append(l.blk.List, s) }

// declare emits an Int64 local that starts out as x.
func (l *lowerer) declare(name string, x ir.Expr) *ir.Var {
	v := l.newVar(name)
	l.emit(&ir.Declare{V: v, Init: x})
	return v
}

// named is x as an expression that costs nothing to repeat: x itself where it
// is a literal or an immutable variable, else a new local of the name.
func (l *lowerer) named(name string, x ir.Expr) ir.Expr {
	if _, ok := x.(*ir.Lit); ok {
		return x
	}
	v := ir.NewVar(l.fresh(name), x.Type())
	l.emit(&ir.Declare{V: v, Init: x})
	return v
}

func (l *lowerer) set(v *ir.Var, x ir.Expr)  { l.emit(&ir.Assign{V: v, X: x}) }
func (l *lowerer) incr(v *ir.Var, x ir.Expr) { l.emit(&ir.Assign{V: v, Accumulate: true, X: x}) }

func (l *lowerer) store(a *ir.Array, i, x ir.Expr) { l.emit(&ir.Store{A: a, Index: i, X: x}) }

// within is the block of what f emits.
func (l *lowerer) within(f func()) *ir.Block {
	outer := l.blk
	l.blk = &ir.Block{}
	f()
	b := l.blk
	l.blk = outer
	return b
}

// when emits f's statements under a condition.
func (l *lowerer) when(cond ir.Expr, f func()) {
	switch {
	case never(cond):
	case always(cond):
		f()
	default:
		if b := l.within(f); len(b.List) > 0 {
			l.emit(&ir.If{Cond: cond, Then: b})
		}
	}
}

func (l *lowerer) while(cond ir.Expr, f func()) {
	l.emit(&ir.While{Cond: cond, Body: l.within(f)})
}

// inScope lowers f with a prologue and epilogue of its own.
func (l *lowerer) inScope(f func()) *ir.Block {
	pre, post, made, dense, places := l.pre, l.post, l.made, l.dense, l.places
	l.pre, l.post, l.made, l.dense, l.places = &ir.Block{}, &ir.Block{}, map[string]workspace{},
		map[string]*ir.Array{}, map[string]*ir.Array{}
	body := l.within(f)
	all := &ir.Block{List: slices.Concat(l.pre.List, body.List, l.post.List)}
	l.pre, l.post, l.made, l.dense, l.places = pre, post, made, dense, places
	return all
}

// stmt lowers s. Where want is set, the result says whether it assigned
// anything, in terms of variables that are visible after what it emitted and
// change no more; otherwise the result is only known to be false where it
// folds to it.
func (l *lowerer) stmt(s cin.Stmt, e *env, want bool) ir.Expr {
	if width := l.rowTile(s); width > 0 && e.ranges[l.spec.Strategy.Row.Var].lo == nil {
		return l.tiled(s, e, width, want)
	}
	switch s := s.(type) {
	case *cin.Forall:
		return l.forall(s, e, want)
	case *cin.Where:
		return l.where(s, e, want)
	case *cin.Assign:
		return l.assign(s, e)
	case *cin.Seq:
		return l.seq(s, e, want)
	}
	panic(fmt.Sprintf("BUG: lower: statement %T", s))
}

// seq lowers statements one after another. Where they assign to the result, it is
// set to 0 before; but the first of those that make all of a scheduled one sets it
// itself.
func (l *lowerer) seq(s *cin.Seq, e *env, want bool) ir.Expr {
	some := ir.Expr(ir.Truth(false))
	list := s.List
	switch {
	case !l.assigns(s):
	case l.derives() && e.res.level == 0 && l.out.op.order() > 0 && !l.out.sparse() && !e.res.zeroed:
		l.addsAfter = true
		some, list = l.stmt(list[0], e.clone(), want), list[1:]
		e.res.zeroed = true
	default:
		l.zero(e)
	}
	for _, t := range list {
		some = ir.Either(some, l.stmt(t, e, want))
	}
	return some
}

func always(p ir.Expr) bool { l, ok := p.(*ir.Lit); return ok && l.I != 0 }
func never(p ir.Expr) bool  { l, ok := p.(*ir.Lit); return ok && l.I == 0 }

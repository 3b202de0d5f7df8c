package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Operand is a tensor as the leaf gets it.
type Operand struct {
	Name               string // its name in the statement
	Arg                int    // index of the leaf's argument; 0 is the result
	Format             tensor.Format
	Type               tensor.Type
	PosWidth, CrdWidth []uint8
	// Rows is for an operand whose levels are all dense. If the sizes of its levels below the first
	// are compiled in, its values are passed as rows that begin at coordinate 0.
	Rows bool
}

// Spec describes a leaf.
type Spec struct {
	Name     string
	Stmt     cin.Stmt
	Vars     []string  // in the order of the leaf's bounds
	Operands []Operand // Operands[0] is the result
	Compute  tensor.Type
	// Parts lists the variables of a scheduled statement for which a call has only a part of the
	// range. The operands then store only this part. A call has the whole range of other variables.
	Parts map[string]bool
	// Chunked, if it is not "", is the operand that calls get in chunks of entries. Other operands
	// may store coordinates outside the ranges of its variables.
	Chunked string
	// Strategy chooses how loops and workspaces are made, and the initial capacity of the result.
	Strategy *strategy.Value
	// Assembly chooses how the result is written.
	Assembly strategy.Assembly
	// Adds, for a Dense result, is true if the result already has values and all assignments add to
	// them.
	Adds bool
	// GPU is true if the leaf is for a GPU. The code outside its loops on blocks runs on the host.
	GPU bool
	// Share, for a SharedPattern or Mapped result, is the key of the access whose level arrays the
	// result uses, down to its last compressed level. Values, or blocks of dense levels, are
	// written at its positions. A Mapped result has further positions. The argument after all
	// operands then has the map, in crd of its level 0, with the width of the pos array of the
	// result's last compressed level: crd[p] is the result's position q for Share's position p, or
	// -1-q if the values there are not set yet.
	Share string
	// Extern returns the C function with the given name that file defines. It is nil if there are
	// no such functions.
	Extern func(file, name string) (*ir.Extern, error)
	// Note, if it is not nil, is called with a message when a part of the schedule is done in
	// another way.
	Note func(string)
}

// Refusal is the reason why a schedule cannot be followed, if it is found only when its loops are
// lowered.
type Refusal struct {
	// Var is the variable of the responsible loop, by its name in lowering: a variable that the
	// schedule made, or an original one.
	Var string
	Why string
	// Pattern is true if the schedule can be followed for a result with its own level arrays.
	Pattern bool
}

func (r *Refusal) Error() string { return r.Why }

// Lowered is a leaf, with the data about its loops that Vectorize needs.
type Lowered struct {
	Func *ir.Func
	// Windowed lists the variables whose loops are merged in windows.
	Windowed map[string]bool
	// Gathered lists the variables whose loops gather in lanes. It is complete after Vectorize.
	Gathered map[string]bool
	l        *lowerer
}

// Vectorize marks the innermost loops that run in lanes, in place.
func (x *Lowered) Vectorize() { x.l.vectorize(x.Func.Body) }

// Simplify removes needless computations of a schedule's loops, in place. It keeps a local variable
// that is only a copy of a parameter, because its name says what the parameter means there.
func (x *Lowered) Simplify() {
	if x.l.hasDerivedVars() {
		params := x.Func.Params
		x.Func.Params = nil
		ir.Simplify(x.Func)
		x.Func.Params = params
	}
}

// Lower returns the leaf of a verified statement. An error is a *Refusal. Without a schedule, err
// is nil.
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
		copies: map[cin.Stmt]*cin.Forall{}, cuts: map[*cin.Forall]strategy.Cut{}, early: map[string]bool{},
		before: &ir.Block{}, numbered: map[string]bool{}, computed: map[string]ir.Expr{},
		called: map[*strategy.Extern]bool{}, windowed: map[string]bool{}, gathered: map[string]bool{},
		promotions: map[string]bool{}, writtenOnce: map[*ir.Store]bool{}, used: newUsed(),
	}
	l.readSchedule(s.Stmt)
	s.Stmt = s.Strategy.Stmt
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

// compileIn records the sizes of an access's levels that are compiled in, because the trip count of
// their variable is. A row of such a level is found by a shift, without registers for its size and
// offset.
func (l *lowerer) compileIn(a *cin.Access) {
	op := l.ops[a.Name]
	if op == nil {
		return
	}
	for level, v := range l.levelVars(a) {
		if n, ok := l.spec.Strategy.Trips[v]; ok {
			op.trips[level] = n
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
	// assembly writes out.
	assembly assembly
	// threads is the number of threads, or nil if the leaf is serial.
	threads *ir.Var
	// resultVars has the variable of each storage level of the result.
	resultVars []string
	scalars    map[string]*ir.Var // scalar temporaries that producers add to
	spaces     map[string]adder   // workspaces that producers add to
	// made has the workspaces of the current scope, by name. If a where is lowered several times
	// for different cases, all its copies share one workspace.
	made map[string]workspace
	// places has the place arrays of the current scope for sums in a result with given level
	// arrays.
	places map[string]*ir.Array
	// dense has the arrays of the current scope for workspaces that are filled everywhere or
	// nowhere, or at all positions of a tile.
	dense map[string]*ir.Array

	// own has the part of a variable's range that belongs to the current thread. Workspaces have
	// places only for this part.
	own map[string]coordRange
	// longRows has the long rows of the current parallel loop, if a workspace sums them.
	longRows *longProductRows
	// warps is the number of loops on a GPU's warps around the current place.
	warps int
	// copies has the loop of the strategy for each loop that lowering made of it. cuts has the cuts
	// of loops that lowering itself puts on threads.
	copies map[cin.Stmt]*cin.Forall
	cuts   map[*cin.Forall]strategy.Cut
	// over has the variable of each emitted loop. segments has the variable of each emitted loop
	// over a segment that runs in lanes although it gathers.
	over     map[*ir.For]string
	segments map[*ir.For]string
	sched    *schedule
	// early is for a loop that is split because inner loops fetch rows ahead. It has the places of
	// these inner loops, with true in the first part, where no fetch reads past the operand's end.
	early map[string]bool
	// called lists the functions that the code calls.
	called map[*strategy.Extern]bool
	// windowed lists the variables whose loops are merged in windows.
	windowed map[string]bool
	// gathered lists the variables whose loops gather in lanes.
	gathered map[string]bool
	// promotions lists the scalars that replace one value of the result.
	promotions map[string]bool
	// writtenOnce lists the stores to the caller's memory of values that are written once. They are
	// not written once if addsAfter is true, because later statements then add to the values that
	// the first statement stored.
	writtenOnce map[*ir.Store]bool
	addsAfter   bool
	// hooks has functions that lower loops which lowering itself made.
	hooks map[*cin.Forall]func(*env, bool) ir.Expr

	used used // the lattices of the loops so far

	// before is the code that runs first. It checks that the points of fused spaces can be
	// numbered. numbered has the spaces that are checked already, by their variables. computed has
	// other expressions that it computes once.
	before   *ir.Block
	numbered map[string]bool
	computed map[string]ir.Expr

	blk *ir.Block // the block that emit appends to
	// pre and post run before and after the current scope, which is the function or a chunk. They
	// allocate and free what is allocated once for the scope.
	pre, post *ir.Block
}

// fresh returns a name that has not been used in the function.
func (l *lowerer) fresh(name string) string {
	n := l.names[name]
	l.names[name] = n + 1
	if n == 0 {
		return name
	}
	return l.fresh(name + "_" + strconv.Itoa(n))
}

func (l *lowerer) newVar(name string) *ir.Var { return ir.NewVar(l.fresh(name), tensor.Int64) }

func (l *lowerer) newArray(name string,
	t tensor.Type) *ir.Array {
	return ir.NewArray(l.fresh(name), t)
}

// alloc allocates an array of n elements. The elements are 0 if zero is true.
func (l *lowerer) alloc(name string, t tensor.Type, n ir.Expr, zero bool) *ir.Array {
	arr := l.newArray(name, t)
	l.emit(&ir.Alloc{A: arr, Len: n, Zero: zero})
	return arr
}

func (l *lowerer) emit(s ir.Stmt) { l.blk.List = append(l.blk.List, s) }

// declare emits the declaration of an Int64 variable with initial value x.
func (l *lowerer) declare(name string, x ir.Expr) *ir.Var {
	v := l.newVar(name)
	l.emit(&ir.Declare{V: v, Init: x})
	return v
}

// named returns x as an expression that costs nothing to repeat: x itself if it is a literal, or
// else a new local variable with the given name.
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

// within returns the block of the statements that f emits.
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

// inScope lowers f in a scope with its own prologue and epilogue.
func (l *lowerer) inScope(f func()) *ir.Block {
	pre, post, made, dense, places := l.pre, l.post, l.made, l.dense, l.places
	l.pre, l.post, l.made, l.dense, l.places = &ir.Block{}, &ir.Block{}, map[string]workspace{},
		map[string]*ir.Array{}, map[string]*ir.Array{}
	body := l.within(f)
	all := &ir.Block{List: slices.Concat(l.pre.List, body.List, l.post.List)}
	l.pre, l.post, l.made, l.dense, l.places = pre, post, made, dense, places
	return all
}

// stmt lowers s. If want is true, it returns the condition that s assigned something, as an
// expression of variables that are visible after s and no longer change. Otherwise the result is
// meaningful only if it folds to false: then nothing was assigned.
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

// seq lowers statements one after another. If they assign to the result, the result is set to 0
// first. In a scheduled leaf whose result is the whole target of s, the first statement sets it to
// 0 itself.
func (l *lowerer) seq(s *cin.Seq, e *env, want bool) ir.Expr {
	some := ir.Expr(ir.Truth(false))
	list := s.List
	switch {
	case !l.assigns(s):
	case l.hasDerivedVars() && e.res.level == 0 && l.out.op.order() > 0 && !l.out.sparse() &&
		!e.res.zeroed:
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

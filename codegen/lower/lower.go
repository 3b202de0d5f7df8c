package lower

import (
	"cmp"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/library"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
)

// Lowered is a leaf, with the facts about its loops that later passes need.
type Lowered struct {
	Func *ir.Func
	// Windowed lists the variables whose loops are merged in windows.
	Windowed map[string]bool
	// Lattices has the merge lattices of the loops. See lattice.Record.
	Lattices string
	// Lanes has the facts that rewrite.Vectorize needs.
	Lanes *rewrite.Lanes
	// scheduled is true if a schedule has made variables.
	scheduled bool
}

// Simplify removes needless computations of a schedule's loops, in place. It keeps a local variable
// that is only a copy of a parameter, because its name says what the parameter means there.
func (x *Lowered) Simplify() {
	if x.scheduled {
		params := x.Func.Params
		x.Func.Params = nil
		ir.Simplify(x.Func)
		x.Func.Params = params
	}
}

// Lower returns the leaf of a verified statement. If the schedule or the strategy asks for
// something impossible, err is a *scope.Refusal, which has the reason.
func Lower(s scope.Spec) (x *Lowered, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *scope.Refusal:
			x, err = nil, r
		default:
			panic(r)
		}
	}()
	return lower(s), nil
}

func lower(s scope.Spec) *Lowered {
	b := emit.New()
	l := &lowerer{spec: &s, b: b}
	l.leaf = &scope.Leaf{Spec: &s, B: b, Args: &tree.Arguments{B: b}, Ops: map[string]*tree.Operand{},
		Bounds: map[string][2]*ir.Var{}, Copies: map[cin.Stmt]*cin.Forall{},
		Numbered: map[string]bool{},
		Called:   map[*strategy.Extern]bool{}, Promotions: map[string]bool{},
		Windowed: map[string]bool{}, Used: lattice.NewRecord(), Stmt: l.stmt, Serial: l.serial}
	l.leaf.Lanes = &rewrite.Lanes{Over: map[*ir.For]string{}, Segments: map[*ir.For]string{},
		Once:  map[*ir.Store]bool{},
		Asked: func(v string) bool { return s.Strategy.Lanes[v] }}
	bounds.ReadSchedule(l.leaf, s.Stmt)
	s.Stmt = cin.Body(s.Stmt)
	f := &ir.Func{Name: s.Name}
	for _, v := range s.Vars {
		b := [2]*ir.Var{l.b.Var(v + "_lo"), l.b.Var(v + "_hi")}
		l.leaf.Bounds[v] = b
		f.Bounds = append(f.Bounds, b)
	}
	for _, r := range l.leaf.Graph.Relations() {
		if r.Kind == provenance.Precompute && l.leaf.Graph.MadeBy(r.From[0]) == nil {
			v := l.leaf.Graph.Original(r.From[0])
			l.leaf.Bounds[r.To[0]] = l.leaf.Bounds[v]
		}
	}
	for _, o := range s.Operands {
		l.leaf.Ops[o.Name] = tree.NewOperand(l.leaf.Args, o)
	}
	lhs := cin.Target(s.Stmt)
	for _, mode := range s.Operands[0].Format.Order {
		l.leaf.ResultVars = append(l.leaf.ResultVars, lhs.Vars[mode])
	}
	l.compileIn(lhs)
	cin.Accesses(s.Stmt, l.compileIn)
	f.Body = l.b.Func(func() {
		l.leaf.Out = l.leaf.NewResult()
		l.assembly = result.NewAssembly(l.leaf.Out, s.Assembly)
		inChunks := false
		cin.Walk(s.Stmt, func(s cin.Stmt) {
			inChunks = inChunks || cin.OnThreads(s) && l.leaf.Assigns(s)
		})
		if cin.Threaded(s.Stmt) || library.HasGemm(l.leaf) && !s.GPU {
			l.leaf.Threads = l.b.Var("threads")
			f.Threads = l.leaf.Threads
		}
		if s.GPU {
			refuseSpaces(l.leaf, s.Stmt)
		}
		e := l.rootEnv(s.Stmt)
		bounds.CheckBounds(e)
		bounds.CheckCounts(l.leaf)
		l.assembly.Whole(inChunks, func() {
			result.ClearBefore(l.assembly, s.Stmt, e)
			l.stmt(s.Stmt, e, false)
		})
	})
	library.RefuseUncalled(l.leaf)
	f.Params = l.leaf.Args.Params
	slices.SortFunc(f.Params, func(p, q ir.Param) int {
		return cmp.Or(cmp.Compare(p.Slot.Arg, q.Slot.Arg), cmp.Compare(p.Slot.Level, q.Slot.Level),
			cmp.Compare(p.Slot.Field, q.Slot.Field))
	})
	if !s.Strategy.Nontemporal || l.addsAfter {
		l.leaf.Lanes.Once = nil
	}
	return &Lowered{Func: f, Windowed: l.leaf.Windowed, Lattices: l.leaf.Used.String(),
		Lanes:     l.leaf.Lanes,
		scheduled: l.leaf.HasDerivedVars()}
}

// rootEnv returns the environment outside all loops.
func (l *lowerer) rootEnv(s cin.Stmt) *scope.Env {
	e := &scope.Env{Leaf: l.leaf, Cur: map[string]*tree.Cursor{},
		Res: scope.ResultCursor{Pos: ir.Int(0), Zeroed: l.spec.Adds}}
	e.OpenCursors(s)
	e.EnterAll(s)
	merge.EnterResult(e)
	return e
}

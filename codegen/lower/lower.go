package lower

import (
	"cmp"
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/rewrite"
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
		spec: &s, b: emit.New(), ops: map[string]*tree.Operand{}, bounds: map[string][2]*ir.Var{},
		levels: map[string][]string{},
		copies: map[cin.Stmt]*cin.Forall{}, cuts: map[*cin.Forall]strategy.Cut{},
		early:    map[string]bool{},
		numbered: map[string]bool{}, positionSpaces: map[*tree.Operand]*positionSpace{},
		called: map[*strategy.Extern]bool{}, windowed: map[string]bool{},
		promotions: map[string]bool{}, used: lattice.NewRecord(),
	}
	l.args = &tree.Arguments{B: l.b}
	l.maker = l.newMaker()
	l.lanes = &rewrite.Lanes{Over: map[*ir.For]string{}, Segments: map[*ir.For]string{},
		Once:  map[*ir.Store]bool{},
		Asked: func(v string) bool { return s.Strategy.Lanes[v] }}
	l.readSchedule(s.Stmt)
	s.Stmt = s.Strategy.Stmt
	f := &ir.Func{Name: s.Name}
	for _, v := range s.Vars {
		b := [2]*ir.Var{l.b.Var(v + "_lo"), l.b.Var(v + "_hi")}
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
		l.ops[o.Name] = tree.NewOperand(l.args, o)
	}
	lhs := cin.Target(s.Stmt)
	for _, mode := range s.Operands[0].Format.Order {
		l.resultVars = append(l.resultVars, lhs.Vars[mode])
	}
	l.compileIn(lhs)
	cin.Accesses(s.Stmt, l.compileIn)
	f.Body = l.b.Func(func() {
		l.out = l.newResult()
		l.assembly = l.newAssembly(s.Assembly)
		inChunks := false
		cin.Walk(s.Stmt, func(s cin.Stmt) {
			f, ok := s.(*cin.Forall)
			inChunks = inChunks || ok && f.Unit == cin.CPUThread && l.assigns(f)
		})
		if cin.Threaded(s.Stmt) || l.hasGemm() && !s.GPU {
			l.threads = l.b.Var("threads")
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
	l.refuseUncalled()
	f.Params = l.args.Params
	slices.SortFunc(f.Params, func(p, q ir.Param) int {
		return cmp.Or(cmp.Compare(p.Slot.Arg, q.Slot.Arg), cmp.Compare(p.Slot.Level, q.Slot.Level),
			cmp.Compare(p.Slot.Field, q.Slot.Field))
	})
	if !s.Strategy.Nontemporal || l.addsAfter {
		l.lanes.Once = nil
	}
	return &Lowered{Func: f, Windowed: l.windowed, Lattices: l.used.String(), Lanes: l.lanes,
		scheduled: l.hasDerivedVars()}
}

// newAssembly returns the implementation of the strategy's assembly.
func (l *lowerer) newAssembly(how strategy.Assembly) assembly {
	r := l.out
	if r.op.Argument.Format.AllDense() != (how == strategy.Dense) {
		panic(fmt.Sprintf("BUG: lower: a result of format %s is to be assembled as %v",
			r.op.Argument.Format, how))
	}
	switch how {
	case strategy.Dense:
		return newDenseResult(r)
	case strategy.SharedPattern:
		return newSharedResult(r)
	case strategy.Mapped:
		return newMappedResult(r)
	case strategy.FixedPattern:
		return newFixedResult(r)
	case strategy.Append:
		return &appendResult{growing{result: r}}
	case strategy.TwoPass:
		return &twoPassResult{growing: growing{result: r}}
	}
	panic(fmt.Sprintf("BUG: lower: assembly %v", how))
}

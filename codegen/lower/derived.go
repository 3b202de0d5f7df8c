package lower

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
)

// A scheduled statement loops over derived variables. The loops of one component (package
// provenance) are lowered together, in one of two ways.
//
// If the loops are in natural order, each loop except the last narrows an interval of the
// component's space: an interval of coordinates, of positions of a tensor's level, or of tile
// numbers. The last loop, which determines the coordinates, is an ordinary loop over the original
// variable, restricted to the interval. It coiterates, merges and assembles like any other loop and
// needs no guard. Sparse operands search for the interval's ends once, before it. An interval of
// positions is also an interval of coordinates, from the coordinate of its first position to the
// first coordinate of the next interval. It therefore includes the coordinates in between that only
// other operands have.
//
// In any other order, the loops count. The last loop computes the candidate coordinates from all
// counts, guards them, and locates every operand there.

func (l *lowerer) readSchedule(s cin.Stmt) {
	l.sched = &schedule{g: &provenance.Graph{}, comps: map[string]*component{}}
	t, ok := s.(*cin.SuchThat)
	if !ok {
		return
	}
	l.sched.g = t.Relations
	for _, r := range t.Relations.Relations() {
		if r.Kind == provenance.Precompute {
			continue
		}
		for _, v := range slices.Concat(r.From, r.To) {
			if l.sched.comps[v] != nil {
				continue
			}
			c := t.Relations.Component(v)
			k := l.sched.comps[c.Roots[0]]
			if k == nil {
				k = &component{c, cin.Natural(t, t.Relations, c)}
			}
			for _, u := range slices.Concat(c.Roots, c.Leaves, []string{v}) {
				l.sched.comps[u] = k
			}
		}
	}
}

// originalLoop lowers a loop over an original variable, according to the schedule and the strategy.
func (l *lowerer) originalLoop(f *cin.Forall, e *env, o strategy.Loop, want bool) ir.Expr {
	if f.Unit == cin.CPUThread {
		if f.Race == cin.Unsaid {
			return l.onThreads(f, e, o, want)
		}
		if some, ok := l.privateLoop(f, e, want); ok {
			return some
		}
		if l.assigns(f) && l.assembly.inOrder() {
			g := *f
			g.Unit, g.Race, g.Chunk = cin.Serial, cin.Unsaid, 0
			return l.parallel(&g, e, o)
		}
	}
	if s, width := l.unrollAndJam(f, e); width > 0 {
		return l.tiled(s, e, width, want)
	}
	return l.serial(f, l.atomicEnv(f, e), want)
}

// atomicEnv returns the environment inside f. Additions to the result are atomic there if
// different iterations may add to the same place.
func (l *lowerer) atomicEnv(f *cin.Forall, e *env) *env {
	if f.Unit.OnGPU() {
		return l.gpuAtomicEnv(f, e)
	}
	if f.Unit != cin.CPUThread {
		return e
	}
	in := e.clone()
	in.threads = true
	if f.Race != cin.Atomics || !l.assigns(f) || !l.hasRaces(f) {
		return in
	}
	by := l.sched.comps[f.Var]
	if e.atomic && e.racing != by {
		by = nil
	}
	in.atomic, in.racing, in.own = true, by, nil
	return in
}

// hasRaces reports whether different iterations of f may write to the same place of the result.
func (l *lowerer) hasRaces(f *cin.Forall) bool {
	return slices.ContainsFunc(l.sched.g.Underived(f.Var),
		func(r string) bool { return !slices.Contains(l.resultVars, r) })
}

// addsToBlock reports whether different iterations of f add to the same block of the result.
func (l *lowerer) addsToBlock(f *cin.Forall, e *env) bool {
	return l.assigns(f) && l.hasRaces(f) && e.res.level < l.out.op.Order()
}

// sumsSingleValue reports whether f sums into a single value of the result.
func (l *lowerer) sumsSingleValue(f *cin.Forall, e *env) bool {
	if !l.assigns(f) {
		return false
	}
	target := cin.Target(f)
	for _, v := range target.Vars {
		// A loop over positions may have reached the place of the result without knowing its
		// coordinates.
		if _, bound := e.coord.get(v); !bound && !slices.Contains(l.resultVars[:e.res.level], v) {
			return false
		}
	}
	single := true
	cin.Walk(f, func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Assign:
			if s.LHS.Name == target.Name && !s.Accumulate {
				single = false
			}
		case *cin.Forall:
			// If threads add atomically, or if the user says that they never meet, they add to the
			// result itself.
			if s.Unit == cin.CPUThread && (s.Race == cin.Atomics || s.Race == cin.IgnoreRaces) &&
				cin.Target(s).Name == target.Name {
				single = false
			}
			if s.Unit.OnGPU() && !sumsAcross(s) && cin.Target(s).Name == target.Name {
				single = false
			}
		}
	})
	return single
}

// promoteToScalar returns f as a where with a scalar in place of the result, if f sums a single
// value of the result. The scalar stays in a register. Otherwise promoteToScalar returns nil.
func (l *lowerer) promoteToScalar(f *cin.Forall, e *env) cin.Stmt {
	if !l.sumsSingleValue(f, e) {
		return nil
	}
	target := cin.Target(f)
	name := l.b.Fresh("sum")
	for l.ops[name] != nil || e.temps.at(name).v != nil {
		name = l.b.Fresh("sum")
	}
	temp := &cin.Access{Name: name}
	producer := cin.Map(f, func(s cin.Stmt) cin.Stmt {
		if a, ok := s.(*cin.Assign); ok && a.LHS.Name == target.Name {
			return &cin.Assign{LHS: temp, Accumulate: true, RHS: a.RHS}
		}
		return s
	})
	l.callInside(f, producer)
	l.promotions[name] = true
	return &cin.Where{Consumer: &cin.Assign{LHS: target, Accumulate: e.res.zeroed, RHS: temp},
		Producer: producer}
}

// bodyOf emits a loop's body. The body has its own scope if the loop runs on threads or on the
// units of a GPU.
func (l *lowerer) bodyOf(f *cin.Forall, fn func()) *ir.Block {
	if f.Unit == cin.GPUWarp {
		l.warps++
		defer func() { l.warps-- }()
	}
	if f.Unit.OnGPU() || f.Unit == cin.CPUThread && f.Race != cin.Unsaid {
		return l.b.InScope(fn)
	}
	return l.b.Within(fn)
}

// setKind marks a loop as parallel, vectorized or unrolled, as the schedule says. It refuses a
// parallel loop if its iterations depend on one another.
func (l *lowerer) setKind(f *cin.Forall, e *env, s *ir.For) *ir.For {
	l.lanes.Over[s] = f.Var
	switch {
	case f.Unit == cin.CPUThread && f.Race != cin.Unsaid:
		s.Kind, s.Chunk, s.Dynamic = ir.Parallel, f.Chunk, f.Chunk > 0
	case f.Unit == cin.CPUVector:
		ir.Walk(s.Body, func(t ir.Stmt) {
			if c, ok := t.(*ir.Call); ok {
				l.refuse(f.Var,
					"the loop over %s cannot run in vector lanes, because it calls %s for one "+
						"iteration at a time",
					f.Var, c.Func.Name)
			}
		})
		if w := e.space(cin.Target(f.Body).Name); w != nil && !hasPlaces(w) {
			l.refuse(f.Var,
				"the loop over %s adds to the workspace %s one entry at a time; vector lanes "+
					"need a workspace that is filled everywhere or nowhere",
				f.Var, cin.Target(f.Body).Key())
		}
		s.Kind = ir.Vector
		l.scalarLanes(f, s.Body)
	case f.Unit.OnGPU():
		l.onGPU(f, s)
	case f.Unroll != 0:
		s.Kind, s.Factor = ir.Unrolled, max(f.Unroll, 0)
		if s.Factor == 0 {
			s.Factor = l.spec.Strategy.Unrolled[f.Var]
		}
		return s
	default:
		return s
	}
	own := map[*ir.Var]bool{}
	ir.Walk(s.Body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Declare:
			own[t.V] = true
		case *ir.For:
			own[t.V] = true
		}
	})
	ir.Walk(s.Body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Assign:
			if own[t.V] || slices.Contains(s.Reduce, t.V) {
				return
			}
			if !t.Accumulate {
				l.refuse(f.Var,
					"iterations of %s cannot run in parallel, because each of them sets %s",
					f.Var,
					t.V.Name)
			}
			if s.Kind == ir.Blocks {
				l.refuse(f.Var,
					"iterations of %s add to the scalar %s, but blocks of a GPU cannot share "+
						"a scalar", f.Var,
					t.V.Name)
			}
			s.Reduce = append(s.Reduce, t.V)
		case *ir.Grow:
			if !own[t.Cap] {
				l.refuse(f.Var,
					"iterations of %s cannot run in parallel, because they append to %s in order",
					f.Var,
					t.A.Name)
			}
		}
	})
	return s
}

// scalarLanes adds a note for the user if the lanes of f cannot run together because of its body.
func (l *lowerer) scalarLanes(f *cin.Forall, body *ir.Block) {
	if l.spec.Note == nil {
		return
	}
	atomic, fails, owned := false, false, false
	ir.Walk(body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Store:
			atomic = atomic || t.Atomic
		case *ir.If: // in the other branch the row belongs to this thread alone
			owned = owned || t.Else != nil && len(t.Else.List) == 1 && atomicStore(t.Else.List[0])
		case *ir.Fail, *ir.Alloc, *ir.Grow:
			fails = true
		}
	})
	switch key := cin.Target(f).Key(); {
	case owned:
		l.spec.Note(fmt.Sprintf(
			"the lanes of %s add to %s one after another in the first and last row of a tile, "+
				"and atomically if another tile has a part of the row", f.Var, key))
	case atomic:
		l.spec.Note(fmt.Sprintf(
			"the lanes of %s add to %s atomically and so one after another; with Temporary "+
				"instead of Atomics they would add together", f.Var, key))
	case fails:
		l.spec.Note(fmt.Sprintf(
			"the lanes of %s run one after another, because an iteration may fail or allocate "+
				"memory",
			f.Var))
	}
}

func atomicStore(s ir.Stmt) bool {
	t, ok := s.(*ir.Store)
	return ok && t.Atomic
}

// hasPlaces reports whether a workspace is an array with a place for each coordinate or position,
// and needs no other bookkeeping.
func hasPlaces(w adder) bool {
	switch w.(type) {
	case *denseSpace, *rowSpace, *positionSpace:
		return true
	}
	return false
}

// countAssigned makes a loop count the iterations that assigned, if the loop's result is wanted and
// its iterations run in parallel. A flag would be set by several of them at the same time. done
// returns the loop's result. It is nil if the loop does not count.
func (p *loop) countAssigned() (done func() ir.Expr) {
	l := p.l
	if !p.want || p.f.Unit == cin.Serial || p.f.Race == cin.Unsaid {
		return nil
	}
	p.count = l.b.Declare("some_"+p.v(), ir.Int(0))
	p.want = false
	return func() ir.Expr { return ir.Less(ir.Int(0), p.count) }
}

// onUnits reports whether a schedule runs the loop itself on threads, in lanes or on a GPU.
func (p *loop) onUnits() bool {
	return p.f.Unit == cin.CPUVector || p.f.Unit.OnGPU() ||
		p.f.Unit == cin.CPUThread && p.f.Race != cin.Unsaid
}

// refuseParallelMerge refuses a loop that merges several operands and is to run in parallel.
func (p *loop) refuseParallelMerge() {
	l := p.l
	if p.onUnits() {
		l.refuse(p.v(),
			"the loop over %s steps through several operands, so it cannot be parallel; split "+
				"or divide it, and parallelize the loop over tiles", p.v())
	}
}

// drivenBy reports whether a statement has values only at entries of the access with the given key.
func drivenBy(s cin.Stmt, key string) bool {
	driven := true
	cin.Walk(s, func(t cin.Stmt) {
		switch t := t.(type) {
		case *cin.Where:
			driven = false
		case *cin.Assign:
			driven = driven && lattice.Annihilates(t.RHS, key)
		}
	})
	return driven
}

package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/cin"
)

// Schedules for GPUs are drawn in two steps. The first step draws commands that change loops. The
// compiler for CPUs applies them one by one, and refused commands are omitted. The second step
// draws units of the GPU for the resulting loops.

// drawLoopCommands draws a schedule of commands that change loops: a shape that is typical for
// GPUs, random commands, or both. It also returns the scheduled statement.
func drawLoopCommands(rng *rand.Rand, p *Prepared, r *codegen.Request) (list []string, s cin.Stmt,
	err error) {
	q := *r
	q.Target.Kind = codegen.CPU
	compile := func(list []string) (cin.Stmt, error) {
		q.Ask.Schedule = list
		u, err := safely(codegen.Compile)(q)
		if err != nil {
			return nil, err
		}
		return u.CIN, nil
	}
	list = []string{"assemble(" + p.Case.Tensors[0].Name + ",Insert)"}
	if rng.IntN(8) == 0 {
		list = []string{"temporaries(" + p.Case.Tensors[0].Name + ")"}
	}
	if s, err = compile(list); err != nil {
		return list, s, err
	}
	apply := func(c string) error {
		next, err := compile(append(slices.Clone(list), c))
		if err == nil {
			list, s = append(list, c), next
		} else if !isRefusal(err) {
			list = append(list, c)
			return err
		}
		return nil
	}
	shape := rng.IntN(4)
	var shaped []string
	switch shape {
	case 0, 1:
		shaped = drawPositions(rng, p, s)
	case 2:
		shaped = drawRows(rng, s)
	}
	for _, c := range shaped {
		if err := apply(c); err != nil {
			return list, s, err
		}
	}
	more := rng.IntN(3)
	if len(shaped) == 0 {
		more = 3 + rng.IntN(7)
	}
	// how many iterations splits may make of one iteration; iterations past a loop's end run, too
	room := 2000
	for try := range more {
		kind, c := drawCommand(rng, p, s, try, false)
		if kind >= slices.Index(commandNames[:], "workspace") && !strings.HasSuffix(c, ",Positions)") ||
			commandNames[kind] == "parallelize" || commandNames[kind] == "assemble" {
			width := 1 + rng.IntN(min(40, room))
			room = max(room/width, 1)
			c = fmt.Sprintf("split(%s,x%d,y%d,%d)", anyLoop(rng, s), try, try, width)
		}
		if err := apply(c); err != nil {
			return list, s, err
		}
	}
	for k, path := range topPaths(s) { // blocks are tiles of iterations
		t, scheduled := s.(*cin.SuchThat)
		if v := path.loops[0].Var; (!scheduled || t.Relations.MadeBy(v) == nil) && rng.IntN(6) > 0 {
			if err := apply(fmt.Sprintf("split(%s,o%d,q%d,%d)", v, k, k, 1+rng.IntN(12))); err != nil {
				return list, s, err
			}
		}
	}
	return list, s, nil
}

// path is the nested loops around an assignment.
type path struct {
	loops []*cin.Forall // the outermost loop is first
	to    *cin.Assign
}

// topPaths returns one path for each outermost loop of a statement.
func topPaths(s cin.Stmt) (list []path) {
	done := map[string]bool{}
	cin.Paths(s, func(loops []*cin.Forall, a *cin.Assign) {
		if len(loops) > 0 && !done[loops[0].Var] {
			done[loops[0].Var] = true
			list = append(list, path{slices.Clone(loops), a})
		}
	})
	return list
}

// loopsOf returns the variables of the loops of s.
func loopsOf(s cin.Stmt) (vars []string) {
	cin.Walk(s, func(t cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok && !slices.Contains(vars, f.Var) {
			vars = append(vars, f.Var)
		}
	})
	return vars
}

func anyLoop(rng *rand.Rand, s cin.Stmt) string {
	vars := loopsOf(s)
	if len(vars) == 0 {
		return "none"
	}
	return vars[rng.IntN(len(vars))]
}

// drawPositions draws commands that iterate over the stored positions of an operand in tiles. The
// positions are the positions of all levels or of the first levels, which are fused, or only of the
// last level. Other loops are inside the tiles or between the loops over tiles. Products may be
// precomputed for a whole tile.
func drawPositions(rng *rand.Rand, p *Prepared, s cin.Stmt) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	var accesses []*cin.Access
	left := cin.Target(s)
	cin.Accesses(s, func(a *cin.Access) {
		if len(a.Vars) > 0 && a.Name != left.Name &&
			p.Case.Tensor(strings.TrimRight(a.Name, "'")) != nil {
			accesses = append(accesses, a)
		}
	})
	if len(accesses) == 0 {
		return nil
	}
	a := accesses[rng.IntN(len(accesses))]
	key := strings.ReplaceAll(a.Key(), "'", "")
	var stored, rest []string
	for _, m := range p.Case.Tensor(strings.TrimRight(a.Name, "'")).Format.Order {
		stored = append(stored, a.Vars[m])
	}
	for _, v := range loopsOf(s) {
		if !slices.Contains(stored, v) {
			rest = append(rest, v)
		}
	}
	add("reorder(%s)", strings.Join(append(slices.Clone(stored), rest...), ","))
	f, fused := stored[len(stored)-1], 1
	if rng.IntN(4) > 0 {
		fused = min(len(stored), 2+rng.IntN(3))
	}
	if fused > 1 {
		from := 0
		if rng.IntN(6) == 0 {
			from = len(stored) - fused
		}
		group := stored[from : from+fused]
		f = group[fused-1]
		for k := fused - 2; k >= 0; k-- {
			add("fuse(%s,%s,f%d)", group[k], f, k)
			f = fmt.Sprintf("f%d", k)
		}
	}
	add("pos(%s,fp,%s)", f, key)
	add("split(fp,b,r,%d)", []int{1 + rng.IntN(9), 6 + rng.IntN(40), 64}[rng.IntN(3)])
	last, order := "r", []string{"b"}
	for k := range rng.IntN(3) {
		t, in := fmt.Sprintf("t%d", k), fmt.Sprintf("n%d", k)
		add("split(%s,%s,%s,%d)", last, t, in, 1+rng.IntN(9))
		order, last = append(order, t), in
	}
	if len(rest) > 0 && rng.IntN(2) == 0 { // a loop over columns around the positions of a tile
		k := rest[len(rest)-1]
		add("split(%s,c0,c1,%d)", k, 1+rng.IntN(5))
		if n := p.Sizes.Vars[k]; rng.IntN(3) == 0 {
			add("bound(c0,c2,%d,MaxConstraint)", n+1)
			add("reorder(%s)", strings.Join(append(order, "c2", "c1", last), ","))
		} else {
			add("reorder(%s)", strings.Join(append(order, "c0", "c1", last), ","))
		}
		return list
	}
	if rng.IntN(6) == 0 {
		add("reorder(%s)", strings.Join(append(order, last), ","))
	}
	if rng.IntN(2) == 0 {
		cin.Paths(s, func(_ []*cin.Forall, x *cin.Assign) {
			has := false
			cin.ExprAccesses(x.RHS, func(b *cin.Access) { has = has || b.Key() == a.Key() })
			if !has {
				return
			}
			add("precompute(%s,%s,%s,pc)",
				strings.ReplaceAll(cin.ExprString(factors(rng, x.RHS, a.Key())), "'", ""), last,
				[]string{last, "w"}[rng.IntN(2)])
		})
		add([]string{"workspace(pc,Positions)", "unroll(w,%[2]d)", "unroll(%[1]s)",
			"split(w,w0,w1,%[2]d)"}[rng.IntN(4)]+"%.0[1]s%.0[2]d", last, 1+rng.IntN(5))
	}
	return list
}

// drawRows draws commands that split the outermost loop into tiles of tiles. They also split the
// innermost loop into parts, or into the parts of its positions that the lanes of a warp visit.
func drawRows(rng *rand.Rand, s cin.Stmt) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	vars := loopsOf(s)
	if len(vars) == 0 {
		return nil
	}
	i, j := vars[0], vars[len(vars)-1]
	add("split(%s,b,r,%d)", i, 1+rng.IntN(40))
	inner, order := "r", []string{"b"}
	if rng.IntN(2) == 0 {
		add("split(r,r0,w,%d)", 1+rng.IntN(8))
		inner, order = "r0", append(order, "w")
	}
	if i == j {
		return list
	}
	in := j
	if rng.IntN(2) == 0 {
		var keys []string
		cin.Accesses(s, func(a *cin.Access) {
			if len(a.Vars) > 0 && slices.Contains(a.Vars, j) {
				keys = append(keys, strings.ReplaceAll(a.Key(), "'", ""))
			}
		})
		if len(keys) > 0 {
			add("pos(%s,jp,%s)", j, keys[rng.IntN(len(keys))])
			in = "jp"
		}
	}
	if rng.IntN(4) == 0 { // parts of a row
		add("%s(%s,n,t,%d)", []string{"split", "divide"}[rng.IntN(2)], in, 1+rng.IntN(40))
		return list
	}
	if rng.IntN(2) == 0 {
		add("%s(%s,n,t,%d)", []string{"split", "divide"}[rng.IntN(2)], in, 1+rng.IntN(40))
		mid := vars[1 : len(vars)-1]
		add("reorder(%s)", strings.Join(append(append(append(order, inner), mid...), "t", "n"), ","))
		if rng.IntN(4) == 0 {
			add("unroll(n,%d)", 1+rng.IntN(4))
		}
	} else if rng.IntN(2) == 0 {
		add("reorder(%s)", strings.Join(append(append(order, inner), vars[1:]...), ","))
	}
	return list
}

// unitDrawer draws units for the loops of a statement. Outermost loops run on blocks, and some
// inner loops on warps and threads. The function try compiles each schedule. If all schedules are
// refused, the last refused schedule is returned.
type unitDrawer struct {
	rng   *rand.Rand
	s     cin.Stmt
	try   func([]string) error
	base  []string   // commands that change loops
	units [][]string // for each of topPaths the variable of the loop, the unit, and the race strategy
}

// meets reports whether iterations of the loop v may add to the same element.
func (d *unitDrawer) meets(v string, a *cin.Assign) bool {
	roots := []string{v}
	if t, ok := d.s.(*cin.SuchThat); ok {
		roots = t.Relations.Underived(t.Relations.ConsumerVar(v))
	}
	return slices.ContainsFunc(roots, func(r string) bool { return !slices.Contains(a.LHS.Vars, r) })
}

// race draws a race strategy for a loop. Mostly it can resolve the races of the loop.
func (d *unitDrawer) race(v string, a *cin.Assign, words ...string) string {
	if !d.meets(v, a) && d.rng.IntN(8) > 0 || d.rng.IntN(12) == 0 {
		return "NoRaces"
	}
	return words[d.rng.IntN(len(words))]
}

func command(v, unit, race string) string {
	return "parallelize(" + v + "," + unit + "," + race +
		")"
}

// list returns the whole schedule.
func (d *unitDrawer) list() []string {
	return slices.Concat(append([][]string{d.base}, d.units...)...)
}

// change tries other units for a path.
func (d *unitDrawer) change(k int, units ...string) error {
	old := d.units[k]
	d.units[k] = units
	err := d.try(d.list())
	if err != nil {
		d.units[k] = old
	}
	return err
}

// draw returns the schedule. The error is the refusal of the last schedule, or any other error of
// the compiler.
func (d *unitDrawer) draw() (list []string, err error) {
	paths := topPaths(d.s)
	if len(paths) == 0 {
		return d.base, d.try(d.base)
	}
	d.units = make([][]string, len(paths))
	for range 3 {
		for k, p := range paths {
			d.units[k] = []string{d.outermost(p)}
		}
		list = d.list()
		if err = d.try(list); err == nil || !isRefusal(err) {
			break
		}
	}
	if err != nil {
		return list, err
	}
	for k, p := range paths {
		if onGrid(d.units[k][0]) {
			continue
		}
		if err := d.threads(k, p, len(paths) == 1); err != nil {
			return d.list(), err
		}
	}
	list = d.list()
	tail := list[len(d.base):]
	d.rng.Shuffle(len(tail), func(a, b int) { tail[a], tail[b] = tail[b], tail[a] })
	return list, d.try(list)
}

// outermost draws a command that runs the outermost loop of a path on blocks. Half of the loops
// that no command made run on all threads of the blocks.
func (d *unitDrawer) outermost(p path) string {
	v := p.loops[0].Var
	c := command(v, "GPUBlock", d.race(v, p.to, d.blockSum(p)))
	t, ok := d.s.(*cin.SuchThat)
	if made := ok && t.Relations.OfLoop(v) != nil; made || d.rng.IntN(2) > 0 {
		return c
	}
	return fmt.Sprintf("%s,%d)", strings.TrimSuffix(c, ")"), 1+d.rng.IntN(600))
}

// blockSum draws a race strategy for a loop on blocks, the outermost loop of a path, whose
// iterations add to one place.
func (d *unitDrawer) blockSum(p path) string {
	if p.to.LHS.Name != cin.Target(d.s).Name || len(p.to.LHS.Vars) == 0 && d.rng.IntN(2) == 0 {
		return "ParallelReduction"
	}
	return "Atomics"
}

// onGrid reports whether a command of outermost runs a loop on all threads of the blocks.
func onGrid(command string) bool { return strings.Count(command, ",") == 3 }

// threads tries to run a loop of a path on threads, and another around it on warps. IgnoreRaces is
// the user's promise that iterations do not race. It is only used around a single loop that itself
// resolves races.
func (d *unitDrawer) threads(k int, p path, single bool) error {
	inner := p.loops[1:]
	if len(inner) == 0 {
		return nil
	}
	cin.Walk(d.s, func(t cin.Stmt) {
		switch t.(type) {
		case *cin.Where, *cin.Seq:
			single = single && d.rng.IntN(4) == 0
		}
	})
	first := p.loops[0].Var
	for range 5 {
		at := max(d.rng.IntN(len(inner)), d.rng.IntN(len(inner)))
		v := inner[at].Var
		race := d.race(v, p.to, "Atomics", "Atomics", "Temporary", "ParallelReduction")
		around := []string{d.blockSum(p)}
		if single && race != "NoRaces" {
			around = append(around, "IgnoreRaces", "IgnoreRaces")
		}
		units := []string{command(first, "GPUBlock", d.race(first, p.to, around...)),
			command(v, "GPUThread", race)}
		if err := d.change(k, units...); err != nil && !isRefusal(err) {
			return err
		} else if err != nil {
			continue
		}
		for try := 0; at > 0 && try < 2; try++ {
			w := inner[d.rng.IntN(at)].Var
			err := d.change(k, append(slices.Clone(units),
				command(w, "GPUWarp", d.race(w, p.to, append(around, "Temporary")...)))...)
			if err == nil {
				return nil
			} else if !isRefusal(err) {
				return err
			}
		}
		return nil
	}
	return nil
}

// sound reports whether a schedule with IgnoreRaces also has a command that resolves races. A
// reduced schedule may lack one.
func sound(list []string) bool {
	text := strings.Join(list, ",")
	return !strings.Contains(text, "IgnoreRaces") || strings.Contains(text, "Atomics") ||
		strings.Contains(text, "Temporary") || strings.Contains(text, "ParallelReduction")
}

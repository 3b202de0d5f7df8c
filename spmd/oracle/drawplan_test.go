package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// planCase is a random job file, whose plan and run are compared.
type planCase struct {
	ranks int
	lines []string // the lines of the file; options of a statement are in its line
}

// String returns the text of the file.
func (c *planCase) String() string { return strings.Join(c.lines, "\n") + "\n" }

// planGen generates job files for plans. Each index variable has a size, and all modes of tensors
// have one of these sizes.
type planGen struct {
	*rand.Rand
	c        *planCase
	sizes    []int64 // the sizes of i, j and k
	alike    bool    // all sizes are equal
	machines []planMachine
	tensors  []*planTensor
}

// planMachine is a declared machine: the names of its levels, and the number of dimensions of each.
type planMachine struct {
	name   string
	levels []string // "" for a plain grid
	dims   []int
}

// planTensor is a declared tensor. modes[m] is the variable whose size mode m has.
type planTensor struct {
	name  string
	modes []int
	order []int // the storage order of the modes
	dense bool
	read  bool // it has values
}

const planVars = "ijk"

func (g *planGen) chance(p float64) bool { return g.Float64() < p }

// add adds a line.
func (g *planGen) add(format string, args ...any) {
	g.c.lines = append(g.c.lines, fmt.Sprintf(format, args...))
}

// randomPlan generates a job file of 1 to 6 items, and a number of ranks from 1 to 9.
func randomPlan(seed, k uint64) *planCase {
	g := &planGen{Rand: rand.New(rand.NewPCG(seed, k^5<<60)), c: &planCase{}}
	g.c.ranks = 1 + g.IntN(9)
	if g.alike = g.chance(0.4); g.alike {
		g.sizes = slices.Repeat([]int64{int64(1 + g.IntN(9))}, 3)
	} else {
		g.sizes = []int64{int64(1 + g.IntN(9)), int64(1 + g.IntN(9)), int64(1 + g.IntN(5))}
	}
	g.machine("M")
	if g.chance(0.4) {
		g.machine("N")
	}
	for n := range 2 + g.IntN(4) {
		g.declare(string(rune('A' + n)))
	}
	if g.chance(0.3) {
		g.tensors = append(g.tensors, &planTensor{name: "c", dense: true, read: true})
		g.add("tensor c from 3")
	}
	depth := 0
	for range 1 + g.IntN(6) {
		switch {
		case depth == 0 && g.chance(0.1):
			g.add("repeat %d {", 1+g.IntN(3))
			depth++
			g.item()
		case depth > 0 && g.chance(0.3):
			g.add("}")
			depth--
		default:
			g.item()
		}
	}
	if depth > 0 {
		g.add("}")
	}
	return g.c
}

// machine declares a grid or a hierarchy.
func (g *planGen) machine(name string) {
	m := planMachine{name: name}
	grid := func(most int) string {
		var dims []string
		n := 1 + g.IntN(most)
		for range n {
			dims = append(dims, fmt.Sprint(1+g.IntN(4)))
		}
		m.dims = append(m.dims, n)
		return strings.Join(dims, ", ")
	}
	text := ""
	switch {
	case g.chance(0.15):
		m.levels = []string{"nodes", "gpus"}
		text = fmt.Sprintf("machine %s: nodes(%s); gpus(%s)", name, grid(2), grid(1))
	case g.chance(0.3):
		m.levels, m.dims = []string{""}, []int{1}
		text = fmt.Sprintf("machine %s(p)", name)
	default:
		m.levels = []string{""}
		text = fmt.Sprintf("machine %s(%s)", name, grid(3))
	}
	g.machines = append(g.machines, m)
	g.add("%s", text)
}

// declare declares a tensor. Most tensors have values.
func (g *planGen) declare(name string) {
	t := &planTensor{name: name, read: g.chance(0.8), dense: g.chance(0.6)}
	for range 1 + g.IntN(3) {
		t.modes = append(t.modes, g.IntN(3))
	}
	if !g.alike { // distinct variables, so that each mode has the size of one variable
		t.modes = slices.Compact(slices.Sorted(slices.Values(t.modes)))
		g.Shuffle(len(t.modes), func(a, b int) { t.modes[a], t.modes[b] = t.modes[b], t.modes[a] })
	}
	var dims []string
	places := int64(1)
	for _, v := range t.modes {
		dims = append(dims, fmt.Sprint(g.sizes[v]))
		places *= g.sizes[v]
	}
	levels := ""
	for range t.modes {
		levels += string("ds"[g.IntN(2)])
	}
	if t.dense {
		levels = strings.Repeat("d", len(t.modes))
	} else if !strings.Contains(levels, "s") {
		levels = levels[1:] + "s"
	}
	t.order = g.Perm(len(t.modes))
	if g.chance(0.6) {
		slices.Sort(t.order)
	}
	text := fmt.Sprintf("tensor %s(%s): %s", name, strings.Join(dims, ", "), levels)
	if !slices.IsSorted(t.order) {
		text += ":" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(t.order)), ","), "[]")
	}
	if g.chance(0.45) {
		text += " place " + g.placement(t)
	}
	if t.read {
		kind := "dense"
		if !t.dense {
			kind = fmt.Sprintf("uniform:%d", g.Int64N(places+1))
		}
		if g.chance(0.2) {
			text += " type float32"
		}
		text += " from " + kind
	}
	g.tensors = append(g.tensors, t)
	g.add("%s", text)
}

// placement draws a placement of a tensor on a machine.
func (g *planGen) placement(t *planTensor) string {
	m := g.machines[g.IntN(len(g.machines))]
	names := strings.Split("x,y,z", ",")[:len(t.modes)]
	left := g.Perm(len(t.modes))
	var levels []string
	stored := g.chance(0.35) // one dimension cuts the entries
	for k, level := range m.levels {
		var dims []string
		for range m.dims[k] {
			switch {
			case stored && g.chance(0.7):
				stored = false
				n := 1 + g.IntN(len(t.modes))
				var cut []string
				for _, mode := range t.order[:n] {
					cut = append(cut, names[mode])
				}
				if left = nil; n == 1 {
					dims = append(dims, "~"+cut[0])
				} else {
					dims = append(dims, "~("+strings.Join(cut, ",")+")")
				}
			case len(left) > 0 && g.chance(0.6):
				dims = append(dims, names[left[0]])
				left = left[1:]
			case g.chance(0.6):
				dims = append(dims, "*")
			default:
				dims = append(dims, "0")
			}
		}
		if level == "" {
			level = m.name
		}
		levels = append(levels, fmt.Sprintf("(%s) -> %s(%s)", strings.Join(names, ","), level,
			strings.Join(dims, ",")))
	}
	return strings.Join(levels, "; ")
}

// item adds a statement, a place or a print.
func (g *planGen) item() {
	t := g.tensors[g.IntN(len(g.tensors))]
	switch {
	case g.chance(0.15) && t.read && len(t.modes) > 0:
		g.add("place %s %s", t.name, g.placement(t))
	case g.chance(0.08) && t.read:
		g.add("print %s", t.name)
	default:
		g.statement()
	}
}

// access draws an access to a tensor, and returns its text and its variables.
func (g *planGen) access(t *planTensor) (text string, vars []int) {
	if len(t.modes) == 0 {
		return t.name, nil
	}
	vars = slices.Clone(t.modes)
	if g.alike {
		for n, v := range g.Perm(3)[:len(vars)] {
			vars[n] = v
		}
	}
	return t.name + "(" + planNames(vars) + ")", vars
}

// planNames returns the names of variables, separated by commas.
func planNames(vars []int) string {
	var names []string
	for _, v := range vars {
		names = append(names, planVars[v:v+1])
	}
	return strings.Join(names, ",")
}

// statement adds a statement over tensors that have values, with a block schedule or a distributed
// schedule.
func (g *planGen) statement() {
	var read []*planTensor
	for _, t := range g.tensors {
		if t.read {
			read = append(read, t)
		}
	}
	if len(read) == 0 {
		return
	}
	var accesses []string
	var all []int
	stored := map[string][]int{} // for each sparse tensor the variables of its levels
	for range 1 + g.IntN(3) {
		t := read[g.IntN(len(read))]
		text, vars := g.access(t)
		accesses, all = append(accesses, text), append(all, vars...)
		for _, m := range t.order {
			if !t.dense {
				stored[t.name] = append(stored[t.name], vars[m])
			}
		}
	}
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	right := strings.Join(accesses, []string{" * ", " * ", " + "}[g.IntN(3)])
	target, left := g.target(all)
	op := "="
	if g.chance(0.15) {
		op = "+="
	}
	lines := []string{fmt.Sprintf("%s %s %s", left, op, right)}
	switch n := g.IntN(10); {
	case n < 3 && len(all) > 0:
		lines = append(lines, g.blocks(all)...)
	case n < 6 && len(all) > 0:
		lines = append(lines, g.distributed(all, stored)...)
	}
	g.add("%s", strings.Join(lines, "\n  "))
	target.read = true
	if !slices.Contains(g.tensors, target) {
		g.tensors = append(g.tensors, target)
	}
}

// target draws the left side of a statement, and returns its tensor and its text. The left side has
// some of the given variables. The tensor is a declared one or a new one.
func (g *planGen) target(all []int) (*planTensor, string) {
	for _, t := range g.tensors {
		text, vars := g.access(t)
		if g.chance(0.35) && !slices.ContainsFunc(vars,
			func(v int) bool { return !slices.Contains(all, v) }) {
			return t, text
		}
	}
	t := &planTensor{name: fmt.Sprintf("T%d", len(g.tensors)), dense: true}
	for _, k := range g.Perm(len(all))[:g.IntN(len(all)+1)] {
		t.order, t.modes = append(t.order, len(t.modes)), append(t.modes, all[k])
	}
	if len(t.modes) == 0 {
		return t, t.name
	}
	return t, t.name + "(" + planNames(t.modes) + ")"
}

// blocks draws a block schedule.
func (g *planGen) blocks(all []int) (lines []string) {
	var cut []string
	for _, v := range all {
		if g.chance(0.6) {
			cut = append(cut, planVars[v:v+1])
			lines = append(lines, fmt.Sprintf("split %c:%d", planVars[v], 1+g.IntN(5)))
		}
	}
	if len(cut) > 0 && g.chance(0.6) {
		lines = append(lines, "map "+strings.Join(cut, ","))
	}
	if len(cut) > 0 && g.chance(0.3) {
		lines = append(lines, "extend "+cut[g.IntN(len(cut))])
	}
	return lines
}

// distributed draws a schedule that distributes loops.
func (g *planGen) distributed(all []int, stored map[string][]int) []string {
	m := g.machines[g.IntN(len(g.machines))]
	dims := []string{}
	for k, level := range m.levels {
		for n := range m.dims[k] {
			if level == "" {
				dims = append(dims, m.name+"."+string("xyz"[n]))
			} else {
				dims = append(dims, m.name+"."+level+"."+string("xyz"[n]))
			}
		}
	}
	perm := g.Perm(len(all))
	var commands, outer, rest []string
	for n, k := range perm {
		v := planVars[all[k] : all[k]+1]
		if n < len(dims) && (n == 0 || g.chance(0.5)) {
			commands = append(commands, fmt.Sprintf("divide(%s,%so,%si,%s)", v, v, v, dims[n]))
			outer, rest = append(outer, v+"o"), append(rest, v+"i")
		} else {
			rest = append(rest, v)
		}
	}
	for name, vars := range stored {
		if len(stored) > 1 || g.chance(0.4) {
			continue
		}
		if v := planVars[vars[0] : vars[0]+1]; len(vars) == 1 {
			commands = []string{fmt.Sprintf("pos(%s,q,%s)", v, name)}
		} else {
			commands = []string{fmt.Sprintf("fuse(%s,%c,f)", v, planVars[vars[1]]),
				fmt.Sprintf("pos(f,q,%s)", name)}
		}
		return append(commands, fmt.Sprintf("divide(q,qo,qi,%s)", dims[0]), "distribute(qo)")
	}
	if len(outer)+len(rest) > 1 {
		commands = append(commands, "reorder("+strings.Join(slices.Concat(outer, rest), ",")+")")
	}
	for _, v := range outer {
		commands = append(commands, "distribute("+v+")")
	}
	for _, t := range g.tensors {
		if g.chance(0.2) && len(t.modes) > 0 {
			commands = append(commands, fmt.Sprintf("communicate(%s,%s)", t.name, outer[len(outer)-1]))
		}
	}
	return commands
}

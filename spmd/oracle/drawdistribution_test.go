package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"distaff/codegen/notation"
	"distaff/codegen/place"
)

// maxLeafRuns is the approximate largest number of times that the loops over ranks run the leaf.
const maxLeafRuns = 120

// distributer draws a distribution for a case.
type distributer struct {
	*rand.Rand
	p       *Prepared
	bare    bool // all loops over chunks run outside the leaf
	turns   bool // the leaf's loops get a random order
	machine *place.Machine
	dims    []int64
	names   []string // the names of the dimensions in commands, such as M.x
	runs    int64    // how often the loops that were drawn so far run the leaf

	commands []string
	outer    []string          // loops over chunks and single coordinates, outermost first
	inner    []string          // loops of the leaf
	made     []string          // the loops in outer over chunks, which can be rotated
	singles  []string          // the loops in outer over single coordinates, all of them distributed
	over     []string          // for each dimension of the machine the variable that is cut there, or ""
	left     map[string]string // for each variable the loop that remains for the leaf after cuts
	stored   *notation.Access  // the access whose entries are cut; nil if none is
	levels   int               // the number of stored's outer levels whose positions are cut
	fused    map[string]string // for each variable of these levels the leaf's loop that includes it
	n        int               // number of loops that were named
}

func (d *distributer) chance(p float64) bool { return d.Float64() < p }

func (d *distributer) add(format string, args ...any) {
	d.commands = append(d.commands, fmt.Sprintf(format, args...))
}

// drawDistribution draws a machine, a number of ranks, a schedule without commands of the leaf, and
// placements. left maps a variable of the statement to its loop in the leaf. If bare is true, no
// command changes the leaf, because the leaf might refuse it.
func drawDistribution(r *rand.Rand, p *Prepared, bare bool) (out *Distribution,
	left map[string]string) {
	d := &distributer{Rand: r, p: p, bare: bare, turns: !bare && r.IntN(8) == 0, runs: 1,
		left: map[string]string{}}
	d.drawMachine()
	d.over = make([]string, len(d.dims))
	vars := d.variables()
	some := slices.Clone(vars)
	d.Shuffle(len(some), func(a, b int) { some[a], some[b] = some[b], some[a] })
	some = some[:min(len(some), 1+d.IntN(3))]
	switch {
	case d.positions(vars):
		some = slices.DeleteFunc(some, func(v string) bool { return d.fused[v] != "" })
		d.loops(vars, some)
	case len(some) > 0 && d.chance(0.35):
		d.compound(some)
	default:
		d.loops(vars, some)
	}
	d.others()
	out = &Distribution{Machine: d.machine.String(), Commands: d.commands, Placements: d.placements()}
	switch points := d.machine.Points(); {
	case points < 10 && d.chance(0.5):
		out.Ranks = int(points)
	default:
		out.Ranks = 1 + d.IntN(9)
	}
	return out, d.left
}

// drawMachine draws a grid, or a hierarchy of two grids.
func (d *distributer) drawMachine() {
	grid := func(most int) []int64 {
		g := make([]int64, 1+d.IntN(most))
		for k := range g {
			g[k] = int64(1 + d.IntN(3))
		}
		return g
	}
	d.machine = &place.Machine{Name: "M", Grids: []place.Grid{{Extents: grid(3)}}}
	if d.chance(0.3) {
		d.machine.Grids = []place.Grid{{Name: "nodes", Extents: grid(2)},
			{Name: "gpus", Extents: grid(2)}}
	}
	d.dims = d.machine.Dims()
	for _, g := range d.machine.Grids {
		for k := range g.Extents {
			name := string("xyz"[k])
			if d.chance(0.3) {
				name = fmt.Sprint(k)
			}
			if g.Name != "" {
				name = g.Name + "." + name
			}
			d.names = append(d.names, "M."+name)
		}
	}
}

// variables returns the statement's variables with the names that the user wrote. Mostly it omits
// variables that cannot be cut.
func (d *distributer) variables() []string {
	var out []string
	all := d.chance(0.05)
	for _, v := range d.p.Normal.Vars {
		name := userVar(d.p, v)
		times := 0
		for _, w := range d.p.Normal.Vars {
			if userVar(d.p, w) == name {
				times++
			}
		}
		if !slices.Contains(out, name) && (all || times == 1 && isSplittable(d.p, name)) {
			out = append(out, name)
		}
	}
	return out
}

func userVar(p *Prepared, v string) string {
	if s, ok := p.Normal.Source[v]; ok {
		return s
	}
	return v
}

// size returns the largest size of the variables that the user wrote as name.
func (d *distributer) size(name string) int64 {
	n := int64(0)
	for _, v := range d.p.Normal.Vars {
		if userVar(d.p, v) == name {
			n = max(n, d.p.Sizes.Vars[v])
		}
	}
	return n
}

// fresh returns new names for the loop over the chunks of a variable and for the loop within a
// chunk.
func (d *distributer) fresh(v string) (outer, inner string) {
	d.n++
	return fmt.Sprintf("%so%d", v[:1], d.n), fmt.Sprintf("%si%d", v[:1], d.n)
}

// cut draws a divide or a split of the loop that remains of v, unless the leaf would run too often.
func (d *distributer) cut(v string) {
	if d.left[v] == "" {
		d.left[v] = v
	}
	o, i := d.fresh(v)
	n := int64(1 + d.IntN(4))
	text := fmt.Sprint(n)
	command := "divide"
	switch size := d.size(v); {
	case d.chance(0.3):
		k := d.IntN(len(d.dims))
		n, text = d.dims[k], d.names[k]
	case d.chance(0.1): // more chunks than coordinates
		n = size + 1 + d.Int64N(3)
		text = fmt.Sprint(n)
	case d.chance(0.4):
		command = "split"
		n = (size-1)/n + 1
	}
	if d.runs*n > maxLeafRuns {
		return
	}
	d.runs *= max(n, 1)
	d.add("%s(%s,%s,%s,%s)", command, d.left[v], o, i, text)
	d.outer, d.made = append(d.outer, o), append(d.made, o)
	d.left[v] = i
}

// single moves the loop that remains of v outside the leaf, as a loop over single coordinates that
// will be distributed. It returns false if the leaf would run too often.
func (d *distributer) single(v string) bool {
	n := max(d.size(v), 1)
	if d.runs*n > maxLeafRuns || len(d.singles) == len(d.dims) {
		return false
	}
	d.runs *= n
	if d.left[v] == "" {
		d.left[v] = v
	}
	d.outer, d.singles = append(d.outer, d.left[v]), append(d.singles, d.left[v])
	delete(d.left, v)
	return true
}

// compound draws the form of distribute that also cuts variables. It distributes them over the
// whole machine or, with one command for each grid, over a hierarchy.
func (d *distributer) compound(some []string) {
	grids := d.machine.Grids
	if len(grids) > 1 && d.chance(0.3) {
		grids = []place.Grid{{Extents: d.dims}}
	}
	base := 0
	for _, g := range grids {
		name := "M"
		if g.Name != "" {
			name += "." + g.Name
		}
		var from, outer, inner []string
		for k, v := range some[:min(len(some), len(g.Extents))] {
			if d.left[v] == "" {
				d.left[v] = v
			}
			o, i := d.fresh(v)
			from, outer, inner = append(from, d.left[v]), append(outer, o), append(inner, i)
			d.left[v], d.over[base+k] = i, v
			d.runs *= g.Extents[k]
		}
		list := func(x []string) string { return "{" + strings.Join(x, ",") + "}" }
		d.add("distribute(%s,%s,%s,%s)", list(from), list(outer), list(inner), name)
		d.outer, d.made = append(d.outer, outer...), append(d.made, outer...)
		base += len(g.Extents)
	}
	fixed := len(d.outer)
	for _, v := range some {
		if d.chance(0.5) {
			d.cut(v)
		}
	}
	d.order(d.outer[:fixed], d.outer[fixed:])
}

// loops cuts variables and distributes some of the resulting loops. It also distributes some
// variables without cutting them.
func (d *distributer) loops(vars, some []string) {
	for _, v := range some {
		if d.chance(0.12) && d.single(v) {
			continue
		}
		d.cut(v)
		if d.chance(0.25) && d.left[v] != v {
			d.cut(v)
		}
	}
	d.Shuffle(len(d.outer), func(a, b int) { d.outer[a], d.outer[b] = d.outer[b], d.outer[a] })
	d.order(nil, d.outer)
	list := slices.DeleteFunc(slices.Clone(d.outer),
		func(o string) bool { return slices.Contains(d.singles, o) })
	d.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	list = append(slices.Clone(d.singles), list...)
	list = list[:min(len(list), max(1+d.IntN(len(d.dims)), len(d.singles)))]
	for k, o := range list {
		if strings.HasPrefix(o, "posn") {
			d.over[k] = storedOver
		} else if v := slices.IndexFunc(vars, func(v string) bool { return v[:1] == o[:1] }); v >= 0 {
			d.over[k] = vars[v]
		}
	}
	if len(list) > 1 && d.chance(0.4) {
		d.add("distribute({%s})", strings.Join(list, ","))
		return
	}
	for _, o := range list {
		d.add("distribute(%s)", o)
	}
}

// storedOver is the element of distributer.over if the entries of a tensor are cut.
const storedOver = "~"

// positions cuts the entries of a tensor that is a factor of every term of the statement. It
// reports whether it did: there may be no tensor of this kind, and it does so only sometimes.
func (d *distributer) positions(vars []string) bool {
	d.fused = map[string]string{}
	if !d.chance(0.4) {
		return false
	}
	var list []*notation.Access
	for _, a := range d.p.Parsed.Accesses() {
		if t := d.p.Case.Tensor(a.Name); t != nil && len(a.Vars) > 0 && d.everywhere(a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return false
	}
	a := list[d.IntN(len(list))]
	f := d.p.Case.Tensor(a.Name).Format
	var names []string // the variable of each level
	for l, m := range f.Order {
		v := a.Vars[m]
		if slices.Contains(names, v) || !slices.Contains(vars, v) || !isSplittable(d.p, v) {
			break
		}
		names = append(names, v)
		caps := f.Levels[l]
		if caps.IsPadded() {
			break
		}
		if !caps.CanLocate() && (caps.IsUnique() || l == len(f.Levels)-1) &&
			(d.levels == 0 || d.chance(0.7)) {
			d.levels = l + 1
		}
	}
	if d.levels == 0 {
		return false
	}
	names = names[:d.levels]
	d.stored = a
	at, last := names[0], names[len(names)-1]
	if d.levels > 1 && d.chance(0.3) { // cut ranges of coordinates first
		o, i := d.fresh(at)
		n := int64(1 + d.IntN(3))
		d.add("divide(%s,%s,%s,%d)", at, o, i, n)
		d.outer, d.made, at, d.runs = append(d.outer, o), append(d.made, o), i, d.runs*n
	}
	if d.levels > 1 && d.chance(0.3) { // do not fuse the loops over the levels above
		for _, v := range names[:len(names)-1] {
			d.fused[v] = v
		}
		d.fused[names[0]], at = at, last
	} else {
		for k, v := range names[1:] {
			d.add("fuse(%s,%s,fused%d)", at, v, k)
			at = fmt.Sprintf("fused%d", k)
		}
	}
	d.add("pos(%s,posn,%s)", at, a)
	at = "posn"
	for n := range 1 + d.IntN(2) {
		k := d.IntN(len(d.dims))
		o, i, count, text := fmt.Sprintf("posno%d", n), fmt.Sprintf("posni%d", n), d.dims[k], d.names[k]
		if d.chance(0.5) {
			count = int64(1 + d.IntN(5))
			text = fmt.Sprint(count)
		}
		d.add("divide(%s,%s,%s,%s)", at, o, i, text)
		d.outer, d.made, at, d.runs = append(d.outer, o), append(d.made, o), i, d.runs*count
	}
	for _, v := range names {
		if d.fused[v] == "" {
			d.fused[v] = at
		}
	}
	d.fused[last] = at
	return true
}

// everywhere reports whether the access a is a factor of every term, has distinct variables, and is
// the only access to its tensor.
func (d *distributer) everywhere(a *notation.Access) bool {
	for k, v := range a.Vars {
		if slices.Contains(a.Vars[:k], v) {
			return false
		}
	}
	for _, t := range d.p.Normal.Terms {
		other := false // another access, perhaps because a separate sum renames its variables
		notation.WalkTerm(t, func(e notation.Expr) bool {
			b, ok := e.(*notation.Access)
			other = other || ok && b.Name == a.Name && !slices.Equal(a.Vars, b.Vars)
			return !other
		})
		if other || !slices.ContainsFunc(t.Factors, func(f notation.Factor) bool {
			b, ok := f.(*notation.Access)
			return ok && b.Name == a.Name && slices.Equal(a.Vars, b.Vars)
		}) {
			return false
		}
	}
	return true
}

// order sets the order of the loops over ranks: the arguments first and then rest. It mostly draws
// one reorder that moves these loops outside, and otherwise several (swap).
func (d *distributer) order(first, rest []string) {
	d.outer = slices.Concat(first, rest)
	d.inner = nil
	for _, v := range d.p.Normal.Vars {
		name := userVar(d.p, v)
		if l, ok := d.fused[name]; ok {
			if !slices.Contains(d.inner, l) {
				d.inner = append(d.inner, l)
			}
			continue
		}
		if l, ok := d.left[name]; ok && !slices.Contains(d.inner, l) {
			d.inner = append(d.inner, l)
		} else if !ok && !slices.Contains(d.outer, name) && !slices.Contains(d.inner, name) {
			d.inner = append(d.inner, name)
		}
	}
	for _, v := range d.p.Normal.Vars {
		if name := userVar(d.p, v); d.left[name] == "" && slices.Contains(d.inner, name) {
			d.left[name] = name
		}
	}
	all := slices.Concat(d.outer, d.inner)
	if d.turns {
		d.Shuffle(len(d.inner), func(a, b int) { d.inner[a], d.inner[b] = d.inner[b], d.inner[a] })
	}
	switch {
	case len(d.outer) == 0 || len(all) < 2:
	case d.chance(0.3):
		d.swap()
	default:
		d.add("reorder(%s)", strings.Join(slices.Concat(d.outer, d.inner), ","))
	}
}

// swap moves the loops over ranks outside with reorders of two loops each. These reorders do not
// name all loops, and do not fix the order of the leaf's loops.
func (d *distributer) swap() {
	mixed := slices.Clone(d.outer)
	for k, v := range d.inner {
		low := 0 // the first index after the previous inner loop
		if k > 0 {
			low = slices.Index(mixed, d.inner[k-1]) + 1
		}
		mixed = slices.Insert(mixed, low+d.IntN(len(mixed)-low+1), v)
	}
	d.add("reorder(%s)", strings.Join(mixed, ","))
	for k, v := range d.outer {
		if at := slices.Index(mixed, v); at != k {
			d.add("reorder(%s,%s)", v, mixed[k])
			mixed[k], mixed[at] = mixed[at], mixed[k]
		}
	}
}

// others draws communicate commands and rotate commands, in either order.
func (d *distributer) others() {
	if len(d.outer) == 0 {
		return
	}
	if d.chance(0.5) {
		d.communicates()
		d.rotates()
		return
	}
	d.rotates()
	d.communicates()
}

func (d *distributer) communicates() {
	for k, t := range d.p.Case.Tensors {
		at := d.outer[d.IntN(len(d.outer))]
		if d.bare && k == 0 {
			at = d.outer[len(d.outer)-1]
		} else if d.chance(0.4) {
			continue
		}
		last := len(d.commands) - 1
		if list, ok := strings.CutSuffix(d.commands[last], "},"+at+")"); ok &&
			strings.HasPrefix(list, "communicate(") {
			d.commands[last] = list + "," + t.Name + "}," + at + ")"
			continue
		}
		d.add("communicate({%s},%s)", t.Name, at)
	}
}

func (d *distributer) rotates() {
	for k := len(d.outer) - 1; k > 0; k-- {
		if !slices.Contains(d.made, d.outer[k]) || d.chance(0.6) {
			continue
		}
		by := slices.Clone(d.outer[:k])
		d.Shuffle(k, func(a, b int) { by[a], by[b] = by[b], by[a] })
		by = by[:1+d.IntN(min(k, 2))]
		d.add("rotate(%s,{%s},%sr)", d.outer[k], strings.Join(by, ","), d.outer[k])
		d.outer[k] += "r"
	}
}

// placements draws placements for some tensors. Half of them are aligned with the distribution of
// the tensor's variables.
func (d *distributer) placements() []string {
	var out []string
	for _, t := range d.p.Case.Tensors {
		if len(t.Dims) == 0 || d.chance(0.4) {
			continue
		}
		modes := strings.Split("u,v,w,x,y", ",")[:len(t.Dims)]
		var levels []string
		base, aligned := 0, d.chance(0.5)
		used := map[string]bool{}
		for _, g := range d.machine.Grids {
			if !used["stored"] {
				for _, m := range modes {
					used[m] = false
				}
			}
			var dims []string
			for k, n := range g.Extents {
				dims = append(dims, d.dim(t, modes, base+k, n, aligned, used))
			}
			name := g.Name
			if name == "" {
				name = "M"
			}
			levels = append(levels, fmt.Sprintf("(%s) -> %s(%s)", strings.Join(modes, ","), name,
				strings.Join(dims, ",")))
			base += len(g.Extents)
		}
		out = append(out, t.Name+strings.Join(levels, "; "))
	}
	return out
}

// dim draws the placement of a tensor along dimension k of the machine.
func (d *distributer) dim(t *Tensor, modes []string, k int, extent int64, aligned bool,
	used map[string]bool) string {
	mode := modes[d.IntN(len(modes))]
	if !used["cut"] && (d.over[k] == storedOver && aligned && t.Name == d.stored.Name ||
		!aligned && d.chance(0.1)) {
		levels := 1 + d.IntN(len(modes))
		if d.over[k] == storedOver && aligned {
			levels = d.levels
		}
		var names []string
		for _, m := range t.Format.Order[:levels] {
			names = append(names, modes[m])
		}
		for _, m := range modes {
			used[m] = true
		}
		used["cut"], used["stored"] = true, true
		return "~(" + strings.Join(names, ",") + ")"
	}
	if aligned {
		mode = ""
		for _, a := range append(d.p.Parsed.Accesses(), d.p.Parsed.LHS) {
			if m := slices.Index(a.Vars, d.over[k]); a.Name == t.Name && m >= 0 {
				mode = modes[m]
			}
		}
	}
	if mode != "" && !used[mode] && d.chance(0.75) {
		used[mode], used["cut"] = true, true
		return mode
	}
	if d.chance(0.5) {
		return "*"
	}
	return fmt.Sprint(d.Int64N(extent))
}

// Package distribute takes the commands that distribute a statement over the ranks of a machine off
// its schedule. What they say becomes a place.Nest: the loops that run over ranks, those that run
// in order around others that do, and the chunks of index variables that the loops go through. What
// is left of the schedule is for the leaf, the statement over one chunk of each variable.
//
// The language is that of source 002, section 3.3, and of source 001 where loops go through the
// positions of a tensor.
//
// # Files
//
//	peel.go     Peel, and what each command does
//	loops.go    the variables and their loops, and how commands change them
//	nest.go     which loops are peeled, and which cannot be
//	machine.go  the numbers that commands give, and the machine in them
//	cuts.go     the numbers of chunks, and where they begin
//	stored.go   loops over the positions of a tensor
//	leaf.go     the commands of the leaf
package distribute

import (
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/format"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// Statement is what a schedule is peeled for.
type Statement struct {
	// its variables, in the order of its loops without a schedule, outermost first
	Loops    []string
	Sizes    map[string]int64 // of each of them
	Tensors  []string         // the names that communicate may use
	Accesses []Access         // of its right side, whose positions loops may go through
}

// Access is an access of a statement.
type Access struct {
	Tensor string
	Vars   []string // by mode
	Format format.Format
	// Beside is a term of the statement that is not zero wherever the access has no entry; "" for
	// none.
	Beside string
}

// Peel takes the distribution commands, and those that make their loops, off a schedule for machine
// m. Without a distribute nothing is distributed, and Peel returns nil. Errors are *diag.Error with
// the place.
func Peel(list []*schedule.Command, m *place.Machine, s Statement) (*place.Nest, error) {
	first := slices.IndexFunc(list, func(c *schedule.Command) bool { return c.Name == "distribute" })
	if first < 0 {
		return nil, nil
	}
	p := &peeling{statement: s, machine: m, vars: map[string]*variable{},
		over: make([]*variable, len(m.Dims()))}
	for _, name := range s.Loops {
		v := &variable{name: name, dim: -1}
		p.vars[name] = v
		p.loops = append(p.loops, v)
	}
	for _, c := range list {
		if err := p.command(c); err != nil {
			return nil, err
		}
	}
	return p.nest(list[first])
}

// peeling is a schedule while its commands are read.
type peeling struct {
	statement Statement
	machine   *place.Machine

	vars    map[string]*variable // all that there are or were, by name
	loops   []*variable          // those that have a loop, outermost first
	over    []*variable          // by dimension of the machine, the one that is distributed over it
	brought []string             // tensors that a communicate names
	read    []step
	peeled  []*variable // the outermost of loops; known when all commands are read
	stored  *stored     // the positions that peeled loops go through; nil for none
}

// step is a command that may have a part in the leaf's schedule.
type step struct {
	*schedule.Command
	cut       *cut        // of split and divide
	reordered []*variable // of reorder: the loops that it names
	before    []*variable // and all loops before it
}

// refuse is the refusal of a command, or of an argument of it.
func refuse(at interface{ Refuse(string) error }, format string, args ...any) error {
	return at.Refuse(diag.Sprintf(format, args...))
}

func (p *peeling) command(c *schedule.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	switch c.Name {
	case "split", "divide":
		return p.strip(c)
	case "reorder":
		return p.reorder(c)
	case "distribute":
		return p.distribute(c)
	case "communicate":
		return p.communicate(c)
	case "rotate":
		return p.rotate(c)
	}
	return p.ofLeaf(c)
}

// items are the elements of an argument in braces, or the argument itself.
func items(a schedule.Arg) []schedule.Arg {
	if a.List != nil {
		return a.List
	}
	return []schedule.Arg{a}
}

// strip is split or divide.
func (p *peeling) strip(c *schedule.Command) error {
	if p.computes(c.Args[0]) {
		return p.ofLeaf(c)
	}
	v, err := p.looped(c, c.Args[0])
	if err != nil {
		return err
	}
	n, err := p.number(c, c.Args[3])
	if err != nil {
		return err
	}
	_, err = p.cut(c, v, c.Args[1], c.Args[2], n)
	if err == nil {
		p.read = append(p.read, step{Command: c, cut: v.cut})
	}
	return err
}

// distribute distributes loops, or cuts variables for a grid and distributes the loops over chunks.
func (p *peeling) distribute(c *schedule.Command) error {
	switch len(c.Args) {
	case 1:
		for _, a := range items(c.Args[0]) {
			v, err := p.asked(c, a)
			if err != nil {
				return err
			}
			dim := slices.Index(p.over, nil)
			if dim < 0 {
				return refuse(a,
					"distribute: the machine %s has a loop over each of its dimensions already, and none is left for %s", p.machine, v.name)
			}
			if err := p.put(c, a, v, dim); err != nil {
				return err
			}
		}
		return nil
	case 4:
		return p.compound(c)
	}
	return refuse(c,
		"distribute: got %s, want distribute(i) or distribute({i, j}, {io, jo}, {ii, ji}, M)",
		diag.Count(len(c.Args), "argument"))
}

// compound is distribute({i,j}, {io,jo}, {ii,ji}, M): the loops over chunks go inside those that
// are distributed already, and outside all others.
func (p *peeling) compound(c *schedule.Command) error {
	from, outer, inner := items(c.Args[0]), items(c.Args[1]), items(c.Args[2])
	if len(from) == 0 || len(outer) != len(from) || len(inner) != len(from) {
		return refuse(c, "distribute: got %s, %d outer and %d inner ones, want as many of each",
			diag.Count(len(from), "variable"), len(outer), len(inner))
	}
	base, extents, err := p.grid(c.Args[3])
	if err != nil {
		return err
	}
	if len(from) > len(extents) {
		return refuse(c.Args[0], "distribute: got %s for the %s of %s", diag.Count(len(from), "variable"),
			diag.Count(len(extents), "dimension"), c.Args[3].Text)
	}
	var made []*variable
	for k := range from {
		v, err := p.asked(c, from[k])
		if err != nil {
			return err
		}
		x, err := p.cut(c, v, outer[k], inner[k], extents[k])
		if err != nil {
			return err
		}
		made = append(made, x.outer)
	}
	rest := slices.DeleteFunc(slices.Clone(p.loops),
		func(v *variable) bool { return slices.Contains(made, v) })
	at := 0
	for k, v := range rest {
		if v.dim >= 0 {
			at = k + 1
		}
	}
	p.loops = slices.Insert(rest, at, made...)
	for k, v := range made {
		if err := p.put(c, from[k], v, base+k); err != nil {
			return err
		}
	}
	return nil
}

// put distributes the loop over v over a dimension of the machine.
func (p *peeling) put(c *schedule.Command, at schedule.Arg, v *variable, dim int) error {
	if v.dim >= 0 {
		return refuse(at, "distribute: the loop over %s is distributed already", v.name)
	}
	if w := p.over[dim]; w != nil {
		return refuse(at,
			"distribute: the loop over %s is distributed over dimension %d of the machine %s already",
			w.name, dim, p.machine)
	}
	p.over[dim], v.dim, v.by = v, dim, c
	return nil
}

func (p *peeling) communicate(c *schedule.Command) error {
	v, err := p.asked(c, c.Args[1])
	if err != nil {
		return err
	}
	for _, a := range items(c.Args[0]) {
		switch {
		case !slices.Contains(p.statement.Tensors, a.Text):
			return refuse(a, "communicate: got %s, want a tensor of the statement: %s", a.Text,
				strings.Join(p.statement.Tensors, ", "))
		case slices.Contains(p.brought, a.Text):
			return refuse(a, "communicate: %s is named twice; its pieces are brought by one loop", a.Text)
		}
		p.brought = append(p.brought, a.Text)
		v.communicate = append(v.communicate, a.Text)
	}
	if v.by == nil {
		v.by = c
	}
	return nil
}

// rotate puts the loop over another variable in the place of that over chunks.
func (p *peeling) rotate(c *schedule.Command) error {
	v, err := p.asked(c, c.Args[0])
	if err != nil {
		return err
	}
	if v.kind != outerOf {
		return refuse(c.Args[0], "rotate: %s is no loop over chunks that divide or split made", v.name)
	}
	r := &variable{kind: rotated, made: c, by: c, dim: v.dim, communicate: v.communicate, turned: v}
	if len(items(c.Args[1])) == 0 {
		return refuse(c.Args[1], "rotate: got no variables to rotate %s by", v.name)
	}
	for _, a := range items(c.Args[1]) {
		w, err := p.asked(c, a)
		switch {
		case err != nil:
			return err
		case w == v:
			return refuse(a, "rotate: %s cannot be rotated by itself", v.name)
		case slices.Contains(r.plus, w):
			return refuse(a, "rotate: %s stands twice", w.name)
		}
		r.plus = append(r.plus, w)
	}
	if err := p.declare(c, c.Args[2], r); err != nil {
		return err
	}
	if v.dim >= 0 {
		p.over[v.dim] = r
	}
	v.gone = c
	p.loops[slices.Index(p.loops, v)] = r
	return nil
}

// reorder gives the loops that it names a new order among their places.
func (p *peeling) reorder(c *schedule.Command) error {
	var named []*variable
	for _, a := range c.Args {
		if p.computes(a) {
			return p.ofLeaf(c)
		}
		v, err := p.looped(c, a)
		if err != nil {
			return err
		}
		if slices.Contains(named, v) {
			return refuse(a, "reorder: %s stands twice", v.name)
		}
		named = append(named, v)
	}
	p.read = append(p.read, step{Command: c, reordered: named, before: p.loops})
	p.loops = permuted(p.loops, named)
	return nil
}

// permuted is list with the variables that are named in their order, at the places that they had.
func permuted(list, named []*variable) []*variable {
	out := slices.Clone(list)
	next := 0
	for k, v := range list {
		if slices.Contains(named, v) {
			out[k] = named[next]
			next++
		}
	}
	return out
}

// Package distribute removes from a schedule the commands that distribute a statement over the
// ranks of a machine. The result is a place.Nest. It contains the loops over ranks, the sequential
// loops around them, and the chunks of index variables that these loops visit. The remaining
// commands are for the leaf, which is the statement over one chunk of each variable.
//
// The language is the one of DISTAL (2022), section 3.3. For loops over the positions of a tensor
// it is the one of SpDISTAL (2022).
//
// # Files
//
//	peel.go     Peel, and the effect of each command
//	loops.go    the variables and their loops, and how commands change them
//	nest.go     which loops are peeled, and which cannot be
//	machine.go  the numbers and machines in commands
//	cuts.go     the numbers and starts of chunks
//	stored.go   loops over the positions of a tensor
//	leaf.go     the commands of the leaf
package distribute

import (
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// Statement describes the statement of a schedule.
type Statement struct {
	// Loops lists its variables in the order of its loops without a schedule, outermost first.
	Loops    []string
	Sizes    map[string]int64 // by variable
	Tensors  []string         // the names that communicate may use
	Accesses []Access         // accesses of the right side, whose positions loops may visit
}

// Access is an access of a statement.
type Access struct {
	Tensor string
	Vars   []string // by mode
	Format tensor.Format
	// Beside is a term of the statement that may be nonzero at coordinates that the access does not
	// store. It is "" if there is none.
	Beside string
}

// Peel removes the distribution commands from a schedule for machine m, together with the commands
// that make the distributed loops. It returns the nest of these loops, or nil if the schedule has
// no distribute command. Errors are *diag.Error with the place.
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

// peeling is the state while the commands of a schedule are read in order. It has the loops that
// are peeled off from the leaf.
type peeling struct {
	statement Statement
	machine   *place.Machine

	vars    map[string]*variable // all variables so far, by name
	loops   []*variable          // the variables that have a loop, outermost first
	over    []*variable          // by dimension of the machine: the variable distributed over it
	brought []string             // the tensors that a communicate names
	read    []step
	// the loops at the start of loops that are peeled; set when all commands are read
	peeled []*variable
	stored *stored // the positions that peeled loops visit, or nil
}

// step is a command that may be part of the leaf's schedule.
type step struct {
	*schedule.Command
	cut       *cut        // for split and divide
	reordered []*variable // for reorder: the loops that it names
	before    []*variable // for reorder: all loops before it
}

// refuse returns a refusal of a command or of one of its arguments.
func refuse(at interface{ Refuse(string) error }, format string, args ...any) error {
	return at.Refuse(diag.Sprintf(format, args...))
}

func (p *peeling) command(c *schedule.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	switch c.Name {
	case "split", "divide":
		return p.splitOrDivide(c)
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

// items returns the elements of an argument in braces, or the argument itself.
func items(a schedule.Arg) []schedule.Arg {
	if a.List != nil {
		return a.List
	}
	return []schedule.Arg{a}
}

// splitOrDivide applies a split or divide command to the loops.
func (p *peeling) splitOrDivide(c *schedule.Command) error {
	if p.computesWorkspace(c.Args[0]) {
		return p.ofLeaf(c)
	}
	v, err := p.loopVariable(c, c.Args[0])
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

// distribute applies a distribute command. It distributes existing loops, or cuts variables for a
// grid and distributes the loops over the chunks.
func (p *peeling) distribute(c *schedule.Command) error {
	switch len(c.Args) {
	case 1:
		for _, a := range items(c.Args[0]) {
			v, err := p.toPeel(c, a)
			if err != nil {
				return err
			}
			dim := slices.Index(p.over, nil)
			if dim < 0 {
				return refuse(a,
					"distribute: each dimension of the machine %s already has a loop, so that "+
						"%s has none; want fewer loops", p.machine, v.name)
			}
			if err := p.distributeOver(c, a, v, dim); err != nil {
				return err
			}
		}
		return nil
	case 4:
		return p.cutAndDistribute(c)
	}
	return refuse(c,
		"distribute: got %s, want distribute(i) or distribute({i, j}, {io, jo}, {ii, ji}, M)",
		tensor.Count(len(c.Args), "argument"))
}

// cutAndDistribute applies distribute({i,j}, {io,jo}, {ii,ji}, M). It puts the loops over chunks
// directly inside the innermost loop that is already distributed, or outermost if there is none.
func (p *peeling) cutAndDistribute(c *schedule.Command) error {
	from, outer, inner := items(c.Args[0]), items(c.Args[1]), items(c.Args[2])
	if len(from) == 0 || len(outer) != len(from) || len(inner) != len(from) {
		return refuse(c,
			"distribute: got %s, %d outer and %d inner ones; want the same number of each",
			tensor.Count(len(from), "variable"), len(outer), len(inner))
	}
	base, extents, err := p.grid(c.Args[3])
	if err != nil {
		return err
	}
	if len(from) > len(extents) {
		return refuse(c.Args[0],
			"distribute: got %s for the %s of %s; want one variable for each dimension",
			tensor.Count(len(from), "variable"),
			tensor.Count(len(extents), "dimension"), c.Args[3].Text)
	}
	var made []*variable
	for k := range from {
		v, err := p.toPeel(c, from[k])
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
		if err := p.distributeOver(c, from[k], v, base+k); err != nil {
			return err
		}
	}
	return nil
}

// distributeOver distributes the iterations of v's loop among the ranks along dimension dim of the
// machine. It returns an error if the loop is already distributed, or if another loop is
// distributed over dim. c is the distribute command, and at is its argument that an error names.
func (p *peeling) distributeOver(c *schedule.Command, at schedule.Arg, v *variable, dim int) error {
	if v.dim >= 0 {
		return refuse(at, "distribute: the loop over %s is already distributed", v.name)
	}
	if w := p.over[dim]; w != nil {
		return refuse(at,
			"distribute: the loop over %s is already distributed over dimension %d of the "+
				"machine %s; want one loop for each dimension",
			w.name, dim, p.machine)
	}
	p.over[dim], v.dim, v.by = v, dim, c
	return nil
}

func (p *peeling) communicate(c *schedule.Command) error {
	v, err := p.toPeel(c, c.Args[1])
	if err != nil {
		return err
	}
	for _, a := range items(c.Args[0]) {
		switch {
		case !slices.Contains(p.statement.Tensors, a.Text):
			return refuse(a, "communicate: got %s, want a tensor of the statement: %s", a.Text,
				strings.Join(p.statement.Tensors, ", "))
		case slices.Contains(p.brought, a.Text):
			return refuse(a,
				"communicate: got %s twice; want each tensor only once, in one loop", a.Text)
		}
		p.brought = append(p.brought, a.Text)
		v.communicate = append(v.communicate, a.Text)
	}
	if v.by == nil {
		v.by = c
	}
	return nil
}

// rotate applies a rotate command. It replaces a loop over chunks by a loop that visits the same
// chunks in a rotated order. The values of other loop variables determine the first chunk.
func (p *peeling) rotate(c *schedule.Command) error {
	v, err := p.toPeel(c, c.Args[0])
	if err != nil {
		return err
	}
	if v.kind != outerOf {
		return refuse(c.Args[0],
			"rotate: got %s, want a loop over chunks made by divide or split", v.name)
	}
	r := &variable{kind: rotated, made: c, by: c, dim: v.dim, communicate: v.communicate, turned: v}
	if len(items(c.Args[1])) == 0 {
		return refuse(c.Args[1],
			"rotate: got no variables to rotate %s by; want at least one", v.name)
	}
	for _, a := range items(c.Args[1]) {
		w, err := p.toPeel(c, a)
		switch {
		case err != nil:
			return err
		case w == v:
			return refuse(a, "rotate: %s cannot be rotated by itself; want other variables", v.name)
		case slices.Contains(r.plus, w):
			return refuse(a, "rotate: got %s twice; want each variable once", w.name)
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

// reorder puts the loops that the command names into the command's order. The named loops only
// exchange their places. The other loops do not move.
func (p *peeling) reorder(c *schedule.Command) error {
	var named []*variable
	for _, a := range c.Args {
		if p.computesWorkspace(a) {
			return p.ofLeaf(c)
		}
		v, err := p.loopVariable(c, a)
		if err != nil {
			return err
		}
		if slices.Contains(named, v) {
			return refuse(a, "reorder: got %s twice; want each variable once", v.name)
		}
		named = append(named, v)
	}
	p.read = append(p.read, step{Command: c, reordered: named, before: p.loops})
	p.loops = permuted(p.loops, named)
	return nil
}

// permuted returns list with the elements of subset rearranged in the order that they have in
// subset. Together they occupy the same indices as before. The other elements do not move.
func permuted(list, subset []*variable) []*variable {
	out := slices.Clone(list)
	next := 0
	for k, v := range list {
		if slices.Contains(subset, v) {
			out[k] = subset[next]
			next++
		}
	}
	return out
}

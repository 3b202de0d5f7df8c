package distribute

import (
	"slices"
	"strings"

	"distaff/codegen/notation"
	"distaff/codegen/schedule"
)

// variable is an index variable.
type variable struct {
	name string
	kind kind
	made *schedule.Command // nil: a variable of the statement
	gone *schedule.Command // the command that put other loops in the place of its own, if any
	leaf *schedule.Command // the first command of the leaf that names its loop, if any

	cut  *cut // what cuts it, if any
	from *cut // outerOf, innerOf: what made it

	parts []*variable // leafs: those that fuse or pos made it of; nil of others
	place *variable   // leafs: the one whose loop its own takes the place of; nil for a workspace's

	turned *variable   // rotated: the variable whose loop it stands for
	plus   []*variable // rotated: those by whose values turned is rotated

	by          *schedule.Command // why the loop is peeled; nil: nothing asks for it
	dim         int               // the dimension of the machine over which it is distributed, or -1
	communicate []string
}

// kind says what a variable is.
type kind byte

const (
	original kind = iota // of the statement
	outerOf              // the number of a chunk of another
	innerOf              // another variable, within a chunk
	rotated              // the number of a chunk, rotated
	// made by a command of the leaf: a fused or position variable, or a workspace's
	leafs
)

// origin is the variable that v was made of; nil for one of the statement.
func (v *variable) origin() *variable {
	if v.from != nil {
		return v.from.of
	}
	return v.place
}

// cut is a cut of a variable into chunks: n of even size, or of n coordinates each.
type cut struct {
	of, outer, inner *variable
	even             bool
	n                int64
	by               *schedule.Command
}

// declare gives v the name that an argument has.
func (p *peeling) declare(c *schedule.Command, a schedule.Arg, v *variable) error {
	if !notation.IsName(a.Text) {
		return refuse(a, "%s: got %s, want a name for a new variable", c.Name, a.Text)
	}
	if p.vars[a.Text] != nil || slices.Contains(p.statement.Tensors, a.Text) {
		return refuse(a, "%s: the name %s is in use", c.Name, a.Text)
	}
	v.name = a.Text
	p.vars[v.name] = v
	return nil
}

// looped is an argument as a variable that has a loop.
func (p *peeling) looped(c *schedule.Command, a schedule.Arg) (*variable, error) {
	v := p.vars[a.Text]
	if v != nil && v.gone != nil {
		return nil, refuse(a, "%s: %s was replaced, by %s", c.Name, v.name, v.gone)
	}
	if v == nil || !slices.Contains(p.loops, v) {
		return nil, refuse(a, "%s: got %s, want a variable that the statement loops over: %s", c.Name,
			a.Text, strings.Join(names(p.loops), ", "))
	}
	return v, nil
}

// asked is an argument as a variable whose loop a command asks to peel: no command of the leaf may
// have named it before.
func (p *peeling) asked(c *schedule.Command, a schedule.Arg) (*variable, error) {
	v, err := p.looped(c, a)
	if err == nil && v.leaf != nil {
		err = refuse(a, "%s: %s, a command of the leaf, names %s before; such commands come last", c.Name,
			v.leaf, v.name)
	}
	return v, err
}

func names(list []*variable) []string {
	out := make([]string, len(list))
	for k, v := range list {
		out[k] = v.name
	}
	return out
}

// cut puts a loop over chunks, and one within a chunk, in the place of that over v: as many chunks
// as n says, but where the command is split, chunks of n coordinates.
func (p *peeling) cut(c *schedule.Command, v *variable, outer, inner schedule.Arg, n int64) (*cut,
	error) {
	if v.by != nil {
		return nil,
			refuse(c, "%s: %s already asks for the loop over %s; what cuts a variable comes first", c.Name,
				v.by, v.name)
	}
	x := &cut{of: v, even: c.Name != "split", n: n, by: c}
	x.outer = &variable{kind: outerOf, made: c, from: x, dim: -1}
	x.inner = &variable{kind: innerOf, made: c, from: x, dim: -1}
	if err := p.declare(c, outer, x.outer); err != nil {
		return nil, err
	}
	if err := p.declare(c, inner, x.inner); err != nil {
		return nil, err
	}
	v.cut, v.gone = x, c
	k := slices.Index(p.loops, v)
	p.loops = slices.Replace(slices.Clone(p.loops), k, k+1, x.outer, x.inner)
	return x, nil
}

// leafMakes has the commands of the leaf that make variables: the number of leading arguments whose
// loops theirs take the place of, and the arguments that name them.
var leafMakes = map[string]struct {
	replaced int
	made     []int
}{
	"fuse":       {2, []int{2}},
	"pos":        {1, []int{1}},
	"coord":      {1, []int{1}},
	"bound":      {1, []int{1}},
	"precompute": {0, []int{2}},
	"split":      {0, []int{1, 2}}, // of a variable that computes a workspace
	"divide":     {0, []int{1, 2}},
}

// computes tells whether an argument is a variable that has a loop only in the statement that
// computes a workspace.
func (p *peeling) computes(a schedule.Arg) bool {
	v := p.vars[a.Text]
	return v != nil && v.kind == leafs && v.gone == nil && !slices.Contains(p.loops, v)
}

// ofLeaf notes a command of the leaf: which loops it names, and how it changes them.
func (p *peeling) ofLeaf(c *schedule.Command) error {
	p.read = append(p.read, step{Command: c})
	for _, arg := range c.Args {
		for _, a := range items(arg) {
			name, _, _ := strings.Cut(a.Text, "[") // a[2] is the second loop over a
			v := p.vars[name]
			switch {
			case v == nil:
				continue
			case v.by != nil:
				return refuse(a,
					"%s: %s asks for the loop over %s to run outside the leaf, and this is a command of the leaf",
					c.Name, v.by, v.name)
			case v.leaf == nil && v.gone == nil:
				v.leaf = c
			}
		}
	}
	made, err := p.leafVariables(c)
	if err != nil {
		return err
	}
	for k, a := range c.Args[:leafMakes[c.Name].replaced] {
		v := p.vars[a.Text]
		at := slices.Index(p.loops, v)
		if at < 0 {
			continue // the leaf's own rules say what is wrong with it
		}
		v.gone = c
		if c.Name == "fuse" || c.Name == "pos" {
			made[0].parts = append(made[0].parts, v)
		}
		p.loops = slices.Clone(p.loops)
		if k == 0 {
			p.loops[at], made[0].place = made[0], v
		} else {
			p.loops = slices.Delete(p.loops, at, at+1)
		}
	}
	return nil
}

// leafVariables are those that a command of the leaf makes.
func (p *peeling) leafVariables(c *schedule.Command) ([]*variable, error) {
	var made []*variable
	for _, k := range leafMakes[c.Name].made {
		for _, a := range items(c.Args[k]) {
			if c.Name == "precompute" && p.vars[a.Text] != nil {
				continue // the loop that computes the workspace goes by the name of the statement's
			}
			v := &variable{kind: leafs, made: c, dim: -1}
			if err := p.declare(c, a, v); err != nil {
				return nil, err
			}
			made = append(made, v)
		}
	}
	return made, nil
}

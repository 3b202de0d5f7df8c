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
	made *schedule.Command // the command that made it; nil if it is a variable of the statement
	gone *schedule.Command // the command that replaced its loop, or nil
	leaf *schedule.Command // the first command of the leaf that names its loop, or nil

	cut  *cut // the cut that replaced it, or nil
	from *cut // for outerOf and innerOf: the cut that made it

	parts []*variable // for ofLeafCommand: the variables that fuse or pos made it from
	// for ofLeafCommand: the variable whose loop it replaces; a workspace's variable has nil
	place *variable

	turned *variable   // for rotated: the variable whose loop it replaces
	plus   []*variable // for rotated: turned is rotated by the values of these variables

	by          *schedule.Command // the command that requires the loop to be peeled, or nil
	dim         int               // the machine's dimension that the loop is distributed over, or -1
	communicate []string
}

// kind is the kind of a variable.
type kind byte

const (
	original kind = iota // a variable of the statement
	outerOf              // the number of a chunk of another variable
	innerOf              // another variable within a chunk
	rotated              // the number of a chunk, rotated
	// made by a command of the leaf, such as fuse, pos or precompute
	ofLeafCommand
)

// origin returns the variable that a cut or a command of the leaf replaced by v and others. If v is
// a variable of the statement, a rotated variable or a variable of a workspace, origin returns nil.
func (v *variable) origin() *variable {
	if v.from != nil {
		return v.from.of
	}
	return v.place
}

// cut says how a variable is divided into chunks. If even is true, there are n chunks of about
// equal size. Otherwise a chunk has n coordinates.
type cut struct {
	of, outer, inner *variable
	even             bool
	n                int64
	by               *schedule.Command
}

// declare gives v the name in argument a.
func (p *peeling) declare(c *schedule.Command, a schedule.Arg, v *variable) error {
	if !notation.IsName(a.Text) {
		return refuse(a, "%s: got %s, want a name for a new variable", c.Name, a.Text)
	}
	if p.vars[a.Text] != nil || slices.Contains(p.statement.Tensors, a.Text) {
		return refuse(a, "%s: the name %s is in use; want a new one", c.Name, a.Text)
	}
	v.name = a.Text
	p.vars[v.name] = v
	return nil
}

// loopVariable returns the variable in argument a, which must have a loop.
func (p *peeling) loopVariable(c *schedule.Command, a schedule.Arg) (*variable, error) {
	v := p.vars[a.Text]
	if v != nil && v.gone != nil {
		return nil, refuse(a, "%s: %s no longer exists: it was replaced by %s",
			c.Name, v.name, v.gone)
	}
	if v == nil || !slices.Contains(p.loops, v) {
		return nil, refuse(a, "%s: got %s, want a variable that the statement loops over: %s", c.Name,
			a.Text, strings.Join(names(p.loops), ", "))
	}
	return v, nil
}

// toPeel returns the variable that argument a names. The command c needs a peeled loop over this
// variable or over its chunks. toPeel returns an error if an earlier command of the leaf names the
// variable, because commands of the leaf must come after c.
func (p *peeling) toPeel(c *schedule.Command, a schedule.Arg) (*variable, error) {
	v, err := p.loopVariable(c, a)
	if err == nil && v.leaf != nil {
		err = refuse(a,
			"%s: %s must come after all commands that distribute, because it is for loops of "+
				"the leaf and names %s", c.Name,
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

// cut replaces the loop over v by a loop over chunks and a loop within a chunk. A divide makes n
// chunks, and a split makes chunks of n coordinates.
func (p *peeling) cut(c *schedule.Command, v *variable, outer, inner schedule.Arg, n int64) (*cut,
	error) {
	if v.by != nil {
		return nil,
			refuse(c,
				"%s: %s already puts the loop over %s outside the leaf; commands that divide "+
					"a variable must come before it", c.Name,
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

// leafMakes lists the commands of the leaf that make variables. made has the indices of the
// arguments that name the new variables. In some commands, the new loops replace the loops over
// other variables, which the first arguments name. replaced is the number of these arguments.
var leafMakes = map[string]struct {
	replaced int
	made     []int
}{
	"fuse":       {2, []int{2}},
	"pos":        {1, []int{1}},
	"coord":      {1, []int{1}},
	"bound":      {1, []int{1}},
	"precompute": {0, []int{2}},
	"split":      {0, []int{1, 2}}, // for a variable that computes a workspace
	"divide":     {0, []int{1, 2}},
}

// computesWorkspace reports whether an argument is a variable whose only loop computes a workspace.
func (p *peeling) computesWorkspace(a schedule.Arg) bool {
	v := p.vars[a.Text]
	return v != nil && v.kind == ofLeafCommand && v.gone == nil && !slices.Contains(p.loops, v)
}

// ofLeaf records a command of the leaf. It also records which loops the command names, and how the
// command changes the loops.
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
					"%s: %s puts the loop over %s outside the leaf, but this command is for "+
						"loops of the leaf",
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
			continue // the leaf's own rules report the mistake
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

// leafVariables returns the variables that a command of the leaf makes.
func (p *peeling) leafVariables(c *schedule.Command) ([]*variable, error) {
	var made []*variable
	for _, k := range leafMakes[c.Name].made {
		for _, a := range items(c.Args[k]) {
			if c.Name == "precompute" && p.vars[a.Text] != nil {
				// the loop that computes the workspace has the same name as the statement's loop
				continue
			}
			v := &variable{kind: ofLeafCommand, made: c, dim: -1}
			if err := p.declare(c, a, v); err != nil {
				return nil, err
			}
			made = append(made, v)
		}
	}
	return made, nil
}

package distribute

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// number parses an argument as a number of chunks or coordinates.
func (p *peeling) number(c *schedule.Command, a schedule.Arg) (int64, error) {
	text, err := p.renamed(a, a.Text, nil)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, refuse(a,
			"%s: got %s, want either a whole number or the extent of a machine", c.Name, text)
	}
	if n < 1 || n > 1<<40 {
		return 0, refuse(a, "%s: got %d, want 1 to 2^40", c.Name, n)
	}
	return n, nil
}

// grid parses an argument as the machine, or as one of its grids. It returns the index of the
// grid's first dimension, and its extents.
func (p *peeling) grid(a schedule.Arg) (base int, extents []int64, err error) {
	if a.Text == p.machine.Name {
		return 0, p.machine.Dims(), nil
	}
	if strings.HasPrefix(a.Text, "Grid(") {
		return p.sameGrid(a)
	}
	names := []string{p.machine.Name}
	for _, g := range p.machine.Grids {
		if g.Name != "" {
			name := p.machine.Name + "." + g.Name
			if a.Text == name {
				return base, g.Extents, nil
			}
			names = append(names, name)
		}
		base += len(g.Extents)
	}
	return 0, nil, refuse(a, "distribute: got %s, want the name of the machine: %s", a.Text,
		strings.Join(names, " or "))
}

// sameGrid parses an argument such as Grid(2,2) as the grid of the machine that has the same
// extents.
func (p *peeling) sameGrid(a schedule.Arg) (base int, extents []int64, err error) {
	text, err := p.renamed(a, a.Text, nil)
	if err != nil {
		return 0, nil, err
	}
	want, err := place.ParseMachine(text)
	if err != nil {
		return 0, nil, refuse(a, "distribute: %s", err.(*diag.Error).Msg)
	}
	if slices.Equal(want.Dims(), p.machine.Dims()) {
		return 0, p.machine.Dims(), nil
	}
	for _, g := range p.machine.Grids {
		if slices.Equal(want.Dims(), g.Extents) {
			return base, g.Extents, nil
		}
		base += len(g.Extents)
	}
	return 0, nil, refuse(a,
		"distribute: got %s, but the machine %s is %s; want -m=%s, or a machine like this in "+
			"a job file",
		a.Text, p.machine.Name, p.machine, want)
}

// extent evaluates text, which names an extent of the machine such as M.x, or M.steps for the
// number of steps. It returns the number as text.
func (p *peeling) extent(a schedule.Arg, text string) (string, error) {
	name, dim, _ := strings.Cut(text, ".")
	if name != p.machine.Name {
		return "", refuse(a, "got %s, want an extent of the machine, %s", text, p.machine.Name)
	}
	if dim == "steps" && p.machine.Steps > 0 {
		return strconv.FormatInt(p.machine.Steps, 10), nil
	}
	k, ok := p.machine.Dim(dim)
	if !ok {
		return "", refuse(a, "got %s, but the machine %s has no dimension %s",
			text, p.machine, dim)
	}
	return strconv.FormatInt(p.machine.Dims()[k], 10), nil
}

package codegen

import (
	"errors"
	"slices"
	"strings"

	"distaff/codegen/choice"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
)

// Schedule returns the schedule of a request's leaf: the request's commands, or the commands of the
// default schedule. A request with these commands as its Schedule makes the same leaf. Schedule
// returns an error for a request with FixedPattern, because such a request cannot have a schedule.
// A leaf of package flat has no commands, only a reason. Schedule leaves out a minor command
// if the leaf is the same without it. The default schedule for CUDA is an exception: it is returned
// with all its commands.
func Schedule(r Request) ([]schedule.Line, error) {
	if r.Target.Kind == CUDA && r.Ask.Schedule == nil {
		g, err := chooseGPU(r)
		if err != nil {
			return nil, err
		}
		return g.lines(), nil
	}
	c := newCompilation(r)
	if err := c.run(); err != nil {
		return nil, err
	}
	if r.Ask.Schedule != nil {
		return c.dropUnneeded(c.givenLines(), ir.Print(c.unit.Func))
	}
	if c.isFlat {
		return []schedule.Line{
				{Why: "no command makes this leaf: its contractions run one after another"}},
			nil
	}
	var lines []line
	for _, x := range c.defaults {
		lines = append(lines, lineOf(x))
	}
	return c.dropUnneeded(lines, ir.Print(c.unit.Func))
}

// givenLines returns the commands of the request's schedule. It adds a command for each choice that
// the schedule leaves open: how the result is assembled, the workspaces, and the strategy's default
// instructions.
func (c *compilation) givenLines() (out []line) {
	for _, x := range c.commands {
		out = append(out, line{scheduleLine: schedule.Line{Command: x.String()}})
	}
	var others []line
	for _, x := range c.defaults {
		l := lineOf(x)
		l.minor = l.off != "" // the command stands for the choice that the schedule leaves open
		if x.Order.Choice == choice.Workspace || x.Order.Choice == choice.Assemble {
			out = append(out, l)
		} else {
			others = append(others, l)
		}
	}
	at := slices.IndexFunc(out,
		func(l line) bool { return strings.HasPrefix(l.scheduleLine.Command, "parallelize(") })
	if at < 0 {
		at = len(out) // other commands come before the first parallelize
	}
	return slices.Insert(out, at, others...)
}

// line is a line of a printed schedule. If minor is true, the line is printed only if the leaf is
// different without it. To find out, the schedule is compiled a second time. The second schedule
// has the command off in place of the line, which disables the line's effect. If off is "", the
// second schedule just lacks the line. The default schedule for CUDA is an exception: all its lines
// are printed.
type line struct {
	scheduleLine schedule.Line
	minor        bool
	off          string
}

func lineOf(x choice.Chosen) line {
	l := line{scheduleLine: schedule.Line{Command: x.Order.String(), Why: x.Why}, minor: x.Minor}
	if off := x.Order.Choice.Off; off != nil {
		l.off = off(x.Order).String()
	}
	return l
}

// dropUnneeded returns the lines without the minor commands that have no effect. want is the text
// of the leaf that the remaining lines must still make.
func (c *compilation) dropUnneeded(lines []line, want string) ([]schedule.Line, error) {
	same := func(lines []line) bool {
		q := c.request
		q.Ask.Trace, q.Ask.Verify, q.Ask.Schedule = nil, false, []string{}
		for _, l := range lines {
			q.Ask.Schedule = append(q.Ask.Schedule, l.scheduleLine.Command)
		}
		u, err := Compile(q)
		return err == nil && ir.Print(u.Func) == want
	}
	if c.request.Ask.Schedule == nil && !same(lines) {
		return nil,
			errors.New(
				"the default schedule of this statement cannot be printed: its commands would " +
					"make another leaf")
	}
	for k := len(lines) - 1; k >= 0; k-- {
		if !lines[k].minor {
			continue
		}
		rest := append(append([]line{}, lines[:k]...), lines[k+1:]...)
		without := rest
		if lines[k].off != "" {
			without = slices.Clone(lines)
			without[k].scheduleLine.Command = lines[k].off
		}
		if same(without) {
			lines = rest
		}
	}
	return texts(lines), nil
}

func texts(lines []line) []schedule.Line {
	out := make([]schedule.Line, len(lines))
	for k, l := range lines {
		out[k] = l.scheduleLine
	}
	return out
}

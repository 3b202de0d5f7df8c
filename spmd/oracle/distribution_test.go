package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Distribution says how a case runs on several ranks. It has the schedule commands that distribute
// the loops over a machine, and the placements of tensors.
type Distribution struct {
	Ranks      int
	Machine    string   // spmd.Options.Machine
	Commands   []string // the schedule; commands that only change the leaf are last
	Placements []string // spmd.Options.Placements
}

// Clone returns a deep copy, or nil if d is nil.
func (d *Distribution) Clone() *Distribution {
	if d == nil {
		return nil
	}
	return &Distribution{d.Ranks, d.Machine, slices.Clone(d.Commands), slices.Clone(d.Placements)}
}

// Flags returns the flags of `distaff run` for the distribution.
func (d *Distribution) Flags() string {
	out := fmt.Sprintf(" --ranks=%d -m='%s'", d.Ranks, d.Machine)
	if len(d.Commands) > 0 {
		out += " -s='" + strings.Join(d.Commands, ", ") + "'"
	}
	for _, p := range d.Placements {
		out += " -p='" + p + "'"
	}
	return out
}

// text writes the distribution's lines of a case file.
func (d *Distribution) text(b *strings.Builder) {
	fmt.Fprintln(b, "over", d.Ranks, d.Machine)
	for _, c := range d.Commands {
		fmt.Fprintln(b, "command", c)
	}
	for _, p := range d.Placements {
		fmt.Fprintln(b, "place", p)
	}
}

// parseOver parses the words of a line of a case file. ok is false if the line does not describe a
// distribution.
func (c *Case) parseOver(f []string) (ok bool, err error) {
	rest := strings.Join(f[1:], " ")
	switch {
	case f[0] == "over" && len(f) == 3:
		c.Over = &Distribution{Machine: f[2]}
		c.Over.Ranks, err = strconv.Atoi(f[1])
		return true, err
	case f[0] == "command" && c.Over != nil:
		c.Over.Commands = append(c.Over.Commands, rest)
		return true, nil
	case f[0] == "place" && c.Over != nil:
		c.Over.Placements = append(c.Over.Placements, rest)
		return true, nil
	}
	return false, nil
}

// placedTensor returns the name of the tensor in a placement.
func placedTensor(placement string) string {
	name, _, _ := strings.Cut(placement, "(")
	return strings.TrimSpace(name)
}

// fitted returns a copy of the case's distribution that fits the case's tensors. It omits
// placements of tensors that the case lacks or that have another number of modes, and it omits
// missing tensors from communicate commands.
func (c *Case) fitted() *Distribution {
	d := c.Over.Clone()
	d.Placements = slices.DeleteFunc(d.Placements, func(p string) bool {
		t := c.Tensor(placedTensor(p))
		modes, _, _ := strings.Cut(p, ")")
		return t == nil || len(t.Dims) != strings.Count(modes, ",")+1
	})
	d.Commands = nil
	for _, command := range c.Over.Commands {
		list, ok := strings.CutPrefix(command, "communicate({")
		if ok {
			names, rest, _ := strings.Cut(list, "}")
			have := slices.DeleteFunc(strings.Split(names, ","),
				func(n string) bool { return c.Tensor(n) == nil })
			if len(have) == 0 {
				continue
			}
			command = "communicate({" + strings.Join(have, ",") + "}" + rest
		}
		d.Commands = append(d.Commands, command)
	}
	return d
}

// simplerOver yields cases with a simpler distribution: without one of the placements, commands or
// variables of a reorder, with fewer ranks, or with a smaller machine.
func simplerOver(c *Case, yield func(*Case) bool) bool {
	if c.Over == nil {
		return true
	}
	var list []*Distribution
	with := func(change func(*Distribution)) {
		d := c.Over.Clone()
		change(d)
		list = append(list, d)
	}
	for k := range c.Over.Placements {
		with(func(d *Distribution) { d.Placements = slices.Delete(d.Placements, k, k+1) })
	}
	for k := len(c.Over.Commands) - 1; k >= 0; k-- {
		with(func(d *Distribution) { d.Commands = slices.Delete(d.Commands, k, k+1) })
	}
	for k, command := range c.Over.Commands {
		vars, reorders := strings.CutPrefix(command, "reorder(")
		list := strings.Split(strings.TrimSuffix(vars, ")"), ",")
		for n := 0; reorders && len(list) > 2 && n < len(list); n++ {
			fewer := slices.Delete(slices.Clone(list), n, n+1)
			with(func(d *Distribution) { d.Commands[k] = "reorder(" + strings.Join(fewer, ",") + ")" })
		}
	}
	for n := 1; n < c.Over.Ranks; n++ {
		with(func(d *Distribution) { d.Ranks = n })
	}
	for k, x := range c.Over.Machine {
		if x == '2' || x == '3' {
			with(func(d *Distribution) { d.Machine = d.Machine[:k] + string(x-1) + d.Machine[k+1:] })
		}
	}
	for _, d := range list {
		s := c.Clone()
		s.Over = d
		if !yield(s) {
			return false
		}
	}
	return true
}

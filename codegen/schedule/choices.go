package schedule

import (
	"slices"

	"distaff/codegen/choice"
)

// chosen returns the command with the given name, which passes an instruction on to the strategy.
// The command is made from the elements of choice.Choices that have this name.
func chosen(name string) command {
	list := named(name)
	c := list[len(list)-1]
	x := command{name: name, usage: c.Usage(), meaning: c.Meaning, late: true, cpuOnly: c.CPUOnly,
		apply: choose}
	for _, c := range list {
		x.late = x.late && !c.BeforeParallelize
		least, most := c.Args()
		if x.max = max(x.max, most); x.min == 0 || least < x.min {
			x.min = least
		}
		for k, p := range c.Params {
			if p.Kind == choice.WordParam && x.words == 0 {
				x.words = k
			}
		}
	}
	return x
}

// named returns the choices whose command has the given name.
func named(name string) (list []*choice.Choice) {
	for _, c := range choice.Choices {
		if c.Name == name {
			list = append(list, c)
		}
	}
	return list
}

// others returns the commands of all choices that are not among list.
func others(list []command) (out []command) {
	for _, c := range choice.Choices {
		if !slices.ContainsFunc(list, func(x command) bool { return x.name == c.Name }) {
			out = append(out, chosen(c.Name))
		}
	}
	return out
}

// choose gives the strategy the current command as an instruction.
func choose(s *state) error {
	args := s.cmd.texts()
	list := named(s.cmd.Name)
	c := list[slices.IndexFunc(list,
		func(c *choice.Choice) bool { return c.Takes == nil || c.Takes(args) })]
	if c.First && s.cmd != s.list[0] {
		return s.refuse(-1, "%s must be the first command, because it changes the loops that other "+
			"commands name", c.Name)
	}
	o, body, err := c.ApplyCommand(s.facts(), s.given(), args)
	if err != nil {
		return s.blame(err)
	}
	s.body = body
	s.orders = append(s.orders, Order{o, s.cmd})
	return nil
}

// texts returns the texts of the command's arguments.
func (c *Command) texts() []string {
	list := make([]string, len(c.Args))
	for k, a := range c.Args {
		list[k] = a.Text
	}
	return list
}

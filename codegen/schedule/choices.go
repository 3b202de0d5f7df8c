package schedule

import (
	"slices"

	"distaff/codegen/strategy"
)

// choices returns the commands that only give the strategy an instruction. Commands with further
// forms are in commands.
func choices() (out []command) {
	others := []*strategy.Choice{strategy.Count, strategy.MergeBy, strategy.Threads, strategy.Substitute}
	for _, c := range strategy.Choices {
		if slices.Contains(others, c) {
			continue
		}
		x := command{name: c.Name, usage: c.Usage(), meaning: c.Meaning, max: len(c.Params), late: true,
			cpuOnly: c.CPUOnly, apply: func(s *state) error { return s.choose(c) }}
		for k, p := range c.Params {
			if !p.Optional {
				x.min++
			}
			if p.Kind == strategy.WordParam {
				x.words = k
			}
		}
		out = append(out, x)
	}
	return out
}

// choose gives the strategy the current command as an instruction.
func (s *state) choose(c *strategy.Choice) error {
	o := strategy.Order{Choice: c}
	for k := range s.cmd.Args {
		if err := s.argument(k, c.Params[k], &o); err != nil {
			return err
		}
	}
	return s.order(o)
}

// argument parses argument k of the current command and sets it in o.
func (s *state) argument(k int, p strategy.Param, o *strategy.Order) (err error) {
	text := s.cmd.Args[k].Text
	switch p.Kind {
	case strategy.LoopParam:
		o.Loop, err = s.ref(k)
	case strategy.VarParam:
		o.Loop.Var, err = s.variable(k)
	case strategy.IndexParam:
		o.Loop.Var, err = s.indexed(k)
	case strategy.NameParam:
		o.Name = text
	case strategy.ResultParam:
		if o.Name = s.target(); text != o.Name {
			return s.refuse(k, "got %s, want the result, %s", text, o.Name)
		}
	case strategy.WordParam:
		if o.Word = text; !slices.Contains(p.Words, text) {
			return s.wanted(k, p.Words)
		}
	case strategy.NumberParam:
		o.N, err = s.number(k, p.Least)
	case strategy.FarParam:
		o.Far, err = s.number(k, p.Least)
	default:
		panic("BUG: schedule: " + s.cmd.Name + " has a parameter that no argument gives")
	}
	return err
}

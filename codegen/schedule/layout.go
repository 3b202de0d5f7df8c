package schedule

import (
	"slices"
	"strconv"
)

// Layout is the order of modes that a layout command asks for, outermost first.
func (c *Command) Layout() ([]int, error) {
	var modes []int
	for n, a := range c.Args[1:] {
		m, err := strconv.Atoi(a.Text)
		if err != nil || m < 0 || m >= len(c.Args)-1 || slices.Contains(modes, m) {
			return nil, c.Args[n+1].errorf(BadCommand,
				"layout: got %s, want each mode once, counted from 0, the outermost first", a.Text)
		}
		modes = append(modes, m)
	}
	return modes, nil
}

// layout has a dense operand read from a copy whose levels are in another order. The copy is an
// operand of the statement that the other commands are about, so that nothing is left to do here.
func layout(s *state) error {
	_, err := s.cmd.Layout()
	return err
}

package schedule

import (
	"slices"
	"strconv"
)

// Layout returns the order of modes that a layout command asks for, outermost first.
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

// layout makes the statement read a dense operand from a copy whose levels are in another order.
// The caller has already put the copy into the statement, because the other commands refer to the
// copy. Therefore only the arguments are checked here.
func layout(s *state) error {
	_, err := s.cmd.Layout()
	return err
}

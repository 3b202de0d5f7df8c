package schedule

import (
	"strconv"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// isRowCommand reports whether the current command distributes rows over threads: parallelize(p,
// GPUThread, STRATEGY, Rows[, N]).
func (s *state) isRowCommand() bool {
	a := s.cmd.Args
	return s.cmd.Name == "parallelize" && len(a) > 3 && a[1].Text == cin.GPUThread.String() &&
		a[3].Text == "Rows"
}

// rowLanes runs the loop that sums the entries of a tile of positions into rows on a GPU's threads:
// parallelize(p, GPUThread, Atomics, Rows[, N]). The threads distribute the rows of the tile among
// themselves. In a block, each thread sums whole rows if the tile has at least N rows. If the tile
// has fewer rows, the lanes of a warp sum the entries of each row together. In a warp, its lanes do
// the same.
func (s *state) rowLanes() error {
	v, err := s.looped(0)
	if err != nil {
		return err
	}
	if _, err := s.unit(1); err != nil {
		return err
	}
	if s.cmd.Args[2].Text != cin.Atomics.String() {
		return s.refuse(2,
			"got %s, want Atomics: other tiles may add to the first and the last row of a tile",
			s.cmd.Args[2].Text)
	}
	o := strategy.RowLanes{Var: v}
	if len(s.cmd.Args) > 4 {
		if o.N, err = strconv.ParseInt(s.cmd.Args[4].Text, 10, 64); err != nil || o.N < 1 {
			return s.cmd.Args[4].errorf(BadCommand, "parallelize: got %s, want a number of rows",
				s.cmd.Args[4].Text)
		}
	}
	if err := s.runOn(v, cin.GPUThread, cin.Atomics, 0); err != nil {
		return err
	}
	return s.order(o)
}

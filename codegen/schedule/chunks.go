package schedule

import (
	"strconv"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// chunked runs the outermost loop over i on threads, in chunks that have about equal work:
// parallelize(i, CPUThread, STRATEGY, CUT[, N]).
//
//	NoRaces, Work               chunks of about equal work, eight for each thread
//	NoRaces, Ordered[, N]       as Work, and each chunk appends to the result after the previous
//	                            chunk; N is the least work of a chunk
//	NoRaces, Rows[, V]          each thread runs the whole loop, for its own rows of the result (the
//	                            loop inside is over rows), or for its own part of the range of V
//	NoRaces, Whole              the loop is not cut; threads only set the result to 0 before it
//	Temporary, Work, N          N chunks, each with its own partial result; the results are added in
//	                            order
//	ParallelReduction, Work, N  N chunks, each with its own partial sum; the sums are added in order
func chunked(s *state) error {
	r, err := s.ref(0)
	if err != nil {
		return err
	}
	race, cut := s.cmd.Args[2].Text, s.cmd.Args[3].Text
	switch {
	case s.problem.GPU:
		return s.refuse(3,
			"chunks of work are for the threads of a CPU, but --target=cuda compiles for a GPU")
	case s.cmd.Args[1].Text != "CPUThread":
		return s.refuse(1, "chunks of work need CPUThread; got %s", s.cmd.Args[1].Text)
	case !strategy.IsCut(race, cut):
		return s.cmd.Args[3].errorf(BadCommand,
			"parallelize: got %s with %s, want either a number of iterations, or NoRaces with "+
				"Work, Ordered, Rows or Whole, or Temporary or ParallelReduction with Work",
			cut, race)
	}
	o := strategy.Order{Choice: strategy.Threads, Loop: r, Word: "CPUThread," + race + "," + cut}
	switch {
	case len(s.cmd.Args) > 4 && cut == "Rows":
		o.Name = s.cmd.Args[4].Text
	case len(s.cmd.Args) > 4:
		if o.N, err = strconv.ParseInt(s.cmd.Args[4].Text, 10, 64); err != nil || o.N < 1 {
			return s.cmd.Args[4].errorf(BadCommand,
				"parallelize: got %s, want a number of at least 1", s.cmd.Args[4].Text)
		}
	}
	loops := map[*cin.Forall]bool{}
	for _, f := range r.Outermost(s.body) {
		if f.Unit != cin.Serial {
			return s.refuse(0, "the loop over %s is already parallel", r)
		}
		if s.component(f.Var) != nil || f.Unroll != 0 {
			return s.refuse(0,
				"got %s, want a variable of the statement whose loop is not unrolled and not "+
					"made by another command", r)
		}
		loops[f] = true
	}
	if len(loops) == 0 {
		return s.refuse(0,
			"only an outermost loop can be divided into chunks of work; the loop over %s is "+
				"inside another",
			r)
	}
	s.body = cin.Map(s.body, func(t cin.Stmt) cin.Stmt {
		if f, ok := t.(*cin.Forall); ok && loops[f] {
			return &cin.Forall{Var: f.Var, Unit: cin.CPUThread, Gallop: f.Gallop, Body: f.Body}
		}
		return t
	})
	return s.order(o)
}

// isRowCommand reports whether the current command distributes rows over threads: parallelize(p,
// GPUThread, STRATEGY, Rows[, N]).
func isRowCommand(s *state) bool {
	a := s.cmd.Args
	return s.cmd.Name == "parallelize" && len(a) > 3 && a[1].Text == cin.GPUThread.String() &&
		a[3].Text == "Rows"
}

// rowLanes distributes the rows of a tile of positions over a GPU's threads: parallelize(p,
// GPUThread, Atomics, Rows[, N]). p is the loop that sums the entries of the tile into rows. If the
// tile has at least N rows, each thread of the block or warp that runs the loop sums whole rows. If
// the tile has fewer rows, the lanes of a warp sum the entries of each row together.
func rowLanes(s *state) error {
	v, err := s.looped(0)
	if err != nil {
		return err
	}
	if _, err := unitArgument(s, 1); err != nil {
		return err
	}
	if s.cmd.Args[2].Text != cin.Atomics.String() {
		return s.refuse(2,
			"got %s, want Atomics: two tiles may add to the same first or last row",
			s.cmd.Args[2].Text)
	}
	o := strategy.Order{Choice: strategy.Threads, Loop: strategy.Ref{Var: v}, Word: strategy.RowLanes}
	if len(s.cmd.Args) > 4 {
		if o.N, err = strconv.ParseInt(s.cmd.Args[4].Text, 10, 64); err != nil || o.N < 1 {
			return s.cmd.Args[4].errorf(BadCommand, "parallelize: got %s, want a number of rows",
				s.cmd.Args[4].Text)
		}
	}
	if err := runOn(s, v, cin.GPUThread, cin.Atomics, 0); err != nil {
		return err
	}
	return s.order(o)
}

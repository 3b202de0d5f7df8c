package schedule

import (
	"slices"

	"distaff/codegen/cin"
)

// assemble says how a result with compressed levels of its own is put together: assemble(T, Append)
// in order, in memory that grows, in a piece for each chunk of a parallel loop, which are then
// joined; assemble(T, Insert) in two passes: the coordinates are counted, summed up, and written to
// their places, so that nothing grows or is joined, and what finds coordinates runs twice. A result
// of dense levels, or of levels that it shares with an operand, is written at random either way.
//
// TACO's third argument, true or false, says whether commands of their own may schedule the loops
// that count. Here these loops are always scheduled like the loops that compute, so that both
// values mean the same.
func assemble(s *state) error {
	t := cin.Target(s.body).Name
	if s.cmd.Args[0].Text != s.problem.Source(t) {
		return s.refuse(0, "got %s, want the result, %s", s.cmd.Args[0].Text, s.problem.Source(t))
	}
	how := s.cmd.Args[1].Text
	if !slices.Contains(assemblies, how) {
		return s.wanted(1, assemblies)
	}
	if len(s.cmd.Args) == 3 && !slices.Contains(schedules, s.cmd.Args[2].Text) {
		return s.wanted(2, schedules)
	}
	if s.problem.GPU && how == "Append" && s.appended() {
		return s.refuse(1,
			"the blocks of a GPU do not append in order; with Insert, which is what is done, they count first")
	}
	s.insert = how == "Insert"
	return nil
}

// appended tells whether the result grows in order.
func (s *state) appended() bool {
	return !s.problem.Shared && !s.problem.Formats[cin.Target(s.body).Name].AllDense()
}

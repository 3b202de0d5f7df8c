package schedule

import (
	"slices"

	"distaff/codegen/cin"
)

// assemble chooses how a result with compressed levels of its own is built. assemble(T, Append)
// appends entries in order to memory that grows. Each chunk of a parallel loop builds its own
// piece, and the pieces are joined at the end. assemble(T, Insert) makes two passes: the first
// counts the coordinates, and after a prefix sum of the counts the second writes the coordinates to
// their places. With Insert no memory grows and nothing is joined, and the code that finds
// coordinates runs twice. A result of dense levels, or of levels that it shares with an operand, is
// written at random in both cases.
//
// TACO's third argument, true or false, defines if the loops that count have scheduling commands of
// their own. Here these loops are always scheduled like the loops that compute, so both values mean
// the same.
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
	if s.problem.GPU && how == "Append" && s.isAppended() {
		return s.refuse(1,
			"got Append, want Insert: on a GPU, a result with compressed levels must be "+
				"counted before it is written")
	}
	s.insert = how == "Insert"
	return nil
}

// isAppended reports whether the result is built by appending in order: it has compressed levels
// and does not share them with an operand.
func (s *state) isAppended() bool {
	return !s.problem.Shared && !s.problem.Formats[cin.Target(s.body).Name].AllDense()
}

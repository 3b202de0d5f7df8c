package schedule

// temporaries has sums taken in temporaries before they are stored, as the default
// schedule has them: in scalars where the loops around determine the place, in workspaces
// over a row where a factor can be taken out. It says what the statement is that all other
// commands are about, so that it comes first. Without it every sum adds to the
// result itself, loop by loop, where the loops can be nested so.
func temporaries(s *state) error {
	if s.cmd != s.first {
		return s.refuse(-1, "it comes first: it says what the loops are that other commands are about")
	}
	if s.cmd.Args[0].Text != s.target() {
		return s.refuse(0, "got %s, want the result, %s", s.cmd.Args[0].Text, s.target())
	}
	return nil
}

// Temporaries tells whether a schedule begins with that command.
func Temporaries(texts []string) bool {
	list, err := Parse(texts)
	return err == nil && len(list) > 0 && list[0].Name == "temporaries"
}

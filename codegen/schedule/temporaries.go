package schedule

// temporaries makes the statement compute sums in temporaries before storing them, as the default
// schedule does. The temporaries are scalars if the loops around the sum determine the place, and
// workspaces over a row if a factor can be moved out of the sum. The command must be first, because
// it changes the statement that all other commands refer to. Without it, every sum adds directly to
// the result whenever the loops can be nested in that way.
func temporaries(s *state) error {
	if s.cmd != s.first {
		return s.refuse(-1,
			"temporaries must be the first command, because it changes the loops that other "+
				"commands name")
	}
	if s.cmd.Args[0].Text != s.target() {
		return s.refuse(0, "got %s, want the result, %s", s.cmd.Args[0].Text, s.target())
	}
	return nil
}

// Temporaries reports whether a schedule begins with a temporaries command.
func Temporaries(texts []string) bool {
	list, err := Parse(texts)
	return err == nil && len(list) > 0 && list[0].Name == "temporaries"
}

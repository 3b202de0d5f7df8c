package jobfile

import (
	"errors"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// statement parses a statement on line l, and the lines that are indented under it.
func (p *parser) statement(l line) (Item, error) {
	f := p.f
	if keyword(f.clean, l.at, "else") != "" {
		return nil, f.Errorf(notation.Span{Pos: l.at.Pos, End: l.at.Pos + len("else")}, Syntax,
			"got else without an if: it must follow the \"}\" of an if")
	}
	if word := keyword(f.clean, l.at, blockWords...); word != "" {
		return nil, f.Errorf(l.at, Syntax,
			"got %s in place of a statement; it must be indented under a statement", word)
	}
	if c := f.clean[l.at.Pos]; !notation.IsName(string(rune(c))) {
		r := f.reader(l.at)
		r.got("a statement, as in y(i) = A(i,j) * x(j), or " + strings.Join(keywords, ", "))
		return nil, r.err
	}
	at, err := p.expanded(l.at, nil)
	if err != nil {
		return nil, err
	}
	raw, err := notation.ParseIn(f.clean, at)
	if err != nil {
		return nil, suggestKeyword(f.placed(err, 0), f.clean[l.at.Pos:l.at.End], keywords)
	}
	p.tensors[raw.LHS.Name] = true
	s := &Statement{span: span(at), Stmt: raw, file: f, raw: raw}
	p.lines.moveTo(l.at.End)
	defer p.inProc(s, l.at.Pos)
	for !l.inside {
		next, ok, err := p.indentedLine(l)
		if err == nil && ok {
			err = s.addLine(next)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		p.lines.moveTo(next.at.End)
	}
	return s, nil
}

// inProc records the lines of a statement, from a place up to the current one, in the procedure
// that is being defined.
func (p *parser) inProc(s *Statement, from int) {
	if p.current == nil {
		return
	}
	vars := map[string]bool{}
	for _, a := range append(s.raw.Accesses(), s.raw.LHS) {
		for _, v := range a.Vars {
			vars[v] = true
		}
	}
	p.current.lines = append(p.current.lines,
		procLine{notation.Span{Pos: from, End: p.lines.at}, vars})
}

// addLine adds a line that is indented under s.
func (s *Statement) addLine(l line) error {
	f := s.file
	word := lineKeyword(f.clean, l.at)
	if word == "" {
		at := l.at
		// a comma as in a list for -s
		if text := strings.TrimSuffix(f.clean[at.Pos:at.End], ","); strings.HasSuffix(text, ")") {
			at.End = at.Pos + len(text)
		}
		list, err := schedule.Parse([]string{f.clean[at.Pos:at.End]})
		if err != nil {
			return suggestKeyword(withHint(f.placed(err, at.Pos)), f.clean[at.Pos:at.End], blockWords)
		}
		for _, c := range list {
			s.Schedule = append(s.Schedule, newCommand(f, at, c))
		}
		return nil
	}
	r := f.reader(l.at)
	r.skip(word)
	if r.next() == 0 {
		r.got("a value after " + word + ", as in " + map[string]string{"split": "split i:4", "order": "order j,i",
			"extend": "extend j", "map": "map i,j",
			"network": "network (A*B)*C", "intermediate-order": "intermediate-order 2",
			"on": "on gpu"}[word])
		return r.err
	}
	b := blockLine{span{Pos: r.at, End: l.at.End}, word, compact(f.clean[r.at:l.at.End])}
	for _, old := range s.lines {
		if old.word == word && word != "split" && word != "extend" {
			return f.Errorf(l.at, Declaration,
				"got %s twice under a statement, want it only once", word)
		}
	}
	if word == "network" {
		b.value = strings.Join(wordsOf(f.clean[r.at:l.at.End]), " ")
	}
	s.lines = append(s.lines, b)
	switch word {
	case "split", "intermediate-order": // these may name a param, so Bind parses them
		return nil
	case "network":
		return s.atLine(network.CheckWay(b.value), b)
	case "on":
		if b.value != "cpu" && b.value != "gpu" {
			return f.Errorf(notation.Span(b.span), Syntax, "got on %s, want on cpu or on gpu", b.value)
		}
		return nil
	}
	if _, err := place.ParseVars(word, b.value); err != nil {
		return s.atLine(err, b)
	}
	return nil
}

// lineKeyword returns the keyword that a line under a statement begins with, or "" if the line is a
// scheduling command. A word before "(" is normally a command. The word network is a keyword even
// then, because the contraction tree after it may begin with a parenthesis.
func lineKeyword(text string, at notation.Span) string {
	if word := keyword(text, at, blockWords...); word != "" {
		return word
	}
	if rest, ok := strings.CutPrefix(text[at.Pos:at.End], "network"); ok &&
		strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), "(") {
		return "network"
	}
	return ""
}

// suggestKeyword adds a suggestion to an error about a line: the keyword that is most similar to
// the line's first word. text is the line. A suggestion is added only if another word, a number or
// a quote follows the first word. If "(" or "=" follows, the line is a statement or a command, and
// its first word is not a misspelt keyword.
func suggestKeyword(err error, text string, keywords []string) error {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r > 0x7f || !wordByte(byte(r)) && r != '-'
	})
	var d *diag.Error
	if end < 0 || !errors.As(err, &d) || strings.Contains(d.Msg, "did you mean") {
		return err
	}
	if after := strings.TrimLeft(text[end:], " \t\r"); after != text[end:] && after != "" &&
		(wordByte(after[0]) || after[0] == '"') {
		d.Msg += diag.DidYouMean(text[:end], keywords)
	}
	return err
}

// withHint adds a hint to an error about a line that is not a scheduling command.
func withHint(err error) error {
	var d *diag.Error
	if errors.As(err, &d) {
		d.Msg += "; an indented line must be a command of the statement above it, as in unroll(i, 4)"
	}
	return err
}

// atLine adds the place in the file to err, an error about the value in line b. If err quotes the
// value exactly as the line has it, the place is the part of the value that err is about. Otherwise
// the place is the whole value.
func (s *Statement) atLine(err error, b blockLine) error {
	f := s.file
	var d *diag.Error
	if !errors.As(err, &d) {
		return err
	}
	msg := strings.TrimPrefix(d.Msg, "--") // a line of a file has no flag
	if d.Src == f.clean[b.span.Pos:b.span.End] {
		return f.Errorf(notation.Span{Pos: b.span.Pos + d.Pos, End: b.span.Pos + d.End}, d.Code, "%s",
			msg)
	}
	return f.Errorf(notation.Span(b.span), d.Code, "%s", msg)
}

// newCommand wraps the parsed command c. at is the place of its line.
func newCommand(f *File, at notation.Span, c *schedule.Command) Command {
	pos, end := c.Place()
	at = notation.Span{Pos: at.Pos + pos, End: at.Pos + end}
	text := f.clean[at.Pos:at.End]
	return Command{span: span(at), Text: text, raw: text}
}

// Locate returns err, an error about s, with its place in the file. If the error refers to the text
// of the statement or of a command, the place is exact. If it refers to the value of the network
// line, atLine finds the place. If it refers to the text of the file, its place is already right.
// For other errors the place is the whole statement. An error that is not a *diag.Error, or that
// already has a file, is returned unchanged.
func (s *Statement) Locate(err error) error {
	f := s.file
	var d *diag.Error
	if !errors.As(err, &d) || d.File != "" {
		return err
	}
	c := *d
	switch {
	case d.Src == f.text || d.Src == f.clean || d.Src == s.raw.Src:
	case s.command(d) != nil:
		cmd := s.command(d)
		c.Pos = cmd.span.Pos + offsetBefore(cmd.edits, d.Pos)
		c.End = cmd.span.Pos + offsetBefore(cmd.edits, d.End)
	case s.Network != "" && d.Src == s.Network:
		return s.atLine(d, s.networkLine())
	case d.Src == s.Text:
		c.Pos = s.span.Pos + offsetBefore(s.edits, d.Pos)
		c.End = s.span.Pos + offsetBefore(s.edits, d.End)
	default:
		c.Pos, c.End = s.span.Pos, s.span.End
	}
	return f.placedAt(d, notation.Span{Pos: c.Pos, End: c.End})
}

// networkLine returns the line that says how products are contracted.
func (s *Statement) networkLine() blockLine {
	return s.lines[slices.IndexFunc(s.lines, func(b blockLine) bool { return b.word == "network" })]
}

// command returns the scheduling command whose text caused the error d. If no command did, it
// returns nil.
func (s *Statement) command(d *diag.Error) *Command {
	for k := range s.Schedule {
		if c := &s.Schedule[k]; d.Src == c.Text {
			return c
		}
	}
	return nil
}

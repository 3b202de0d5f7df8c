package schedule

import (
	"slices"
	"strings"
	"unicode/utf8"

	"distaff/codegen/diag"
)

// Codes of schedules' errors.
const (
	// BadCommand: the text is no scheduling command.
	BadCommand = diag.ScheduleSyntax
	// Refused: a command's precondition does not hold.
	Refused = diag.ScheduleRefused
)

// Command is one scheduling command, in this language's spelling. Places are those of the text.
type Command struct {
	Name string
	Args []Arg
	arg           // the whole of it
	of   *Command // in the schedule of the whole statement; nil for this one
}

// Arg is an argument: a name, a number, an access, an expression, a text in quotes, or a list in
// braces.
type Arg struct {
	Text string
	List []Arg // of {...}; nil for anything else
	arg
}

// arg is a place in the text.
type arg struct {
	src      string
	pos, end int
}

func (a arg) errorf(code diag.Code, format string, args ...any) error {
	return diag.At(code, a.src, a.pos, a.end, format, args...)
}

// Refuse is the error that says, with the place of the command or argument, what speaks against it.
func (a arg) Refuse(why string) error { return a.errorf(Refused, "%s", why) }

// Place is where the command or argument stands in the text that Parse was given.
func (a arg) Place() (pos, end int) { return a.pos, a.end }

// Places are where arguments stand, each followed by the places of its elements where it has
// braces.
func Places(args []Arg) (list [][2]int) {
	for _, a := range args {
		list = append(append(list, [2]int{a.pos, a.end}), Places(a.List)...)
	}
	return list
}

// Within is that text.
func (a arg) Within() string { return a.src }

// Distributes tells whether the command is one of those that run a statement over the ranks of
// a job.
func (c *Command) Distributes() bool {
	return c.Name == "distribute" || c.Name == "communicate" || c.Name == "rotate"
}

// Function is the C function that the command has loops run by: the file that defines it, its name,
// and the place of both. ok is false where it has none.
func (c *Command) Function() (file, name string, at Arg, ok bool) {
	if c.Name != "substitute" || len(c.Args) != 2 || !strings.HasPrefix(c.Args[1].Text, `"`) {
		return "", "", Arg{}, false
	}
	at = c.Args[1]
	text := strings.Trim(at.Text, `"`)
	k := strings.LastIndexByte(text, ':')
	if k < 1 || !isFunction(text[k+1:]) {
		return "", "", at, false
	}
	return text[:k], text[k+1:], at, true
}

// Words tells which arguments of a command are words of the language, whatever a variable is
// called.
func (c *Command) Words() (which []bool) {
	from := map[string]int{"parallelize": 1, "bound": 3, "mergeby": 1, "assemble": 1, "workspace": 1,
		"substitute": 1}
	for k, a := range c.Args {
		n, ok := from[c.Name]
		which = append(which, ok && k >= n &&
			(slices.Contains(words, a.Text) || strings.HasPrefix(a.Text, `"`)))
	}
	return which
}

// isFunction tells whether C takes text for the name of a function.
func isFunction(text string) bool {
	for k := range len(text) {
		if text[k] != '_' && !nameByte(text[k], k > 0) {
			return false
		}
	}
	return text != ""
}

func (c *Command) String() string { return c.src[c.pos:c.end] }

// Parse reads the values of -s, in order: each one or more commands, separated
// by commas or on lines of their own; blank ones have none. What stands behind # on a line
// is a comment.
func Parse(texts []string) ([]*Command, error) {
	var out []*Command
	for _, t := range texts {
		p := &reader{src: t}
		if p.space(); p.at == len(t) {
			continue // no commands: the loops as they are
		}
		p.at = 0
		list, err := p.commands()
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

type reader struct {
	src string
	at  int
}

// space goes past spaces and comments, and tells whether a line ended there.
func (p *reader) space() (ended bool) {
	comment := false
	for ; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; {
		case c == '\n':
			ended, comment = true, false
		case c == '#':
			comment = true
		case !comment && strings.IndexByte(" \t\r", c) < 0:
			return ended
		}
	}
	return ended
}

// got fails at the next character, which is not what is wanted.
func (p *reader) got(want string) error {
	if p.at >= len(p.src) {
		return diag.At(BadCommand, p.src, len(p.src), len(p.src), "got the end of the schedule, want %s",
			want)
	}
	_, n := utf8.DecodeRuneInString(p.src[p.at:])
	return diag.At(BadCommand, p.src, p.at, p.at+n, "got %q, want %s", p.src[p.at:p.at+n], want)
}

func (p *reader) commands() ([]*Command, error) {
	var out []*Command
	for {
		c, err := p.command()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		ended := p.space()
		switch {
		case p.at == len(p.src):
			return out, nil
		case p.src[p.at] == ',':
			p.at++
		case !ended:
			return nil, p.got(`"," and another command, or the end`)
		}
	}
}

func (p *reader) command() (*Command, error) {
	p.space()
	from := p.at
	for p.at < len(p.src) && nameByte(p.src[p.at], p.at > from) {
		p.at++
	}
	c := &Command{Name: p.src[from:p.at]}
	if c.Name == "" {
		return nil, p.got("a scheduling command, as in split(i,i0,i1,32)")
	}
	p.space()
	if p.at == len(p.src) || p.src[p.at] != '(' {
		return nil, p.got(`"(" after ` + c.Name)
	}
	p.at++
	args, err := p.args(')')
	if err != nil {
		return nil, err
	}
	c.Args = args
	c.arg = arg{p.src, from, p.at}
	c.spell()
	return c, nil
}

func nameByte(c byte, inside bool) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || inside && (c == '_' || '0' <= c && c <= '9')
}

// args reads arguments up to the closing character, and goes past it.
func (p *reader) args(closing byte) ([]Arg, error) {
	out := []Arg{}
	p.space()
	if p.at < len(p.src) && p.src[p.at] == closing {
		p.at++
		return out, nil
	}
	for {
		a, err := p.argument()
		if err != nil {
			return nil, err
		}
		out = append(out, a)
		p.space()
		switch {
		case p.at < len(p.src) && p.src[p.at] == closing:
			p.at++
			return out, nil
		case p.at < len(p.src) && p.src[p.at] == ',':
			p.at++
		default:
			return nil, p.got(`"," or "` + string(rune(closing)) + `"`)
		}
	}
}

// argument reads up to a comma or a closing character that is not in parentheses.
func (p *reader) argument() (Arg, error) {
	p.space()
	from := p.at
	if p.at < len(p.src) && p.src[p.at] == '{' {
		p.at++
		list, err := p.args('}')
		if err != nil {
			return Arg{}, err
		}
		return Arg{Text: p.src[from:p.at], List: list, arg: arg{p.src, from, p.at}}, nil
	}
	if p.at < len(p.src) && p.src[p.at] == '"' {
		n := strings.IndexAny(p.src[from+1:], "\"\n")
		if n < 0 || p.src[from+1+n] == '\n' {
			return Arg{}, diag.At(BadCommand, p.src, from, from+1,
				"got no second quote on the line, want one at the end of the name")
		}
		p.at += n + 2
		return Arg{Text: p.src[from:p.at], arg: arg{p.src, from, p.at}}, nil
	}
	depth := 0
	for ; p.at < len(p.src); p.at++ {
		c := p.src[p.at]
		switch {
		case c == '(':
			depth++
			continue
		case c == ')' && depth > 0:
			depth--
			continue
		case depth > 0:
			continue
		}
		if c == ',' || c == ')' || c == '}' || c == '{' {
			break
		}
	}
	end := p.at
	for end > from && strings.IndexByte(" \t\r\n", p.src[end-1]) >= 0 {
		end--
	}
	if end == from {
		return Arg{}, p.got("an argument")
	}
	return Arg{Text: p.src[from:end], arg: arg{p.src, from, end}}, nil
}

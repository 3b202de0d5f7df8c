package schedule

import (
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

// Command is one scheduling command as it was written.
type Command struct {
	Name string
	Args []Arg
	arg  // the whole of it
}

// Arg is an argument: a name, a number, an access, an expression, or a list in
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

// Refuse is the error that says, with the place of the command, what speaks against it.
func (c *Command) Refuse(why string) error { return c.errorf(Refused, "%s", why) }

// Place is where the command stands in the text that Parse was given.
func (c *Command) Place() (pos, end int) { return c.pos, c.end }

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
		return diag.At(BadCommand, p.src, len(p.src), len(p.src), "got the end of the schedule, want %s", want)
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

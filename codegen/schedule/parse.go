package schedule

import (
	"slices"
	"strings"
	"unicode/utf8"

	"distaff/codegen/choice"
	"distaff/codegen/diag"
)

// Error codes of schedules.
const (
	// BadCommand is the code of an error in the text of a command.
	BadCommand = diag.ScheduleSyntax
	// Refused is the code of an error for a command whose precondition does not hold.
	Refused = diag.ScheduleRefused
)

// Command is one scheduling command, in this language's spelling. Its places are offsets in the
// original text.
type Command struct {
	Name string
	Args []Arg
	arg           // the whole command
	of   *Command // if Part made this command: the command of the whole statement; otherwise nil
}

// Arg is an argument: a name, a number, an access, an expression, a text in quotes, or a list in
// braces.
type Arg struct {
	Text string
	List []Arg // the elements of {...}; nil if the argument has no braces
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

// Refuse returns an error with the place of the command or argument. why is the reason.
func (a arg) Refuse(why string) error { return a.errorf(Refused, "%s", why) }

// Place returns the span of the command or argument in the text that Parse was given.
func (a arg) Place() (pos, end int) { return a.pos, a.end }

// Places returns the spans of arguments. The span of an argument in braces is followed by the spans
// of its elements.
func Places(args []Arg) (list [][2]int) {
	for _, a := range args {
		list = append(append(list, [2]int{a.pos, a.end}), Places(a.List)...)
	}
	return list
}

// Within returns the text that contains the command or argument: one of the texts that Parse was
// given. Place returns offsets in this text.
func (a arg) Within() string { return a.src }

// Distributes reports whether the command distributes a statement over the ranks of a job.
func (c *Command) Distributes() bool {
	return c.Name == "distribute" || c.Name == "communicate" || c.Name == "rotate"
}

// OnGPU reports whether the command names a unit of a GPU or a library of a GPU.
func (c *Command) OnGPU() bool {
	return slices.ContainsFunc(c.Args, func(a Arg) bool {
		switch c.Name {
		case "parallelize":
			return strings.HasPrefix(a.Text, "GPU")
		case "substitute":
			return a.Text == choice.CuBLAS || a.Text == choice.CuSPARSE
		}
		return false
	})
}

// Function returns the C function that a substitute command names: the file that defines the
// function, the function's name, and the argument. ok is false if the command names no C function.
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

// isFunction reports whether text is a valid name for a C function.
func isFunction(text string) bool {
	for k := range len(text) {
		if text[k] != '_' && !nameByte(text[k], k > 0) {
			return false
		}
	}
	return text != ""
}

func (c *Command) String() string { return c.src[c.pos:c.end] }

// Parse parses the values of -s, in order. Each value has commands that are separated by commas or
// line breaks, or is blank. A # starts a comment that ends with the line.
func Parse(texts []string) ([]*Command, error) {
	var out []*Command
	for _, t := range texts {
		p := &reader{src: t}
		if p.space(); p.at == len(t) {
			continue // blank: the schedule leaves the loops unchanged
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

// space skips spaces and comments, and reports whether it skipped the end of a line.
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

// got returns an error that shows the next character, or says that the schedule ends. want
// describes what was expected instead.
func (p *reader) got(want string) error {
	if p.at >= len(p.src) {
		return diag.At(BadCommand, p.src, len(p.src), len(p.src), "got the end of the schedule, want "+
			"%s",
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

// args parses arguments up to the closing character, and skips that character.
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

// argument parses one argument. Outside parentheses, an argument without braces or quotes ends
// before a comma, a brace or a closing parenthesis.
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
				"got a file name without its second quote, want one on the same line")
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

package jobfile

import (
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// Limits of a file.
const (
	MaxBytes = 16 << 20 // largest size of the text
	MaxLine  = 1 << 20  // largest size of a line with its continuation lines
	MaxDepth = 1000     // largest nesting depth of braces
)

// blockKeywords lists the first words of lines that end with the brace of a block.
var blockKeywords = []string{"repeat", "if", "else", "proc"}

// tabStop is the distance between the columns of tabs.
const tabStop = 8

// clean returns the text of a segment with spaces in place of comments. A quote that is not closed
// on its line is an error, and so is a NUL character outside comments.
func clean(f *File, s *segment) (string, error) {
	out := []byte(f.text[s.Pos:s.End])
	at := func(k int) notation.Span { return notation.Span{Pos: s.Pos + k, End: s.Pos + k + 1} }
	quote := -1 // the place of the open quote
	for k := 0; k < len(out); k++ {
		switch c := out[k]; {
		case c == '\n' && quote >= 0:
			return "", f.Errorf(at(quote), Syntax,
				"got a file name without its second quote, want one on the same line")
		case c == 0:
			return "", f.Errorf(at(k), Syntax, "got a NUL character, want text")
		case c == '"' && quote >= 0:
			quote = -1
		case c == '"':
			quote = k
		case c == '#' && quote < 0:
			for k < len(out) && out[k] != '\n' {
				out[k] = ' '
				k++
			}
			k--
		case c == '\r' && quote < 0 && k+1 < len(out) && out[k+1] == '\n':
			out[k] = ' '
		}
	}
	if quote >= 0 {
		return "", f.Errorf(at(quote), Syntax,
			"got a file name without its second quote, want one on the same line")
	}
	return string(out), nil
}

// line is a line of the file with its continuation lines.
type line struct {
	at     notation.Span
	indent int  // column of its first character
	inside bool // other text precedes it on the same line
}

// lineReader splits a text without comments into lines.
type lineReader struct {
	f     *File
	at    int
	limit int // the end of the text to split
	// inside is true if a part of the current line is already consumed.
	inside bool
}

// peek returns the next line without consuming it. ok is false at the end of the file.
func (r *lineReader) peek() (l line, ok bool, err error) {
	text, k, indent, inside := r.f.clean[:r.limit], r.at, 0, r.inside
	for ; k < len(text); k++ {
		switch c := text[k]; c {
		case '\n':
			indent, inside = 0, false
		case ' ', '\r':
			indent++
		case '\t':
			indent += tabStop - indent%tabStop
		default:
			l = line{at: notation.Span{Pos: k}, indent: indent, inside: inside}
			if l.at.End, err = r.end(k); err == nil && l.at.End-k > MaxLine {
				err = r.f.Errorf(notation.Span{Pos: k, End: k}, diag.TooLarge,
					"got a line of %d bytes, want at most %d", l.at.End-k, MaxLine)
			}
			return l, true, err
		}
	}
	return line{at: notation.Span{Pos: len(text), End: len(text)}}, false, nil
}

// moveTo continues at offset k, inside a line.
func (r *lineReader) moveTo(k int) { r.at, r.inside = k, true }

// bracket is an open bracket.
type bracket struct {
	at    int
	close byte
}

// end returns the end of the line that begins at from. A line ends at a line break of the text that
// is outside brackets and does not follow an operator, at the brace that opens a block, or at the
// brace that closes it.
func (r *lineReader) end(from int) (int, error) {
	text := r.f.clean[:r.limit]
	if text[from] == '}' {
		return from + 1, nil
	}
	block := keyword(text, notation.Span{Pos: from, End: len(text)}, blockKeywords...) != ""
	var open []bracket
	last := from // the end of the last character that is not a space
	for k := from; k < len(text); k++ {
		c := text[k]
		switch c {
		case '\n':
			if len(open) == 0 && !continues(text[from:last]) {
				return last, nil
			}
			continue
		case ' ', '\t', '\r':
			continue
		case '"':
			k += 1 + strings.IndexByte(text[k+1:], '"') // clean has checked that there is one
		case '(':
			open = append(open, bracket{k, ')'})
		case '[':
			open = append(open, bracket{k, ']'})
		case '{':
			if len(open) == 0 && block {
				return last, nil
			}
			open = append(open, bracket{k, '}'})
		case '}', ')', ']':
			if len(open) == 0 && c == '}' {
				return last, nil
			}
			if len(open) > 0 {
				b := open[len(open)-1]
				if b.close != c {
					return 0, suggestKeyword(r.unclosed(b, text[k:k+1]), text[from:], blockKeywords)
				}
				open = open[:len(open)-1]
			}
		}
		last = k + 1
	}
	if len(open) > 0 {
		return 0, suggestKeyword(r.unclosed(open[0], ""), text[from:], blockKeywords)
	}
	return last, nil
}

func (r *lineReader) unclosed(b bracket, got string) error {
	at := notation.Span{Pos: b.at, End: b.at + 1}
	if got == "" {
		return r.f.Errorf(at, Syntax, "got the end of the file, want %q for this bracket",
			string(b.close))
	}
	return r.f.Errorf(at, Syntax, "got %q, but a bracket before it is open; want %q first", got,
		string(b.close))
}

// continues reports whether a line that ends with text continues on the next line, because text
// ends with an operator.
func continues(text string) bool {
	return text != "" && strings.IndexByte("+-*/=<>", text[len(text)-1]) >= 0
}

// keyword returns the first word of the text at a place if it is one of words, and otherwise "". It
// also returns "" if the word is the left side of a statement, so that "(", "=" or "+=" follows it.
// After the words repeat and if, a parenthesis may begin the number of passes or the condition. The
// word is then a left side only if one of these texts follows the closing parenthesis.
func keyword(text string, at notation.Span, words ...string) string {
	rest := text[at.Pos:at.End]
	for _, w := range words {
		after, ok := strings.CutPrefix(rest, w)
		if !ok || after != "" && wordByte(after[0]) {
			continue
		}
		after = strings.TrimLeft(after, " \t\r")
		if (w == "repeat" || w == "if") && strings.HasPrefix(after, "(") {
			if after = afterParenthesis(after); after == "" {
				return w
			}
		}
		if strings.HasPrefix(after, "(") || assigns(after) {
			return ""
		}
		return w
	}
	return ""
}

// assigns reports whether text begins with = or +=. A comparison does not assign.
func assigns(text string) bool {
	return strings.HasPrefix(text, "=") && !strings.HasPrefix(text, "==") ||
		strings.HasPrefix(text, "+=")
}

// afterParenthesis returns the text after a pair of parentheses. text begins with the opening
// parenthesis. The result is "" if the parenthesis is not closed.
func afterParenthesis(text string) string {
	depth := 0
	for k := range len(text) {
		switch text[k] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return strings.TrimLeft(text[k+1:], " \t\r")
			}
		}
	}
	return ""
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Parse parses a job file. name is the file's name in messages. Errors are *diag.Error with a place
// in the file, except for a file that is too large. They include the errors of Bind with the values
// of the file's own params.
func Parse(name, text string) (*File, error) {
	return ParseFiles(name, text, nil)
}

// ParseFiles parses a job file that may include other files. read returns the text of an included
// file. If it is nil, includes are refused. See Parse.
func ParseFiles(name, text string, read func(name string) (string, error)) (*File, error) {
	f := &File{Name: name, named: map[string]*Param{}}
	if len(text) > MaxBytes {
		return nil, &diag.Error{Code: diag.TooLarge,
			Msg:  diag.Sprintf("got a job file of %d bytes, want at most %d", len(text), MaxBytes),
			File: name}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	s := f.addSegment(&segment{name: name}, text, text)
	clean, err := clean(f, s)
	if err != nil {
		return nil, err
	}
	f.clean = clean + "\n"
	p := &parser{f: f, read: read, tensors: map[string]bool{}, defs: map[string]*Def{},
		procs: map[string]*Proc{}}
	err = p.within(s, func() error {
		f.Items, err = p.items(0)
		return err
	})
	if err == nil {
		err = p.checkFresh()
	}
	if err != nil {
		return nil, err
	}
	for s := range f.Statements() {
		s.raw.Src = f.text
	}
	return f, f.Bind(nil)
}

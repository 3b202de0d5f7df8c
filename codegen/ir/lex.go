package ir

import (
	"fmt"
	"strconv"
	"strings"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokQuoted // @"...": always a name, even if the text is a word of the text form
	tokNumber
	tokMark    // an operator or a bracket
	tokComment // # text, the first line of a comment
	tokMore    // #| text, a further line of a comment
)

type token struct {
	kind tokenKind
	text string // a quoted name is stored without its quotes
	pos  int
}

func (t token) String() string {
	if t.kind == tokEnd {
		return "the end"
	}
	return strconv.Quote(t.text)
}

// lexer cuts the text form into tokens.
type lexer struct {
	src string
	pos int
}

// marks lists the operators and brackets, longer ones first.
var marks = []string{"&&", "||", "==", "!=", "<=", "+=", "<", "=", "+", "-", "*", "/", "%", "!", "&",
	"(", ")", "[", "]", "{", "}", ",", ":", "."}

func (l *lexer) next() (token, error) {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
		l.pos++
	}
	rest, start := l.src[l.pos:], l.pos
	if rest == "" {
		return token{tokEnd, "", start}, nil
	}
	c := rest[0]
	switch {
	case c == '#':
		return l.comment(rest, start), nil
	case c == '@':
		quoted, err := strconv.QuotedPrefix(rest[1:])
		if err != nil || quoted[0] != '"' {
			return token{}, l.errorf(start, "a quoted name wants \" after @, and another at its end")
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return token{}, l.errorf(start, "quoted name: %v", err)
		}
		l.pos += 1 + len(quoted)
		return token{tokQuoted, text, start}, nil
	case isIdent(rest[:1]):
		n := 1
		for n < len(rest) && isIdent("_"+rest[n:n+1]) {
			n++
		}
		l.pos += n
		return token{tokName, rest[:n], start}, nil
	case c >= '0' && c <= '9':
		n := numberLen(rest)
		l.pos += n
		return token{tokNumber, rest[:n], start}, nil
	}
	for _, m := range marks {
		if strings.HasPrefix(rest, m) {
			l.pos += len(m)
			return token{tokMark, m, start}, nil
		}
	}
	return token{}, l.errorf(start, "got %q, which starts nothing", c)
}

func (l *lexer) comment(rest string, start int) token {
	text, _, _ := strings.Cut(rest, "\n")
	l.pos += len(text)
	kind := tokComment
	text = text[1:]
	if strings.HasPrefix(text, "|") {
		kind, text = tokMore, text[1:]
	}
	return token{kind, strings.TrimPrefix(text, " "), start}
}

// numberLen returns the length of the number at the start of s, including its suffix f or i32.
func numberLen(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		sign := (c == '+' || c == '-') && (s[n-1] == 'e' || s[n-1] == 'E')
		if !(isIdent("_"+s[n:n+1]) || c == '.' || sign) {
			break
		}
		n++
	}
	return n
}

func (l *lexer) errorf(pos int, format string, args ...any) error {
	line := 1 + strings.Count(l.src[:pos], "\n")
	col := pos - strings.LastIndexByte(l.src[:pos], '\n')
	return fmt.Errorf("ir: %d:%d: %s", line, col, fmt.Sprintf(format, args...))
}

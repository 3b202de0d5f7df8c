package notation

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token. For punctuation of one character it is the character itself.
type tokenKind byte

const (
	tokEnd       tokenKind = 0
	tokName      tokenKind = 'n'
	tokNumber    tokenKind = '0'
	tokPlusEqual tokenKind = '&'
	tokPower     tokenKind = '^'       // **
	tokUpdate    tokenKind = '=' + 128 // min= and the like; see updates
	tokBad       tokenKind = '?'
)

type token struct {
	kind tokenKind
	at   Span
}

// scan splits a part of src into tokens. The last token has kind tokEnd. A character that cannot
// start a token becomes a tokBad, which the grammar accepts nowhere.
func scan(src string, part Span) []token {
	var out []token
	src = src[:part.End]
	for k := part.Pos; k < len(src); {
		c := src[k]
		start, kind := k, tokBad
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			k++
			continue
		case isLetter(c):
			kind = tokName
			for k < len(src) && (isLetter(src[k]) || isDigit(src[k]) || src[k] == '_') {
				k++
			}
			if end := k + 1; len(out) > 0 && end <= len(src) && updates[src[start:end]] != "" &&
				!(end < len(src) && src[end] == '=') {
				kind, k = tokUpdate, end
			}
		case isDigit(c) || c == '.' && k+1 < len(src) && isDigit(src[k+1]):
			kind = tokNumber
			k = scanNumber(src, k)
		case c == '+' && k+1 < len(src) && src[k+1] == '=':
			kind = tokPlusEqual
			k += 2
		case (c == '-' || c == '*') && k+1 < len(src) && src[k+1] == '=':
			kind = tokUpdate
			k += 2
		case c == '*' && k+1 < len(src) && src[k+1] == '*':
			kind = tokPower
			k += 2
		case strings.IndexByte("(){},=+-*/~", c) >= 0:
			kind = tokenKind(c)
			k++
		default:
			_, n := utf8.DecodeRuneInString(src[k:])
			k += n
		}
		out = append(out, token{kind, Span{start, k}})
	}
	return append(out, token{tokEnd, Span{len(src), len(src)}})
}

// scanNumber returns the end of the number that starts at src[k]: digits, an optional fraction and
// an optional exponent. An e without digits after it is not part of the number.
func scanNumber(src string, k int) int {
	digits := func() {
		for k < len(src) && isDigit(src[k]) {
			k++
		}
	}
	digits()
	if k < len(src) && src[k] == '.' {
		k++
		digits()
	}
	if k < len(src) && (src[k] == 'e' || src[k] == 'E') {
		e := k + 1
		if e < len(src) && (src[e] == '+' || src[e] == '-') {
			e++
		}
		if e < len(src) && isDigit(src[e]) {
			k = e
			digits()
		}
	}
	return k
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// IsName reports whether s is a NAME of the grammar.
func IsName(s string) bool {
	for k := 0; k < len(s); k++ {
		if !isLetter(s[k]) && (k == 0 || !isDigit(s[k]) && s[k] != '_') {
			return false
		}
	}
	return s != ""
}

// describe names a token in messages.
func (p *parser) describe(t token) string {
	if t.kind == tokEnd {
		return p.end
	}
	return fmt.Sprintf("%q", p.text(t))
}

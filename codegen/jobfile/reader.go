package jobfile

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
)

// reader reads the words of a part of the file. It keeps the first error in err. After an error,
// the results of its methods have no meaning.
type reader struct {
	f   *File
	at  int
	end int
	err error
	// words are the keywords that an error may suggest in place of a word.
	words []string
}

func (f *File) reader(at notation.Span) *reader { return &reader{f: f, at: at.Pos, end: at.End} }

func (r *reader) space() {
	for r.at < r.end && isBlank(rune(r.f.clean[r.at])) {
		r.at++
	}
}

// isBlank reports whether c separates the words of a job file. A form feed or a blank that is not
// ASCII does not separate words, and is an error between words.
func isBlank(c rune) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// wordsOf returns the words of text, which blanks separate.
func wordsOf(text string) []string { return strings.FieldsFunc(text, isBlank) }

// next returns the next character that is not a space, or 0 at the end.
func (r *reader) next() byte {
	if r.space(); r.at < r.end {
		return r.f.clean[r.at]
	}
	return 0
}

func (r *reader) fail(at notation.Span, code diag.Code, format string, args ...any) {
	if r.err == nil {
		r.err = r.f.Errorf(at, code, format, args...)
	}
}

// got records an error at the next word or character. want describes what was expected.
func (r *reader) got(want string) {
	if r.next() == 0 {
		r.fail(notation.Span{Pos: r.at, End: r.at}, Syntax, "got the end of the line, want %s", want)
		return
	}
	k := r.at
	for k < r.end && wordByte(r.f.clean[k]) {
		k++
	}
	if k == r.at {
		_, n := utf8.DecodeRuneInString(r.f.clean[k:])
		k += n
	}
	typed, _, _ := strings.Cut(r.f.clean[r.at:r.end], " ")
	if !slices.Contains(r.words, typed) {
		want += diag.DidYouMean(typed, r.words)
	}
	r.fail(notation.Span{Pos: r.at, End: k}, Syntax, "got %q, want %s", r.f.text[r.at:k], want)
}

// skip consumes a text if it is next, and reports whether it was.
func (r *reader) skip(text string) bool {
	if r.space(); r.err != nil || !strings.HasPrefix(r.f.clean[r.at:r.end], text) {
		return false
	}
	r.at += len(text)
	return true
}

// want consumes text, or records an error that says that text was expected. where says, for the
// error, at which place it was expected.
func (r *reader) want(text, where string) {
	if !r.skip(text) && r.err == nil {
		r.got(strconv.Quote(text) + " " + where)
	}
}

// word consumes the next word, which may be empty, and returns it with its place.
func (r *reader) word() (string, notation.Span) {
	r.space()
	from := r.at
	for r.at < r.end && wordByte(r.f.clean[r.at]) {
		r.at++
	}
	return r.f.clean[from:r.at], notation.Span{Pos: from, End: r.at}
}

// name consumes a NAME.
func (r *reader) name(want string) (string, notation.Span) {
	if r.err != nil {
		return "", notation.Span{}
	}
	w, at := r.word()
	if !notation.IsName(w) {
		r.at = at.Pos
		r.got(want)
	}
	return w, at
}

// quoted consumes a text in quotes. It returns the text without its quotes, and the place of the
// text in the file with its quotes. want says in an error message what was expected.
func (r *reader) quoted(want string) (string, notation.Span) {
	if r.err != nil {
		return "", notation.Span{}
	}
	if r.next() != '"' {
		r.got(want)
		return "", notation.Span{}
	}
	from := r.at
	n := strings.IndexByte(r.f.clean[from+1:r.end], '"')
	r.at = from + n + 2
	return r.f.clean[from+1 : r.at-1], notation.Span{Pos: from, End: r.at}
}

// ends records an error if anything is left.
func (r *reader) ends(want string) {
	if r.err == nil && r.next() != 0 {
		r.got(want)
	}
}

// until consumes text up to the first character that is in chars and not inside brackets, or up to
// the end. It returns the place of the consumed text.
func (r *reader) until(chars string) notation.Span {
	r.space()
	from, depth := r.at, 0
	for ; r.at < r.end; r.at++ {
		c := r.f.clean[r.at]
		if depth == 0 && strings.IndexByte(chars, c) >= 0 {
			break
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	return r.f.trimmed(notation.Span{Pos: from, End: r.at})
}

// before consumes at least one word, up to the next of the given words or the end, and returns the
// place of the text.
func (r *reader) before(words ...string) notation.Span {
	r.space()
	from := r.at
	for first := true; r.at < r.end; first = false {
		w, at := r.word()
		if !first && slices.Contains(words, w) {
			r.at = at.Pos
			break
		}
		if w == "" && r.at < r.end {
			r.at++
		}
	}
	return r.f.trimmed(notation.Span{Pos: from, End: r.at})
}

// orFail reports whether the last words are "or fail", and removes them.
func (r *reader) orFail() bool {
	rest := r.f.trimmed(notation.Span{Pos: r.at, End: r.end})
	text := r.f.clean[rest.Pos:rest.End]
	text, fail := strings.CutSuffix(text, "fail")
	text, or := strings.CutSuffix(strings.TrimRightFunc(text, isBlank), "or")
	if !fail || !or || text != "" && wordByte(text[len(text)-1]) {
		return false
	}
	r.end = rest.Pos + len(text)
	return true
}

// trimmed returns a place without the spaces at its end.
func (f *File) trimmed(at notation.Span) notation.Span {
	at.End = at.Pos + len(strings.TrimRightFunc(f.clean[at.Pos:at.End], isBlank))
	return at
}

// expr parses an expression.
func (r *reader) expr(at notation.Span) notation.Expr {
	if r.err != nil {
		return &notation.Number{}
	}
	x, err := notation.ParseExprIn(r.f.clean, at)
	if err != nil {
		r.err = r.f.placed(err, 0)
		return &notation.Number{}
	}
	return x
}

// placement parses a placement.
func (r *reader) placement() *Placed {
	r.space()
	if r.err != nil {
		return nil
	}
	from := r.at
	p, end, err := place.ParsePlacement(r.f.clean, from, r.end)
	if err != nil {
		r.err = r.f.placed(err, 0)
		return nil
	}
	r.at = end
	return &Placed{span{Pos: from, End: end}, p}
}

// placed returns an error with its place in the file. The text that err is about begins at offset
// pos of the file.
func (f *File) placed(err error, pos int) error {
	var d *diag.Error
	if !errors.As(err, &d) {
		return err
	}
	return f.placedAt(d, notation.Span{Pos: pos + d.Pos, End: pos + d.End})
}

package jobfile

import (
	"errors"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// parser parses the items of a file.
type parser struct {
	f     *File
	lines lineReader
}

// keywords lists the words that begin items other than statements.
var keywords = []string{"param", "machine", "tensor", "place", "repeat", "print"}

// blockWords lists the words that begin indented lines under a statement, other than scheduling
// commands.
var blockWords = append(slices.Clone(blockSchedule), "network", "intermediate-order", "on")

// blockSchedule lists the words in blockWords that say which rank runs which part.
var blockSchedule = []string{"split", "order", "extend", "map"}

// items parses items up to the end of the file, or to the brace that closes the surrounding repeat.
// depth is the number of repeats around them.
func (p *parser) items(depth int) ([]Item, error) {
	var items []Item
	for {
		l, ok, err := p.lines.peek()
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return items, nil
		case p.f.clean[l.at.Pos] == '}':
			if depth == 0 {
				return nil, p.f.Errorf(l.at, Syntax, `got "}" without an open "{"`)
			}
			return items, nil
		case l.inside:
			r := p.f.reader(l.at)
			r.got("the end of the line")
			return nil, r.err
		}
		item, err := p.item(l, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// item parses one item. Its first line is l, and its other lines follow.
func (p *parser) item(l line, depth int) (Item, error) {
	word := keyword(p.f.clean, l.at, keywords...)
	switch word {
	case "":
		return p.statement(l)
	case "repeat":
		return p.repeat(l, depth)
	case "tensor":
		if err := p.addIndented(&l); err != nil {
			return nil, err
		}
	}
	p.lines.moveTo(l.at.End)
	r := p.f.reader(l.at)
	r.skip(word)
	r.words = secondWords[word]
	if depth > 0 && (word == "param" || word == "machine" || word == "tensor") {
		r.fail(l.at, Declaration,
			"got a %s inside a repeat; declarations must be outside it", word)
		return nil, r.err
	}
	item := p.declared(r, word, span(l.at))
	if r.ends(wants[word]); r.err != nil {
		return nil, r.err
	}
	return item, p.noLineIndented(l, word)
}

// secondWords are the keywords that may follow the name in an item, by the item's first word.
var secondWords = map[string][]string{
	"tensor": {"type", "place", "from", "to", "index-base", "duplicates"},
}

// wants describes the text that may follow an item, for error messages. The key is the item's first
// word.
var wants = map[string]string{
	"param":   "the end of the line",
	"machine": "the end of the line",
	"tensor":  "type, place, from, to or the end of the line",
	"place":   "the end of the line",
	"print":   "the end of the line",
}

// declared parses an item of a job file that begins with the keyword word, such as param, tensor or
// print, and returns the item. The reader r has already consumed the keyword.
func (p *parser) declared(r *reader, word string, at span) Item {
	switch word {
	case "param":
		return p.param(r, at)
	case "machine":
		return p.machine(r, at)
	case "tensor":
		return p.tensor(r, at)
	case "place":
		t := &Place{span: at}
		t.Name, t.at = r.name("a tensor, as in place A (x,y) -> M(x)")
		t.Placement = r.placement()
		return t
	case "print":
		t := &Print{span: at}
		t.Name, t.at = r.name("a tensor, as in print A")
		return t
	}
	panic("BUG: jobfile: no rule for " + word)
}

// addIndented adds the lines to l that are indented deeper than l.
func (p *parser) addIndented(l *line) error {
	for !l.inside {
		p.lines.moveTo(l.at.End)
		next, ok, err := p.indentedLine(*l)
		if err != nil || !ok {
			return err
		}
		l.at.End = next.at.End
	}
	return nil
}

// indentedLine returns the next line if it is indented deeper than l. The second result is false if
// it is not.
func (p *parser) indentedLine(l line) (line, bool, error) {
	next, ok, err := p.lines.peek()
	if err != nil || !ok || next.inside || next.indent <= l.indent || p.f.clean[next.at.Pos] == '}' {
		return line{}, false, err
	}
	return next, true, nil
}

// noLineIndented refuses a line that is indented deeper than l.
func (p *parser) noLineIndented(l line, word string) error {
	if l.inside {
		return nil
	}
	next, ok, err := p.indentedLine(l)
	if err == nil && ok {
		err = p.f.Errorf(next.at, Syntax,
			"got a line indented under a %s, which has no commands; statements must start in the "+
				"column of the line above", word)
	}
	return err
}

// repeat parses "repeat N [until COND [or fail]]" and its body.
func (p *parser) repeat(l line, depth int) (Item, error) {
	t := &Repeat{span: span(l.at)}
	r := p.f.reader(l.at)
	r.skip("repeat")
	p.header(r, t)
	brace := l.at.End
	for brace < len(p.f.clean) && p.f.clean[brace] != '{' && p.f.clean[brace] != '\n' {
		brace++
	}
	open := notation.Span{Pos: brace, End: brace + 1}
	if r.err == nil && (brace == len(p.f.clean) || p.f.clean[brace] != '{') {
		r.got(`"{" and the lines to repeat`)
	}
	if r.err == nil && depth == MaxDepth {
		r.fail(open, diag.TooLarge, "got repeats nested more than %d deep", MaxDepth)
	}
	if r.err != nil {
		return nil, r.err
	}
	p.lines.moveTo(open.End)
	first, ok, err := p.lines.peek()
	if err != nil {
		return nil, err
	}
	if ok && first.inside && p.f.clean[first.at.Pos] != '}' {
		item, err := p.item(first, depth+1)
		if err != nil {
			return nil, err
		}
		t.Body = []Item{item}
		if last, ok, err := p.lines.peek(); err == nil &&
			(!ok || !last.inside || p.f.clean[last.at.Pos] != '}') {
			return nil, p.f.Errorf(first.at, Syntax,
				`got text after "{" and no "}" on the line; want either one statement and "}" `+
					`on this line, or the repeated statements on lines of their own`)
		}
	} else if t.Body, err = p.items(depth + 1); err != nil {
		return nil, err
	}
	last, ok, err := p.lines.peek()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, p.f.Errorf(open, Syntax, `got the end of the file, want "}" for this brace`)
	}
	p.lines.moveTo(last.at.Pos + 1)
	return t, p.noLineIndented(l, "repeat")
}

// wordAt returns the word that an error is about, or "" if it is not about a word of the file.
func (p *parser) wordAt(err error) string {
	var d *diag.Error
	if !errors.As(err, &d) || d.Pos >= len(p.f.clean) {
		return ""
	}
	word, _, _ := strings.Cut(p.f.clean[d.Pos:], " ")
	return word
}

// header parses the text between repeat and its brace.
func (p *parser) header(r *reader, t *Repeat) {
	if r.next() == 0 {
		r.got("the number of passes, as in repeat 10 { ... }")
	}
	t.count = p.size(r, r.before("until", "or"))
	if word := p.wordAt(r.err); word != "" {
		r.err.(*diag.Error).Msg += diag.DidYouMean(word, []string{"until", "or"})
	}
	t.count.what, t.count.least = "the number of passes", 1
	if until, _ := r.word(); until == "until" {
		t.Fail = r.orFail()
		t.Until = p.cond(r)
		switch word := p.wordAt(r.err); word {
		case "or", "fail":
			r.err.(*diag.Error).Msg += `; after the condition, only "or fail" may follow`
		}
		return
	}
	r.at = t.count.End
	r.ends(`"until" or "{"`)
}

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
	loops int                               // the repeats around the current place
	read  func(name string) (string, error) // reads an included file; nil if there are none
	defs  map[string]*Def
	procs map[string]*Proc
	// current is the procedure that is being defined, or nil. called is the number of calls so far,
	// and fresh has the names that they made for local tensors.
	current *Proc
	called  int
	fresh   []string
	// tensors has the names that declarations and left sides have given to tensors so far.
	tensors map[string]bool
}

// keywords lists the words that begin items other than statements.
var keywords = []string{"param", "machine", "tensor", "place", "repeat", "if", "break", "continue",
	"print", "def", "proc", "call", "include"}

// blockWords lists the words that begin indented lines under a statement, other than scheduling
// commands.
var blockWords = append(slices.Clone(blockSchedule), "network", "intermediate-order", "on")

// blockSchedule lists the words in blockWords that say which rank runs which part.
var blockSchedule = []string{"split", "order", "extend", "map"}

// items parses items up to the end of the file, or to the brace that closes the surrounding block.
// depth is the number of blocks around them.
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
		if depth == 0 && keyword(p.f.clean, l.at, "include") != "" {
			included, err := p.include(l)
			if err != nil {
				return nil, err
			}
			items = append(items, included...)
			continue
		}
		item, err := p.item(l, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// declarations lists the keywords of items that must be outside braces.
var declarations = []string{"param", "machine", "tensor", "def", "proc", "include"}

// item parses one item. Its first line is l, and its other lines follow.
func (p *parser) item(l line, depth int) (Item, error) {
	word := keyword(p.f.clean, l.at, keywords...)
	switch {
	case word == "" && p.isLinalg(l.at):
		return p.linalg(l)
	}
	if depth > 0 && slices.Contains(declarations, word) {
		return nil, p.f.Errorf(l.at, Declaration,
			"got %s inside braces; declarations must be outside them", word)
	}
	switch word {
	case "":
		return p.statement(l)
	case "proc":
		return p.proc(l)
	case "call":
		p.lines.moveTo(l.at.End)
		r := p.f.reader(l.at)
		r.skip(word)
		item, err := p.call(r, l, depth)
		if err != nil {
			return nil, err
		}
		return item, p.noLineIndented(l, word)
	case "repeat":
		return p.repeat(l, depth)
	case "if":
		return p.branches(l, l, depth)
	case "tensor":
		if err := p.addIndented(&l); err != nil {
			return nil, err
		}
	}
	p.lines.moveTo(l.at.End)
	r := p.f.reader(l.at)
	r.skip(word)
	r.words = secondWords[word]
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
	"break":   "the end of the line", "continue": "the end of the line",
	"def": "the end of the line",
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
	case "def":
		return p.def(r, at)
	case "break", "continue":
		return p.leave(r, word, at)
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
	p.loops++
	var err error
	t.Body, err = p.block(r, l, depth, "repeat")
	p.loops--
	if err != nil {
		return nil, err
	}
	return t, p.noLineIndented(l, "repeat")
}

// branches parses "if COND", its block, and "else" with its block or another if. l is the line of
// the if, and first the line of the first if of a chain.
func (p *parser) branches(l, first line, depth int) (Item, error) {
	t := &If{span: span(l.at)}
	r := p.f.reader(l.at)
	r.skip("if")
	t.Cond = p.cond(r, "if")
	var err error
	if t.Then, err = p.block(r, l, depth, "if"); err != nil {
		return nil, err
	}
	next, ok, err := p.lines.peek()
	if err != nil {
		return nil, err
	}
	if !ok || keyword(p.f.clean, next.at, "else") == "" {
		return t, p.noLineIndented(first, "if")
	}
	r = p.f.reader(next.at)
	r.skip("else")
	if r.next() != 0 && depth < MaxDepth {
		at := notation.Span{Pos: r.at, End: next.at.End}
		if keyword(p.f.clean, at, "if") == "" {
			r.got(`"{" or "if"`)
			return nil, r.err
		}
		other, err := p.branches(line{at: at, indent: next.indent, inside: next.inside}, first, depth+1)
		t.Else, t.chained = []Item{other}, true
		return t, err
	}
	if t.Else, err = p.block(r, next, depth, "else"); err != nil {
		return nil, err
	}
	return t, p.noLineIndented(first, "if")
}

// leave parses the text after break or continue.
func (p *parser) leave(r *reader, word string, at span) Item {
	t := &Leave{span: at, Next: word == "continue"}
	if p.loops == 0 {
		r.fail(notation.Span{Pos: at.Pos, End: at.Pos + len(word)}, Syntax,
			"got %s outside a repeat", word)
	}
	if next, _ := r.word(); next != "if" {
		r.at -= len(next)
		r.got("if and a condition, as in " + word + " if rr < 1e-9")
	}
	if r.err == nil {
		t.Cond = p.cond(r, word+" if")
		r.at = r.end
	}
	return t
}

// block parses "{", items and "}". The brace follows line l, which r reads. word is the first word of
// the line, and depth the number of blocks around the line.
func (p *parser) block(r *reader, l line, depth int, word string) (body []Item, err error) {
	brace := l.at.End
	for brace < p.lines.limit && p.f.clean[brace] != '{' && p.f.clean[brace] != '\n' {
		brace++
	}
	open := notation.Span{Pos: brace, End: brace + 1}
	if r.err == nil && (brace == p.lines.limit || p.f.clean[brace] != '{') {
		r.at = r.end
		r.got(`"{" and the lines of the ` + word)
	}
	if r.err == nil && depth >= MaxDepth {
		r.fail(open, diag.TooLarge, "got braces nested more than %d deep", MaxDepth)
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
		body = []Item{item}
		if last, ok, err := p.lines.peek(); err == nil &&
			(!ok || !last.inside || p.f.clean[last.at.Pos] != '}') {
			return nil, p.f.Errorf(first.at, Syntax,
				`got text after "{" and no "}" on the line; want either one statement and "}" `+
					`on this line, or the statements on lines of their own`)
		}
	} else if body, err = p.items(depth + 1); err != nil {
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
	return body, nil
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
		t.Until = p.cond(r, "until")
		switch word := p.wordAt(r.err); word {
		case "or", "fail":
			r.err.(*diag.Error).Msg += `; after the condition, only "or fail" may follow`
		}
		return
	}
	r.at = t.count.End
	r.ends(`"until" or "{"`)
}

package jobfile

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
)

// param parses NAME = NUMBER.
func (p *parser) param(r *reader, at span) Item {
	t := &Param{span: at}
	t.Name, t.at = r.name("a name, as in param n = 100")
	r.want("=", "and a number")
	if r.next(); r.err != nil {
		return t
	}
	value := r.f.trimmed(notation.Span{Pos: r.at, End: r.end})
	r.at, t.text = r.end, p.f.clean[value.Pos:value.End]
	var ok bool
	if t.Value, ok = parseNumber(t.text); !ok {
		r.fail(value, BadNumber, "got %q for param %s, want a number", t.text, t.Name)
	}
	p.f.params = append(p.f.params, t)
	if p.f.named[t.Name] == nil { // Check refuses a second param with this name
		p.f.named[t.Name] = t
	}
	return t
}

// parseNumber parses a number with an optional sign.
func parseNumber(text string) (Number, bool) {
	digits := strings.TrimSpace(text)
	sign := int64(1)
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		digits, sign = rest, -1
	} else {
		digits = strings.TrimPrefix(digits, "+")
	}
	digits = strings.TrimSpace(digits)
	x, err := notation.ParseExprIn(digits, notation.Span{End: len(digits)})
	n, ok := x.(*notation.Number)
	if err != nil || !ok || strings.ContainsAny(digits, "()") {
		return Number{}, false
	}
	out := Number{Text: digits, IsInt: n.IsInt, Int: sign * n.Int, Float: float64(sign) * n.Float}
	if sign < 0 {
		out.Text = "-" + digits
	}
	return out, true
}

// Expr returns n as an expression of package notation.
func (n Number) Expr() notation.Expr {
	digits, negative := strings.CutPrefix(n.Text, "-")
	x := &notation.Number{Text: digits, IsInt: n.IsInt, Int: n.Int, Float: n.Float}
	if !negative {
		return x
	}
	x.Int, x.Float = -x.Int, -x.Float
	return &notation.Neg{X: x}
}

// machine parses NAME(E, ...), NAME = "..." or NAME = cosma. Grid(E, ...) may stand in place of
// E, ... in the first form, and in place of the text in quotes in the second.
func (p *parser) machine(r *reader, at span) Item {
	t := &Machine{span: at}
	t.Name, t.at = r.name("a name, as in machine M(p)")
	if r.skip("=") {
		if t.Extents = p.grid(r); t.Extents == nil {
			p.grids(r, t)
			return t
		}
	} else {
		if r.next(); r.err == nil && r.next() != '(' {
			r.got(`"(" and the extents, as in machine M(p), or "="`)
		}
		from := r.at
		r.skip("(")
		if t.Extents = p.grid(r); t.Extents == nil {
			r.at = from
			t.Extents = p.sizes(r)
		} else {
			r.want(")", `after the grid`)
		}
	}
	for k := range t.Extents {
		e := &t.Extents[k]
		e.what, e.least, e.ranks = "an extent of "+t.Name, 1, true
	}
	if r.err == nil && len(t.Extents) == 0 {
		r.fail(notation.Span{Pos: r.at - 1, End: r.at}, Syntax,
			"got no extents, want at least one, as in machine M(p)")
	}
	return t
}

// grid parses the extents of a machine in the notation of DISTAL (2022), Grid(2, 2). It returns nil
// if they are written in another way.
func (p *parser) grid(r *reader) []Size {
	from := r.at
	if r.skip("Grid") && r.next() == '(' {
		return append([]Size{}, p.sizes(r)...)
	}
	r.at = from
	return nil
}

// grids parses a machine: either a quoted text with the grid of each level, as in
// "nodes=2x2;gpus=4", or the word cosma.
func (p *parser) grids(r *reader, t *Machine) {
	from := r.at
	if word, _ := r.word(); word == "cosma" {
		t.Text = word
		t.levels, r.err = place.ParseMachine(word)
		return
	}
	r.at = from
	var at notation.Span
	t.Text, at = r.quoted(`cosma, or the grid of each level in quotes, as in "nodes=2x2;gpus=4"`)
	if r.err == nil && t.Text == "" {
		r.fail(at, Syntax,
			"got an empty string, want the grid of each level, as in \"nodes=2x2;gpus=4\"")
	}
	if r.err != nil {
		return
	}
	var list []notation.Span
	if t.Text != "cosma" {
		list = extentsOf(t.Text)
	}
	whole := textEdits{text: t.Text}
	for _, e := range list {
		// arithmetic is replaced by a number here
		if strings.Trim(t.Text[e.Pos:e.End], "0123456789 ") != "" {
			whole.replace(e.Pos, e.End, "1")
		}
	}
	numbers, arithmetic := whole.result()
	var err error
	if t.levels, err = place.ParseMachine(numbers); err != nil {
		r.err = p.f.placed(err, at.Pos+1)
		if len(arithmetic) > 0 {
			r.err = nil
			r.fail(at, err.(*diag.Error).Code, "%s", err.(*diag.Error).Msg)
		}
		return
	}
	for _, e := range list {
		s := p.size(r, p.f.trimmed(notation.Span{Pos: at.Pos + 1 + e.Pos, End: at.Pos + 1 + e.End}))
		s.what, s.least, s.ranks = "an extent of "+t.Name, 1, true
		t.Extents = append(t.Extents, s)
	}
}

// extentsOf returns the places of the extents in the text of a machine, such as "nodes=2x2;gpus=g".
// An x separates two extents if it directly follows a number or is a word of its own: "q x q" has
// two extents.
func extentsOf(text string) (list []notation.Span) {
	from := 0
	end := func(k int) {
		list = append(list, notation.Span{Pos: from, End: k})
		from = k + 1
	}
	for k := 0; k < len(text); k++ {
		switch c := text[k]; {
		case c == '=':
			from = k + 1
		case c == ';':
			end(k)
		case '0' <= c && c <= '9':
			for k+1 < len(text) && '0' <= text[k+1] && text[k+1] <= '9' {
				k++
			}
			if k+1 < len(text) && text[k+1] == 'x' {
				k++
				end(k)
			}
		case wordByte(c):
			start := k
			for k+1 < len(text) && wordByte(text[k+1]) {
				k++
			}
			if text[start:k+1] == "x" {
				end(start)
			}
		}
	}
	end(len(text))
	for k := range list {
		for e := &list[k]; e.Pos < e.End && text[e.Pos] == ' '; {
			e.Pos++
		}
	}
	return list
}

// sizes parses "(" [SIZE {"," SIZE}] ")".
func (p *parser) sizes(r *reader) []Size {
	var list []Size
	r.want("(", "")
	if r.skip(")") {
		return nil
	}
	for r.err == nil {
		from := r.at
		at := r.until(",)")
		if at.Pos == at.End {
			r.at = from
			r.got("a size")
		}
		list = append(list, p.size(r, at))
		if r.skip(")") {
			break
		}
		r.want(",", `or ")"`)
	}
	return list
}

// tensor parses NAME[(SIZE, ...)][: LEVELS[:ORDER]] and its clauses.
func (p *parser) tensor(r *reader, at span) Item {
	t := &Tensor{span: at, Declared: true}
	t.Name, t.at = r.name("a name, as in tensor A(n, m): ds")
	if r.next() == '(' {
		t.Sizes = p.sizes(r)
	}
	t.Order = len(t.Sizes)
	if r.skip(":") {
		p.levels(r, t)
	}
	seen := map[string]bool{}
	for r.err == nil && r.next() != 0 {
		word, at := r.word()
		clause, ok := clauses[word]
		switch {
		case !ok:
			r.at = at.Pos
			want := wants["tensor"]
			if len(seen) == 0 && t.Format == "" {
				want = `":" and levels, ` + want
			}
			r.got(want)
		case seen[word]:
			r.fail(at, Declaration, "got %s twice for tensor %s, want it only once", word, t.Name)
		default:
			seen[word] = true
			clause(p, r, t)
		}
	}
	p.f.Tensors = append(p.f.Tensors, t)
	p.tensors[t.Name] = true
	return t
}

// clauses has the parser of each clause of a tensor's declaration, by the keyword before the
// clause.
var clauses = map[string]func(*parser, *reader, *Tensor){
	"type": func(_ *parser, r *reader, t *Tensor) {
		word, at := r.word()
		if word == "" {
			r.got("a type, as in type float64")
			return
		}
		if _, err := notation.ParseType(word); err != nil && r.err == nil {
			r.fail(at, diag.BadType, "%v", err)
		}
		t.Type = word
	},
	"place": func(_ *parser, r *reader, t *Tensor) { t.Placement = r.placement() },
	"from":  (*parser).from,
	"to": func(_ *parser, r *reader, t *Tensor) {
		if t.To, t.ToAt = r.quoted(`a file in quotes, as in to "a.npy"`); t.To == "" {
			r.fail(t.ToAt, Syntax, "got an empty file name, want one, as in to \"a.npy\"")
		}
	},
}

// levels parses LEVELS[:ORDER].
func (p *parser) levels(r *reader, t *Tensor) {
	letters, at := r.word()
	if _, clause := clauses[letters]; clause {
		r.at = at.Pos
		r.got(`a letter for each level after ":", as in ": ds"`)
		return
	}
	if letters == "" {
		r.got(`a letter for each level, as in ": ds"`)
		return
	}
	if r.skip(":") {
		order := r.next()
		for '0' <= order && order <= '9' {
			r.word()
			if !r.skip(",") {
				break
			}
			order = r.next()
		}
		if at.End = r.at; order < '0' || order > '9' {
			r.got(`the mode that each level stores, as in ": ds:1,0"`)
			return
		}
	}
	t.Format = compact(p.f.clean[at.Pos:at.End])
	f, err := notation.ParseFormat(t.Format)
	if err != nil {
		exact := len(t.Format) == at.End-at.Pos
		if r.err = p.f.placed(err, at.Pos); !exact {
			r.err = nil
			r.fail(at, diag.BadFormat, "%s", err.(*diag.Error).Msg)
		}
		return
	}
	switch n := f.NumModes(); {
	case n == t.Order:
	case t.Order == 0:
		sizes := make([]string, n)
		for k := range sizes {
			sizes[k] = "n" + strconv.Itoa(k+1)
		}
		r.fail(at, diag.BadFormat, "got %s for tensor %s, which has no sizes; want them after its "+
			"name, as in %[2]s(%s): %s", tensor.Count(n, "level"), t.Name, strings.Join(sizes, ", "),
			t.Format)
	default:
		r.fail(at, diag.BadFormat, "got %s for tensor %s, want %d: it has %s",
			tensor.Count(n, "level"), t.Name, t.Order, tensor.Count(t.Order, "size"))
	}
}

// compact returns text without spaces.
func compact(text string) string { return strings.Join(wordsOf(text), "") }

// from parses "FILE", a number or a kind.
func (p *parser) from(r *reader, t *Tensor) {
	if r.next() == '"' {
		if t.From, t.FromAt = r.quoted(""); t.From == "" {
			r.fail(t.FromAt, Syntax, "got an empty file name, want one, as in from \"a.tcs\"")
		}
		p.reading(r, t)
		return
	}
	from := r.at
	for r.at < r.end && !isBlank(rune(p.f.clean[r.at])) && p.f.clean[r.at] != '"' {
		r.at++
	}
	t.FromAt = notation.Span{Pos: from, End: r.at}
	t.from = p.f.clean[from:r.at]
	switch {
	case t.from == "":
		r.got(`a file in quotes, a number, or what -g takes, as in from "b.tcs" or from uniform:1000`)
	case IsNumber(t.from):
		t.FromNumber, t.from = t.from, ""
	case isUnquotedFile(t.from):
		r.fail(t.FromAt, Syntax, "got %s after from, want a file's name in quotes: from %[1]q", t.from)
	case !notation.IsName(t.from[:1]) || !isKind(t.from):
		r.fail(t.FromAt, Syntax,
			"got %q after from, want either a file in quotes, or a number, or what -g takes, "+
				"as in uniform:1000",
			t.from)
	}
}

// isUnquotedFile reports whether text looks like the name of a file without quotes. In a file's
// name there is a dot or a slash before the first colon, and no parenthesis. The name of a
// generator has no dot and no slash.
func isUnquotedFile(text string) bool {
	generator, _, _ := strings.Cut(text, ":")
	return strings.ContainsAny(generator, "./") && !strings.ContainsAny(text, "()")
}

// reading parses the options after a file's name: index-base 0 or 1, duplicates sum or error.
func (p *parser) reading(r *reader, t *Tensor) {
	for r.err == nil {
		var option string
		var to *string
		var values []string
		switch {
		case r.skip("index-base"):
			option, to, values = "index-base", &t.IndexBase, []string{"0", "1"}
		case r.skip("duplicates"):
			option, to, values = "duplicates", &t.Duplicates, []string{"sum", "error"}
		default:
			return
		}
		at := notation.Span{Pos: r.at - len(option), End: r.at}
		value, valueAt := r.word()
		switch {
		case *to != "":
			r.fail(at, Declaration, "got %s twice for tensor %s, want it only once",
				option, t.Name)
		case !slices.Contains(values, value):
			r.at = valueAt.Pos
			r.got(strings.Join(values, " or ") + " after " + option)
		}
		if *to = value; option == "index-base" {
			t.BaseAt = notation.Span{Pos: at.Pos, End: r.at}
		}
	}
}

// IsNumber reports whether text is a number that -i accepts for a scalar.
func IsNumber(text string) bool {
	if strings.ContainsAny(text, "_xX") {
		return false
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return true
	}
	text, paren := strings.CutSuffix(text, ")")
	if n := len(text); n > 0 && text[n-1] == 'j' { // as Python prints complex numbers
		text = text[:n-1] + "i"
	}
	if !strings.HasSuffix(text, "i") {
		return false
	}
	if paren {
		text += ")"
	}
	_, err := strconv.ParseComplex(text, 128)
	return err == nil
}

// isKind reports whether text has the form of a kind of generated data, such as uniform:1000. It
// may have words and numbers, and the characters ":", ".", "+" and "-".
func isKind(text string) bool {
	for k := range len(text) {
		if c := text[k]; !wordByte(c) && strings.IndexByte(":.+-", c) < 0 {
			return false
		}
	}
	return true
}

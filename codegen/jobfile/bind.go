package jobfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// Bind sets each param to its value in params or, if it has none there, to its value in the file.
// It then replaces the params by their values in statements, sizes, conditions, commands and kinds.
// It returns an error (exit code 2) if params names a param that the file does not declare, if a
// value is not a number, or if a statement assigns to a param or gives it index variables. It also
// returns an error if the values make a text of the file wrong, such as the number of passes of a
// repeat.
func (f *File) Bind(params map[string]string) error {
	for _, p := range f.params {
		p.Value, _ = parseNumber(p.text)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p := f.Param(name)
		if p == nil {
			return f.noParam(name, params[name])
		}
		v, ok := parseNumber(params[name])
		if !ok {
			return diag.Errorf(BadNumber, "-D=%s=%s: got %q for param %s, want a number", name, params[name],
				params[name], name)
		}
		p.Value = v
	}
	return f.bind(f.Items)
}

func (f *File) noParam(name, value string) error {
	var names []string
	for _, p := range f.params {
		names = append(names, p.Name)
	}
	has := "it has none"
	if len(names) > 0 {
		has = "its params are " + strings.Join(names, ", ")
	}
	return diag.Errorf(Unknown, "-D=%s=%s: %s has no param %s; %s", name, value, f.Name, name, has)
}

func (f *File) bind(items []Item) error {
	for _, it := range items {
		var err error
		switch it := it.(type) {
		case *Machine:
			f.bindSizes(it.Extents)
		case *Tensor:
			f.bindTensor(it)
		case *Statement:
			err = it.bind()
		case *Repeat:
			err = f.bindRepeat(it)
		case *Call:
			err = f.bind(it.Body)
		case *If:
			f.bindCond(it.Cond)
			if err = f.bind(it.Then); err == nil {
				err = f.bind(it.Else)
			}
		case *Leave:
			f.bindCond(it.Cond)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *File) bindSizes(sizes []Size) {
	for k := range sizes {
		sizes[k].bind()
	}
}

func (s *Size) bind() {
	s.expr = s.f.put(s.raw, func(name string) bool { return s.ranks && name == "p" })
}

func (f *File) bindTensor(t *Tensor) {
	f.bindSizes(t.Sizes)
	if t.from == "" {
		return
	}
	if p := f.Param(t.from); p != nil && t.Order == 0 {
		t.FromNumber, t.FromKind = p.Value.Text, ""
		return
	}
	kind, rest, ok := strings.Cut(t.from, ":")
	if ok {
		kind += ":" + f.putParts(rest, ":")
	}
	t.FromKind, t.FromNumber = kind, ""
}

// putParts returns list with the values of params in place of their names. separator is the text
// between the parts of the list.
func (f *File) putParts(list, separator string) string {
	parts := strings.Split(list, separator)
	for k, part := range parts {
		if p := f.Param(part); p != nil {
			parts[k] = p.Value.Text
		}
	}
	return strings.Join(parts, separator)
}

func (f *File) bindRepeat(t *Repeat) error {
	t.count.bind()
	var err error
	t.N, err = t.count.Eval(func(string) (int64, bool) { return 0, false })
	if err != nil {
		for _, name := range t.count.Names() {
			return f.Errorf(notation.Span(t.count.span), Unknown,
				"got %s in the number of passes, which is not a param, want numbers and params", name)
		}
		return err
	}
	if t.Until != nil {
		f.bindCond(t.Until)
	}
	return f.bind(t.Body)
}

func (f *File) bindCond(c *Cond) { c.X, c.Y = f.put(c.rawX, nil), f.put(c.rawY, nil) }

func (s *Statement) bind() error {
	f := s.file
	if p := f.Param(s.raw.LHS.Name); p != nil {
		return f.Errorf(s.raw.LHS.At, NameClash,
			"got the param %s of line %s on the left side, want a tensor", p.Name, f.line(p.span))
	}
	s.Stmt = notation.Resolve(s.raw.Map(f.number(nil)))
	whole := textEdits{text: f.clean[s.span.Pos:s.span.End]}
	list := s.raw.Accesses()
	vars := map[string]bool{}
	for _, a := range append(slices.Clone(list), s.raw.LHS) {
		for _, v := range a.Vars {
			vars[v] = true
		}
	}
	slices.SortFunc(list, func(a, b *notation.Access) int { return a.At.Pos - b.At.Pos })
	for _, a := range list {
		if p := f.Param(a.Name); p != nil {
			if len(a.Vars) > 0 {
				return f.Errorf(a.At, NameClash,
					"got the param %s of line %s with index variables, want %s alone: a param "+
						"is a number", p.Name, f.line(p.span),
					p.Name)
			}
			if vars[a.Name] {
				return f.Errorf(a.At, NameClash,
					"got %s as both the param of line %s and an index variable, want different names",
					p.Name, f.line(p.span))
			}
			whole.replace(a.At.Pos-s.span.Pos, a.At.End-s.span.Pos, p.Value.Text)
		}
	}
	s.Text, s.edits = whole.result()
	for k := range s.Schedule {
		s.Schedule[k].bind(f, vars)
	}
	return s.bindLines()
}

// bindLines sets the fields of s that come from indented lines other than scheduling commands, such
// as Split and Network. In the lines split and intermediate-order it replaces params by their
// values. It returns an error if the value of one of these two lines is wrong.
func (s *Statement) bindLines() error {
	s.Split, s.Extend, s.Order, s.Map, s.Network, s.IntermediateOrder = nil, nil, "", "", "", 0
	s.On = ""
	for _, b := range s.lines {
		switch b.word {
		case "split":
			value := b.value
			if name, rest, ok := strings.Cut(value, ":"); ok {
				value = name + ":" + s.file.putParts(rest, ",")
			}
			if _, err := place.ParseSplit(value); err != nil {
				return s.atLine(err, b)
			}
			s.Split = append(s.Split, value)
		case "extend":
			s.Extend = append(s.Extend, b.value)
		case "order":
			s.Order = b.value
		case "map":
			s.Map = b.value
		case "network":
			s.Network = b.value
		case "on":
			s.On = b.value
		case "intermediate-order":
			n, err := strconv.Atoi(s.file.putParts(b.value, ","))
			if err != nil || n < 1 {
				return s.file.Errorf(notation.Span(b.span), Syntax,
					"got %s, want the largest number of index variables of an intermediate: a "+
						"whole number of at least 1",
					s.file.putParts(b.value, ","))
			}
			s.IntermediateOrder = n
		}
	}
	return nil
}

// put returns e with numbers in place of params, except params for which keep returns true.
func (f *File) put(e notation.Expr, keep func(name string) bool) notation.Expr {
	return notation.MapExpr(e, f.number(keep))
}

// number returns a function that returns the value of the param that an access names, or the access
// if it names no param or keep(name) is true. keep may be nil.
func (f *File) number(keep func(name string) bool) func(*notation.Access) notation.Expr {
	return func(e *notation.Access) notation.Expr {
		p := f.Param(e.Name)
		if p == nil || len(e.Vars) > 0 || keep != nil && keep(e.Name) {
			return e
		}
		x := p.Value.Expr()
		switch n := x.(type) {
		case *notation.Number:
			n.At = e.At
		case *notation.Neg:
			n.At, n.X.(*notation.Number).At = e.At, e.At
		}
		return x
	}
}

// edit is the replacement of text[pos:end] by size bytes.
type edit struct{ pos, end, size int }

// textEdits replaces parts of a text, from left to right.
type textEdits struct {
	text  string
	out   strings.Builder
	at    int
	edits []edit
}

func (t *textEdits) replace(pos, end int, by string) {
	t.out.WriteString(t.text[t.at:pos] + by)
	t.at = end
	t.edits = append(t.edits, edit{pos, end, len(by)})
}

func (t *textEdits) result() (string, []edit) {
	return t.out.String() + t.text[t.at:], t.edits
}

// words returns the places of the command's arguments that are words of the scheduling language, or
// in quotes. It returns nothing if the text is not a command.
func (c *Command) words() (list []edit) {
	parsed, err := schedule.Parse([]string{c.raw})
	if err != nil {
		return nil // the error is reported when the command is checked
	}
	for _, x := range parsed {
		for k, is := range x.Words() {
			if is {
				pos, end := x.Args[k].Place()
				list = append(list, edit{pos: pos, end: end})
			}
		}
	}
	return list
}

// bind replaces params in c's arguments by their values. It does not replace index variables of the
// statement, which are the keys of vars. It also does not replace words of the scheduling language,
// words before "(", the parts of a dotted name such as M.x, or text in quotes.
func (c *Command) bind(f *File, vars map[string]bool) {
	e, own := textEdits{text: c.raw}, c.words()
	quoted := false
	for k := strings.IndexByte(c.raw, '('); k < len(c.raw); k++ {
		if c.raw[k] == '"' {
			quoted = !quoted
		}
		end := k
		for end < len(c.raw) && (wordByte(c.raw[end]) || c.raw[end] == '.') {
			end++
		}
		if end == k {
			continue
		}
		word := c.raw[k:end]
		p := f.Param(word)
		said := slices.ContainsFunc(own, func(at edit) bool { return at.pos <= k && end <= at.end })
		if p != nil && !quoted && !said && !vars[word] &&
			!strings.HasPrefix(strings.TrimLeftFunc(c.raw[end:], isBlank), "(") {
			e.replace(k, end, p.Value.Text)
		}
		k = end - 1
	}
	c.Text, c.edits = e.result()
}

// offsetBefore converts an offset in a text to an offset in the text before it was edited. k is the
// offset in the edited text. edits has the edits in the order of the text.
func offsetBefore(edits []edit, k int) int {
	by := 0 // the difference in length so far
	for _, e := range edits {
		at := e.pos + by
		switch {
		case k <= at:
			return k - by
		case k < at+e.size:
			return e.pos
		}
		by += e.size - (e.end - e.pos)
	}
	return k - by
}

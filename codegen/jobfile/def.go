package jobfile

import (
	"slices"
	"strings"

	"distaff/codegen/algebra"
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Def defines a function of scalars. In later lines, the text of the function replaces its calls.
type Def struct {
	span
	Name   string
	Params []string
	at     notation.Span // the place of Name
	body   notation.Span // the expression, after the calls in it were replaced
	raw    notation.Expr
}

// def parses NAME(NAME, ...) = EXPR.
func (p *parser) def(r *reader, at span) Item {
	t := &Def{span: at}
	t.Name, t.at = r.name("a name, as in def relu(x) = max(x, 0)")
	r.want("(", "and the arguments, as in def relu(x) = max(x, 0)")
	t.Params = r.arguments()
	r.want("=", "and an expression")
	r.space()
	body := p.f.trimmed(notation.Span{Pos: r.at, End: r.end})
	switch {
	case r.err != nil:
		return t
	case p.calls(body, t.Name):
		r.fail(body, Declaration, "got %s in its own definition: a function cannot call itself", t.Name)
	case p.defs[t.Name] != nil:
		r.fail(t.at, NameClash, "got function %s twice, the first on line %s, want it once", t.Name,
			p.f.line(p.defs[t.Name].span))
	case algebra.Find(t.Name) != nil || t.Name == "sum":
		r.fail(t.at, NameClash, "got %s, which is a function of the notation; want another name", t.Name)
	}
	t.body, r.err = p.expanded(body, r.err)
	t.raw = r.expr(t.body)
	notation.Walk(t.raw, func(e notation.Expr) bool {
		switch e := e.(type) {
		case *notation.Sum:
			r.fail(e.At, Syntax, "got sum(...) in a function, want scalars only")
		case *notation.Access:
			if len(e.Vars) > 0 {
				r.fail(e.At, Syntax,
					"got %s in a function, want scalars and functions that are defined above", e)
			}
		}
		return r.err == nil
	})
	r.at = r.end
	p.defs[t.Name] = t
	return t
}

// nextWord returns the place of the first word of the text at a place, or false if there is none.
// It passes over numbers and text in quotes.
func (f *File) nextWord(at notation.Span) (notation.Span, bool) {
	for k := at.Pos; k < at.End; k++ {
		c := f.clean[k]
		switch {
		case c == '"':
			for k++; k < at.End && f.clean[k] != '"'; k++ {
			}
		case wordByte(c) || c == '.':
			from := k
			for k < at.End && (wordByte(f.clean[k]) || f.clean[k] == '.') {
				k++
			}
			if notation.IsName(f.clean[from : from+1]) {
				end := from
				for end < k && wordByte(f.clean[end]) {
					end++
				}
				return notation.Span{Pos: from, End: end}, true
			}
			k--
		}
	}
	return notation.Span{}, false
}

// calls reports whether the text at a place has name before a parenthesis.
func (p *parser) calls(at notation.Span, name string) bool {
	for {
		w, ok := p.f.nextWord(at)
		if !ok {
			return false
		}
		r := p.f.reader(notation.Span{Pos: w.End, End: at.End})
		if p.f.clean[w.Pos:w.End] == name && r.next() == '(' {
			return true
		}
		at.Pos = w.End
	}
}

// expansion is a text that is made from pieces of the file.
type expansion struct {
	f      *File
	out    strings.Builder
	pieces []piece
}

// copy adds the text at a place. by is the call that put it there, or nothing.
func (x *expansion) copy(at, by notation.Span) {
	if at.Pos < at.End {
		x.add(x.f.clean[at.Pos:at.End], at, by)
	}
}

// add adds a text that replaces the text at a place.
func (x *expansion) add(text string, at, by notation.Span) {
	if text == "" {
		return
	}
	x.pieces = append(x.pieces, piece{x.out.Len(), len(text), at, by})
	x.out.WriteString(text)
}

// segment appends the text to the file. s has the other fields of the segment.
func (x *expansion) segment(s *segment) *segment {
	text := x.out.String()
	for k := range x.pieces {
		x.pieces[k].pos += len(x.f.text)
	}
	s.pieces = x.pieces
	return x.f.addSegment(s, text, text)
}

// expanded returns the place of the text at a place after all calls of functions of the file were
// replaced. This is the same place if there are none. It returns err if err is not nil.
func (p *parser) expanded(at notation.Span, err error) (notation.Span, error) {
	has := false
	for name := range p.defs {
		has = has || p.calls(at, name)
	}
	if err != nil || !has {
		return at, err
	}
	x := &expansion{f: p.f}
	if err := p.expand(x, at, notation.Span{}); err != nil {
		return at, err
	}
	s := x.segment(&segment{})
	return notation.Span{Pos: s.Pos, End: s.End}, nil
}

// expand adds the text at a place, with calls replaced, to x. by is the call around the text.
func (p *parser) expand(x *expansion, at, by notation.Span) error {
	from := at.Pos
	for rest := at; ; {
		w, ok := p.f.nextWord(rest)
		if !ok {
			x.copy(notation.Span{Pos: from, End: at.End}, by)
			return nil
		}
		rest.Pos = w.End
		d := p.defs[p.f.clean[w.Pos:w.End]]
		r := p.f.reader(rest)
		if d == nil || !r.skip("(") {
			continue
		}
		var args []notation.Span
		for {
			args = append(args, r.until(",)"))
			if r.next() == ')' || r.next() == 0 {
				break
			}
			r.skip(",")
		}
		call := notation.Span{Pos: w.Pos, End: min(r.at+1, at.End)}
		if len(args) != len(d.Params) || args[0].Pos == args[0].End {
			return p.f.Errorf(call, Syntax, "got %s of %s, want %d as on line %s",
				tensor.Count(len(args), "argument"), d.Name, len(d.Params), p.f.line(d.span))
		}
		if !r.skip(")") {
			return p.f.Errorf(call, Syntax, "got a call of %s without %q", d.Name, ")")
		}
		x.copy(notation.Span{Pos: from, End: w.Pos}, by)
		if err := p.expandBody(x, d, args, call); err != nil {
			return err
		}
		from, rest.Pos = call.End, call.End
	}
}

// expandBody adds the body of function d to x, with args in place of its arguments. Parentheses
// enclose the body and the arguments where they are needed.
func (p *parser) expandBody(x *expansion, d *Def, args []notation.Span, call notation.Span) error {
	open, end := "(", ")"
	if p.f.isFactor(d.body) {
		open, end = "", ""
	}
	x.add(open, call, notation.Span{})
	at, from := d.body, d.body.Pos
	for {
		w, ok := p.f.nextWord(at)
		if !ok {
			break
		}
		at.Pos = w.End
		k := slices.Index(d.Params, p.f.clean[w.Pos:w.End])
		if k < 0 {
			continue
		}
		x.copy(notation.Span{Pos: from, End: w.Pos}, call)
		open, end := "(", ")"
		if p.f.isFactor(args[k]) {
			open, end = "", ""
		}
		x.add(open, call, notation.Span{})
		if err := p.expand(x, args[k], notation.Span{}); err != nil {
			return err
		}
		x.add(end, call, notation.Span{})
		from = w.End
		if x.out.Len()+len(p.f.text) > MaxBytes {
			return p.f.Errorf(call, diag.TooLarge, "got calls that make a text of more than %d bytes",
				MaxBytes)
		}
	}
	x.copy(notation.Span{Pos: from, End: d.body.End}, call)
	x.add(end, call, notation.Span{})
	return nil
}

// isFactor reports whether the text at a place needs no parentheses where it replaces a name: it is
// a word, or a word with a pair of parentheses after it.
func (f *File) isFactor(at notation.Span) bool {
	r := f.reader(at)
	r.word()
	if r.skip("(") {
		r.until(")")
		r.skip(")")
	}
	return r.at > at.Pos && r.next() == 0
}

func (t *Def) print(p *printer) {
	p.line("def", t.Name+"("+strings.Join(t.Params, ", ")+")", "=", notation.ExprString(t.raw))
}

// def checks the names in a function: they must be its arguments or params of the file.
func (c *checker) def(t *Def) error {
	for _, a := range (&notation.Stmt{RHS: t.raw}).Accesses() {
		if !slices.Contains(t.Params, a.Name) && c.f.Param(a.Name) == nil {
			return c.f.Errorf(a.At, Unknown,
				"got %s in function %s, want its arguments, numbers and params", a.Name, t.Name)
		}
	}
	return nil
}

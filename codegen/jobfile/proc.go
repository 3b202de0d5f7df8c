package jobfile

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Proc defines a procedure: items over tensors that each call names.
type Proc struct {
	span
	Name   string
	Params []string
	Body   []Item        // as written; it does not run
	at     notation.Span // the place of Name
	body   notation.Span // the text between the braces
	locals []string      // the tensors that the body computes, except Params
	// lines has the lines of statements in the body, with the lines indented under them.
	lines []procLine
}

// procLine is the place of a statement in a procedure, with its index variables.
type procLine struct {
	notation.Span
	vars map[string]bool
}

// Call runs a procedure.
type Call struct {
	span
	Name string
	Args []string
	Body []Item // the items of the procedure, with Args and with names of their own for its locals
}

// proc parses NAME(NAME, ...) and a block.
func (p *parser) proc(l line) (Item, error) {
	t := &Proc{span: span(l.at)}
	r := p.f.reader(l.at)
	r.skip("proc")
	t.Name, t.at = r.name("a name, as in proc gram(A, G) {")
	r.want("(", "and the arguments, as in proc gram(A, G) {")
	t.Params = r.arguments()
	if old := p.procs[t.Name]; old != nil {
		r.fail(t.at, NameClash, "got procedure %s twice, the first on line %s, want it once", t.Name,
			p.f.line(old.span))
	}
	r.ends(`"{"`)
	tensors := p.tensors
	p.tensors, p.current = map[string]bool{}, t
	r.at = r.end
	var err error
	t.Body, err = p.block(r, l, 0, "proc")
	p.tensors, p.current = tensors, nil
	if err != nil {
		return nil, err
	}
	t.body = notation.Span{Pos: l.at.End, End: p.lines.at - 1}
	t.body.Pos += strings.IndexByte(p.f.clean[t.body.Pos:], '{') + 1
	for it := range All(t.Body) {
		var names []string
		switch it := it.(type) {
		case *Statement:
			names = []string{it.raw.LHS.Name}
		case *Linalg:
			names = it.Out
		case *Call:
			names = it.Args
		}
		for _, name := range names {
			_, calls := it.(*Call)
			if !slices.Contains(t.Params, name) && !slices.Contains(t.locals, name) &&
				!(calls && tensors[name]) {
				t.locals = append(t.locals, name)
			}
		}
	}
	p.procs[t.Name] = t
	return t, p.noLineIndented(l, "proc")
}

// call parses NAME(NAME, ...) and makes the items of the procedure.
func (p *parser) call(r *reader, l line, depth int) (Item, error) {
	t := &Call{span: span(l.at)}
	name, at := r.name("the name of a procedure, as in call gram(X, H)")
	t.Name = name
	r.want("(", "and names of tensors, as in call gram(X, H)")
	t.Args, _ = r.names("the name of a tensor, without index variables")
	r.ends("the end of the line")
	proc := p.procs[t.Name]
	switch {
	case r.err != nil:
	case p.current != nil && p.current.Name == t.Name:
		r.fail(at, Declaration, "got %s in its own definition: a procedure cannot call itself", t.Name)
	case proc == nil:
		var names []string
		for name := range p.procs {
			names = append(names, name)
		}
		r.fail(at, Unknown, "got %s, which is not a procedure of the lines above%s", t.Name,
			diag.DidYouMean(t.Name, names))
	case len(t.Args) != len(proc.Params):
		r.fail(at, Syntax, "got %s for %s, want %d as on line %s",
			tensor.Count(len(t.Args), "argument"), t.Name, len(proc.Params), p.f.line(proc.span))
	}
	if r.err != nil {
		return nil, r.err
	}
	if p.current != nil { // the calls of the outer procedure make the items
		return t, nil
	}
	p.called++
	names := map[string]string{}
	for k, name := range proc.Params {
		names[name] = t.Args[k]
	}
	for _, name := range proc.locals {
		names[name] = fmt.Sprintf("%s_%s_%d", name, proc.Name, p.called)
		p.fresh = append(p.fresh, names[name])
	}
	x := &expansion{f: p.f}
	x.rename(proc, names)
	if len(p.f.text)+x.out.Len() > MaxBytes {
		return nil, p.f.Errorf(l.at, diag.TooLarge, "got calls that make a text of more than %d bytes",
			MaxBytes)
	}
	s := x.segment(&segment{by: l.at, word: "called"})
	loops := p.loops
	p.loops = 0
	err := p.within(s, func() (err error) {
		t.Body, err = p.items(depth + 1)
		return err
	})
	p.loops = loops
	for _, name := range t.Args {
		p.tensors[name] = true
	}
	return t, err
}

// rename adds the body of a procedure to x, with other names for some words. Index variables of a
// statement keep their names.
func (x *expansion) rename(t *Proc, names map[string]string) {
	at, from := t.body, t.body.Pos
	for {
		w, ok := x.f.nextWord(at)
		if !ok {
			break
		}
		at.Pos = w.End
		word := x.f.clean[w.Pos:w.End]
		name, ok := names[word]
		if !ok || t.isVar(w, word) {
			continue
		}
		x.copy(notation.Span{Pos: from, End: w.Pos}, notation.Span{})
		x.add(name, w, notation.Span{})
		from = w.End
	}
	x.copy(notation.Span{Pos: from, End: t.body.End}, notation.Span{})
	if x.out.Len() == 0 {
		x.add(" ", t.body, notation.Span{})
	}
}

// isVar reports whether the word at a place is an index variable of a statement.
func (t *Proc) isVar(at notation.Span, word string) bool {
	return slices.ContainsFunc(t.lines, func(l procLine) bool {
		return l.Pos <= at.Pos && at.End <= l.End && l.vars[word]
	})
}

// checkFresh returns an error if a name that a call made for a local tensor is also a word of a
// file.
func (p *parser) checkFresh() error {
	made := map[string]bool{}
	for _, name := range p.fresh {
		made[name] = true
	}
	for _, s := range p.f.segments {
		if s.name == "" {
			continue
		}
		at := notation.Span(s.span)
		for w, ok := p.f.nextWord(at); ok; w, ok = p.f.nextWord(at) {
			if name := p.f.clean[w.Pos:w.End]; made[name] {
				return p.f.Errorf(w, NameClash, "got %s, which a call uses for a tensor of its "+
					"procedure; want another name", name)
			}
			at.Pos = w.End
		}
	}
	return nil
}

func (t *Proc) print(p *printer) {
	p.line("proc", t.Name+"("+strings.Join(t.Params, ", ")+")", "{")
	p.indented(func() { p.items(t.Body) })
	p.line("}")
}

func (t *Call) print(p *printer) {
	p.line("call", t.Name+"("+strings.Join(t.Args, ", ")+")")
}

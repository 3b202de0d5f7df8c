package ir

import "distaff/io/tensor"

// gpuLoop reads the kind of a GPU loop into s, if one is next.
func (p *parser) gpuLoop(s *For) {
	switch {
	case p.accept("blocks"):
		s.Kind = Blocks
		return
	case p.accept("warps"):
		s.Kind = Warps
	case p.accept("lanes"):
		s.Kind = Lanes
	default:
		return
	}
	p.expect("(")
	s.Width = p.int()
	p.expect(")")
}

// gpu reads a GPU statement. It returns nil if no such statement is next.
func (p *parser) gpu() Stmt {
	switch {
	case p.accept("launch"):
		return p.launch()
	case p.accept("shared"):
		name, t := p.name(), p.typ()
		constant := p.accept("const")
		p.expect("[")
		n := p.int()
		p.expect("]")
		return &Shared{A: p.newArray(name, t, constant), Len: n}
	case p.accept("barrier"):
		return &Barrier{Warp: p.ofWarp()}
	case p.accept("shuffle"):
		s := &Shuffle{V: p.oldVar()}
		p.expect("=")
		s.X = p.expr()
		p.expect(",")
		s.Mask = p.int()
		return s
	case p.accept("scan"):
		s := &Scan{A: p.oldArray()}
		s.Lo, s.Hi = p.span()
		return s
	}
	return nil
}

// ofWarp reads the word warp after barrier and reports whether it is there. If an assignment or an
// index follows, warp is instead the variable or array of the next statement.
func (p *parser) ofWarp() bool {
	lex, tok := p.lex, p.tok
	if p.accept("warp") && !p.is("=") && !p.is("+=") && !p.is("[") {
		return true
	}
	p.lex, p.tok = lex, tok
	return false
}

func (p *parser) launch() Stmt {
	s := &Launch{Name: p.name()}
	p.expect("[")
	s.Grid = p.expr()
	p.expect(",")
	s.Threads = p.int()
	p.expect("]")
	s.Block = p.newVar(p.name(), tensor.Int64)
	p.expect(",")
	s.Thread = p.newVar(p.name(), tensor.Int64)
	s.Body = p.block()
	return s
}

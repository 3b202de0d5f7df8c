package ir

// Simplify replaces f's body by a simpler one that computes the same, bit for bit. Statements that
// the old body shares with other functions are not modified. The rules are:
//
//   - Expressions are rebuilt by the folding constructors.
//   - Copy propagation: if a variable is declared as a literal or another variable, and neither
//     changes, its uses are replaced.
//   - Variables that are never read are removed, with their assignments.
//   - Conditions that are constant are decided. Loops that do not run are removed, and so are empty
//     blocks, branches, For loops and launches. A loop of one iteration becomes a block, except if
//     it has Reduce, and on a GPU, where it determines who runs the loops inside.
//   - A block is spliced into the block around it if it declares nothing or is the last statement.
//   - Statements after a Fail in a block are removed.
//   - An operation is removed if the start and the end of its range of elements are the same
//     expression. Additions of the integer 0 to a variable are removed, too.
//
// Allocations are kept even if nothing uses them.
func Simplify(f *Func) {
	if f.Body == nil {
		return
	}
	// A round may make the next round possible. Every round except the last removes a
	// statement or a node, so that there are few.
	for range 100 {
		s := &simplifier{f: f, subst: map[*Var]Expr{}}
		s.survey()
		f.Body = s.block(f.Body)
		if !s.changed {
			return
		}
	}
}

type simplifier struct {
	f       *Func
	fixed   map[*Var]bool // never assigned after its only declaration
	read    map[*Var]bool // variables that are read, as Reads defines it
	subst   map[*Var]Expr // the replacements of variables that are copies
	row     Row           // of the current statement
	changed bool
}

// survey finds the variables that are assigned, declared and read.
func (s *simplifier) survey() {
	declared, assigned := map[*Var]int{}, map[*Var]bool{}
	WalkRows(s.f.Body, func(_ Stmt, r *Row) {
		for v, role := range r.Vars() {
			if role == Declares {
				declared[v]++
			} else {
				assigned[v] = true
			}
		}
	})
	s.fixed = map[*Var]bool{}
	head := func(v *Var) {
		if v != nil {
			s.fixed[v] = !assigned[v] && declared[v] == 0
		}
	}
	for _, p := range s.f.Params {
		head(p.V)
	}
	for _, b := range s.f.Bounds {
		head(b[0])
		head(b[1])
	}
	head(s.f.Threads)
	for v, n := range declared {
		s.fixed[v] = n == 1 && !assigned[v]
	}
	s.read = Reads(s.f.Body)
}

// Reads returns the variables whose values are needed in b. A variable that is read only to compute
// variables that are not needed is not needed either. Reads also returns the variables that
// statements without the trait Pure introduce or change, such as the variable of a loop.
func Reads(b *Block) map[*Var]bool {
	read := map[*Var]bool{}
	for changed := true; changed; {
		changed = false
		note := func(v *Var) {
			if !read[v] {
				read[v], changed = true, true
			}
		}
		WalkRows(b, func(_ Stmt, r *Row) {
			if r.IsDead(read) {
				return
			}
			for v, role := range r.Vars() {
				if r.Traits&Pure == 0 && role != Sums {
					note(v)
				}
			}
			for x := range r.Exprs() {
				WalkExpr(x, func(x Expr) {
					if v, ok := x.(*Var); ok {
						note(v)
					}
				})
			}
		})
	}
	return read
}

func (s *simplifier) block(b *Block) *Block {
	if b == nil {
		return nil
	}
	out := &Block{}
	for i, t := range b.List {
		t = s.stmt(t)
		if t == nil {
			continue
		}
		inner, ok := t.(*Block)
		if ok && (i == len(b.List)-1 || !hasDeclaration(inner)) {
			s.changed = true
			out.List = append(out.List, inner.List...)
		} else {
			out.List = append(out.List, t)
		}
		if _, ok := t.(*Fail); ok {
			s.changed = s.changed || i < len(b.List)-1
			break
		}
	}
	return out
}

// nothing reports whether b has no effect.
func nothing(b *Block) bool {
	if b == nil {
		return true
	}
	for _, t := range b.List {
		if _, ok := t.(*Comment); !ok {
			return false
		}
	}
	return true
}

// drop records a change and returns nil, which removes the statement.
func (s *simplifier) drop() Stmt {
	s.changed = true
	return nil
}

// stmt returns a simpler form of t, or nil if t is removed.
func (s *simplifier) stmt(t Stmt) Stmt {
	switch t := t.(type) {
	case *Block:
		b := s.block(t)
		if len(b.List) == 0 {
			return s.drop()
		}
		return b
	case *Declare:
		return s.declare(t)
	case *Assign:
		x := s.expr(t.X)
		l, isLit := x.(*Lit)
		if !s.read[t.V] || t.Accumulate && isLit && t.V.Typ.IsInt() && l.I == 0 {
			return s.drop()
		}
		return &Assign{V: t.V, Accumulate: t.Accumulate, X: x}
	case *For:
		return s.loop(t)
	case *While:
		cond := s.expr(t.Cond)
		if l, ok := cond.(*Lit); ok && l.I == 0 {
			return s.drop()
		}
		return &While{Cond: cond, Body: s.block(t.Body)}
	case *If:
		return s.branch(t)
	case *Ordered:
		b := s.block(t.Body)
		if len(b.List) == 0 {
			return s.drop()
		}
		return &Ordered{Body: b}
	case *Launch:
		body := s.block(t.Body)
		if nothing(body) {
			return s.drop()
		}
		c := *t
		c.Grid, c.Body = s.expr(t.Grid), body
		return &c
	}
	return s.operation(t)
}

// operation returns a statement with simpler expressions, or nil if it has no effect.
func (s *simplifier) operation(t Stmt) Stmt {
	t = t.clone()
	r := &s.row
	r.Describe(t)
	if r.IsDead(s.read) {
		return s.drop()
	}
	var from Expr
	for _, o := range r.Operands {
		x := o.expr()
		if x == nil {
			continue
		}
		*x = s.expr(*x)
		switch {
		case o.Role == From:
			from = *x
		case o.Role == To && Same(from, *x):
			return s.drop()
		}
	}
	return t
}

// declare returns the declaration t with a simpler value. It returns nil if the variable is not
// needed: nothing reads it, or a literal or another variable takes its place.
func (s *simplifier) declare(t *Declare) Stmt {
	init := s.expr(t.Init)
	if !s.read[t.V] {
		return s.drop()
	}
	if s.fixed[t.V] {
		switch x := init.(type) {
		case *Lit:
			s.subst[t.V] = x
			return s.drop()
		case *Var:
			if s.fixed[x] {
				s.subst[t.V] = x
				return s.drop()
			}
		}
	}
	return &Declare{V: t.V, Init: init}
}

func (s *simplifier) branch(t *If) Stmt {
	cond := s.expr(t.Cond)
	if l, ok := cond.(*Lit); ok {
		s.changed = true
		if l.I != 0 {
			return s.stmt(t.Then)
		}
		if t.Else == nil {
			return nil
		}
		return s.stmt(t.Else)
	}
	then, other := s.block(t.Then), s.block(t.Else)
	switch {
	case nothing(then) && nothing(other):
		return s.drop()
	case nothing(then):
		s.changed = true
		return &If{Cond: Inverse(cond), Then: other}
	case t.Else != nil && nothing(other):
		s.changed = true
		other = nil
	}
	return &If{Cond: cond, Then: then, Else: other}
}

func (s *simplifier) loop(t *For) Stmt {
	lo, hi := s.expr(t.Lo), s.expr(t.Hi)
	l, okl := lo.(*Lit)
	h, okh := hi.(*Lit)
	empty := Same(lo, hi) || okl && okh && l.I >= h.I
	if empty {
		return s.drop()
	}
	if okl && okh && len(t.Reduce) == 0 && !t.Kind.OnGPU() && l.I+t.Step >= h.I && l.I+t.Step > l.I {
		s.changed = true
		b := &Block{List: []Stmt{&Declare{V: t.V, Init: lo}}}
		for _, u := range t.Body.List {
			if o, ok := u.(*Ordered); ok {
				u = o.Body
			}
			b.List = append(b.List, u)
		}
		return s.stmt(b)
	}
	body := s.block(t.Body)
	if nothing(body) {
		return s.drop()
	}
	var reduce []*Var
	for _, v := range t.Reduce {
		if s.read[v] {
			reduce = append(reduce, v)
		} else {
			s.changed = true
		}
	}
	c := *t
	c.Lo, c.Hi, c.Body, c.Reduce = lo, hi, body, reduce
	return &c
}

// expr rebuilds x with the folding constructors. Variables that are copies are replaced by what
// they copy.
func (s *simplifier) expr(x Expr) Expr {
	y := s.rebuild(x)
	if !Same(x, y) {
		s.changed = true
	}
	return y
}

func (s *simplifier) rebuild(x Expr) Expr {
	if v, ok := x.(*Var); ok {
		if y, ok := s.subst[v]; ok {
			return y
		}
		return x
	}
	return Rebuild(x, s.rebuild)
}

package ir

// Simplify replaces f's body by a simpler one that computes the same, bit for bit. Statements that
// the old body shares with other functions are not modified. The rules are:
//
//   - Expressions are rebuilt by the folding constructors.
//   - Copy propagation: if a variable is declared as a literal or another variable, and neither
//     changes, its uses are replaced.
//   - Variables that are never read are removed, with their assignments.
//   - Conditions that are constant are decided. Loops that do not run are removed, and so are empty
//     blocks, branches, loops and launches. A loop of one iteration becomes a block, except on a
//     GPU, where it determines who runs the loops inside.
//   - A block is spliced into the block around it if it declares nothing or is the last statement.
//   - Statements after a Fail in a block are removed.
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
	changed bool
}

// survey finds the variables that are assigned, declared and read.
func (s *simplifier) survey() {
	declared, assigned := map[*Var]int{}, map[*Var]bool{}
	Walk(s.f.Body, func(t Stmt) {
		switch t := t.(type) {
		case *Declare:
			declared[t.V]++
		case *Assign:
			assigned[t.V] = true
		case *Grow:
			assigned[t.Cap] = true
		case *Mark:
			assigned[t.N] = true
		case *Collect:
			assigned[t.N] = true
		case *Union:
			assigned[t.N] = true
		case *Shuffle:
			assigned[t.V] = true
		case *Launch:
			declared[t.Block]++
			declared[t.Thread]++
		case *For:
			declared[t.V]++
			for _, v := range t.Reduce {
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

// Reads returns the variables that are read in b. Reads that only compute a variable that is not
// read itself do not count.
func Reads(b *Block) map[*Var]bool {
	read := map[*Var]bool{}
	for changed := true; changed; {
		changed = false
		note := func(v *Var) {
			if !read[v] {
				read[v], changed = true, true
			}
		}
		Walk(b, func(t Stmt) {
			switch t := t.(type) {
			case *Declare:
				if !read[t.V] {
					return
				}
			case *Assign:
				if !read[t.V] {
					return
				}
			case *Shuffle:
				if !read[t.V] {
					return
				}
			case *Grow:
				note(t.Cap)
			case *Mark:
				note(t.N)
			case *Collect:
				note(t.N)
			case *Union:
				note(t.N)
			case *For:
				note(t.V)
			}
			for _, x := range Exprs(t) {
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
		if ok && (i == len(b.List)-1 || !declares(inner)) {
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

// drop notes a change and returns nil: the statement is removed.
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
	case *Store:
		return &Store{A: t.A, Index: s.expr(t.Index), Accumulate: t.Accumulate, Atomic: t.Atomic,
			X: s.expr(t.X)}
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
	}
	return s.memory(t)
}

// memory rebuilds a statement about whole arrays.
func (s *simplifier) memory(t Stmt) Stmt {
	switch t := t.(type) {
	case *Alloc:
		return &Alloc{A: t.A, Len: s.expr(t.Len), Zero: t.Zero}
	case *Prefetch:
		return &Prefetch{A: t.A, Index: s.expr(t.Index), Len: t.Len, Far: t.Far}
	case *Grow:
		return &Grow{A: t.A, Cap: t.Cap, Need: s.expr(t.Need)}
	case *Fill:
		lo, hi := s.expr(t.Lo), s.expr(t.Hi)
		if Same(lo, hi) {
			return s.drop()
		}
		return &Fill{A: t.A, Lo: lo, Hi: hi, X: s.expr(t.X)}
	case *Copy:
		return &Copy{Dst: t.Dst, DstLo: s.expr(t.DstLo), Src: t.Src, SrcLo: s.expr(t.SrcLo),
			N: s.expr(t.N), Stream: t.Stream}
	case *Gemm:
		return t.mapped(s.expr)
	case *SpMM:
		return t.mapped(s.expr)
	case *Call:
		return t.mapped(s.expr)
	case *Sort:
		return &Sort{A: t.A, Lo: s.expr(t.Lo), Hi: s.expr(t.Hi)}
	case *SortBy:
		return &SortBy{Perm: t.Perm, Keys: t.Keys, Lo: s.expr(t.Lo), Hi: s.expr(t.Hi)}
	case *Mark:
		return &Mark{Bits: t.Bits, Words: t.Words, N: t.N, At: s.expr(t.At)}
	case *Collect:
		return &Collect{Bits: t.Bits, Words: t.Words, Flags: t.Flags, List: t.List, N: t.N,
			Len: s.expr(t.Len), Base: s.expr(t.Base)}
	case *Union:
		return t.mapped(s.expr)
	case *AllocTable:
		return &AllocTable{T: t.T, Len: s.expr(t.Len)}
	case *Keep:
		return &Keep{T: t.T, Index: s.expr(t.Index), A: t.A}
	case *Take:
		return &Take{A: t.A, T: t.T, Index: s.expr(t.Index)}
	case *Publish:
		return &Publish{Slot: t.Slot, A: t.A, Len: s.expr(t.Len)}
	case *Fail:
		var coord []Expr
		for _, x := range t.Coord {
			coord = append(coord, s.expr(x))
		}
		return &Fail{Code: t.Code, Coord: coord}
	}
	return s.gpu(t)
}

// gpu rebuilds a GPU statement.
func (s *simplifier) gpu(t Stmt) Stmt {
	switch t := t.(type) {
	case *Launch:
		body := s.block(t.Body)
		if nothing(body) {
			return s.drop()
		}
		c := *t
		c.Grid, c.Body = s.expr(t.Grid), body
		return &c
	case *Shuffle:
		if !s.read[t.V] {
			return s.drop() // no thread of the warp reads it
		}
		return &Shuffle{V: t.V, X: s.expr(t.X), Mask: t.Mask}
	case *Scan:
		lo, hi := s.expr(t.Lo), s.expr(t.Hi)
		if Same(lo, hi) {
			return s.drop()
		}
		return &Scan{A: t.A, Lo: lo, Hi: hi}
	}
	return t
}

// declare returns the declaration t, or nil if nothing reads the variable or it is a copy.
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

// expr returns x rebuilt by the constructors, with copies replaced.
func (s *simplifier) expr(x Expr) Expr {
	y := s.rebuild(x)
	if !Same(x, y) {
		s.changed = true
	}
	return y
}

func (s *simplifier) rebuild(x Expr) Expr {
	switch x := x.(type) {
	case *Var:
		if y, ok := s.subst[x]; ok {
			return y
		}
	case *Binary:
		return Bin(x.Op, s.rebuild(x.X), s.rebuild(x.Y))
	case *Unary:
		if x.Op == Not {
			return Inverse(s.rebuild(x.X))
		}
		return Negated(s.rebuild(x.X))
	case *Load:
		return &Load{A: x.A, Index: s.rebuild(x.Index), Widen: x.Widen}
	case *Cast:
		return Convert(x.Typ, s.rebuild(x.X))
	case *Select:
		return Choose(s.rebuild(x.Cond), s.rebuild(x.X), s.rebuild(x.Y))
	case *Search:
		return &Search{A: x.A, Lo: s.rebuild(x.Lo), Hi: s.rebuild(x.Hi), Key: s.rebuild(x.Key),
			Upper: x.Upper}
	}
	return x
}

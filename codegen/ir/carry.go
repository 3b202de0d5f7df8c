package ir

import "slices"

// Carry removes loads of segment bounds from nested loops that sum over segments, such as the rows
// of a CSR matrix. The segment of a parent begins where the segment of the previous parent ends,
// and the loop over the previous segment has left its position there. The inner loop therefore
// continues with this position and needs to load only the segment's end. Carry rewrites
//
//	for p in lo : hi {
//	  var begin = pos[p]
//	  var end = pos[p + 1]
//	  for q in begin : end { ... }
//	}
//
// to
//
//	var q = select(lo < hi, pos[lo], 0)
//	for p in lo : hi {
//	  var end = pos[p + 1]
//	  while q < end { ...; q = q + 1 }
//	}
//
// It does so only if both loops are serial with step 1, lo and hi are variables or literals,
// nothing stores to pos, nothing else reads begin, and the index into pos is p plus a value that
// the loop over p does not change. The inner loop must be the only loop in the outer loop, and must
// only set variables. The inner loop may be in a branch: the other branch then sets q to the end of
// its segment. The order of the computation does not change. Statements that f shares with other
// functions are not modified.
func Carry(f *Func) {
	if f.Body != nil {
		f.Body = carryIn(f.Body)
	}
}

// carryIn returns a copy of b in which the loops that Carry can rewrite are rewritten, inner loops
// first. If b is nil, it returns nil.
func carryIn(b *Block) *Block {
	if b == nil {
		return nil
	}
	out := &Block{List: make([]Stmt, len(b.List))}
	for k, s := range b.List {
		switch t := s.(type) {
		case *Block:
			s = carryIn(t)
		case *While:
			s = &While{Cond: t.Cond, Body: carryIn(t.Body)}
		case *If:
			s = &If{Cond: t.Cond, Then: carryIn(t.Then), Else: carryIn(t.Else)}
		case *Ordered:
			s = &Ordered{Body: carryIn(t.Body)}
		case *For:
			loop := *t
			loop.Body = carryIn(t.Body)
			s = &loop
			if c := segmentsOf(&loop); c != nil {
				s = c.carried(loop.Body)
			}
		}
		out.List[k] = s
	}
	return out
}

// segments is a loop over parents together with the loop that sums over the segment of each parent.
type segments struct {
	parents, inner *For
	begin          *Declare
	pos            *Array
	defs           map[*Var]Expr // values of variables that the body of parents declares only
	changed        map[*Var]bool // variables that the body declares or assigns, and parents.V
	// index is the index into pos of a segment's begin. It consists of parents.V and variables that
	// the loop does not change.
	index Expr
}

// segmentsOf returns the segments that the loop parents sums over. It returns nil if parents is not
// such a loop, or if Carry cannot rewrite it.
func segmentsOf(parents *For) *segments {
	if parents.Kind != Serial || parents.Step != 1 || !simple(parents.Lo) || !simple(parents.Hi) {
		return nil
	}
	c := &segments{parents: parents, defs: map[*Var]Expr{}, changed: map[*Var]bool{parents.V: true}}
	reads := map[*Var]int{}
	declares := map[*Var]*Declare{}
	Walk(parents.Body, func(s Stmt) {
		switch s := s.(type) {
		case *Declare:
			declares[s.V], c.defs[s.V], c.changed[s.V] = s, s.Init, true
		case *Assign:
			c.changed[s.V] = true
			delete(c.defs, s.V)
		case *For:
			c.changed[s.V] = true
		}
		for _, x := range Exprs(s) {
			WalkExpr(x, func(x Expr) {
				if v, ok := x.(*Var); ok {
					reads[v]++
				}
			})
		}
	})
	c.inner = outsideLoops(parents.Body)
	if c.inner == nil || c.inner.Kind != Serial || c.inner.Step != 1 || !onlySums(c.inner.Body) {
		return nil
	}
	begin, first := c.bound(c.inner.Lo)
	_, last := c.bound(c.inner.Hi)
	if first == nil || last == nil || first.A != last.A || !first.A.Const || reads[begin] != 1 {
		return nil
	}
	c.begin, c.pos = declares[begin], first.A
	c.index = c.expanded(first.Index)
	end := c.expanded(last.Index)
	if c.index == nil || end == nil || !c.byOne(c.index) || !Same(Plus(c.index, Int(1)), end) {
		return nil
	}
	return c
}

func simple(x Expr) bool {
	switch x.(type) {
	case *Var, *Lit:
		return true
	}
	return false
}

// outsideLoops returns the loop in b that is not inside another loop. It returns nil unless there
// is exactly one.
func outsideLoops(b *Block) (found *For) {
	n := 0
	var walk func(s Stmt)
	walk = func(s Stmt) {
		switch s := s.(type) {
		case *Block:
			if s != nil {
				for _, t := range s.List {
					walk(t)
				}
			}
		case *If:
			walk(s.Then)
			walk(s.Else)
		case *For:
			n++
			found = s
		case *While, *Ordered, *Launch:
			n++
			found = nil
		}
	}
	walk(b)
	if n != 1 {
		return nil
	}
	return found
}

// onlySums reports whether the statements of b do nothing except setting variables, as sums in
// registers do. Such a block stores nothing and does not branch.
func onlySums(b *Block) bool {
	return !slices.ContainsFunc(b.List, func(s Stmt) bool { return RowOf(s).Traits&Pure == 0 })
}

// bound returns x, a bound of the inner loop, if x is a variable. Otherwise it returns nil. If the
// loop over parents declares this variable with a load as its value, the second result is the load.
// Otherwise it is nil.
func (c *segments) bound(x Expr) (*Var, *Load) {
	v, _ := x.(*Var)
	l, _ := c.defs[v].(*Load)
	return v, l
}

// expanded returns the index x without the variables that the loop over parents declares: their
// values replace them. The result consists of this loop's variable, variables that the loop does
// not change, literals and binary operators. If x contains anything else, expanded returns nil.
func (c *segments) expanded(x Expr) Expr {
	switch x := x.(type) {
	case *Lit:
		return x
	case *Var:
		if def, ok := c.defs[x]; ok {
			return c.expanded(def)
		}
		if c.changed[x] && x != c.parents.V {
			return nil
		}
		return x
	case *Binary:
		a, b := c.expanded(x.X), c.expanded(x.Y)
		if a == nil || b == nil {
			return nil
		}
		return Bin(x.Op, a, b)
	}
	return nil
}

// byOne reports whether x grows by 1 from each parent to the next. x is an index that expanded has
// returned.
func (c *segments) byOne(x Expr) bool {
	if x, ok := x.(*Binary); ok {
		return x.Op == Add && (c.byOne(x.X) && !c.mentions(x.Y) || !c.mentions(x.X) && c.byOne(x.Y)) ||
			x.Op == Sub && c.byOne(x.X) && !c.mentions(x.Y)
	}
	return x == Expr(c.parents.V)
}

func (c *segments) mentions(x Expr) (found bool) {
	WalkExpr(x, func(x Expr) { found = found || x == Expr(c.parents.V) })
	return found
}

// at returns x, an expanded index, for parent p: p replaces the loop's variable.
func (c *segments) at(x, p Expr) Expr {
	switch x := x.(type) {
	case *Var:
		if x == c.parents.V {
			return p
		}
	case *Binary:
		return Bin(x.Op, c.at(x.X, p), c.at(x.Y, p))
	}
	return x
}

// carried returns a block of two statements: a declaration of the position, and the rewritten loop
// over the parents. body is the body of that loop before it is rewritten.
func (c *segments) carried(body *Block) Stmt {
	loop := *c.parents
	loop.Body = c.rewritten(body)
	first := Choose(Less(loop.Lo, loop.Hi), Coord(c.pos, c.at(c.index, loop.Lo)), Int(0))
	return &Block{List: []Stmt{&Declare{V: c.inner.V, Init: first}, &loop}}
}

// rewritten returns a copy of b with a new inner loop, which continues at the position where the
// previous segment ended. The declaration of begin, the first position of a segment, is left out,
// because nothing reads it any more.
func (c *segments) rewritten(b *Block) *Block {
	out := &Block{}
	for _, s := range b.List {
		switch t := s.(type) {
		case *Declare:
			if t == c.begin {
				continue
			}
		case *Block:
			s = c.rewritten(t)
		case *If:
			if outsideLoops(Seq(t)) != nil {
				s = &If{Cond: t.Cond, Then: c.branch(t.Then), Else: c.branch(t.Else)}
			}
		case *For:
			q := c.inner.V
			again := &Block{List: append(append([]Stmt{}, t.Body.List...),
				&Assign{V: q, X: Plus(q, Int(1))})}
			s = &While{Cond: Less(q, t.Hi), Body: again}
		}
		out.List = append(out.List, s)
	}
	return out
}

// branch returns the rewritten branch b of an If that contains the inner loop. If the inner loop is
// in the other branch, then b sets the position to the end of the segment.
func (c *segments) branch(b *Block) *Block {
	if b != nil && outsideLoops(b) != nil {
		return c.rewritten(b)
	}
	out := &Block{}
	if b != nil {
		out.List = append(out.List, b.List...)
	}
	end := Coord(c.pos, Plus(c.at(c.index, c.parents.V), Int(1)))
	out.List = append(out.List, &Assign{V: c.inner.V, X: end})
	return out
}

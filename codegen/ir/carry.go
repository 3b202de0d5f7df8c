package ir

// Carry has loops that sum over segments carry their position from one parent to the next: the
// segment of a parent begins where that of the parent before it ends, which is where the loop
// over that one has left its position. A bound fewer is loaded for each parent, and no load
// delays the first iteration. Of
//
//	for p in lo : hi {
//	  var begin = pos[p]
//	  var end = pos[p + 1]
//	  for q in begin : end { ... }
//	}
//
// it makes
//
//	var q = select(lo < hi, pos[lo], 0)
//	for p in lo : hi {
//	  var end = pos[p + 1]
//	  while q < end { ...; q = q + 1 }
//	}
//
// where both loops are serial and go by 1, pos is never stored to, nothing else reads begin, and
// positions in pos are those of p plus what the loop over p does not change. The inner loop may
// stand in a branch: the others then set q to their segment's end. The order of what is computed
// stays. Statements that f shares with others are not changed.
func Carry(f *Func) {
	if f.Body != nil {
		f.Body = carryIn(f.Body)
	}
}

// carryIn is b with the loops in it rewritten, inner ones first.
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

// segments are a loop over parents and the loop that sums over the segment of each.
type segments struct {
	parents, inner *For
	begin          *Declare
	pos            *Array
	defs           map[*Var]Expr // what the body of parents declares
	changed        map[*Var]bool // what it declares or assigns, and its own variable
	// of a segment's begin in pos, in parents.V and variables that the loop does not change
	index Expr
}

// segmentsOf is nil where the loop is none over the parents of segments.
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

// outsideLoops is the one loop in b that is in no other; nil for none, or several.
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

// onlySums tells whether b computes nothing but variables.
func onlySums(b *Block) bool {
	for _, s := range b.List {
		switch s.(type) {
		case *Declare, *Assign, *Prefetch:
		default:
			return false
		}
	}
	return true
}

// bound is the variable that a bound of the inner loop is, and the load that the loop over
// parents declares it as.
func (c *segments) bound(x Expr) (*Var, *Load) {
	v, _ := x.(*Var)
	l, _ := c.defs[v].(*Load)
	return v, l
}

// expanded is an index with what the loop declares replaced by its value; nil where it is no sum
// or product of variables and literals.
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

// byOne tells whether an expanded index grows by 1 with each parent.
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

// at is x, an expanded index, where the loop over parents is at p.
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

// carried is the loop over parents, whose body is as given, with a position that goes on.
func (c *segments) carried(body *Block) Stmt {
	loop := *c.parents
	loop.Body = c.rewritten(body)
	first := Choose(Less(loop.Lo, loop.Hi), Coord(c.pos, c.at(c.index, loop.Lo)), Int(0))
	return &Block{List: []Stmt{&Declare{V: c.inner.V, Init: first}, &loop}}
}

// rewritten is b with the loop over a segment in its new form, and without the declaration of its
// begin.
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

// branch is a branch of a statement in whose other one the loop stands, or in which it does itself.
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

package ir

import "sync"

// Walk calls fn for s and every statement inside it, in order, an outer statement before the
// statements inside it.
func Walk(s Stmt, fn func(Stmt)) {
	if b, ok := s.(*Block); ok {
		if b != nil {
			fn(b)
			for _, t := range b.List {
				Walk(t, fn)
			}
		}
		return
	}
	fn(s)
	if hasBlocks(s) {
		blocks, n := blocksOf(s)
		for _, b := range blocks[:n] {
			Walk(b, fn)
		}
	}
}

// hasBlocks reports whether statements of the kind of s may contain blocks. The test saves time,
// because most kinds do not.
func hasBlocks(s Stmt) bool {
	switch s.(type) {
	case *Block, *For, *While, *If, *Ordered, *Launch:
		return true
	}
	return false
}

// rows is a pool of unused rows, so that a walk over a few statements allocates no memory.
var rows = sync.Pool{New: func() any { return &Row{Operands: make([]Operand, 0, 16)} }}

// WalkRows is like Walk, but also passes the row of each statement to fn. fn must not keep the row,
// because WalkRows uses it again for the next statement.
func WalkRows(s Stmt, fn func(Stmt, *Row)) {
	r := rows.Get().(*Row)
	Walk(s, func(s Stmt) {
		r.Describe(s)
		fn(s, r)
	})
	rows.Put(r)
}

// IsDead reports whether s only computes a variable that nothing reads. live has the variables that
// something reads.
func IsDead(s Stmt, live map[*Var]bool) bool {
	r := rows.Get().(*Row)
	r.Describe(s)
	dead := r.IsDead(live)
	rows.Put(r)
	return dead
}

// blocksOf returns the blocks inside s that are not nil, and their number n. s must not be a block.
func blocksOf(s Stmt) (list [2]*Block, n int) {
	r := rows.Get().(*Row)
	r.Describe(s)
	list, n = r.blocks()
	rows.Put(r)
	return list, n
}

// blocks returns the blocks inside the statement that are not nil, and their number n.
func (r *Row) blocks() (list [2]*Block, n int) {
	for k := range r.Operands {
		if b, ok := r.Operands[k].at.(**Block); ok && *b != nil {
			list[n] = *b
			n++
		}
	}
	return list, n
}

// Inside returns the statements directly inside s: the list of a block, or the blocks of another
// statement.
func Inside(s Stmt) (list []Stmt) {
	if b, ok := s.(*Block); ok {
		return b.List
	}
	if hasBlocks(s) {
		blocks, n := blocksOf(s)
		for _, b := range blocks[:n] {
			list = append(list, b)
		}
	}
	return list
}

// OrderedOf returns the ordered section of a Parallel loop, or nil if there is none.
func OrderedOf(s *For) *Ordered {
	for _, t := range s.Body.List {
		if t, ok := t.(*Ordered); ok {
			return t
		}
	}
	return nil
}

// Exprs returns the expressions of s itself, without the expressions of statements inside it.
func Exprs(s Stmt) (list []Expr) {
	for x := range RowOf(s).Exprs() {
		list = append(list, x)
	}
	return list
}

// mapped returns a copy of s with fn applied to each of its expressions.
func mapped[T Stmt](s T, fn func(Expr) Expr) T {
	t := s.clone()
	for _, o := range RowOf(t).Operands {
		if x := o.expr(); x != nil {
			*x = fn(*x)
		}
	}
	return t.(T)
}

// WalkExpr calls fn for x and every expression inside it, outer expressions first.
func WalkExpr(x Expr, fn func(Expr)) {
	fn(x)
	list, n := operands(x)
	for _, y := range list[:n] {
		WalkExpr(y, fn)
	}
}

// operands returns the n operands of x.
func operands(x Expr) (list [3]Expr, n int) {
	switch x := x.(type) {
	case *Binary:
		return [3]Expr{x.X, x.Y}, 2
	case *Unary:
		return [3]Expr{x.X}, 1
	case *Load:
		return [3]Expr{x.Index}, 1
	case *Cast:
		return [3]Expr{x.X}, 1
	case *Select:
		return [3]Expr{x.Cond, x.X, x.Y}, 3
	case *Apply:
		return [3]Expr{x.X, x.Y}, x.Func.Args
	case *Search:
		return [3]Expr{x.Lo, x.Hi, x.Key}, 3
	}
	return list, 0
}

// Rebuild returns a copy of x with fn applied to each operand of x. The copy is made by
// constructors that fold constants, such as Bin. An expression without operands is returned as it
// is.
func Rebuild(x Expr, fn func(Expr) Expr) Expr {
	switch x := x.(type) {
	case *Binary:
		return Bin(x.Op, fn(x.X), fn(x.Y))
	case *Unary:
		if x.Op == Not {
			return Inverse(fn(x.X))
		}
		return Negated(fn(x.X))
	case *Load:
		return &Load{A: x.A, Index: fn(x.Index), Widen: x.Widen}
	case *Cast:
		return Convert(x.Typ, fn(x.X))
	case *Select:
		return Choose(fn(x.Cond), fn(x.X), fn(x.Y))
	case *Apply:
		y := &Apply{Func: x.Func, X: fn(x.X)}
		if x.Y != nil {
			y.Y = fn(x.Y)
		}
		return y
	case *Search:
		return &Search{A: x.A, Lo: fn(x.Lo), Hi: fn(x.Hi), Key: fn(x.Key), Upper: x.Upper}
	}
	return x
}

// WalkExprs calls fn for every expression in s and in the statements inside it.
func WalkExprs(s Stmt, fn func(Expr)) {
	WalkRows(s, func(_ Stmt, r *Row) {
		for x := range r.Exprs() {
			WalkExpr(x, fn)
		}
	})
}

// ArrayOf returns the array that x itself reads, or nil if there is none.
func ArrayOf(x Expr) *Array {
	switch x := x.(type) {
	case *Load:
		return x.A
	case *Search:
		return x.A
	}
	return nil
}

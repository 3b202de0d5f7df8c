package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
	"slices"
)

// SpMM adds Alpha*A*B to C. A is sparse, with M rows and K columns; B and C are dense, with K and M
// rows and N columns. The entries of row i of A are p = Pos[At+i] to Pos[At+i+1]-1. Entry p is in
// column Crd[From+p], which is below K, and has the value Vals[From+p]. A has Entries entries, and
// Pos[At] is 0. Pos and Crd hold integers of the same width. B and C have one stride along their
// rows and one along their columns. The values of all matrices have the type of Alpha, a float or a
// complex number. C shares no memory with the others. If M, N or K is below 1, the statement does
// nothing. The sums may be computed in any order.
type SpMM struct {
	M, N, K        Expr
	Entries        Expr
	C, B           Matrix
	Pos, Crd, Vals *Array
	At, From       Expr
	Alpha          Expr
}

func (*SpMM) stmt() {}

// String returns the text of the statement.
func (s *SpMM) String() string {
	return fmt.Sprintf("spmm(%s, %s, %s, %s) %s += (%s[%s], %s[%s], %s) * %s * %s", expr(s.M, 0),
		expr(s.N, 0), expr(s.K, 0), expr(s.Entries, 0), s.C,
		name(s.Pos.Name), expr(s.At, 0), name(s.Crd.Name), expr(s.From, 0), name(s.Vals.Name), s.B,
		expr(s.Alpha, unaryPrecedence))
}

// numbers returns all integer expressions of the statement.
func (s *SpMM) numbers() []Expr {
	list := []Expr{s.M, s.N, s.K, s.Entries, s.At, s.From}
	for _, m := range []Matrix{s.C, s.B} {
		list = slices.Concat(list, []Expr{m.At}, m.Row, m.Col)
	}
	return list
}

// exprs returns all expressions of the statement.
func (s *SpMM) exprs() []Expr { return append(s.numbers(), s.Alpha) }

// Arrays returns the arrays that the statement uses, the array of C first.
func (s *SpMM) Arrays() []*Array { return []*Array{s.C.A, s.B.A, s.Pos, s.Crd, s.Vals} }

// mapped returns a copy of s with fn applied to each of its expressions.
func (s *SpMM) mapped(fn func(Expr) Expr) *SpMM {
	return &SpMM{
		M: fn(s.M), N: fn(s.N), K: fn(s.K), Entries: fn(s.Entries), C: s.C.mapped(fn), B: s.B.mapped(fn),
		Pos: s.Pos, Crd: s.Crd, Vals: s.Vals, At: fn(s.At), From: fn(s.From), Alpha: fn(s.Alpha),
	}
}

// Loops returns plain loops with the same effect as s: over the rows of A, the entries of each row
// and the columns of B. The names of their variables are not unique in a function.
func (s *SpMM) Loops() *Block {
	b := &Block{}
	t := s.mapped(func(x Expr) Expr {
		v := NewVar("spmm", x.Type())
		b.List = append(b.List, &Declare{V: v, Init: x})
		return v
	})
	i, p, k := NewVar("spmm_row", tensor.Int64), NewVar("spmm_p", tensor.Int64),
		NewVar("spmm_col", tensor.Int64)
	place := func(m Matrix, row Expr) Expr { return m.at([]Expr{row}, []Expr{k}) }
	entry := Plus(t.From, p)
	row := Coord(s.Crd, entry)
	sum := &Store{A: s.C.A, Index: place(t.C, i), Accumulate: true,
		X: Times(Times(At(s.Vals, entry), At(s.B.A, place(t.B, row))), t.Alpha)}
	columns := &For{V: k, Lo: Int(0), Hi: t.N, Step: 1, Body: Seq(sum)}
	at := Plus(t.At, i)
	entries := &For{V: p, Lo: Coord(s.Pos, at), Hi: Coord(s.Pos, Plus(at, Int(1))), Step: 1,
		Body: Seq(columns)}
	rows := &For{V: i, Lo: Int(0), Hi: t.M, Step: 1, Body: Seq(entries)}
	b.List = append(b.List, &If{Cond: Both(Less(Int(0), t.K), Less(Int(0), t.N)), Then: Seq(rows)})
	return b
}

// spmm reads the rest of a product with a sparse matrix after the word spmm.
func (p *parser) spmm() Stmt {
	s := &SpMM{}
	p.expect("(")
	s.M = p.expr()
	for _, x := range []*Expr{&s.N, &s.K, &s.Entries} {
		p.expect(",")
		*x = p.expr()
	}
	p.expect(")")
	s.C = p.matrix()
	p.expect("+=")
	p.expect("(")
	s.Pos, s.At = p.element()
	p.expect(",")
	s.Crd, s.From = p.element()
	p.expect(",")
	s.Vals = p.oldArray()
	p.expect(")")
	p.expect("*")
	s.B = p.matrix()
	p.expect("*")
	s.Alpha = p.unary()
	return s
}

// element reads A[x] and returns the array and the index.
func (p *parser) element() (a *Array, at Expr) {
	a = p.oldArray()
	p.expect("[")
	at = p.expr()
	p.expect("]")
	return a, at
}

func (v *verifier) spmm(s *SpMM) error {
	t := s.Alpha.Type()
	if !t.IsFloat() && !t.IsComplex() {
		return fmt.Errorf("a product of matrices of %s, want floats or complex numbers", t)
	}
	for _, x := range s.numbers() {
		if err := want(tensor.Int64, x, "number"); err != nil {
			return err
		}
	}
	for k, a := range s.Arrays() {
		if err := v.known(a); err != nil {
			return err
		}
		if k > 0 && a == s.C.A {
			return fmt.Errorf("%s is read and added to", a.Name)
		}
	}
	for _, a := range []*Array{s.C.A, s.B.A, s.Vals} {
		if a.Elem != t {
			return fmt.Errorf("%s holds %s, in a product of matrices of %s", a.Name, a.Elem, t)
		}
	}
	for _, m := range []Matrix{s.C, s.B} {
		if len(m.Row) != 1 || len(m.Col) != 1 {
			return fmt.Errorf("%s has %d and %d strides, want one and one", m, len(m.Row), len(m.Col))
		}
	}
	if !s.Pos.Elem.IsInt() || s.Pos.Elem != s.Crd.Elem {
		return errors.New("positions and coordinates are no integers of one width")
	}
	return v.stored(s.C.A)
}

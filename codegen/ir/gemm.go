package ir

import (
	"distaff/io/tensor"
	"fmt"
	"slices"
	"strings"
)

type (
	// Gemm adds Alpha*A*B to C. A has M rows and K columns, B has K rows and N columns, and C has M
	// rows and N columns. The rows or columns of a matrix may range over several index variables
	// together. M, N and K list the extent of each variable; if any extent is below 1, the
	// statement does nothing. The elements of all matrices have the type of Alpha, a float or a
	// complex number. C shares no memory with A and B. The sums may be computed in any order.
	Gemm struct {
		M, N, K []Expr
		C, A, B Matrix
		Alpha   Expr
	}
	// Matrix is a dense matrix in an array. Element (i,j) is A[At + i*Row + j*Col]. Here i has one
	// number for each extent along the rows and j one for each extent along the columns. Row and
	// Col hold the stride of each extent.
	Matrix struct {
		A        *Array
		At       Expr
		Row, Col []Expr
	}
)

// String returns the text of a matrix in a Gemm.
func (m Matrix) String() string {
	return fmt.Sprintf("%s[%s, %s, %s]", name(m.A.Name), expr(m.At, 0), together(m.Row),
		together(m.Col))
}

// together returns the text of the extents or strides of a list of index variables, in braces if
// there are several.
func together(list []Expr) string {
	texts := make([]string, len(list))
	for k, x := range list {
		texts[k] = expr(x, 0)
	}
	if len(list) == 1 {
		return texts[0]
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// String returns the text of the statement.
func (s *Gemm) String() string {
	return fmt.Sprintf("gemm(%s, %s, %s) %s += %s * %s * %s", together(s.M), together(s.N),
		together(s.K), s.C, s.A, s.B, expr(s.Alpha, unaryPrecedence))
}

// SideBySide reports whether the product can run as loops around plain matrix products. It can if
// there is a variable of M, one of N and one of K such that each matrix has stride 1 along one of
// the two chosen variables that index it. The other variables become the outer loops.
func (s *Gemm) SideBySide() bool {
	one := func(x Expr) bool {
		l, ok := x.(*Lit)
		return ok && l.I == 1
	}
	for m := range s.M {
		for n := range s.N {
			for k := range s.K {
				if (one(s.C.Row[m]) || one(s.C.Col[n])) && (one(s.A.Row[m]) || one(s.A.Col[k])) &&
					(one(s.B.Row[k]) || one(s.B.Col[n])) {
					return true
				}
			}
		}
	}
	return false
}

func each(list []Expr, fn func(Expr) Expr) []Expr {
	out := make([]Expr, len(list))
	for k, x := range list {
		out[k] = fn(x)
	}
	return out
}

func (m Matrix) mapped(fn func(Expr) Expr) Matrix {
	return Matrix{A: m.A, At: fn(m.At), Row: each(m.Row, fn), Col: each(m.Col, fn)}
}

// at returns the index of element (i,j).
func (m Matrix) at(i, j []Expr) Expr {
	at := m.At
	for k := range i {
		at = Plus(at, Times(i[k], m.Row[k]))
	}
	for k := range j {
		at = Plus(at, Times(j[k], m.Col[k]))
	}
	return at
}

// numbers returns all integer expressions of the statement.
func (s *Gemm) numbers() []Expr {
	list := slices.Concat(s.M, s.N, s.K)
	for _, m := range []Matrix{s.C, s.A, s.B} {
		list = slices.Concat(list, []Expr{m.At}, m.Row, m.Col)
	}
	return list
}

// exprs returns all expressions of the statement.
func (s *Gemm) exprs() []Expr { return append(s.numbers(), s.Alpha) }

// mapped returns a copy of s with fn applied to each of its expressions.
func (s *Gemm) mapped(fn func(Expr) Expr) *Gemm {
	return &Gemm{
		M: each(s.M, fn), N: each(s.N, fn), K: each(s.K, fn),
		C: s.C.mapped(fn), A: s.A.mapped(fn), B: s.B.mapped(fn), Alpha: fn(s.Alpha),
	}
}

// Loops returns plain loops with the same effect as s: loops over the rows and columns of C around
// loops over the summed variables. The names of their variables are not unique in a function.
func (s *Gemm) Loops() *Block {
	b := &Block{}
	t := s.mapped(func(x Expr) Expr {
		v := NewVar("gemm", x.Type())
		b.List = append(b.List, &Declare{V: v, Init: x})
		return v
	})
	var loops []*For
	over := func(extents []Expr) []Expr {
		vars := make([]Expr, len(extents))
		for k, n := range extents {
			v := NewVar("gemm_at", tensor.Int64)
			loops, vars[k] = append(loops, &For{V: v, Lo: Int(0), Hi: n, Step: 1}), v
		}
		return vars
	}
	i, j, k := over(t.M), over(t.N), over(t.K)
	value := Times(t.Alpha, Times(At(t.A.A, t.A.at(i, k)), At(t.B.A, t.B.at(k, j))))
	var body Stmt = &Store{A: t.C.A, Index: t.C.at(i, j), Accumulate: true, X: value}
	for _, l := range slices.Backward(loops) {
		l.Body = &Block{List: []Stmt{body}}
		body = l
	}
	b.List = append(b.List, body)
	return b
}

// gemm reads the rest of a product of matrices after the word gemm.
func (p *parser) gemm() Stmt {
	s := &Gemm{}
	p.expect("(")
	s.M = p.together()
	p.expect(",")
	s.N = p.together()
	p.expect(",")
	s.K = p.together()
	p.expect(")")
	s.C = p.matrix()
	p.expect("+=")
	s.A = p.matrix()
	p.expect("*")
	s.B = p.matrix()
	p.expect("*")
	s.Alpha = p.unary()
	return s
}

func (p *parser) matrix() Matrix {
	m := Matrix{A: p.oldArray()}
	p.expect("[")
	m.At = p.expr()
	p.expect(",")
	m.Row = p.together()
	p.expect(",")
	m.Col = p.together()
	p.expect("]")
	return m
}

// together reads the text that the function together returns.
func (p *parser) together() (list []Expr) {
	if !p.accept("{") {
		return []Expr{p.expr()}
	}
	for !p.accept("}") {
		if len(list) > 0 {
			p.expect(",")
		}
		list = append(list, p.expr())
	}
	return list
}

func (v *verifier) gemm(s *Gemm) error {
	t := s.Alpha.Type()
	if !t.IsFloat() && !t.IsComplex() {
		return fmt.Errorf("a product of matrices of %s, want floats or complex numbers", t)
	}
	for _, x := range s.numbers() {
		if err := want(tensor.Int64, x, "number"); err != nil {
			return err
		}
	}
	for k, m := range []Matrix{s.C, s.A, s.B} {
		if err := v.known(m.A); err != nil {
			return err
		}
		rows, cols := [][]Expr{s.M, s.M, s.K}[k], [][]Expr{s.N, s.K, s.N}[k]
		switch {
		case m.A.Elem != t:
			return fmt.Errorf("%s holds %s, in a product of matrices of %s", m.A.Name, m.A.Elem, t)
		case len(m.Row) != len(rows) || len(m.Col) != len(cols):
			return fmt.Errorf("%s has %d and %d strides, for %d and %d extents", m, len(m.Row), len(m.Col),
				len(rows), len(cols))
		case k > 0 && m.A == s.C.A:
			return fmt.Errorf("%s is read and added to", m.A.Name)
		}
	}
	return v.stored(s.C.A)
}

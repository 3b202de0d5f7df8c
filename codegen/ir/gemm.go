package ir

import "fmt"

type (
	// Gemm adds Alpha*A*B to C, for matrices A of M rows and K columns, B of K rows and N columns,
	// and C of M rows and N columns; where one of the three numbers is below 1 it does nothing. All
	// have the element type of Alpha, a float or a complex number, and C shares no memory with A
	// and B. The sums may be made in any order.
	Gemm struct {
		M, N, K Expr
		C, A, B Matrix
		Alpha   Expr
	}
	// Matrix is a dense matrix in an array: element (i,j) is A[At + i*Row + j*Col]. One of Row and
	// Col is the literal 1, of Gemm's C it is Col.
	Matrix struct {
		A            *Array
		At, Row, Col Expr
	}
)

// String is the text of a matrix in a Gemm.
func (m Matrix) String() string {
	return fmt.Sprintf("%s[%s, %s, %s]", name(m.A.Name), expr(m.At, 0), expr(m.Row, 0), expr(m.Col, 0))
}

func (m Matrix) mapped(fn func(Expr) Expr) Matrix {
	return Matrix{A: m.A, At: fn(m.At), Row: fn(m.Row), Col: fn(m.Col)}
}

// at is the index of element (i,j).
func (m Matrix) at(i, j Expr) Expr {
	return Plus(m.At, Plus(Times(i, m.Row), Times(j, m.Col)))
}

// exprs are all expressions of the statement.
func (s *Gemm) exprs() []Expr {
	list := []Expr{s.M, s.N, s.K}
	for _, m := range []Matrix{s.C, s.A, s.B} {
		list = append(list, m.At, m.Row, m.Col)
	}
	return append(list, s.Alpha)
}

// mapped is s with fn of each of its expressions.
func (s *Gemm) mapped(fn func(Expr) Expr) *Gemm {
	return &Gemm{
		M: fn(s.M), N: fn(s.N), K: fn(s.K),
		C: s.C.mapped(fn), A: s.A.mapped(fn), B: s.B.mapped(fn), Alpha: fn(s.Alpha),
	}
}

// Loops is what the statement does, as plain loops: over the rows and columns of C, and inside
// them over what is summed. The names of their variables are not unique in a function.
func (s *Gemm) Loops() *Block {
	b := &Block{}
	local := func(x Expr) Expr {
		v := NewVar("gemm", x.Type())
		b.List = append(b.List, &Declare{V: v, Init: x})
		return v
	}
	t := s.mapped(local)
	i, j, k := NewVar("gemm_i", Int64), NewVar("gemm_j", Int64), NewVar("gemm_k", Int64)
	value := Times(t.Alpha, Times(At(t.A.A, t.A.at(i, k)), At(t.B.A, t.B.at(k, j))))
	var body Stmt = &Store{A: t.C.A, Index: t.C.at(i, j), Accumulate: true, X: value}
	for _, l := range []struct {
		v *Var
		n Expr
	}{{k, t.K}, {j, t.N}, {i, t.M}} {
		body = &For{V: l.v, Lo: Int(0), Hi: l.n, Step: 1, Body: &Block{List: []Stmt{body}}}
	}
	b.List = append(b.List, body)
	return b
}

// gemm is a product of matrices, behind its first word.
func (p *parser) gemm() Stmt {
	s := &Gemm{}
	p.expect("(")
	s.M = p.expr()
	p.expect(",")
	s.N = p.expr()
	p.expect(",")
	s.K = p.expr()
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
	m.Row = p.expr()
	p.expect(",")
	m.Col = p.expr()
	p.expect("]")
	return m
}

func (v *verifier) gemm(s *Gemm) error {
	t := s.Alpha.Type()
	if !t.IsFloat() && !t.IsComplex() {
		return fmt.Errorf("a product of matrices of %s, want floats or complex numbers", t)
	}
	for _, x := range s.exprs()[:12] {
		if err := want(Int64, x, "number"); err != nil {
			return err
		}
	}
	one := func(x Expr) bool { l, ok := x.(*Lit); return ok && l.I == 1 }
	for k, m := range []Matrix{s.C, s.A, s.B} {
		if err := v.known(m.A); err != nil {
			return err
		}
		switch {
		case m.A.Elem != t:
			return fmt.Errorf("%s holds %s, in a product of matrices of %s", m.A.Name, m.A.Elem, t)
		case !one(m.Col) && (k == 0 || !one(m.Row)):
			return fmt.Errorf("the elements of %s are not one apart", m)
		case k > 0 && m.A == s.C.A:
			return fmt.Errorf("%s is read and added to", m.A.Name)
		}
	}
	return v.stored(s.C.A)
}

package ir

import (
	"distaff/io/tensor"
	"fmt"
	"slices"
)

type (
	// Gemm adds Alpha*A*B to C. A has M rows and K columns, B has K rows and N columns, and C has M
	// rows and N columns. The rows or columns of a matrix may range over several index variables
	// together. M, N and K list the extent of each variable; if any extent is below 1, the
	// statement does nothing. The elements of all matrices have the type of Alpha, a float or a
	// complex number. C shares no memory with A and B. The sums may be computed in any order.
	//
	// Batch lists the extents of variables that all three matrices depend on. For each of their
	// values there is one such product, with a C of its own. Leaves for a CPU have no Batch.
	Gemm struct {
		M, N, K, Batch []Expr
		C, A, B        Matrix
		Alpha          Expr
	}
	// Matrix is a dense matrix in an array. Element (i,j) is A[At + i*Row + j*Col]. Here i has one
	// number for each extent along the rows and j one for each extent along the columns. Row and
	// Col hold the stride of each extent. Each holds the stride of each extent of a Gemm's Batch.
	Matrix struct {
		A              *Array
		At             Expr
		Row, Col, Each []Expr
	}
)

func (s *Gemm) row(r *Row) {
	r.Traits = Allocates | OnHost
	r.add("gemm(")
	r.inBraces(&s.M, Count)
	r.add(", ")
	r.inBraces(&s.N, Count)
	r.add(", ")
	r.inBraces(&s.K, Count)
	if r.hasNext(len(s.Batch) > 0, ", ") {
		r.inBraces(&s.Batch, Count)
	}
	r.add(") ")
	r.matrix(&s.C, Updates)
	r.add(" += ")
	r.matrix(&s.A, Loads)
	r.add(" * ")
	r.matrix(&s.B, Loads)
	r.add(" * %", factor(&s.Alpha))
}

// matrix gives r the operands of a matrix.
func (r *Row) matrix(m *Matrix, role Role) {
	r.add("%[%, ", Operand{at: &m.A, Role: role}, num(&m.At, "number"))
	r.inBraces(&m.Row, Computes)
	r.add(", ")
	r.inBraces(&m.Col, Computes)
	if r.hasNext(len(m.Each) > 0, ", ") {
		r.inBraces(&m.Each, Computes)
	}
	r.add("]")
}

func (s *Gemm) clone() Stmt {
	return &Gemm{M: slices.Clone(s.M), N: slices.Clone(s.N), K: slices.Clone(s.K),
		Batch: slices.Clone(s.Batch), C: s.C.clone(), A: s.A.clone(), B: s.B.clone(), Alpha: s.Alpha}
}

func (m Matrix) clone() Matrix {
	m.Row, m.Col, m.Each = slices.Clone(m.Row), slices.Clone(m.Col), slices.Clone(m.Each)
	return m
}

// SideBySide reports whether the product can run as loops around plain matrix products. A plain
// product is over one variable of M, one of N and one of K, and the outer loops are over the other
// variables. The three variables must be such that each matrix has stride 1 along one of its two
// variables.
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

// at returns the index of element (i,j) of product b.
func (m Matrix) at(i, j, b []Expr) Expr {
	at := m.At
	for k := range b {
		at = Plus(at, Times(b[k], m.Each[k]))
	}
	for k := range i {
		at = Plus(at, Times(i[k], m.Row[k]))
	}
	for k := range j {
		at = Plus(at, Times(j[k], m.Col[k]))
	}
	return at
}

// Loops returns plain loops with the same effect as s: the outer loops are over Batch and over the
// rows and columns of C, and the inner loops are over the summed variables. The loop variables'
// names are not unique in a function.
func (s *Gemm) Loops() *Block {
	b := &Block{}
	t := mapped(s, func(x Expr) Expr {
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
	each, i, j, k := over(t.Batch), over(t.M), over(t.N), over(t.K)
	value := Times(t.Alpha, Times(At(t.A.A, t.A.at(i, k, each)), At(t.B.A, t.B.at(k, j, each))))
	var body Stmt = &Store{A: t.C.A, Index: t.C.at(i, j, each), Accumulate: true, X: value}
	for _, l := range slices.Backward(loops) {
		l.Body = &Block{List: []Stmt{body}}
		body = l
	}
	b.List = append(b.List, body)
	return b
}

func (s *Gemm) check(*verifier) error {
	t := s.Alpha.Type()
	if !t.IsFloat() && !t.IsComplex() {
		return fmt.Errorf("a product of matrices cannot have the type %s; want floats or complex "+
			"numbers", t)
	}
	for k, m := range []Matrix{s.C, s.A, s.B} {
		rows, cols := [][]Expr{s.M, s.M, s.K}[k], [][]Expr{s.N, s.K, s.N}[k]
		switch {
		case m.A.Elem != t:
			return fmt.Errorf("matrix %s holds %s, but its product has the type %s; want equal types",
				m.A.Name, m.A.Elem, t)
		case len(m.Row) != len(rows) || len(m.Col) != len(cols):
			return fmt.Errorf("matrix %s has %d row strides and %d column strides, want %d and %d: "+
				"one for each loop", m.A.Name, len(m.Row),
				len(m.Col), len(rows), len(cols))
		case len(m.Each) != len(s.Batch):
			return fmt.Errorf("matrix %s has %d strides for %d loops over products; want one for each loop",
				m.A.Name, len(m.Each), len(s.Batch))
		case k > 0 && m.A == s.C.A:
			return fmt.Errorf("%s is both an operand and the result of the product; want different "+
				"arrays", m.A.Name)
		}
	}
	return nil
}

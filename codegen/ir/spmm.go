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

func (s *SpMM) row(r *Row) {
	r.Traits = OnHost
	r.add("spmm(%, %, %, %) ", num(&s.M, "number"), num(&s.N, "number"), num(&s.K, "number"),
		num(&s.Entries, "number"))
	r.matrix(&s.C, Updates)
	r.add(" += (%[%], %[%], %) * ", loads(&s.Pos), num(&s.At, "number"), loads(&s.Crd),
		num(&s.From, "number"), loads(&s.Vals))
	r.matrix(&s.B, Loads)
	r.add(" * %", factor(&s.Alpha))
}

func (s *SpMM) clone() Stmt {
	c := *s
	c.B, c.C = s.B.clone(), s.C.clone()
	return &c
}

// Arrays returns the arrays that the statement uses, the array of C first.
func (s *SpMM) Arrays() []*Array { return []*Array{s.C.A, s.B.A, s.Pos, s.Crd, s.Vals} }

// Loops returns plain loops with the same effect as s: over the rows of A, the entries of each row
// and the columns of B. The loop variables' names are not unique in a function.
func (s *SpMM) Loops() *Block {
	b := &Block{}
	t := mapped(s, func(x Expr) Expr {
		v := NewVar("spmm", x.Type())
		b.List = append(b.List, &Declare{V: v, Init: x})
		return v
	})
	i, p, k := NewVar("spmm_row", tensor.Int64), NewVar("spmm_p", tensor.Int64),
		NewVar("spmm_col", tensor.Int64)
	place := func(m Matrix, row Expr) Expr { return m.at([]Expr{row}, []Expr{k}, nil) }
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

func (s *SpMM) check(*verifier) error {
	t := s.Alpha.Type()
	if !t.IsFloat() && !t.IsComplex() {
		return fmt.Errorf("a product of matrices cannot have the type %s; want floats or complex "+
			"numbers", t)
	}
	if slices.Contains(s.Arrays()[1:], s.C.A) {
		return fmt.Errorf("%s is both an operand and the result of the product; want different arrays",
			s.C.A.Name)
	}
	for _, a := range []*Array{s.C.A, s.B.A, s.Vals} {
		if a.Elem != t {
			return fmt.Errorf("matrix %s holds %s, but its product has the type %s; want equal types",
				a.Name, a.Elem, t)
		}
	}
	for _, m := range []Matrix{s.C, s.B} {
		if len(m.Row) != 1 || len(m.Col) != 1 {
			return fmt.Errorf("matrix %s has %d row strides and %d column strides, want one of each",
				m.A.Name, len(m.Row),
				len(m.Col))
		}
	}
	if !s.Pos.Elem.IsInt() || s.Pos.Elem != s.Crd.Elem {
		return errors.New("positions and coordinates must be integers of the same width")
	}
	return nil
}

package strategy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// Extern has loops directly inside one another, around an assignment, run by a C function of the
// user's: substitute({i,j},"file.c:name"). It gets ranges in the order of Vars, which has commas
// between them. Without a File it is a library's, CuSPARSE, which runs a product with a sparse
// matrix.
type Extern struct{ Vars, File, Name string }

func (o Extern) vars() []string { return strings.Split(o.Vars, ",") }

func (o Extern) String() string {
	if o.File == "" {
		return fmt.Sprintf("substitute({%s},%s)", o.Vars, o.Name)
	}
	return fmt.Sprintf("substitute({%s},\"%s:%s\")", o.Vars, o.File, o.Name)
}

func (o Extern) follow(f *facts, v *Value) error {
	var found []*cin.Forall
	cin.Walk(f.stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok && f.around(l, o.vars()) != nil {
			found = append(found, l)
		}
	})
	switch len(found) {
	case 0:
		return fmt.Errorf(
			"no loops over %s are directly inside one another, around one assignment: what changes the loops comes before", strings.ReplaceAll(o.Vars, ",", ", "))
	case 1:
		x := v.Loops[f.numbers[found[0]]]
		x.Extern = &o
		v.Loops[f.numbers[found[0]]] = x
		return nil
	}
	return fmt.Errorf("%d nests of loops are over %s, and a function runs one of them", len(found),
		strings.ReplaceAll(o.Vars, ",", ", "))
}

// The libraries that loops may be given to, by the names that schedules have for them: a BLAS of
// the CPU's, and those of a GPU.
const (
	BLAS     = "gemm"
	CuBLAS   = "cublas"
	CuSPARSE = "cusparse"
)

// Libraries are the names of all of them.
var Libraries = []string{BLAS, CuBLAS, CuSPARSE}

// Gemm has loops directly inside one another, around a product of dense operands, run as one
// product of matrices: substitute({i,j,k},gemm). Vars has commas between its variables; Library is
// BLAS, as which "" counts, or CuBLAS.
type Gemm struct{ Vars, Library string }

func (o Gemm) vars() []string { return strings.Split(o.Vars, ",") }

func (o Gemm) String() string {
	return fmt.Sprintf("substitute({%s},%s)", o.Vars, cmp.Or(o.Library, BLAS))
}

func (o Gemm) follow(f *facts, v *Value) error {
	var sums []*cin.Assign
	cin.Walk(f.stmt, func(s cin.Stmt) {
		l, ok := s.(*cin.Forall)
		if a := f.around(s, o.vars()); ok && a != nil && a.Accumulate {
			x := v.Loops[f.numbers[l]]
			x.Gemm = len(o.vars())
			v.Loops[f.numbers[l]] = x
			sums = append(sums, a)
		}
	})
	if len(sums) == 0 {
		return fmt.Errorf(
			"no loops over %s are directly inside one another, around one sum: what changes the loops comes before", strings.ReplaceAll(o.Vars, ",", ", "))
	}
	return f.matrices(v, sums)
}

// areArrays is why a workspace that a product of matrices uses is an array.
const areArrays = "gemm multiplies matrices that are arrays"

// matrices has the workspaces that products of matrices read or add to as arrays, however large
// these are.
func (f *facts) matrices(v *Value, sums []*cin.Assign) (err error) {
	eachWorkspace(f.stmt, func(t *cin.Access, w *cin.Where) {
		used := false
		for _, a := range sums {
			used = used || a.LHS.Name == t.Name
			cin.ExprAccesses(a.RHS, func(x *cin.Access) { used = used || x.Name == t.Name })
		}
		s := v.Spaces[t.Name]
		if !used || err != nil {
			return
		}
		if s.Form.Kind != Array && s.Said {
			err = fmt.Errorf("%s, and the schedule has %s", areArrays, Workspace{t.Name, s.Form.Kind})
			return
		}
		if why := f.asArray(w.Producer, t); why != nil {
			err = fmt.Errorf("%s, and %w", areArrays, why)
			return
		}
		s.Form, s.Why, s.Multiplied = Form{Kind: Array}, areArrays, true
		v.Spaces[t.Name] = s
	})
	return err
}

// Product is a product of matrices that the default strategy makes of loops, with the reason.
type Product struct {
	Gemm Gemm
	Why  string
}

// gemms makes products of matrices of their loops.
func (f *facts) gemms(v *Value) {
	for _, p := range f.problem.Products {
		if err := p.Gemm.follow(f, v); err != nil {
			panic("BUG: strategy: " + err.Error())
		}
	}
}

// gemm tells whether a statement is loops that are one product of matrices.
func (f *facts) gemm(s cin.Stmt) bool {
	return slices.ContainsFunc(f.problem.Products,
		func(p Product) bool { return f.around(s, p.Gemm.vars()) != nil })
}

// Matrices are the outermost loops, in a statement that a strategy was made for, of products of
// matrices.
func (v *Value) Matrices(s cin.Stmt) map[cin.Stmt]bool {
	out := map[cin.Stmt]bool{}
	for t, n := range Numbers(cin.Body(s)) {
		if v.Loops[n].Gemm > 0 {
			out[t] = true
		}
	}
	return out
}

// Kept are the statements, in one that a strategy was made for, that sum rows of the result in
// registers.
func (v *Value) Kept(s cin.Stmt) map[cin.Stmt]bool {
	out := map[cin.Stmt]bool{}
	for t, n := range Numbers(cin.Body(s)) {
		if v.Tiles[n] > 0 {
			out[t] = true
		}
	}
	return out
}

// around is the assignment that s is loops over the variables around, in any order; nil where it is
// not.
func (f *facts) around(s cin.Stmt, vars []string) *cin.Assign {
	left := make([]string, len(vars))
	for k, v := range vars {
		left[k] = f.g.ConsumerVar(v)
	}
	for len(left) > 0 {
		l, ok := s.(*cin.Forall)
		if !ok || !slices.Contains(left, l.Var) {
			return nil
		}
		left = slices.DeleteFunc(left, func(v string) bool { return v == l.Var })
		s = l.Body
	}
	a, _ := s.(*cin.Assign)
	return a
}

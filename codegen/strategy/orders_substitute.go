package strategy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// Extern orders that a user's C function runs directly nested loops around an assignment:
// substitute({i,j},"file.c:name"). The function gets ranges in the order of Vars, which is a list
// separated by commas. If File is "", the function is the library CuSPARSE's, which computes a
// product with a sparse matrix.
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
		v.loop(found[0]).Extern = &o
		return nil
	}
	return fmt.Errorf("%d nests of loops are over %s, and a function runs one of them", len(found),
		strings.ReplaceAll(o.Vars, ",", ", "))
}

// The names of the libraries in schedules. BLAS is a library for the CPU, and the others are for a
// GPU.
const (
	BLAS     = "gemm"
	CuBLAS   = "cublas"
	CuSPARSE = "cusparse"
)

// Libraries lists the names of all libraries.
var Libraries = []string{BLAS, CuBLAS, CuSPARSE}

// Gemm orders that directly nested loops around a product of dense operands run as one matrix
// product: substitute({i,j,k},gemm). Vars is a list separated by commas. Library is BLAS or CuBLAS;
// "" means BLAS.
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
			v.loop(l).Gemm = len(o.vars())
			sums = append(sums, a)
		}
	})
	if len(sums) == 0 {
		return fmt.Errorf(
			"no loops over %s are directly inside one another, around one sum: what changes the loops comes before", strings.ReplaceAll(o.Vars, ",", ", "))
	}
	return f.matrices(v, sums)
}

// gemmNeedsArrays is the reason why a workspace that a matrix product uses is an array.
const gemmNeedsArrays = "gemm multiplies matrices that are arrays"

// matrices makes the workspaces that matrix products read or add to arrays, whatever their size.
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
			err = fmt.Errorf("%s, and the schedule has %s", gemmNeedsArrays, Workspace{t.Name, s.Form.Kind})
			return
		}
		if why := f.asArray(w.Producer, t); why != nil {
			err = fmt.Errorf("%s, and %w", gemmNeedsArrays, why)
			return
		}
		s.Form, s.Why, s.Multiplied = Form{Kind: Array}, gemmNeedsArrays, true
		v.Spaces[t.Name] = s
	})
	return err
}

// Product is a matrix product that the default strategy makes of loops, with the reason.
type Product struct {
	Gemm Gemm
	Why  string
}

// gemms replaces the loops of the problem's matrix products.
func (f *facts) gemms(v *Value) {
	for _, p := range f.problem.Products {
		if err := p.Gemm.follow(f, v); err != nil {
			panic("BUG: strategy: " + err.Error())
		}
	}
}

// isGemm reports whether s consists of the loops of one matrix product.
func (f *facts) isGemm(s cin.Stmt) bool {
	return slices.ContainsFunc(f.problem.Products,
		func(p Product) bool { return f.around(s, p.Gemm.vars()) != nil })
}

// Matrices returns the outermost loops of matrix products in s. The strategy v must have been made
// for s.
func (v *Value) Matrices(s cin.Stmt) map[cin.Stmt]bool {
	out := map[cin.Stmt]bool{}
	cin.Pairs(cin.Body(s), v.Stmt, func(t, own cin.Stmt) {
		if l, ok := own.(*cin.Forall); ok && v.Of(l).Gemm > 0 {
			out[t] = true
		}
	})
	return out
}

// Kept returns the statements in s that sum rows of the result in registers. The strategy v must
// have been made for s.
func (v *Value) Kept(s cin.Stmt) map[cin.Stmt]bool {
	out := map[cin.Stmt]bool{}
	cin.Pairs(cin.Body(s), v.Stmt, func(t, own cin.Stmt) {
		if v.Tiles[own] > 0 {
			out[t] = true
		}
	})
	return out
}

// around returns the assignment inside s if s is loops over exactly the given variables, in any
// order, or else nil.
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

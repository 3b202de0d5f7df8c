package choice

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Substitute is the choice to call a library or a C function instead of running directly nested
// loops around an assignment. Name lists the variables of the loops.
//
//	substitute({i,j,k},gemm)        calls a matrix product; the loops multiply dense operands
//	substitute({i,j,k},cublas)      does the same on a GPU, by cuBLAS only
//	substitute({i,j},cusparse)      lets cuSPARSE compute a product with a sparse matrix
//	substitute({i,j},"file.c:name") calls a user's C function with ranges in the order of variables
var Substitute = &Choice{
	Name:    "substitute",
	Params:  []Param{{Kind: VarsParam, Name: "{i, j, k}"}, {Kind: WordParam, Words: Libraries}},
	Meaning: "calls a library or C function instead of loops",
	Default: products,
	Follow:  followSubstitute,
}

// products returns the instructions to replace the loops of matrix products by calls of a BLAS.
func products(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
	for _, p := range f.Problem.Products {
		out = append(out, Chosen{Order: Order{Name: strings.Join(p.Vars, ","), Word: BLAS}, Why: p.Why})
	}
	return out
}

func followSubstitute(f *analysis.Facts, v *strategy.Value, o Order) error {
	text, quoted := strings.CutPrefix(o.Word, "\"")
	switch {
	case quoted:
		text = strings.TrimSuffix(text, "\"")
		k := strings.LastIndexByte(text, ':')
		return callExtern(f, v, &strategy.Extern{Vars: o.Name, File: text[:k], Name: text[k+1:]})
	case o.Word == CuSPARSE:
		return callExtern(f, v, &strategy.Extern{Vars: o.Name, Name: CuSPARSE})
	}
	var sums []*cin.Assign
	cin.Walk(f.Stmt, func(s cin.Stmt) {
		if a := MatrixProduct(f, s, o.Vars()); a != nil {
			v.At(s.(*cin.Forall)).Gemm = len(o.Vars())
			sums = append(sums, a)
		}
	})
	if len(sums) == 0 {
		return fmt.Errorf(
			"the loops over %s must be directly inside one another, around only one sum; "+
				"commands that change loops must come first",
			strings.ReplaceAll(o.Name, ",", ", "))
	}
	return matrices(f, v, sums)
}

// callExtern makes the function x run the loops over its variables.
func callExtern(f *analysis.Facts, v *strategy.Value, x *strategy.Extern) error {
	var found []*cin.Forall
	names := strings.Split(x.Vars, ",")
	cin.Walk(f.Stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok && loopsAround(f, l, names) != nil {
			found = append(found, l)
		}
	})
	switch len(found) {
	case 0:
		return fmt.Errorf(
			"the loops over %s must be directly inside one another, around only one "+
				"assignment; commands that change loops must come first",
			strings.Join(names, ", "))
	case 1:
		v.At(found[0]).Extern = x
		return nil
	}
	return fmt.Errorf("%d nests of loops are over %s, but a function can replace only one",
		len(found),
		strings.Join(names, ", "))
}

// The names of the libraries in schedules. BLAS is the target's library of dense products: a BLAS
// of a CPU, and cuBLAS or Distaff's own kernels on a GPU. The other names are for a GPU.
const (
	BLAS     = "gemm"
	CuBLAS   = "cublas"
	CuSPARSE = "cusparse"
)

// Libraries lists the names of all libraries.
var Libraries = []string{BLAS, CuBLAS, CuSPARSE}

// gemmNeedsArrays is the reason why a workspace that a matrix product uses is an array.
const gemmNeedsArrays = "gemm multiplies matrices, which must be stored as arrays"

// matrices turns the workspaces that matrix products read or add to into arrays. sums has the
// assignments of the products. An error says why a workspace cannot be an array.
func matrices(f *analysis.Facts, v *strategy.Value, sums []*cin.Assign) (err error) {
	eachWorkspace(f.Stmt, func(t *cin.Access, w *cin.Where) {
		used := false
		for _, a := range sums {
			used = used || a.LHS.Name == t.Name
			cin.ExprAccesses(a.RHS, func(x *cin.Access) { used = used || x.Name == t.Name })
		}
		s := v.Spaces[t.Name]
		if !used || err != nil {
			return
		}
		if s.Form.Kind != strategy.Array && s.Said {
			err = fmt.Errorf("%s, but the schedule has "+
				"workspace(%s,%s)", gemmNeedsArrays, t.Name, s.Form.Kind)
			return
		}
		if why := asArray(f, w.Producer, t); why != nil {
			err = fmt.Errorf("%s, but %w", gemmNeedsArrays, why)
			return
		}
		s.Form, s.Why, s.Multiplied = strategy.Form{Kind: strategy.Array}, gemmNeedsArrays, true
		v.Spaces[t.Name] = s
	})
	return err
}

// isGemm reports whether s consists of the loops of one matrix product of the default strategy.
func isGemm(f *analysis.Facts, s cin.Stmt) bool {
	return slices.ContainsFunc(f.Problem.Products,
		func(p analysis.Product) bool { return MatrixProduct(f, s, p.Vars) != nil })
}

// MatrixProduct returns the assignment inside s if s is loops over exactly the given variables, in
// any order, that add products of dense tensors. Otherwise it returns nil.
func MatrixProduct(f *analysis.Facts, s cin.Stmt, vars []string) *cin.Assign {
	if a := loopsAround(f, s, vars); a != nil && a.Accumulate && len(vars) > 0 && isDense(f, a, vars) {
		return a
	}
	return nil
}

// isDense reports whether all tensors of an assignment store the given variables in dense levels.
// Loops around other assignments are not a product of matrices.
func isDense(f *analysis.Facts, a *cin.Assign, vars []string) bool {
	dense := true
	check := func(x *cin.Access) {
		t := f.Tensor(x.Name)
		if x.Name == f.Result.Name {
			t = f.Result
		}
		for l := 0; t != nil && l < t.Order(); l++ {
			dense = dense && (t.Kind(l) == tensor.Dense || !slices.ContainsFunc(vars, func(v string) bool {
				return slices.Contains(f.Graph.RootsOf(v), x.Vars[t.Format.Order[l]])
			}))
		}
	}
	check(a.LHS)
	cin.ExprAccesses(a.RHS, check)
	return dense
}

// loopsAround returns the assignment inside s if s is loops over exactly the given variables, in
// any order, or else nil.
func loopsAround(f *analysis.Facts, s cin.Stmt, vars []string) *cin.Assign {
	left := make([]string, len(vars))
	for k, v := range vars {
		left[k] = f.Graph.ConsumerVar(v)
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

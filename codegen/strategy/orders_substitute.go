package strategy

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// Extern has loops directly inside one another, around an assignment, run by a C function of the
// user's: substitute({i,j},"file.c:name"). It gets ranges in the order of Vars, which
// has commas between them.
type Extern struct{ Vars, File, Name string }

func (o Extern) vars() []string { return strings.Split(o.Vars, ",") }

func (o Extern) String() string {
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
		return fmt.Errorf("no loops over %s are directly inside one another, around one assignment: what changes the loops comes before", strings.ReplaceAll(o.Vars, ",", ", "))
	case 1:
		x := v.Loops[f.numbers[found[0]]]
		x.Extern = &o
		v.Loops[f.numbers[found[0]]] = x
		return nil
	}
	return fmt.Errorf("%d nests of loops are over %s, and a function runs one of them", len(found), strings.ReplaceAll(o.Vars, ",", ", "))
}

// Gemm has three loops directly inside one another, around a sum of products, run by a BLAS:
// substitute({i,j,k},gemm).
type Gemm struct{ I, J, K string }

func (o Gemm) vars() []string { return []string{o.I, o.J, o.K} }

func (o Gemm) String() string {
	return fmt.Sprintf("substitute({%s},gemm)", strings.Join(o.vars(), ","))
}

func (o Gemm) follow(f *facts, v *Value) error {
	var sums []*cin.Assign
	cin.Walk(f.stmt, func(s cin.Stmt) {
		l, ok := s.(*cin.Forall)
		if a := f.around(s, o.vars()); ok && a != nil && a.Accumulate {
			x := v.Loops[f.numbers[l]]
			x.Gemm = true
			v.Loops[f.numbers[l]] = x
			sums = append(sums, a)
		}
	})
	if len(sums) == 0 {
		return fmt.Errorf("no loops over %s are directly inside one another, around one sum: what changes the loops comes before", strings.Join(o.vars(), ", "))
	}
	return f.matrices(v, sums)
}

// areArrays is why a workspace that gemm uses is an array.
const areArrays = "gemm multiplies matrices that are arrays"

// matrices has the workspaces that products of matrices read or add to as arrays, however large these are.
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
		if s.Kind != Array && s.Why == soOrdered {
			err = fmt.Errorf("%s, and the schedule has %s", areArrays, Workspace{t.Name, s.Kind})
			return
		}
		if why := f.asArray(w.Producer, t); why != nil {
			err = fmt.Errorf("%s, and %w", areArrays, why)
			return
		}
		s.Form, s.Why = Form{Kind: Array}, areArrays
		v.Spaces[t.Name] = s
	})
	return err
}

// around is the assignment that s is loops over the variables around, in any order; nil where it is not.
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

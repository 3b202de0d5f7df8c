package choice

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// termRows returns the form of workspace t as a list of terms. Each term adds a whole row to t, but
// the list stores only the term's factors. w is the statement that fills t. operand is the access
// whose entries produce the terms. ok is true if this form is possible: the right side is a product
// of dense operands and one operand that is not dense, and the consumer copies each row once, in
// order.
func termRows(f *facts, w *cin.Where, t *cin.Access) (form strategy.Form, operand *cin.Access,
	ok bool) {
	form = strategy.Form{Kind: strategy.Terms, Dense: rowVars(f, w.Producer, t)}
	keys := t.Vars[:len(t.Vars)-form.Dense]
	if form.Dense == 0 || f.g != nil && len(f.g.Relations()) > 0 || !copiedInOrder(f, w.Consumer, t) {
		return form, nil, false
	}
	if operand = keysFrom(f, w.Producer, t, keys); operand == nil {
		return form, nil, false
	}
	assignments := 0
	cin.Paths(w.Producer, func(_ []*cin.Forall, a *cin.Assign) {
		assignments++
		ok = product(a.RHS)
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			op := f.tensor(x.Name)
			along := slices.ContainsFunc(x.Vars,
				func(v string) bool { return slices.Contains(t.Vars[len(keys):], v) })
			ok = ok && op != nil && (!along || op.Format.AllDense())
		})
	})
	form.Rows, form.Of = keysByRows(f, t, keys), operand.Name
	return form, operand, ok && assignments == 1
}

// copiedInOrder reports whether the consumer only copies workspace t, with loops in the order of
// the variables of t.
func copiedInOrder(f *facts, consumer cin.Stmt, t *cin.Access) bool {
	for _, v := range t.Vars {
		l, ok := consumer.(*cin.Forall)
		if !ok || l.Var != v || l.Unit != cin.Serial {
			return false
		}
		consumer = l.Body
	}
	a, ok := consumer.(*cin.Assign)
	if !ok {
		return false
	}
	x, ok := a.RHS.(*cin.Access)
	return ok && x.Name == t.Name && slices.Equal(x.Vars, t.Vars)
}

// termRowsBytes returns the memory of a list of n terms that each add a row.
func termRowsBytes(f *facts, t *cin.Access, form strategy.Form, n float64) float64 {
	keys, rows := t.Vars[:len(t.Vars)-form.Dense], 0.0
	if form.Rows {
		rows = arrayBytes((f.places(keys[:len(keys)-1]) + 1) * posBytes)
	}
	kept := 0.0 // a value or the coordinates of each operand
	for _, x := range f.problem.Tensors[1:] {
		kept += math.Max(float64(f.problem.Compute.Size()), posBytes*float64(x.order()))
	}
	each := f.places(t.Vars[len(keys):]) * float64(f.problem.Compute.Size())
	return growingBytes(n+1, float64(16*len(keys))+2*posBytes+kept) + arrayBytes(each) + arrayBytes(
		2*n*tupleBytes) + rows
}

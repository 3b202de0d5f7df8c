package choice

import (
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// termRows returns the form of workspace t as a list of terms. Each term adds a whole row to t, but
// the list stores only the term's factors. w is the Where that fills t. The result operand is the
// access whose entries produce the terms. ok is false if t cannot have this form. For ok, the right
// side must be a product of dense operands and one operand that is not dense. The consumer must
// copy each row once, in order.
func termRows(f *analysis.Facts, w *cin.Where, t *cin.Access) (form strategy.Form,
	operand *cin.Access, ok bool) {
	form = strategy.Form{Kind: strategy.Terms, Dense: rowVars(f, w.Producer, t)}
	keys := t.Vars[:len(t.Vars)-form.Dense]
	if form.Dense == 0 || len(f.Graph.Relations()) > 0 ||
		!copiedInOrder(w.Consumer, t) {
		return form, nil, false
	}
	if operand = f.KeysFrom(w.Producer, t, keys); operand == nil {
		return form, nil, false
	}
	assignments := 0
	cin.Paths(w.Producer, func(_ []*cin.Forall, a *cin.Assign) {
		assignments++
		ok = analysis.IsProduct(a.RHS)
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			op := f.Tensor(x.Name)
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
func copiedInOrder(consumer cin.Stmt, t *cin.Access) bool {
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

package choice

import (
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// maxHashRow is the largest number of places in a row of a hash table. The row is set to 0 when its
// key is inserted.
const maxHashRow = 1 << 16

// hashTable returns the form of workspace t as a hash table. producer is the statement that fills
// t. If rowVars allows it, each key of the table has a row of values along the last variables of t.
func hashTable(f *analysis.Facts, producer cin.Stmt, t *cin.Access) strategy.Form {
	form := strategy.Form{Kind: strategy.HashTable, Dense: rowVars(f, producer, t)}
	keys := t.Vars[:len(t.Vars)-form.Dense]
	form.Rows = keysByRows(f, t, keys)
	form.Of = keysOf(f, producer, t, keys)
	return form
}

// keysOf returns the name of the operand whose entries give the keys of a hash table (see
// KeysFrom). It returns "" if there is none, or if fewer than half of the keys are expected to
// differ (see mostlyApart).
func keysOf(f *analysis.Facts, producer cin.Stmt, t *cin.Access, keys []string) string {
	if of := f.KeysFrom(producer, t, keys); of != nil && mostlyApart(f, of, keys) {
		return of.Name
	}
	return ""
}

// mostlyApart reports whether most keys of a workspace are expected to differ. Each entry of
// operand produces one key. A key consists of coordinates of the variables in keys.
func mostlyApart(f *analysis.Facts, operand *cin.Access, keys []string) bool {
	n := float64(f.Tensor(operand.Name).NNZ)
	return n >= 0 && 2*expected(n, f.Places(keys)) >= n
}

// rowVars returns the number of variables of a row, if workspace t stores a row of values for each
// key. These variables are the last variables of t. rowVars returns the largest n that meets three
// conditions:
//
//   - For each coordinate of the other variables, t is filled along the last n variables everywhere
//     or nowhere.
//   - Innermost loops over only the last n variables fill t.
//   - A row has at most maxHashRow places.
//
// rowVars returns 0 if no n does, or if threads fill t, because threads pass on single values and
// not rows.
func rowVars(f *analysis.Facts, producer cin.Stmt, t *cin.Access) int {
	if cin.Threaded(producer) {
		return 0
	}
	for n := len(t.Vars) - 1; n > 0; n-- {
		keys := len(t.Vars) - n
		ok := f.Places(t.Vars[keys:]) <= maxHashRow && rowLoops(f, producer, t, n)
		for m := keys; ok && m < len(t.Vars); m++ {
			ok = uniformAlong(f, producer, t, m)
		}
		if ok {
			return n
		}
	}
	return 0
}

// rowLoops reports whether each assignment to workspace t is inside serial loops over the last n
// variables of t. The loops must run over the whole ranges, and must contain nothing else.
func rowLoops(f *analysis.Facts, producer cin.Stmt, t *cin.Access, n int) bool {
	ok := true
	cin.Paths(producer, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != t.Name {
			return
		}
		if ok = ok && len(loops) >= n; !ok {
			return
		}
		row := a.LHS.Vars[len(a.LHS.Vars)-n:]
		loops = loops[len(loops)-n:]
		for k, l := range loops {
			scope := cin.Stmt(a)
			if k+1 < n {
				scope = loops[k+1]
			}
			ok = ok && l.Body == scope && l.Unit == cin.Serial && slices.Contains(row, l.Var) &&
				!f.IsDerived(l.Var)
		}
		ok = ok && !slices.ContainsFunc(a.LHS.Vars[:len(a.LHS.Vars)-n],
			func(v string) bool { return slices.Contains(row, v) })
	})
	return ok
}

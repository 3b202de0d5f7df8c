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

// hashTable returns the form of a hash table for workspace t, which producer fills. If rowVars
// allows it, each key has a row of values along the last variables of t.
func hashTable(f *analysis.Facts, producer cin.Stmt, t *cin.Access) strategy.Form {
	form := strategy.Form{Kind: strategy.HashTable, Dense: rowVars(f, producer, t)}
	keys := t.Vars[:len(t.Vars)-form.Dense]
	form.Rows = keysByRows(f, t, keys)
	form.Of = keysOf(f, producer, t, keys)
	return form
}

// keysOf returns the name of the only sparse operand, if KeysFrom finds that its entries give the
// keys of a hash table, and if most of these keys are expected to differ. Otherwise it returns "".
func keysOf(f *analysis.Facts, producer cin.Stmt, t *cin.Access, keys []string) string {
	if of := f.KeysFrom(producer, t, keys); of != nil && mostlyApart(f, of, keys) {
		return of.Name
	}
	return ""
}

// mostlyApart reports whether most keys that the entries of operand produce are expected to differ.
// Each entry produces one key, which consists of coordinates of the variables in keys.
func mostlyApart(f *analysis.Facts, operand *cin.Access, keys []string) bool {
	n := float64(f.Tensor(operand.Name).NNZ)
	return n >= 0 && 2*expected(n, f.Places(keys)) >= n
}

// rowVars returns how many of t's last variables can be the variables of a row, if workspace t
// stores a row of values for each key. It returns the largest n that meets three conditions. For
// each coordinate of the other variables, t is filled along the last n variables everywhere or
// nowhere. t is filled by innermost loops over only these variables. A row has at most maxHashRow
// places. rowVars returns 0 if threads fill t, because threads pass on single values and not rows.
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

// rowLoops reports whether everything that adds to workspace t is inside loops over the whole range
// of its last n variables, and whether these loops contain nothing else.
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

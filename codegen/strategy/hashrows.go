package strategy

import (
	"slices"

	"distaff/codegen/cin"
)

// maxHashRow is how many places a row of a hash table has at most: it is set to 0 as its key comes.
const maxHashRow = 1 << 16

// hashTable is the form of a hash table for workspace t, which producer fills: with a row behind
// each key where there are variables for it.
func (f *facts) hashTable(producer cin.Stmt, t *cin.Access) Form {
	form := Form{Kind: HashTable, Dense: f.rowVars(producer, t)}
	keys := t.Vars[:len(t.Vars)-form.Dense]
	form.Rows = f.keysByRows(t, keys)
	form.Of = f.keysOf(producer, t, keys)
	return form
}

// keysOf is the one sparse operand, in all of whose entries producer finds the keys of a hash
// table, at most one in each, where most of these are expected to differ; else "".
func (f *facts) keysOf(producer cin.Stmt, t *cin.Access, keys []string) string {
	if of := f.keysFrom(producer, t, keys); of != nil && f.mostlyApart(of, keys) {
		return of.Name
	}
	return ""
}

// mostlyApart tells whether most of the keys that a sparse operand's entries have are expected to
// differ.
func (f *facts) mostlyApart(of *cin.Access, keys []string) bool {
	n := float64(f.tensor(of.Name).NNZ)
	return n >= 0 && 2*expected(n, f.places(keys)) >= n
}

// keysFrom is the one sparse operand in all of whose entries producer finds the keys of workspace
// t, at most one in each; else nil.
func (f *facts) keysFrom(producer cin.Stmt, t *cin.Access, keys []string) *cin.Access {
	if cin.Threaded(producer) {
		return nil
	}
	var of *cin.Access
	one := true
	cin.Paths(producer, func(loops []*cin.Forall, a *cin.Assign) {
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			op := f.tensor(x.Name)
			switch {
			case op == nil && len(x.Vars) > 0:
				one = false
			case op != nil && !op.located():
				one = one && (of == nil || of.Key() == x.Key())
				of = x
			}
		})
		var vars []string
		for _, l := range loops {
			vars = append(vars, l.Var)
			one = one && !f.derived(l.Var)
		}
		for _, v := range keys {
			one = one && of != nil && slices.Contains(of.Vars, v)
		}
		if of != nil {
			for _, v := range of.Vars {
				one = one && slices.Contains(vars, v) && !slices.Contains(t.Vars[len(keys):], v)
			}
		}
	})
	if !one {
		return nil
	}
	return of
}

// rowVars is along how many of its last variables workspace t is filled everywhere or nowhere, for
// each coordinate of the others, in loops over these variables alone, which are inside all others:
// the most of which a row has few places. It is 0 where threads fill t, since these hand over
// single values.
func (f *facts) rowVars(producer cin.Stmt, t *cin.Access) int {
	if cin.Threaded(producer) {
		return 0
	}
	for n := len(t.Vars) - 1; n > 0; n-- {
		keys := len(t.Vars) - n
		ok := f.places(t.Vars[keys:]) <= maxHashRow && f.rowLoops(producer, t, n)
		for m := keys; ok && m < len(t.Vars); m++ {
			ok = f.uniformAlong(producer, t, m)
		}
		if ok {
			return n
		}
	}
	return 0
}

// rowLoops tells whether all that adds to workspace t is inside loops over the whole range of its
// last n variables, which hold nothing else.
func (f *facts) rowLoops(producer cin.Stmt, t *cin.Access, n int) bool {
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
			inside := cin.Stmt(a)
			if k+1 < n {
				inside = loops[k+1]
			}
			ok = ok && l.Body == inside && l.Unit == cin.Serial && slices.Contains(row, l.Var) &&
				!f.derived(l.Var)
		}
		ok = ok && !slices.ContainsFunc(a.LHS.Vars[:len(a.LHS.Vars)-n],
			func(v string) bool { return slices.Contains(row, v) })
	})
	return ok
}

// derived tells whether a schedule makes the loop over v visit its coordinates in parts.
func (f *facts) derived(v string) bool {
	c, _ := f.component(v)
	return c != nil && f.g.ReplacedBy(v) == nil
}

package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/scope"
)

// lowerer lowers the statement of one leaf.
type lowerer struct {
	leaf *scope.Leaf
	spec *scope.Spec   // leaf.Spec
	b    *emit.Builder // leaf.B
	// assembly writes the result.
	assembly result.Assembly
	// addsAfter is true if the first statement stores values and later statements add to them.
	addsAfter bool
}

// compileIn makes the sizes of some levels of access a constants in the leaf. These are the levels
// over the variables for which the strategy has trip counts (Trips). The leaf then needs no
// registers for the size and the offset of such a level to find a row.
func (l *lowerer) compileIn(a *cin.Access) {
	op := l.leaf.Ops[a.Name]
	if op == nil {
		return
	}
	for level, v := range scope.LevelVars(a, op) {
		if n, ok := l.spec.Strategy.Trips[v]; ok {
			op.Trips[level] = n
		}
	}
}

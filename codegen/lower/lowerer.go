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

// compileIn records the sizes of some levels of access a, so that they are constants in the leaf.
// The levels are over variables whose trip counts the strategy compiles in. A row of such a level
// is found without registers for the level's size and offset.
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

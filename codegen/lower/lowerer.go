package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

type lowerer struct {
	spec   *Spec
	b      *emit.Builder
	ops    map[string]*tree.Operand
	bounds map[string][2]*ir.Var
	levels map[string][]string // by access key: the variable of each storage level
	args   *tree.Arguments
	maker  *space.Maker // of workspaces
	out    *result
	// assembly writes out.
	assembly assembly
	// threads is the number of threads, or nil if the leaf is serial.
	threads *ir.Var
	// resultVars has the variable of each storage level of the result.
	resultVars []string
	// positionSpaces has the workspaces by position, by the operands that read them.
	positionSpaces map[*tree.Operand]*positionSpace

	// own has the part of a variable's range that belongs to the current thread. Workspaces have
	// places only for this part.
	own *scoped[tree.Range]
	// warps is the number of loops on a GPU's warps around the current place.
	warps int
	// copies has the loop of the strategy for each loop that lowering made of it. cuts has the cuts
	// of loops that lowering itself puts on threads.
	copies map[cin.Stmt]*cin.Forall
	cuts   map[*cin.Forall]strategy.Cut
	lanes  *rewrite.Lanes // the loops that may run in lanes
	sched  *schedule
	// early is for a loop that is split because inner loops fetch rows ahead. It has the places of
	// these inner loops, with true in the first part, where no fetch reads past the operand's end.
	early map[string]bool
	// called lists the functions that the code calls.
	called map[*strategy.Extern]bool
	// windowed lists the variables whose loops are merged in windows.
	windowed map[string]bool
	// promotions lists the scalars that replace one value of the result.
	promotions map[string]bool
	// addsAfter is true if later statements add to the values of the caller that the first statement
	// stored.
	addsAfter bool
	// hooks has functions that lower loops which lowering itself made.
	hooks map[*cin.Forall]func(*env, bool) ir.Expr

	used *lattice.Record // the lattices of the loops so far

	// numbered has the fused spaces, by their variables, for which the start of the leaf checks
	// that their points can be numbered.
	numbered map[string]bool
}

// compileIn records the sizes of an access's levels that are compiled in, because the trip count of
// their variable is. A row of such a level is found by a shift, without registers for its size and
// offset.
func (l *lowerer) compileIn(a *cin.Access) {
	op := l.ops[a.Name]
	if op == nil {
		return
	}
	for level, v := range l.levelVars(a) {
		if n, ok := l.spec.Strategy.Trips[v]; ok {
			op.Trips[level] = n
		}
	}
}

// refuse ends the lowering with a refusal. v is the variable of the responsible loop.
func (l *lowerer) refuse(v, format string, args ...any) {
	panic(&Refusal{Var: v, Why: fmt.Sprintf(format, args...)})
}

// hasDerivedVars reports whether a schedule has made variables. The leaf is then called with whole
// ranges, except for the variables in Spec.Parts, and it computes its coordinates.
func (l *lowerer) hasDerivedVars() bool { return len(l.sched.g.Relations()) > 0 }

// assigns reports whether a statement's target is the result.
func (l *lowerer) assigns(s cin.Stmt) bool { return cin.Target(s).Name == l.out.op.Argument.Name }

// anyOf combines the results of cases: it returns false only if no case assigns.
func anyOf(any, some ir.Expr) ir.Expr {
	if ir.Never(some) {
		return any
	}
	return ir.Truth(true)
}

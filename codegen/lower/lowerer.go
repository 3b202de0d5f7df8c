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
	// copies has, for each loop that lowering made, the loop of the strategy that it is a copy of.
	// cuts has the cuts of loops that lowering itself puts on threads.
	copies map[cin.Stmt]*cin.Forall
	cuts   map[*cin.Forall]strategy.Cut
	lanes  *rewrite.Lanes // the loops that may run in lanes
	sched  *schedule
	// early is for a loop that is split in two because inner loops fetch rows ahead. It has the
	// keys of these inner loops (see place). A value is true in the first part, where no fetch
	// reads past the operand's end.
	early map[string]bool
	// called lists the functions that the code calls.
	called map[*strategy.Extern]bool
	// windowed lists the variables whose loops are merged in windows.
	windowed map[string]bool
	// promotions lists the scalars that replace one value of the result.
	promotions map[string]bool
	// addsAfter is true if the first statement stores values and later statements add to them.
	addsAfter bool
	// hooks has functions that lower loops which lowering itself made.
	hooks map[*cin.Forall]func(*env, bool) ir.Expr

	used *lattice.Record // the lattices of the loops so far

	// numbered has the fused spaces, by their variables, whose number of points is checked at the
	// leaf's start.
	numbered map[string]bool
}

// compileIn records the sizes of the levels of an access whose variables have trip counts that are
// compiled in. A row of such a level is found by a shift, without registers for its size and
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

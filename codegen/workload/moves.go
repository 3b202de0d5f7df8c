package workload

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Moves describes how a call accesses memory, and how often it takes branches that depend on the
// data. The call's time is predicted from these numbers. They are estimates, which assume that
// entries are spread evenly.
type Moves struct {
	Picks   []Pick
	Inserts []Insert
	// Loads is the number of values that innermost loops load and store, from memory or a cache.
	// Products of matrices keep their values in registers and are not counted.
	Loads float64
	// Enters is the number of times that a loop over a segment of an operand begins.
	Enters float64
	// Ends is the number of branches that the processor cannot predict: a loop over a segment of an
	// operand ends, an intersection advances another operand than in the step before, or a binary
	// search of a tile takes one of its last steps (see newSearchSteps).
	Ends float64
	// Steps is the number of steps of loops that merge several operands. A step of a union counts
	// once for each operand. If a union is merged in windows, a step counts once and covers several
	// coordinates of the union. The steps of an intersection are the entries of all its operands.
	Steps float64
	// Searches is the number of steps of binary searches. A tile of an operand's positions finds
	// its first coordinates by such searches.
	Searches float64
	// Atomics is the number of atomic additions to the result. Taken is the number of times that a
	// thread takes its next iterations from a loop that threads share dynamically.
	Atomics, Taken float64
}

// Pick describes an access to rows of an argument's values. The coordinates of another operand
// determine the rows that are read or written, and their order.
type Pick struct {
	Arg   int     // the number of the argument; 0 is the result
	Count float64 // the number of rows
	Run   float64 // the number of values of a row, which are adjacent
	// Passes is the number of times that the loop that picks rows begins. Coordinates ascend within
	// a pass. Reach is the part of the array, from 0 to 1, that one pass can access. The rest is
	// out of reach because each loop around the pass fixes a coordinate of its variable.
	Passes, Reach float64
	// Within is the part of the array, from 0 to 1, whose rows are picked repeatedly before the
	// loops move on to another part. The outermost loops over variables of the array select this
	// part.
	Within float64
	Lanes  bool // one instruction gathers several values in vector lanes
}

// Insert describes values, or rows of values, that are stored in a workspace in any order.
type Insert struct {
	Count  float64 // the number of values or rows, in all passes together
	Row    float64 // the number of values of a row; 1 for single values
	Places float64 // the number of coordinates of the workspace; each has a value or a row
	Passes float64 // the number of times that the workspace is filled and read
	// Listed says that the workspace stores entries with their keys, and has no place for each
	// coordinate. A key has Keys coordinates. Kept says that the workspace appends every entry, and
	// sums entries of the same key only after it has sorted them. If Row exceeds 1, such a
	// workspace keeps the scalar factor of each row and reads the row itself when it sums.
	Listed, Kept bool
	Keys         int
	Sorted       bool // its entries are sorted before they are read
}

// shortSort is the largest number of listed entries that are sorted by comparisons. Longer lists
// are sorted by radix, with digits of digitBits bits.
const shortSort, digitBits = 32, 8

// Comparisons estimates the number of comparisons that sort the entries, in all passes together:
// the number of places filled, times the logarithm of the number of entries in one pass.
func (x Insert) Comparisons() float64 {
	if each := x.EntriesPerPass(); x.Sorted && each > 1 && (each <= shortSort || !x.Listed) {
		return x.PlacesFilled() * math.Log2(each)
	}
	return 0
}

// RadixDigits returns the number of digits of the radix sort of the entries, or 0 if they are
// sorted by comparisons or not at all.
func (x Insert) RadixDigits() float64 {
	if !x.Sorted || !x.Listed || x.EntriesPerPass() <= shortSort {
		return 0
	}
	return math.Ceil(math.Log2(max(x.Places, 2)) / digitBits)
}

// EntriesPerPass returns the number of entries in the workspace when it is read once. If the
// workspace is Kept, each value that is added is an entry of its own. Otherwise there is one entry
// for each place that values were added to.
func (x Insert) EntriesPerPass() float64 {
	n := x.PlacesFilled()
	if x.Kept {
		n = x.Count
	}
	return n / max(x.Passes, 1)
}

// PlacesFilled returns the expected number of places that get an entry, in all passes together. It
// assumes that values go to random places.
func (x Insert) PlacesFilled() float64 {
	if x.Passes <= 0 || x.Places <= 0 {
		return 0
	}
	return -x.Passes * x.Places * math.Expm1(-x.Count/x.Passes/x.Places)
}

// producers fills the map w.makes. For each temporary of s, the map gets the right sides of all
// assignments to the temporary.
func (w *opCounter) producers(s cin.Stmt) {
	w.makes, w.fill = map[string][]cin.Expr{}, map[string]float64{}
	cin.Walk(s, func(t cin.Stmt) {
		if where, ok := t.(*cin.Where); ok {
			cin.Paths(where.Producer, func(_ []*cin.Forall, a *cin.Assign) {
				w.makes[a.LHS.Name] = append(w.makes[a.LHS.Name], a.RHS)
			})
		}
	})
}

// lastBoundLevel returns the innermost level of access a such that vars contains the variables of
// this level and of all levels above it. It returns -1 if there is no such level. arg is the number
// of the argument that a accesses.
func (w *opCounter) lastBoundLevel(arg int, a *cin.Access, vars []string) int {
	for l, m := range w.leaf.Operands[arg].Format.Order {
		if !slices.Contains(vars, a.Vars[m]) {
			return l - 1
		}
	}
	return len(a.Vars) - 1
}

// varsDownTo returns the variables of an access to argument arg, from the outermost level to the
// given one.
func (w *opCounter) varsDownTo(arg int, a *cin.Access, level int) (list []string) {
	for _, m := range w.leaf.Operands[arg].Format.Order[:level+1] {
		list = append(list, a.Vars[m])
	}
	return list
}

// density returns the share of the coordinates of vars where the expression x may have a value.
// vars are the variables of loops, outermost first. For a sparse operand, the share follows from
// the outermost levels whose variables are in vars. For a temporary, it follows from the
// expressions that are assigned to the temporary. If the share of the temporary's filled places is
// known, it is used too.
func (w *opCounter) density(x cin.Expr, vars []string) float64 {
	switch x := x.(type) {
	case *cin.Access:
		if made := w.makes[x.Name]; made != nil {
			share, filled := w.fill[x.Name]
			if filled = filled && within(x.Vars, vars); filled {
				vars = slices.DeleteFunc(slices.Clone(vars),
					func(v string) bool { return slices.Contains(x.Vars, v) })
			}
			absent := 1.0
			for _, y := range made {
				absent *= 1 - w.density(y, vars)
			}
			if filled {
				return (1 - absent) * share
			}
			return 1 - absent
		}
		arg := w.arg(x.Name)
		if arg < 0 || len(x.Vars) == 0 {
			return 1
		}
		level := w.lastBoundLevel(arg, x, vars)
		if level < 0 {
			return 1
		}
		return w.stored(arg, level, w.varsDownTo(arg, x, level)).value
	case *cin.Call:
		none := 1.0
		for _, y := range x.Args {
			none *= 1 - w.density(y, vars)
		}
		if x.Func.KeepsZero {
			return 1 - none
		}
	case *cin.Neg:
		return w.density(x.X, vars)
	case *cin.Binary:
		switch x.Op {
		case '*':
			all := 1.0
			for _, f := range distinct(factorsOf(x)) {
				all *= w.density(f, vars)
			}
			return all
		case '/':
			return w.density(x.X, vars)
		}
		a, b := w.density(x.X, vars), w.density(x.Y, vars)
		return a + b - a*b
	}
	return 1
}

// runs returns the number of coordinates of vars that may have a value in x.
func (w *opCounter) runs(x cin.Expr, vars []string) float64 {
	return w.space(vars) * w.density(x, vars)
}

// skipsCoordinates reports whether the innermost of the loops over vars skips coordinates because x
// has no value there.
func (w *opCounter) skipsCoordinates(x cin.Expr, vars []string) bool {
	n := len(vars) - 1
	return w.density(x, vars) < w.density(x, vars[:n])*(1-1e-9)
}

// walkedAccesses lists the accesses in x whose segments the innermost loop over vars traverses. If
// there are any, the list also has the workspaces that this loop reads at only some of their
// coordinates.
//
// For a temporary, walkedAccesses examines the expressions that are assigned to the temporary.
// There is one exception: a temporary whose filled places are known, if the innermost loop runs
// over one of its variables. sum is true if x or an examined expression contains an addition or
// subtraction.
func (w *opCounter) walkedAccesses(x cin.Expr, vars []string) (list []*cin.Access, sum bool) {
	n := len(vars) - 1
	var rows []*cin.Access
	seen := func(x *cin.Access) bool {
		return slices.ContainsFunc(append(rows, list...),
			func(a *cin.Access) bool { return a.Key() == x.Key() })
	}
	var each func(x cin.Expr)
	each = func(x cin.Expr) {
		switch x := x.(type) {
		case *cin.Access:
			if _, filled := w.fill[x.Name]; filled && slices.Contains(x.Vars, vars[n]) {
				if !seen(x) && w.skipsCoordinates(x, vars) {
					rows = append(rows, x)
				}
				return
			}
			for _, y := range w.makes[x.Name] {
				each(y)
			}
			arg := w.arg(x.Name)
			if arg < 0 || seen(x) {
				return
			}
			if level := w.lastBoundLevel(arg, x, vars); w.hasSegments(arg, x, level, vars[n]) {
				list = append(list, x)
			}
		case *cin.Call:
			sum = sum || len(x.Args) > 1
			for _, y := range x.Args {
				each(y)
			}
		case *cin.Neg:
			each(x.X)
		case *cin.Binary:
			sum = sum || x.Op == '+' || x.Op == '-'
			each(x.X)
			each(x.Y)
		}
	}
	each(x)
	if len(list) > 0 {
		list = append(list, rows...)
	}
	return list, sum
}

// hasSegments reports whether the given level of access a belongs to variable v and has segments.
// All levels have segments except dense ones. arg is the number of the argument that a reads.
func (w *opCounter) hasSegments(arg int, a *cin.Access, level int, v string) bool {
	f := w.leaf.Operands[arg].Format
	return level >= 0 && f.Levels[level] != tensor.Dense && a.Vars[f.Order[level]] == v
}

// loop counts the branches and the merge steps of the innermost of the loops over vars. It
// considers the assignment in body that runs most often.
func (w *opCounter) loop(body cin.Stmt, vars []string) {
	var most cin.Expr
	cin.Paths(body, func(_ []*cin.Forall, a *cin.Assign) {
		if most == nil || w.runs(a.RHS, vars) > w.runs(most, vars) {
			most = a.RHS
		}
	})
	if most == nil {
		return
	}
	list, sum := w.walkedAccesses(most, vars)
	if len(list) == 0 {
		return
	}
	outer := vars[:len(vars)-1]
	enters, runs := w.runs(most, outer), w.runs(most, vars)
	if enters == 0 {
		return
	}
	least := 0.0 // the smallest number of entries of a segment
	arg := w.arg(list[0].Name)
	if level := w.lastBoundLevel(arg, list[0], vars); level > 0 &&
		w.leaf.Operands[arg].Format.Levels[level-1] != tensor.Dense {
		least = 1
	}
	if len(outer) > 0 {
		w.moves.Enters += enters
		w.moves.Ends += enters * min(1, max(0, runs/enters-least))
	}
	switch {
	case len(list) < 2:
	case w.leaf.Windowed[vars[len(vars)-1]]:
		w.moves.Steps += w.windows(most, vars)
	case sum:
		w.moves.Steps += runs * float64(len(list))
	default:
		w.intersect(list, most, vars, enters)
	}
}

// windowStep is the assumed number of coordinates that one step of a windowed merge covers.
const windowStep = 2

// windows returns the number of steps of a sum x that is merged in windows. x is inside loops over
// vars. One union can merge at most ir.MostSegments segments, so a longer sum needs several unions.
// The first union merges the first terms. Each further union merges the result of the union before
// it with the next terms.
func (w *opCounter) windows(x cin.Expr, vars []string) float64 {
	var sums []cin.Expr // the sums of the first two terms, of the first three, and so on
	for b, ok := x.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-'); b, ok = b.X.(*cin.Binary) {
		sums = append(sums, b)
	}
	slices.Reverse(sums)
	steps := 0.0
	for k, sum := range sums {
		if added := k + 1; added%(ir.MostSegments-1) == 0 || added == len(sums) {
			steps += w.runs(sum, vars) / windowStep
		}
	}
	return steps
}

// intersect counts the steps of an intersection of the accesses in list. The accesses are in x, and
// the intersection is the innermost loop over vars. enters is the number of times that the loop
// starts.
//
// intersect also counts the steps that advance another operand than the step before. The processor
// cannot predict the branches of these steps. For two operands with a and b entries in random
// order, their number is 2ab/(a+b), the expected number of runs.
func (w *opCounter) intersect(list []*cin.Access, x cin.Expr, vars []string, enters float64) {
	outer := vars[:len(vars)-1]
	steps, squares := 0.0, 0.0
	for _, a := range list {
		before := w.runs(a, outer)
		if before == 0 {
			return
		}
		n := w.runs(a, vars) / before * w.lengthBias(a, x, vars)
		steps, squares = steps+n, squares+n*n
	}
	w.moves.Steps += enters * steps
	if steps > 0 {
		w.moves.Ends += enters * (steps - squares/steps)
	}
}

// lengthBias returns the ratio of two mean lengths of segments of access a. The first mean is over
// all visits of the innermost loop over vars. The second is over all segments of the operand. The
// ratio can exceed 1 if an outer loop visits the same segments through another access in x. For
// example, in A(i,j)*A(i,k) a segment with n entries is visited n times by the loop over k, once
// for each iteration of the loop over j.
func (w *opCounter) lengthBias(a *cin.Access, x cin.Expr, vars []string) float64 {
	arg, n := w.arg(a.Name), len(vars)-1
	if arg < 0 {
		return 1
	}
	level := w.lastBoundLevel(arg, a, vars)
	if !w.hasSegments(arg, a, level, vars[n]) || w.extents.Segments == nil ||
		w.extents.Segments[arg] == nil {
		return 1
	}
	order := w.leaf.Operands[arg].Format.Order
	again := map[string]bool{}
	cin.ExprAccesses(x, func(b *cin.Access) {
		v := ""
		if w.arg(b.Name) == arg {
			v = b.Vars[order[level]]
		}
		if v != vars[n] && slices.Contains(vars[:n], v) &&
			slices.Equal(w.varsDownTo(arg, a, level-1), w.varsDownTo(arg, b, level-1)) {
			again[v] = true
		}
	})
	if len(again) == 0 {
		return 1
	}
	parents := 1.0
	if level > 0 {
		parents = float64(w.extents.Counts[arg][level-1])
	}
	entries := float64(w.extents.Counts[arg][level])
	return w.extents.Segments[arg][level].lengths(parents,
		entries).weighted(float64(len(again))) * parents / entries
}

// assign counts the memory accesses of an assignment in loops over vars: the values that are loaded
// and stored, the rows that coordinates of another operand select (see Pick), and the insertions
// into a workspace.
func (w *opCounter) assign(a *cin.Assign, vars []string) {
	skips := make([]bool, len(vars))
	for n := range vars {
		skips[n] = w.skipsCoordinates(a.RHS, vars[:n+1])
	}
	seen := map[string]bool{}
	runs, picks := w.runs(a.RHS, vars), len(w.moves.Picks)
	inner := func(x *cin.Access) bool {
		return w.blocked == 0 && len(vars) > 0 && slices.Contains(x.Vars, vars[len(vars)-1])
	}
	if inner(a.LHS) && w.kept == 0 {
		w.moves.Loads += runs
		if a.Accumulate {
			w.moves.Loads += runs
		}
	}
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		if inner(x) {
			w.moves.Loads += runs
		}
		if arg := w.arg(x.Name); arg > 0 && !seen[x.Key()] {
			seen[x.Key()] = true
			w.pick(arg, x, a.RHS, vars, skips)
		}
	})
	if w.makes[a.LHS.Name] == nil {
		w.pick(0, a.LHS, a.RHS, vars, skips)
		return
	}
	if slices.ContainsFunc(a.LHS.Vars,
		func(v string) bool { n := slices.Index(vars, v); return n >= 0 && skips[n] }) {
		passes := max(w.runs(a.RHS, vars[:w.outer[a.LHS.Name]]), 1)
		s, n := w.leaf.Spaces[a.LHS.Name], len(a.LHS.Vars)
		put := Insert{Count: runs, Row: w.space(a.LHS.Vars[n-s.Form.Dense:]),
			Places: w.space(a.LHS.Vars[:n-s.Form.Dense]), Passes: passes,
			Listed: s.Form.Kind == strategy.HashTable || s.Form.Kind == strategy.Terms,
			Kept:   s.Form.Kind == strategy.Terms, Keys: n - s.Form.Dense}
		put.Sorted = put.Listed || s.Form.Kind == strategy.MarkedList
		put.Count /= max(put.Row, 1)
		if put.Kept && put.Row > 1 { // factors of rows are read later, sorted by key
			w.moves.Picks = w.moves.Picks[:picks]
			cin.ExprAccesses(a.RHS, func(x *cin.Access) {
				if !slices.Contains(x.Vars, vars[len(vars)-1]) { // its value is kept with the key
					return
				}
				w.moves.Picks = append(w.moves.Picks,
					Pick{Arg: w.arg(x.Name), Count: put.Count, Run: put.Row, Passes: put.Count, Reach: 1,
						Within: 1})
			})
		}
		w.moves.Inserts = append(w.moves.Inserts, put)
		if put.Places > 0 {
			w.fill[a.LHS.Name] = put.PlacesFilled() / put.Passes / put.Places
		}
	}
}

// pick records the rows of an access that loops read or write, if the loops skip coordinates. A row
// has the values below one position of a certain level: the innermost dense level whose loop skips
// coordinates. The values of a row are adjacent. Without such a level, pick records nothing.
//
// skips[k] is true if the loop over vars[k] skips coordinates. arg is the number of the access's
// argument. rhs is the right side of the assignment.
func (w *opCounter) pick(arg int, a *cin.Access, rhs cin.Expr, vars []string, skips []bool) {
	f := w.leaf.Operands[arg].Format
	level, loop := -1, -1
	for l, m := range f.Order {
		if arg == 0 && f.Levels[l] != tensor.Dense {
			break // the result is appended to from here on, or has an operand's order
		}
		n := slices.Index(vars, a.Vars[m])
		if n >= 0 && skips[n] && f.Levels[l] == tensor.Dense {
			level, loop = l, max(loop, n)
		}
	}
	if level < 0 {
		return
	}
	run := 1.0
	for l, m := range f.Order {
		switch {
		case l <= level:
		case arg == 0 && f.Levels[l] != tensor.Dense:
			return // the result is appended to, or has an operand's order
		case f.Levels[l] != tensor.Dense:
			if above := w.extents.Counts[arg][l-1]; above > 0 {
				run *= float64(w.extents.Counts[arg][l]) / float64(above)
			}
		case slices.Index(vars, a.Vars[m]) > loop:
			run *= w.size(a.Vars[m])
		}
	}
	p := Pick{Arg: arg, Count: w.runs(rhs, vars[:loop+1]), Run: run,
		Passes: max(w.runs(rhs, vars[:loop]), 1), Reach: 1, Within: 1,
		Lanes: w.leaf.Gathered[vars[len(vars)-1]]}
	own := true // all loops so far are over variables of dense levels of the array
	for n, v := range vars[:loop] {
		m := slices.Index(a.Vars, v)
		if has := m >= 0 && f.Levels[slices.Index(f.Order, m)] == tensor.Dense; !has {
			own = false
			continue
		}
		p.Reach /= max(w.size(v), 1)
		if own && !within(vars[n+1:loop+1], a.Vars) {
			p.Within = p.Reach
		}
	}
	w.moves.Picks = append(w.moves.Picks, p)
}

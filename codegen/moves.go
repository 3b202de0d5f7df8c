package codegen

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Moves are how a call goes through memory and through loops whose lengths data decide. All of them
// are estimates, with entries spread evenly: what a time is predicted from.
type Moves struct {
	Picks   []Pick
	Inserts []Insert
	// Loads is the values that innermost loops load and store, in memory or in a cache. Products of
	// matrices keep theirs in registers.
	Loads float64
	// Enters is how often a loop over a segment of an operand begins.
	Enters float64
	// Ends is how often a loop over a segment of an operand ends, or an intersection goes on in
	// another operand, where that cannot be foretold.
	Ends float64
	// Steps is those of loops that walk several operands together, once for each of these. Where a sum
	// is merged in windows, several coordinates that a union gives are one.
	Steps float64
	// Searches is the steps of binary searches, by which a tile of an operand's positions finds its
	// coordinates.
	Searches float64
	// Atomics is atomic additions to the result, and Taken how often a thread takes the next
	// iterations of a loop that it shares.
	Atomics, Taken float64
}

// Pick is rows of an argument's values that are read, or written, in an order that coordinates of
// another decide.
type Pick struct {
	Arg   int     // 0 is the result
	Count float64 // rows
	Run   float64 // values of a row, which lie side by side
	// Passes is how often the loop that picks rows begins anew. In each pass coordinates ascend, so
	// that no more is gone through than what the loops around it leave of the array: Reach, a share of
	// it.
	Passes, Reach float64
	// Within is the share of the array in which rows lie that loops come back to: what the outermost
	// loops leave of it that are over variables of its own.
	Within float64
	Lanes  bool // values are picked in lanes, several by one instruction
}

// Insert is values, or rows of so many, that are put to places of a workspace, in any order.
type Insert struct {
	Count  float64
	Row    float64 // values
	Places float64 // of the workspace, for a value or a row each
	Passes float64 // how often it is filled, and read
	// Listed says that it has a place for each entry alone, which Keys coordinates tell, and Kept that
	// it keeps all that is put to it, one behind the other, until it is sorted: of a row what it is
	// made of.
	Listed, Kept bool
	Keys         int
	Sorted       bool // its entries are put in order
}

// shortSort is how many entries are put in order by comparing at most, and digit the bits by which
// others are in turn.
const shortSort, digit = 32, 8

// Compared is how many comparisons put its entries in order.
func (x Insert) Compared() float64 {
	if each := x.Each(); x.Sorted && each > 1 && (each <= shortSort || !x.Listed) {
		return x.Found() * math.Log2(each)
	}
	return 0
}

// Digits is by how many digits its entries are put in order; 0 where they are by comparing.
func (x Insert) Digits() float64 {
	if !x.Sorted || !x.Listed || x.Each() <= shortSort {
		return 0
	}
	return math.Ceil(math.Log2(max(x.Places, 2)) / digit)
}

// Each is how many entries it has each time that it is read: values that it keeps, or their sums.
func (x Insert) Each() float64 {
	n := x.Found()
	if x.Kept {
		n = x.Count
	}
	return n / max(x.Passes, 1)
}

// Found is how many entries the workspace has in all passes together.
func (x Insert) Found() float64 {
	if x.Passes <= 0 || x.Places <= 0 {
		return 0
	}
	return -x.Passes * x.Places * math.Expm1(-x.Count/x.Passes/x.Places)
}

// producers collects what temporaries are made of.
func (w *work) producers(s cin.Stmt) {
	w.makes, w.fill = map[string][]cin.Expr{}, map[string]float64{}
	cin.Walk(s, func(t cin.Stmt) {
		if where, ok := t.(*cin.Where); ok {
			cin.Paths(where.Producer, func(_ []*cin.Forall, a *cin.Assign) {
				w.makes[a.LHS.Name] = append(w.makes[a.LHS.Name], a.RHS)
			})
		}
	})
}

// upTo is the last level of an argument's access to which some variables bind all levels; -1 for
// none.
func (w *work) upTo(arg int, a *cin.Access, vars []string) int {
	for l, m := range w.unit.Args[arg].Format.Order {
		if !slices.Contains(vars, a.Vars[m]) {
			return l - 1
		}
	}
	return len(a.Vars) - 1
}

// within is the share of the coordinates of some variables, of loops from the outermost, at which
// an expression may have a value, as far as levels tell that are bound by then.
func (w *work) within(x cin.Expr, vars []string) float64 {
	switch x := x.(type) {
	case *cin.Access:
		if made := w.makes[x.Name]; made != nil {
			share, filled := w.fill[x.Name]
			if filled = filled && !slices.ContainsFunc(x.Vars,
				func(v string) bool { return !slices.Contains(vars, v) }); filled {
				vars = slices.DeleteFunc(slices.Clone(vars),
					func(v string) bool { return slices.Contains(x.Vars, v) })
			}
			absent := 1.0
			for _, y := range made {
				absent *= 1 - w.within(y, vars)
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
		level := w.upTo(arg, x, vars)
		if level < 0 {
			return 1
		}
		var bound []string
		for _, m := range w.unit.Args[arg].Format.Order[:level+1] {
			bound = append(bound, x.Vars[m])
		}
		return w.stored(arg, level, bound).of
	case *cin.Neg:
		return w.within(x.X, vars)
	case *cin.Binary:
		switch x.Op {
		case '*':
			all, seen := 1.0, map[string]bool{}
			for _, f := range factorsOf(x) {
				if a, ok := f.(*cin.Access); ok {
					if seen[a.Key()] {
						continue
					}
					seen[a.Key()] = true
				}
				all *= w.within(f, vars)
			}
			return all
		case '/':
			return w.within(x.X, vars)
		}
		a, b := w.within(x.X, vars), w.within(x.Y, vars)
		return a + b - a*b
	}
	return 1
}

// runs is how often the body of the loops over vars runs for the sake of x.
func (w *work) runs(x cin.Expr, vars []string) float64 { return w.space(vars) * w.within(x, vars) }

// sparse tells whether the last of some loops skips coordinates.
func (w *work) sparse(x cin.Expr, vars []string) bool {
	n := len(vars) - 1
	return w.within(x, vars) < w.within(x, vars[:n])*(1-1e-9)
}

// walked lists what the last of some loops steps through, operands and rows of workspaces beside
// them, and tells whether x is a sum.
func (w *work) walked(x cin.Expr, vars []string) (list []*cin.Access, sum bool) {
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
				if !seen(x) && w.sparse(x, vars) {
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
			if level := w.upTo(arg, x, vars); w.ends(arg, x, level, vars[n]) {
				list = append(list, x)
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

// ends tells whether a level of an access has segments, along v.
func (w *work) ends(arg int, a *cin.Access, level int, v string) bool {
	f := w.unit.Args[arg].Format
	return level >= 0 && f.Levels[level] != tensor.Dense && a.Vars[f.Order[level]] == v
}

// loop counts the ends and the steps of the last of some loops.
func (w *work) loop(body cin.Stmt, vars []string) {
	var most cin.Expr
	cin.Paths(body, func(_ []*cin.Forall, a *cin.Assign) {
		if most == nil || w.runs(a.RHS, vars) > w.runs(most, vars) {
			most = a.RHS
		}
	})
	if most == nil {
		return
	}
	list, sum := w.walked(most, vars)
	if len(list) == 0 {
		return
	}
	outer := vars[:len(vars)-1]
	enters, runs := w.runs(most, outer), w.runs(most, vars)
	if enters == 0 {
		return
	}
	least := 0.0 // entries of a segment
	arg := w.arg(list[0].Name)
	if level := w.upTo(arg, list[0], vars); level > 0 &&
		w.unit.Args[arg].Format.Levels[level-1] != tensor.Dense {
		least = 1
	}
	if len(outer) > 0 {
		w.moves.Enters += enters
		w.moves.Ends += enters * min(1, max(0, runs/enters-least))
	}
	switch {
	case len(list) < 2:
	case w.unit.windowed[vars[len(vars)-1]]:
		w.moves.Steps += w.windows(most, vars)
	case sum:
		w.moves.Steps += runs * float64(len(list))
	default:
		w.meet(list, most, vars, enters)
	}
}

// windowStep is how many coordinates of a merge in windows take as long as a step.
const windowStep = 2

// windows is the steps of a sum that is merged in windows in some loops: its unions are of the
// first ir.MostSegments terms, and of what these give and as many of the next ones as there is room
// for.
func (w *work) windows(x cin.Expr, vars []string) float64 {
	var sums []cin.Expr // of the first two terms, the first three, and so on
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

// meet counts the steps of an intersection that begins so often, and how often it goes on in
// another operand than in the step before: of two with a and b entries 2ab/(a+b) times, which is
// how many runs there are where these lie in any order.
func (w *work) meet(list []*cin.Access, x cin.Expr, vars []string, enters float64) {
	outer := vars[:len(vars)-1]
	steps, squares := 0.0, 0.0
	for _, a := range list {
		before := w.runs(a, outer)
		if before == 0 {
			return
		}
		n := w.runs(a, vars) / before * w.longer(a, x, vars)
		steps, squares = steps+n, squares+n*n
	}
	w.moves.Steps += enters * steps
	if steps > 0 {
		w.moves.Ends += enters * (steps - squares/steps)
	}
}

// longer is how many times longer the segments of an access are in the last of some loops than all
// of its operand's are on average: where loops around walk the same segments under another name, as
// that over j of A(i,j)*A(i,k) does, they come to one as often as it has entries.
func (w *work) longer(a *cin.Access, x cin.Expr, vars []string) float64 {
	arg, n := w.arg(a.Name), len(vars)-1
	if arg < 0 {
		return 1
	}
	level := w.upTo(arg, a, vars)
	if !w.ends(arg, a, level, vars[n]) || w.extents.Segments == nil || w.extents.Segments[arg] == nil {
		return 1
	}
	order := w.unit.Args[arg].Format.Order
	under := func(a *cin.Access) (list []string) { // the variables of the levels above
		for _, m := range order[:level] {
			list = append(list, a.Vars[m])
		}
		return list
	}
	again := map[string]bool{}
	cin.ExprAccesses(x, func(b *cin.Access) {
		v := ""
		if w.arg(b.Name) == arg {
			v = b.Vars[order[level]]
		}
		if v != vars[n] && slices.Contains(vars[:n], v) && slices.Equal(under(a), under(b)) {
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

// assign counts the rows that an assignment picks, and what it puts to places of a workspace.
func (w *work) assign(a *cin.Assign, vars []string) {
	skips := make([]bool, len(vars))
	for n := range vars {
		skips[n] = w.sparse(a.RHS, vars[:n+1])
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
		s, n := w.unit.spaces[a.LHS.Name], len(a.LHS.Vars)
		put := Insert{Count: runs, Row: w.space(a.LHS.Vars[n-s.Form.Dense:]),
			Places: w.space(a.LHS.Vars[:n-s.Form.Dense]), Passes: passes,
			Listed: s.Form.Kind == strategy.HashTable || s.Form.Kind == strategy.Terms,
			Kept:   s.Form.Kind == strategy.Terms, Keys: n - s.Form.Dense}
		put.Sorted = put.Listed || s.Form.Kind == strategy.MarkedList
		put.Count /= max(put.Row, 1)
		if put.Kept && put.Row > 1 { // rows are read as they are summed, in the order of their keys
			w.moves.Picks = w.moves.Picks[:picks]
			cin.ExprAccesses(a.RHS, func(x *cin.Access) {
				if !w.own(x, vars[len(vars)-1:]) { // a value of the term, which is kept
					return
				}
				w.moves.Picks = append(w.moves.Picks,
					Pick{Arg: w.arg(x.Name), Count: put.Count, Run: put.Row, Passes: put.Count, Reach: 1,
						Within: 1})
			})
		}
		w.moves.Inserts = append(w.moves.Inserts, put)
		if put.Places > 0 {
			w.fill[a.LHS.Name] = put.Found() / put.Passes / put.Places
		}
	}
}

// pick counts the rows of an access that loops which skip coordinates pick. A row is what lies side
// by side below the innermost level that is looked up at such a coordinate.
func (w *work) pick(arg int, a *cin.Access, rhs cin.Expr, vars []string, skips []bool) {
	f := w.unit.Args[arg].Format
	level, loop := -1, -1
	for l, m := range f.Order {
		if arg == 0 && f.Levels[l] != tensor.Dense {
			break // from here on it is appended, or lies as an operand does
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
			return // it is appended, or lies as an operand does
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
		Lanes: w.unit.gathered[vars[len(vars)-1]]}
	own := true // all loops so far are over variables of the array
	for n, v := range vars[:loop] {
		m := slices.Index(a.Vars, v)
		if has := m >= 0 && f.Levels[slices.Index(f.Order, m)] == tensor.Dense; !has {
			own = false
			continue
		}
		p.Reach /= max(w.size(v), 1)
		if own && !w.own(a, vars[n+1:loop+1]) {
			p.Within = p.Reach
		}
	}
	w.moves.Picks = append(w.moves.Picks, p)
}

// own tells whether an access has all of some variables.
func (w *work) own(a *cin.Access, vars []string) bool {
	return !slices.ContainsFunc(vars, func(v string) bool { return !slices.Contains(a.Vars, v) })
}

// Package foresee estimates how long a call of a leaf runs, and finds a failure that the call is
// sure to reach, from the leaf's IR and the sizes of its arguments. It does not run the leaf.
package foresee

import (
	"iter"
	"maps"
	"math"
	"math/bits"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// Given holds the known properties of a call of a leaf before it runs.
type Given struct {
	Bounds  [][2]int64 // as Func.Bounds
	Threads int64
	Args    [][]Level // by argument; nil if its arrays are unknown
}

// Level is a level of an argument.
type Level struct {
	Positions float64 // at least 1
	Size      int64   // of its mode
}

// Outcome holds the findings about a call.
type Outcome struct {
	// Steps is about how many iterations the loops of the leaf run, and how many elements its other
	// statements visit, on all threads together.
	Steps float64
	// Fail is the Fail statement that the call is sure to reach, whatever its arguments store. It
	// is nil if no failure is sure. Coord has the values of Fail.Coord.
	Fail  *ir.Fail
	Coord []int64
}

// Call estimates the steps of a call without running it. It also finds a failure that depends on
// the bounds and threads alone. It assumes that every argument has at least one stored entry, and
// that entries are spread evenly over the sizes. In most long loops it follows a sample of two
// iterations, and counts each of them for half of the iterations.
//
// Call does not know whether a condition on stored data holds. It therefore makes two estimates
// (see cost), and Steps is the larger one. The first estimate counts the steps that run in any
// case. The second one also counts steps that may run, because Call must find a loop over far too
// many coordinates even if the loop is inside a branch on stored data.
func Call(f *ir.Func, g Given) Outcome {
	x := &foreseer{given: g, vars: map[*ir.Var]number{}, slots: map[*ir.Array]ir.Slot{}, certain: true,
		assigned: map[*ir.Block][]*ir.Var{}}
	for _, p := range f.Params {
		switch {
		case p.A != nil:
			x.slots[p.A] = p.Slot
		case p.V != nil:
			x.scalar(p)
		}
	}
	for k, b := range f.Bounds {
		for side, v := range b {
			if v != nil {
				x.vars[v] = number{g.Bounds[k][side], true}
			}
		}
	}
	if f.Threads != nil {
		x.vars[f.Threads] = number{g.Threads, true}
	}
	c := x.block(f.Body)
	return Outcome{Steps: max(c.sure, c.once), Fail: x.fail, Coord: x.coord}
}

// number is the value of an integer or Bool expression. It is exact if sure is set, and otherwise
// an estimate.
type number struct {
	n    int64
	sure bool
}

func truth(b, sure bool) number {
	if b {
		return number{1, sure}
	}
	return number{0, sure}
}

// cost has two estimates of the steps of a statement. The field sure counts the steps that run in
// any case. The field once also counts the longer side of an uncertain branch and one iteration of
// an uncertain loop. If a loop contains uncertain steps, the field may count only one iteration.
type cost struct{ sure, once float64 }

// foreseer holds the state of a call of Call.
type foreseer struct {
	given Given
	vars  map[*ir.Var]number // the variables whose values are known
	slots map[*ir.Array]ir.Slot
	// certain is true if the call is sure to reach the current statement, with the current values.
	certain bool
	// running is true if estimates decide conditions.
	running  bool
	depth    int // of the loops around
	fail     *ir.Fail
	coord    []int64
	assigned map[*ir.Block][]*ir.Var // see forget
	row      ir.Row                  // of the current statement
}

// scalar records the value of the parameter p if it is a size, a number of entries or a number of
// positions of an argument. It does nothing if p is an offset, or if the argument's levels are
// unknown.
func (x *foreseer) scalar(p ir.Param) {
	levels := x.given.Args[p.Slot.Arg]
	if levels == nil {
		return
	}
	switch p.Slot.Field {
	case ir.Size:
		x.vars[p.V] = number{n: levels[p.Slot.Level].Size}
	case ir.NNZ:
		x.vars[p.V] = number{n: whole(levels[len(levels)-1].Positions)}
	case ir.End:
		x.vars[p.V] = number{n: whole(levels[p.Slot.Level].Positions)}
	}
}

// whole returns x as an int64. If x exceeds 2^62, the result is 2^62, so that later additions do
// not overflow.
func whole(x float64) int64 { return int64(min(x, 1<<62)) }

// forget deletes the values of the variables that statements of b assign to.
func (x *foreseer) forget(b *ir.Block) {
	list, ok := x.assigned[b]
	if !ok {
		ir.WalkRows(b, func(_ ir.Stmt, r *ir.Row) {
			for v, role := range r.Vars() {
				if role == ir.Sets {
					list = append(list, v)
				}
			}
		})
		x.assigned[b] = list
	}
	for _, v := range list {
		delete(x.vars, v)
	}
}

// block returns the estimated cost of a block. If a statement is certain to fail, the statements
// after it are not counted.
func (x *foreseer) block(b *ir.Block) (c cost) {
	if b == nil {
		return c
	}
	for _, s := range b.List {
		d := x.stmt(s)
		c.sure, c.once = c.sure+d.sure, c.once+max(d.sure, d.once)
		if x.fail != nil {
			break
		}
	}
	return c
}

func (x *foreseer) stmt(s ir.Stmt) cost {
	switch s := s.(type) {
	case *ir.Block:
		return x.block(s)
	case *ir.Ordered:
		return x.block(s.Body)
	case *ir.Declare:
		x.set(s.V, s.Init)
	case *ir.Assign:
		if s.Accumulate {
			x.set(s.V, &ir.Binary{Op: ir.Add, X: s.V, Y: s.X})
		} else {
			x.set(s.V, s.X)
		}
	case *ir.If:
		return x.branch(s)
	case *ir.For:
		return x.loop(s)
	case *ir.While:
		return x.while(s)
	case *ir.Launch: // one thread of it
		defer x.unsure()()
		x.vars[s.Block], x.vars[s.Thread] = number{}, number{}
		return x.block(s.Body)
	case *ir.Fail:
		x.reach(s)
	default:
		return x.operation(s)
	}
	return cost{}
}

// operation returns the cost of a statement that visits elements. The values of variables that the
// statement sets are forgotten.
func (x *foreseer) operation(s ir.Stmt) cost {
	r := &x.row
	r.Describe(s)
	for v, role := range r.Vars() {
		if role == ir.Sets {
			delete(x.vars, v)
		}
	}
	var from ir.Expr = ir.Int(0)
	n, visits := 1.0, false
	for e, role := range r.Exprs() {
		switch role {
		case ir.From:
			from = e
		case ir.To, ir.Count:
			n *= x.elements(from, e)
			visits = true
		}
	}
	if !visits {
		return cost{}
	}
	return cost{n, n}
}

// set gives a variable the value of an expression.
func (x *foreseer) set(v *ir.Var, to ir.Expr) {
	if n, ok := x.value(to); ok {
		x.vars[v] = n
	} else {
		delete(x.vars, v)
	}
}

// unsure marks the statements that follow as uncertain, because the call may not reach them. It
// returns a function that restores the previous mark.
func (x *foreseer) unsure() func() {
	was := x.certain
	x.certain = false
	return func() { x.certain = was }
}

// reach notes a failure that is sure.
func (x *foreseer) reach(s *ir.Fail) {
	if !x.certain {
		return
	}
	coord := make([]int64, len(s.Coord))
	for k, e := range s.Coord {
		n, ok := x.value(e)
		if !ok || !n.sure {
			return
		}
		coord[k] = n.n
	}
	x.fail, x.coord = s, coord
}

// elements returns the number of elements in [lo, hi), or 0 if a bound is unknown.
func (x *foreseer) elements(lo, hi ir.Expr) float64 {
	from, ok := x.value(lo)
	to, also := x.value(hi)
	if !ok || !also {
		return 0
	}
	return max(0, float64(to.n)-float64(from.n))
}

// branch returns the estimated cost of an If. If the value of the condition is known, this is the
// cost of the branch that runs. Otherwise sure is the smaller cost of the two branches, and once is
// the larger one. An estimate of the condition's value counts as known only inside a While that
// runs on estimates.
func (x *foreseer) branch(s *ir.If) cost {
	if n, ok := x.value(s.Cond); ok && (n.sure || x.running) {
		if n.n != 0 {
			return x.block(s.Then)
		}
		return x.block(s.Else)
	}
	defer x.unsure()()
	before := maps.Clone(x.vars)
	then := x.block(s.Then)
	x.vars = before
	other := x.block(s.Else)
	x.forget(s.Then)
	x.forget(s.Else)
	return cost{min(then.sure, other.sure), max(then.once, other.once)}
}

// mostDepth limits the time of the estimate. In a loop at this depth of nesting or deeper, samples
// selects only one iteration. In most other loops it selects two, so each level of nesting doubles
// the time.
const mostDepth = 12

// mostTrips is the largest number of iterations of an outermost loop for which all iterations are
// followed. The loop may be over the chunks of threads. Only a few of the chunks may then have
// work, and a sample of the iterations could miss them.
const mostTrips = 256

// loop returns the cost of a For.
func (x *foreseer) loop(s *ir.For) cost {
	lo, ok := x.value(s.Lo)
	hi, also := x.value(s.Hi)
	sure := ok && also && lo.sure && hi.sure
	if sure && hi.n <= lo.n {
		return cost{}
	}
	x.depth++
	defer func() { x.depth-- }()
	at := func(n int64) cost {
		x.forget(s.Body)
		x.vars[s.V] = number{n, sure}
		c := x.block(s.Body)
		x.forget(s.Body)
		return c
	}
	if !ok || !also || hi.n <= lo.n {
		defer x.unsure()()
		c := at(lo.n)
		return cost{once: 1 + c.once}
	}
	trips := math.Ceil((float64(hi.n) - float64(lo.n)) / float64(s.Step))
	if !sure {
		defer x.unsure()()
	}
	c := cost{sure: trips}
	if x.certain {
		first := at(lo.n)
		if x.fail != nil {
			return first
		}
		c.once = 1 + first.once
	}
	defer x.unsure()()
	for n, weight := range x.samples(trips) {
		d := at(lo.n + n*s.Step)
		c.sure, c.once = c.sure+weight*d.sure, max(c.once, 1+d.once)
	}
	c.once = max(c.once, c.sure)
	return c
}

// samples selects the iterations of a loop that are followed. These are all iterations of a short
// outermost loop, and one or two of another loop. trips is the number of iterations of the loop.
// samples yields the number of each selected iteration, and the number of iterations that it
// represents.
func (x *foreseer) samples(trips float64) iter.Seq2[int64, float64] {
	return func(yield func(int64, float64) bool) {
		switch {
		case x.depth == 1 && trips <= mostTrips:
			for n := range int64(trips) {
				if !yield(n, 1) {
					return
				}
			}
		case trips == 1 || x.depth >= mostDepth:
			yield(int64(trips/2), trips)
		default:
			half := math.Floor(trips / 2)
			_ = yield(int64(trips/4), trips-half) && yield(int64(3*(trips/4)), half)
		}
	}
}

// mostRounds is the largest number of iterations of a While that are followed one by one. A binary
// search takes fewer.
const mostRounds = 128

// while returns the cost of a While. If its body contains no loop and no operation on a range of
// elements, the While counts as free: it is a search, or takes at most one step for each entry. Its
// body is then run on estimates, to find the values that variables have after the While.
func (x *foreseer) while(s *ir.While) cost {
	nested := false
	ir.WalkRows(s.Body, func(t ir.Stmt, r *ir.Row) {
		switch t.(type) {
		case *ir.For, *ir.While:
			nested = true
		}
		for _, role := range r.Exprs() {
			nested = nested || role == ir.To || role == ir.Count
		}
	})
	defer x.unsure()()
	if nested {
		if n, ok := x.value(s.Cond); ok && n.sure && n.n == 0 {
			return cost{}
		}
		trips := x.trips(s.Cond)
		x.forget(s.Body)
		c := x.block(s.Body)
		x.forget(s.Body)
		all := trips * (1 + c.sure)
		return cost{all, max(all, 1+c.once)}
	}
	was := x.running
	x.running = true
	defer func() { x.running = was }()
	for range mostRounds {
		n, ok := x.value(s.Cond)
		switch {
		case !ok:
			x.forget(s.Body)
			return cost{}
		case n.n == 0:
			return cost{}
		}
		x.block(s.Body)
	}
	x.forget(s.Body)
	return cost{}
}

// trips returns a lower bound of the iterations of a While that increments positions by one until
// they reach their ends. cond is its condition, such as p < end && q < last. trips returns 0 if the
// positions are unknown.
func (x *foreseer) trips(cond ir.Expr) float64 {
	b, ok := cond.(*ir.Binary)
	if !ok {
		return 0
	}
	if b.Op == ir.And {
		return min(x.trips(b.X), x.trips(b.Y))
	}
	lo, ok := x.value(b.X)
	hi, also := x.value(b.Y)
	if b.Op != ir.Lt || !ok || !also {
		return 0
	}
	return max(float64(hi.n)-float64(lo.n), 0)
}

// value returns the value of an integer or Bool expression. ok is false if the value is unknown.
func (x *foreseer) value(e ir.Expr) (n number, ok bool) {
	switch e := e.(type) {
	case *ir.Lit:
		return number{e.I, true}, e.Typ == tensor.Bool || e.Typ.IsInt()
	case *ir.Var:
		n, ok = x.vars[e]
		return n, ok
	case *ir.Cast:
		n, ok = x.value(e.X)
		if e.Typ == tensor.Bool {
			return truth(n.n != 0, n.sure), ok
		}
		return n, ok && (e.Typ == tensor.Int64 || e.Typ == tensor.Int32 && int64(int32(n.n)) == n.n)
	case *ir.Unary:
		n, ok = x.value(e.X)
		switch {
		case e.Op == ir.Not:
			return truth(n.n == 0, n.sure), ok
		default:
			return number{-n.n, n.sure}, ok && n.n != math.MinInt64
		}
	case *ir.Select:
		c, known := x.value(e.Cond)
		if !known {
			return number{}, false
		}
		if c.n != 0 {
			n, ok = x.value(e.X)
		} else {
			n, ok = x.value(e.Y)
		}
		return number{n.n, n.sure && c.sure}, ok
	case *ir.Binary:
		return x.binary(e)
	case *ir.Load:
		return x.load(e)
	case *ir.Search:
		return x.search(e)
	}
	return number{}, false
}

func (x *foreseer) binary(e *ir.Binary) (number, bool) {
	if !e.X.Type().IsInt() && e.X.Type() != tensor.Bool {
		return number{}, false
	}
	a, ok := x.value(e.X)
	b, also := x.value(e.Y)
	if e.Op.IsLogic() {
		decides := int64(0)
		if e.Op == ir.Or {
			decides = 1
		}
		switch {
		case ok && a.n == decides && (a.sure || !also):
			return a, true
		case also && b.n == decides && (b.sure || !ok):
			return b, true
		}
	}
	if !ok || !also {
		return number{}, false
	}
	sure := a.sure && b.sure
	if e.Op.IsCompare() {
		return truth(ir.Holds(e.Op, a.n, b.n), sure), true
	}
	n, ok := arith(e.Op, a.n, b.n)
	return number{n, sure}, ok
}

// arith returns a op b. ok is true only if that is defined and fits into 64 bits.
func arith(op ir.Op, a, b int64) (n int64, ok bool) {
	switch op {
	case ir.Add:
		n = a + b
		return n, (n > a) == (b > 0)
	case ir.Sub:
		n = a - b
		return n, (n < a) == (b > 0)
	case ir.Mul:
		hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
		return a * b, hi == 0 && lo <= math.MaxInt64
	case ir.Div, ir.Rem:
		if b == 0 || a == math.MinInt64 {
			return 0, false
		}
		if op == ir.Div {
			return a / b, true
		}
		return a % b, true
	case ir.Min:
		return min(a, b), true
	case ir.Max:
		return max(a, b), true
	case ir.And, ir.BitAnd:
		return a & b, true
	case ir.Or:
		return a | b, true
	}
	return 0, false
}

// segments finds the level and the field to which the array a belongs. perParent is the average
// number of the level's positions for each position of the level above. level is nil if a is not an
// array of positions or coordinates, or if nothing is known about a.
func (x *foreseer) segments(a *ir.Array) (perParent float64, level *Level, field ir.Field) {
	slot, ok := x.slots[a]
	if !ok || x.given.Args[slot.Arg] == nil || slot.Field != ir.Pos && slot.Field != ir.Crd {
		return 0, nil, 0
	}
	levels := x.given.Args[slot.Arg]
	above := 1.0
	if slot.Level > 0 {
		above = levels[slot.Level-1].Positions
	}
	level = &levels[slot.Level]
	return level.Positions / above, level, slot.Field
}

// load returns an estimate of an element of an argument's pos or crd array.
func (x *foreseer) load(e *ir.Load) (number, bool) {
	each, level, field := x.segments(e.A)
	at, ok := x.value(e.Index)
	switch {
	case level == nil || !ok:
		return number{}, false
	case field == ir.Pos:
		return number{n: whole(float64(at.n) * each)}, true
	}
	row := math.Max(each, 1)
	return number{n: int64(math.Mod(float64(at.n), row) / row * float64(level.Size))}, true
}

// search returns an estimate of the position that a search for a coordinate finds.
func (x *foreseer) search(e *ir.Search) (number, bool) {
	each, level, field := x.segments(e.A)
	lo, ok := x.value(e.Lo)
	hi, also := x.value(e.Hi)
	key, given := x.value(e.Key)
	if level == nil || field != ir.Crd || !ok || !also || !given {
		return number{}, false
	}
	row := math.Max(each, 1)
	n := float64(lo.n) + math.Ceil(float64(key.n)*row/float64(max(level.Size, 1)))
	return number{n: max(lo.n, int64(math.Min(n, float64(hi.n))))}, true
}

package library

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Call replaces loops around an assignment by a call of a user's C function. It passes the range of
// each loop variable. For each tensor it passes the arrays of the levels that the surrounding loops
// do not visit. If the surrounding loops visit all levels of an operand, it passes the operand's
// value instead. The function's prototype must match these arguments. want is true if the caller
// must know whether the function adds anything.
func Call(f *cin.Forall, e *scope.Env, o *strategy.Extern, want bool) ir.Expr {
	l := e.Leaf
	n := &externNest{l: l, f: f, e: e, o: o, ranges: map[string]tree.Range{}}
	a := n.loops()
	l.Called[o] = true
	for _, v := range strings.Split(o.Vars, ",") {
		b := n.ranges[l.Graph.ConsumerVar(v)]
		n.pass(v+"_begin", ir.Argument{X: b.Lo})
		n.pass(v+"_end", ir.Argument{X: b.Hi})
	}
	after := n.result(a)
	var seen []string
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		if !slices.Contains(seen, x.Key()) {
			seen = append(seen, x.Key())
			n.operand(x)
		}
	})
	if want && n.sparse {
		n.refuse("the function %s gets compressed levels, so it cannot report which entries of %s the "+
			"loops store", o.Name, l.Out.Op.Argument.Name)
	}
	call := &ir.Call{Func: n.function(), Args: n.args}
	l.B.When(n.some, func() {
		l.B.Emit(call)
		after()
	})
	return n.some
}

// externNest collects the arguments of a function.
type externNest struct {
	l *scope.Leaf
	f *cin.Forall
	e *scope.Env
	o *strategy.Extern
	// ranges has the ranges of the loops, by the variables in accesses and by the loops' variables.
	ranges map[string]tree.Range
	// some is true if all ranges are nonempty.
	some  ir.Expr
	names []string // of the parameters
	args  []ir.Argument
	// sparse is true if the function gets compressed levels.
	sparse bool
}

func (n *externNest) refuse(format string, args ...any) {
	n.l.Refuse(n.f.Var, format, args...)
}

func (n *externNest) pass(name string, a ir.Argument) {
	n.names, n.args = append(n.names, name), append(n.args, a)
}

// loops computes the ranges of the loops and returns the assignment inside them.
func (n *externNest) loops() *cin.Assign {
	l := n.l
	n.some = ir.Truth(true)
	var s cin.Stmt = n.f
	for range strings.Split(n.o.Vars, ",") {
		f := s.(*cin.Forall)
		s = f.Body
		if f.Unit != cin.Serial {
			n.refuse("the loop over %s already runs on %s, so %s cannot replace it",
				f.Var, f.Unit, n.o.Name)
		}
		if f.Unroll != 0 || f.Gallop {
			n.refuse("the loop over %s is unrolled or has a mergeby, so %s cannot replace it", f.Var,
				n.o.Name)
		}
		v, c := f.Var, l.Comps[f.Var]
		b := n.e.RangeOf(v)
		if c != nil && l.Graph.ReplacedBy(v) == nil {
			v, b = n.derived(f, c)
		}
		n.ranges[f.Var], n.ranges[v] = b, b
		n.some = ir.Both(n.some, ir.Less(b.Lo, b.Hi))
	}
	return s.(*cin.Assign)
}

// derived returns the original variable whose coordinates f visits, and the range of these
// coordinates. f is a loop over a derived variable.
func (n *externNest) derived(f *cin.Forall, c *scope.Component) (string, tree.Range) {
	if !c.Natural {
		n.refuse("the function %s gets a range of coordinates, but the loops over %s visit "+
			"coordinates out of order", n.o.Name, strings.Join(c.Leaves, " and "))
	}
	o := n.e.Open.At(c.Top)
	if o == nil {
		o = bounds.Descend(nil, c.Top, bounds.SpaceOf(n.e, c), f, n.e)
	}
	switch {
	case o.Leaf != f.Var || o.Iv.Unit == scope.Numbers:
		n.refuse("the function %s gets a range of coordinates, but the loop over %s runs over tiles",
			n.o.Name, f.Var)
	case len(c.Roots) > 1:
		n.refuse("the function %s gets a separate range for each variable, but the loop over %s runs "+
			"over the fused %s", n.o.Name, f.Var, strings.Join(c.Roots, " and "))
	case o.Iv.Unit != scope.Coords:
		n.refuse("the function %s gets a range of coordinates, but the loop over %s runs over "+
			"positions", n.o.Name, f.Var)
	}
	return c.Roots[0], tree.Range{Lo: o.Iv.Lo, Hi: o.Iv.Hi}
}

// segment is an array of a tensor, with the index of the element at which the function starts. The
// field at is this index if the variables of the function's loops are 0. Below a compressed level,
// at is the index for position 0 of that level. The field by says how much the index grows with
// each variable.
type segment struct {
	name string
	a    *ir.Array
	at   ir.Expr
	by   []stride
}

// stride says by how much the index of a value in an array grows. If the variable v grows by 1, the
// index grows by n. If v is "", the index grows by n when the position in the level above grows by
// 1.
type stride struct {
	v string
	n ir.Expr
}

// dense adapts the index and the strides of s to a further dense level. The level has the given
// size, and offset is its first coordinate. v is its variable, and known is v's coordinate, or nil
// if it is not known.
func (s *segment) dense(size, offset ir.Expr, v string, known ir.Expr) {
	s.at = ir.Minus(ir.Times(s.at, size), offset)
	for k := range s.by {
		s.by[k].n = ir.Times(s.by[k].n, size)
	}
	if known != nil {
		s.at = ir.Plus(s.at, known)
		return
	}
	k := slices.IndexFunc(s.by, func(b stride) bool { return b.v == v })
	if k < 0 {
		s.by = append(s.by, stride{v, ir.Int(1)})
	} else {
		s.by[k].n = ir.Plus(s.by[k].n, ir.Int(1))
	}
}

// pointer adds the array of s and its strides to the arguments. added is true if the function adds
// to the array.
func (n *externNest) pointer(s segment, added bool) {
	n.pass(s.name, ir.Argument{A: s.a, X: s.at, Added: added})
	for _, b := range s.by {
		v := b.v
		if v == "" {
			v = "p"
		}
		n.pass(s.name+"_"+v, ir.Argument{X: b.n})
	}
}

// isLoopVar reports whether v is a variable of the loops that the function runs. The code that
// calls the function does not know a coordinate of v.
func (n *externNest) isLoopVar(v string) bool {
	_, ok := n.ranges[v]
	return ok
}

// result adds an argument to the call of the user's function: the array to which the function adds
// its values. The returned function emits the code that must follow the call. If the assignment is
// to a scalar, this code adds the sum in the array to the scalar. Otherwise it emits nothing.
func (n *externNest) result(a *cin.Assign) (after func()) {
	l, name := n.l, a.LHS.Name
	switch {
	case name == l.Out.Op.Argument.Name:
		n.pointer(n.values(), true)
	case n.e.Sum(name) != nil:
		n.refuseAbsent(a)
		v := n.e.Sum(name)
		sum := l.B.Array(name+"_sum", v.Typ)
		l.B.Emit(&ir.Local{A: sum, Len: 1})
		n.pointer(segment{name: name, a: sum, at: ir.Int(0)}, true)
		return func() { l.B.Incr(v, ir.At(sum, ir.Int(0))) }
	case n.e.Reducer(name) != nil:
		n.refuse("the function %s can only add, but the loops compute %s of values", n.o.Name,
			a.Op.Name)
	default:
		n.refuseAbsent(a)
		w, ok := n.e.Space(name).(Array)
		if !ok {
			n.refuse("the function %s can add only to an array, but the loops store values at only "+
				"some coordinates of %s", n.o.Name, a.LHS.Key())
		}
		n.pointer(n.space(w, a.LHS), true)
	}
	return func() {}
}

// Array is a workspace that is an array, in row-major order, with a place for each coordinate of a
// box.
type Array interface {
	Array() (vals *ir.Array, box space.Box)
}

// space returns the array of workspace w and the strides of this array. The user's function adds
// its values to the array. a is the access to w in the assignment that the function computes.
func (n *externNest) space(w Array, a *cin.Access) segment {
	vals, box := w.Array()
	s := segment{name: a.Name, a: vals, at: ir.Int(0)}
	for m, v := range a.Vars {
		s.dense(box.Size(m), box.Lo[m], v, n.known(v))
	}
	return s
}

// values returns the part of the result's values that the function computes. It has the array, the
// index where the part begins in the current iteration of the surrounding loops, and the strides of
// the array.
func (n *externNest) values() segment {
	l, e := n.l, n.e
	op := l.Out.Op
	switch l.Spec.Assembly {
	case strategy.Dense, strategy.SharedPattern:
	default:
		n.refuse("the function %s must know where each value is stored, but %s (its format is %s) is "+
			"written in order, one coordinate at a time", n.o.Name, op.Argument.Name, op.Argument.Format)
	}
	switch {
	case e.Res.Level <= l.Out.Deep:
		n.refuse("the function %s cannot write to %s: the positions of %[2]s are the positions of "+
			"%[3]s, which are known only while the loops run", n.o.Name, op.Argument.Name, l.Out.Pattern)
	case e.Atomic:
		n.refuse("iterations of outer loops may add to the same element of %s, which needs atomic "+
			"additions, but the function %s adds without them", op.Argument.Name, n.o.Name)
	case e.Res.Tile != nil:
		n.refuse("the function %s cannot write to %s, because the loops sum the rows of %[2]s in "+
			"registers", n.o.Name, op.Argument.Name)
	}
	e = merge.Zero(e)
	n.e = e
	s := segment{name: op.Argument.Name, a: l.Out.Values, at: e.Res.Pos}
	for k := e.Res.Level; k < op.Order(); k++ {
		v := l.ResultVars[k]
		s.dense(op.Size(k), op.Offset(k), v, n.known(v))
	}
	if c := e.Private; c != nil {
		s.a, s.at = c.Vals, ir.Plus(s.at, c.Shift)
	}
	return s
}

// known returns the coordinate of a variable of the surrounding loops, or nil if v is a variable of
// the function's loops.
func (n *externNest) known(v string) ir.Expr {
	if n.isLoopVar(v) {
		return nil
	}
	if n.e.Coord.At(v) == nil {
		n.refuse("the function %s needs the range of %s, which is known only while the loops run",
			n.o.Name, v)
	}
	return n.e.Coord.At(v)
}

// refuseAbsent refuses an assignment to a temporary if the temporary would have a value although
// nothing was added.
func (n *externNest) refuseAbsent(a *cin.Assign) {
	if n.l.Promotions[a.LHS.Name] {
		return // the value is stored or added in any case
	}
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		if c := n.e.Cur[x.Key()]; c != nil &&
			slices.ContainsFunc(c.Of.Argument.Format.Levels[c.Level:],
				func(k tensor.Kind) bool { return k != tensor.Dense }) {
			n.refuse("%s is filled only where %s has entries, but the function %s does not report "+
				"where it adds", a.LHS.Key(), x.Key(), n.o.Name)
		}
	})
}

// refuseMissing refuses access x, which may have no entry at some coordinates.
func (n *externNest) refuseMissing(x *cin.Access) {
	n.refuse("%s may have no entry at some coordinates, but the function %s needs a value at each; "+
		"store %[1]s with dense levels", x.Key(), n.o.Name)
}

// operand adds the arguments for access x to the call. They are the arrays of the tensor's levels
// that the surrounding loops do not visit. If the surrounding loops visit all levels, the argument
// is the value at the current position.
func (n *externNest) operand(x *cin.Access) {
	c := n.e.Cur[x.Key()]
	if c == nil || c.Level == len(c.Vars) {
		v := n.e.Access(x)
		if !ir.Always(v.Pres) {
			n.refuseMissing(x)
		}
		n.pass(n.unused(x.Name), ir.Argument{X: v.V})
		return
	}
	if !ir.Always(c.Present) {
		n.refuseMissing(x)
	}
	if !inOrder(c) {
		n.refuse("the function %s needs the values of %s in an array in the order of positions, but "+
			"they are stored in another way", n.o.Name, x.Key())
	}
	for _, s := range n.segments(x, c) {
		n.pointer(s, false)
	}
}

// inOrder reports whether the values below cursor c are stored in an array, in the order of their
// positions.
func inOrder(c *tree.Cursor) bool {
	return c.Of.ValueAt == nil && c.Of.Pattern == nil && c.End == nil &&
		(c.Of.Argument.Number >= 0 || c.Of.Argument.Format.AllDense())
}

// segments returns the level arrays of access x for the levels below cursor c, and then the array
// of its values.
func (n *externNest) segments(x *cin.Access, c *tree.Cursor) (list []segment) {
	name := n.unused(x.Name)
	s, below := segment{at: c.Pos}, map[string]bool{}
	for k := c.Level; k < len(c.Vars); k++ {
		v := c.Vars[k]
		if c.Of.Argument.Format.Levels[k] == tensor.Dense {
			s.dense(c.Of.Size(k), c.Of.Offset(k), v, n.known(v))
			continue
		}
		switch {
		case c.Of.Argument.Format.Levels[k] != tensor.Compressed:
			n.refuse("the function %s needs dense or compressed levels, but %s (its format is %s) "+
				"has another kind of level for %s", n.o.Name, x.Key(), c.Of.Argument.Format, v)
		case !n.isLoopVar(v) || below[v]:
			n.refuse("%s (its format is %s) stores %s below a variable of the loops, so that it "+
				"would have to be searched", x.Key(), c.Of.Argument.Format, v)
		}
		pos, crd := name+"_pos"+strconv.Itoa(k), name+"_crd"+strconv.Itoa(k)
		n.sparse = true
		s.name, s.a = pos, c.Of.Pos(k)
		list = append(list, s, segment{name: crd, a: c.Of.Crd(k), at: ir.Int(0)})
		s = segment{at: ir.Int(0)}
		if k+1 < len(c.Vars) && c.Of.Argument.Format.Levels[k+1] == tensor.Dense {
			s.by = []stride{{"", ir.Int(1)}}
		}
		below[v] = true
	}
	s.name, s.a = name, c.Of.Vals()
	return append(list, s)
}

// unused returns a name for the parameters of an access to the tensor with the given name. No other
// parameter has the returned name. The name of the tensor alone is not enough, because a tensor may
// have several accesses.
func (n *externNest) unused(name string) string {
	name = strings.ReplaceAll(name, "'", "_")
	for want, k := name, 2; slices.ContainsFunc(n.names,
		func(s string) bool { return s == name || strings.HasPrefix(s, name+"_") }); k++ {
		name = want + strconv.Itoa(k)
	}
	return name
}

// function returns the user's C function that the schedule names. It refuses the schedule if the
// function does not have the prototype that the loops need.
func (n *externNest) function() *ir.Extern {
	if n.l.Spec.Extern == nil {
		n.refuse("a GPU and the interpreter cannot call C functions; want gemm or loops")
	}
	fn, err := n.l.Spec.Extern(n.o.File, n.o.Name)
	call := &ir.Call{Func: fn, Args: n.args}
	want := make([]string, len(n.args))
	for k, t := range call.Types() {
		want[k] = t
		if !strings.HasSuffix(t, "*") {
			want[k] += " "
		}
		want[k] += n.names[k]
	}
	prototype := "void " + n.o.Name + "(" + strings.Join(want, ", ") + ")"
	if err != nil {
		n.refuse("%s, want %s", tensor.Printable(err.Error()), prototype)
	}
	if fn.Result != "void" || !slices.Equal(fn.Params, call.Types()) {
		n.refuse("got the function %s %s(%s) in %s, want the prototype %s", fn.Result, n.o.Name,
			tensor.Printable(strings.Join(fn.Params, ", ")), tensor.Printable(n.o.File), prototype)
	}
	return fn
}

// CallInside makes the loops of replica call the same functions as the loops of s. replica is a
// copy of s with other assignments.
func CallInside(l *scope.Leaf, s, replica cin.Stmt) {
	cin.Pairs(s, replica, func(t, u cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok && l.Spec.Strategy.Of(l.Source(f)).Extern != nil {
			l.Copies[u] = l.Source(f)
		}
	})
}

// RefuseUncalled refuses a schedule with a function that the leaf would not call, because lowering
// changed the loops that the schedule names.
func RefuseUncalled(l *scope.Leaf) {
	cin.Walk(l.Spec.Strategy.Stmt, func(s cin.Stmt) {
		f, ok := s.(*cin.Forall)
		if !ok {
			return
		}
		if o := l.Spec.Strategy.Of(f).Extern; o != nil && !l.Called[o] {
			v, _, _ := strings.Cut(o.Vars, ",")
			l.Refuse(v, "the compiler changed the loops over %s, so %s would not be called; remove "+
				"either the substitute or the other commands for these loops", strings.ReplaceAll(o.Vars,
				",", " and "), o.Name)
		}
	})
}

// Package workload counts what a call of a leaf does: its operations on values, its accesses to
// memory, and the branches that depend on the data. Times are predicted from these numbers.
//
// # Files
//
//	operations.go     the operations on values
//	moves.go          the accesses to memory, and the steps of loops
//	positiontiles.go  the overhead of tiles of an operand's positions
//	segments.go       the distribution of the lengths of a level's segments
package workload

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Extents has the sizes of variables and tensors in one call of a leaf.
type Extents struct {
	// Size returns the length of the range of a variable of Leaf.Vars.
	Size func(v string) int64
	// Counts has, by argument, the number of positions of each level. The result's element is nil.
	Counts [][]int64
	// Segments describes, by argument, the segments of each level. Unknown elements are nil.
	Segments [][]Segments
	// NoMoves says that Operations.Moves is not wanted. It takes most of the time.
	NoMoves bool
}

// Operations describes the work of one call of a leaf.
type Operations struct {
	// Multiplications and Additions count operations on values. A division is a multiplication.
	Multiplications, Additions float64
	// Reads has, by argument, the number of reads of its values.
	Reads []float64
	// Exact says that the counts are certain. Otherwise they assume that patterns which meet are
	// spread evenly and are independent of each other.
	Exact bool
	// Serial says that the whole call runs on one thread.
	Serial bool
	// Joined says that several threads make pieces of the result, and that the pieces are copied
	// when all of them are finished. This is so if each coordinate has a row of values: the values
	// then exceed the memory that is reserved for coordinates.
	Joined bool
	Moves  Moves
}

// Leaf is a leaf whose work is counted.
type Leaf struct {
	Stmt     cin.Stmt
	Vars     []string          // the variables whose ranges the leaf takes
	Operands []tree.Argument   // by the number of the argument; the first is the result
	Matrices map[cin.Stmt]bool // the outermost loops of matrix products
	Kept     map[cin.Stmt]bool // statements that sum a row of the result in registers
	Spaces   map[string]strategy.Space
	Windowed map[string]bool // variables whose loops are merged in windows
	Gathered map[string]bool // variables whose loops gather values in vector lanes
	Joined   bool            // see Operations.Joined
}

// Operations counts the operations of a call with the sizes x. It follows the loops of the leaf's
// concrete index notation. Each assignment runs once for each coordinate of its right side that has
// a value. A producer runs only where its consumer reads the temporary. If the assignment
// accumulates, each run is also one addition.
func (f *Leaf) Operations(x Extents) Operations {
	w := &opCounter{leaf: f, extents: x, relations: cin.Relations(f.Stmt), made: map[string]fraction{},
		reads: map[string]float64{}, outer: map[string]int{}, exact: true}
	body := cin.Body(f.Stmt)
	if !x.NoMoves {
		w.producers(body)
	}
	w.stmt(body, nil, everywhere)
	out := Operations{Multiplications: w.multiplications, Additions: w.additions,
		Reads: make([]float64, len(x.Counts)), Exact: w.exact,
		Serial: len(f.Matrices) == 0 && !cin.Threaded(body), Joined: f.Joined, Moves: w.moves}
	for n, o := range f.Operands[1:] {
		out.Reads[n+1] = w.reads[o.Name]
	}
	return out
}

// fraction is a share of the coordinates of some variables, from 0 to 1. sure says that it is
// certain, not estimated.
type fraction struct {
	value float64
	sure  bool
}

var everywhere = fraction{1, true}

// and combines two conditions: one holds at fraction s of the coordinates, and the other at
// fraction t. It returns the fraction where both hold, under the assumption that the conditions
// are independent. The result is sure in two cases: one of the fractions is surely 0, or both are
// sure and one of them is 1.
func (s fraction) and(t fraction) fraction {
	sure := s.sure && t.sure && (s.value == 1 || t.value == 1)
	return fraction{s.value * t.value, sure || s.never() || t.never()}
}

// or returns the fraction of coordinates where at least one of two things holds.
func (s fraction) or(t fraction) fraction {
	both := fraction{1 - s.value, s.sure}.and(fraction{1 - t.value, t.sure})
	return fraction{1 - both.value, both.sure}
}

func (s fraction) never() bool { return s.value == 0 && s.sure }

// opCounter counts the operations of one call of a leaf (see Leaf.Operations).
type opCounter struct {
	leaf      *Leaf
	extents   Extents
	relations *provenance.Graph
	// made has, for each temporary, the fraction of its coordinates that get a value in one
	// iteration of the loops around it.
	made                       map[string]fraction
	reads                      map[string]float64
	multiplications, additions float64
	exact                      bool

	makes map[string][]cin.Expr // by temporary, the right sides that are assigned to it
	outer map[string]int        // by temporary, the number of roots of the loops around its where
	// fill has, for each workspace, the share of its places that one pass fills. A workspace is
	// added when its share is known.
	fill  map[string]float64
	moves Moves

	blocked int // the number of matrix products whose loops contain the current statement
	kept    int // the number of statements around it that sum a row of the result in registers
}

// size returns the size of a variable. For a variable that a schedule's precompute made, it is the
// size of the original variable.
func (w *opCounter) size(v string) float64 {
	if w.relations != nil && !slices.Contains(w.leaf.Vars, v) {
		v = w.relations.Original(v)
	}
	return float64(w.extents.Size(v))
}

// space returns the product of the sizes of vars.
func (w *opCounter) space(vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= w.size(v)
	}
	return n
}

// roots returns the original variables that a loop's variable is derived from.
func (w *opCounter) roots(v string) []string {
	if w.relations == nil {
		return []string{v}
	}
	return w.relations.Underived(v)
}

// stmt counts the operations of statement s, which is inside loops over vars. s runs at the
// fraction share of the coordinates of vars.
func (w *opCounter) stmt(s cin.Stmt, vars []string, share fraction) {
	if w.leaf.Kept[s] {
		w.kept++
		defer func() { w.kept-- }()
	}
	switch s := s.(type) {
	case *cin.Forall:
		if w.leaf.Matrices[s] {
			w.blocked++
			defer func() { w.blocked-- }()
		}
		if !w.extents.NoMoves {
			w.positionTiles(s)
		}
		vars = slices.Clone(vars)
		for _, v := range w.roots(s.Var) {
			if !slices.Contains(vars, v) {
				vars = append(vars, v)
				if !w.extents.NoMoves {
					w.loop(s.Body, vars)
				}
			}
		}
		w.stmt(s.Body, vars, share)
	case *cin.Seq:
		for _, t := range s.List {
			w.stmt(t, vars, share)
		}
	case *cin.Where:
		t := cin.Target(s.Producer)
		w.outer[t.Name] = len(vars)
		w.stmt(s.Producer, vars, share.and(w.wanted(s.Consumer, t.Name, vars)))
		w.made[t.Name] = w.filled(s.Producer, t, vars)
		w.stmt(s.Consumer, vars, share)
	case *cin.Assign:
		n := w.space(vars)
		w.expr(s.RHS, n, share)
		if s.Accumulate {
			w.count(&w.additions, n, share.and(w.present(s.RHS)))
		}
		if !w.extents.NoMoves {
			w.assign(s, vars)
		}
	}
}

// count adds share * n to the total *to. This is the number of operations if the fraction share of
// n coordinates has one operation each.
func (w *opCounter) count(to *float64, n float64, share fraction) {
	*to += n * share.value
	w.exact = w.exact && share.sure
}

// wanted returns the fraction of the coordinates of vars where the consumer reads the temporary.
// The consumer does not read it where another factor is known to have no value. Only factors whose
// variables are all in vars are considered.
func (w *opCounter) wanted(consumer cin.Stmt, temporary string, vars []string) fraction {
	most := fraction{0, true}
	cin.Paths(consumer, func(_ []*cin.Forall, a *cin.Assign) {
		var known []cin.Expr
		reads := false
		for _, f := range factorsOf(a.RHS) {
			here := true
			cin.ExprAccesses(f, func(x *cin.Access) {
				reads = reads || x.Name == temporary
				here = here && x.Name != temporary && within(x.Vars, vars)
			})
			if here {
				known = append(known, f)
			}
		}
		if s := w.product(known); reads && s.value >= most.value {
			most = s
		}
	})
	return most
}

// filled returns the fraction of coordinates where the producer gives temporary t a value. vars
// lists the variables of the loops around the producer. A coordinate has a component for each
// variable of t and for each variable in vars.
func (w *opCounter) filled(producer cin.Stmt, t *cin.Access, vars []string) fraction {
	all := fraction{0, true}
	cin.Paths(producer, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != t.Name {
			return
		}
		var summed []string
		for _, l := range loops {
			for _, v := range w.roots(l.Var) {
				if !slices.Contains(vars, v) && !slices.Contains(t.Vars, v) && !slices.Contains(summed, v) {
					summed = append(summed, v)
				}
			}
		}
		all = all.or(w.summed(a.RHS, summed))
	})
	return all
}

// summed returns the fraction of coordinates where the sum of x over vars has a value. If vars is
// empty, or if x has a value everywhere or surely nowhere, this is the fraction where x has a
// value. If only one factor of x is sparse, prefix may find the fraction. Otherwise, the fraction
// is an estimate.
func (w *opCounter) summed(x cin.Expr, vars []string) fraction {
	s := w.present(x)
	if len(vars) == 0 || s.value >= 1 || s.never() {
		return s
	}
	var sparse []cin.Expr
	for _, f := range factorsOf(x) {
		if w.present(f) != everywhere {
			sparse = append(sparse, f)
		}
	}
	if a, ok := sparse[0].(*cin.Access); ok && len(sparse) == 1 {
		if outer, ok := w.prefix(a, vars); ok {
			return outer
		}
	}
	return fraction{-math.Expm1(w.space(vars) * math.Log1p(-s.value)), false}
}

// prefix returns the fraction of the coordinates of access a's outer levels that are stored. The
// outer levels are the levels above the first level whose variable is in vars. If there are none,
// the fraction is 1.
//
// The second result is false if a reads no operand, or if an inner level has a variable that is not
// in vars. It is also false if a position of the last outer level may have nothing below it.
func (w *opCounter) prefix(a *cin.Access, vars []string) (fraction, bool) {
	arg := w.arg(a.Name)
	if arg < 0 {
		return fraction{}, false
	}
	list := w.varsDownTo(arg, a, len(a.Vars)-1)
	n := slices.IndexFunc(list, func(v string) bool { return slices.Contains(vars, v) })
	switch {
	case n < 0:
		n = len(list)
	case !within(list[n:], vars):
		return fraction{}, false
	case n == 0:
		return everywhere, true // some coordinate is stored
	}
	if n < len(list) && w.leaf.Operands[arg].Format.Levels[n-1] == tensor.Dense {
		return fraction{}, false // a position of a dense level may have nothing below it
	}
	return w.stored(arg, n-1, list[:n]), true
}

// arg returns the number of the argument called name, or -1 if name is a temporary or the result.
func (w *opCounter) arg(name string) int {
	if o := tree.Find(w.leaf.Operands[1:], name); o != nil {
		return o.Number
	}
	return -1
}

// stored returns the fraction of the coordinates of vars where argument arg has a position in the
// given level.
func (w *opCounter) stored(arg, level int, vars []string) fraction {
	n := w.space(vars)
	if n == 0 {
		return fraction{0, true}
	}
	return fraction{min(float64(w.extents.Counts[arg][level])/n, 1), true}
}

// factorsOf returns the factors of a product. Minus signs are dropped.
func factorsOf(x cin.Expr) []cin.Expr {
	if b, ok := x.(*cin.Binary); ok && b.Op == '*' {
		return append(factorsOf(b.X), factorsOf(b.Y)...)
	}
	if n, ok := x.(*cin.Neg); ok {
		return factorsOf(n.X)
	}
	return []cin.Expr{x}
}

// others returns the factors other than f. If f is an access, other factors with the same access
// are left out too.
func others(factors []cin.Expr, f cin.Expr) (list []cin.Expr) {
	a, ok := f.(*cin.Access)
	for _, g := range factors {
		b, too := g.(*cin.Access)
		if g != f && !(ok && too && a.Key() == b.Key()) {
			list = append(list, g)
		}
	}
	return list
}

// present returns the fraction of the coordinates of an expression's variables where the
// expression has a value.
func (w *opCounter) present(x cin.Expr) fraction {
	switch x := x.(type) {
	case *cin.Access:
		if s, ok := w.made[x.Name]; ok {
			return s
		}
		arg := w.arg(x.Name)
		if arg < 0 || len(x.Vars) == 0 { // the result itself, or a scalar
			return everywhere
		}
		return w.stored(arg, len(x.Vars)-1, x.Vars)
	case *cin.Call:
		if !x.Func.KeepsZero {
			break
		}
		some := w.present(x.Args[0])
		for _, y := range x.Args[1:] {
			some = some.or(w.present(y))
		}
		return some
	case *cin.Neg:
		return w.present(x.X)
	case *cin.Binary:
		switch x.Op {
		case '*':
			return w.product(factorsOf(x))
		case '/':
			return w.present(x.X)
		}
		return w.present(x.X).or(w.present(x.Y))
	}
	return everywhere
}

// product returns the fraction of coordinates where all factors have a value. Equal accesses have
// one pattern and count once.
func (w *opCounter) product(factors []cin.Expr) fraction {
	all := everywhere
	for _, f := range distinct(factors) {
		all = all.and(w.present(f))
	}
	return all
}

// distinct returns the factors without repeated accesses.
func distinct(factors []cin.Expr) (list []cin.Expr) {
	seen := map[string]bool{}
	for _, f := range factors {
		if a, ok := f.(*cin.Access); !ok || !seen[a.Key()] {
			list = append(list, f)
			if ok {
				seen[a.Key()] = true
			}
		}
	}
	return list
}

// within reports whether set has every element of list.
func within(list, set []string) bool {
	return !slices.ContainsFunc(list, func(v string) bool { return !slices.Contains(set, v) })
}

// expr counts the evaluations of an expression at a fraction of n coordinates. Coordinates where
// the expression has no value are not counted.
func (w *opCounter) expr(x cin.Expr, n float64, share fraction) {
	switch x := x.(type) {
	case *cin.Access:
		w.reads[x.Name] += n * share.value * w.present(x).value
	case *cin.Call:
		w.count(&w.multiplications, n*x.Func.Work, share.and(w.present(x)))
		for _, y := range x.Args {
			w.expr(y, n, share)
		}
	case *cin.Neg:
		w.expr(x.X, n, share)
	case *cin.Binary:
		w.binary(x, n, share)
	}
}

func (w *opCounter) binary(x *cin.Binary, n float64, share fraction) {
	a := w.present(x.X)
	switch x.Op {
	case '*':
		factors := factorsOf(x)
		w.count(&w.multiplications, n*float64(len(factors)-1), share.and(w.product(factors)))
		for _, f := range factors {
			w.expr(f, n, share.and(w.product(others(factors, f))))
		}
	case '/':
		w.count(&w.multiplications, n, share.and(a))
		w.expr(x.X, n, share)
		w.expr(x.Y, n, share.and(a))
	default:
		w.count(&w.additions, n, share.and(a.and(w.present(x.Y))))
		w.expr(x.X, n, share)
		w.expr(x.Y, n, share)
	}
}

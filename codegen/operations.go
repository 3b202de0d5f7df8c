package codegen

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
	"distaff/io/tensor"
)

// Extents are those of a call of a leaf.
type Extents struct {
	Size   func(v string) int64 // of the range of a variable (Unit.Vars)
	Counts [][]int64            // by argument, positions a level; nil of the result
	// by argument, those of each level; nil where nothing is known of them
	Segments [][]Segments
	NoMoves  bool // Operations.Moves is not wanted, which takes longer than all else
}

// Operations are what a call of a leaf does.
type Operations struct {
	Multiplications, Additions float64   // of values: divisions are multiplications
	Reads                      []float64 // by argument, how often a value of it is read
	// Exact says that the counts are sure. Else patterns that meet were taken to be spread evenly, and
	// independent of each other.
	Exact bool
	// Serial says that the whole call runs on one thread.
	Serial bool
	// Joined says that the result is in pieces where several threads make it, which are copied when
	// all of them are there: rows of places behind each coordinate have more than the room that is
	// given to coordinates.
	Joined bool
	Moves  Moves
}

// Operations counts what a call does, by the loops of its concrete index notation: each assignment
// runs where its right side has a value, and adds once where it accumulates.
func (u *Unit) Operations(x Extents) Operations {
	w := &work{unit: u, extents: x, relations: cin.Relations(u.CIN), made: map[string]share{},
		reads: map[string]float64{}, outer: map[string]int{}, exact: true}
	for n, a := range u.Args {
		if n == 0 || a.Map {
			continue
		}
		w.args = append(w.args, n)
	}
	body := cin.Body(u.CIN)
	if !x.NoMoves {
		w.producers(body)
	}
	w.stmt(body, nil, always)
	out := Operations{Multiplications: w.multiplications, Additions: w.additions,
		Reads: make([]float64, len(u.Args)), Exact: w.exact,
		Serial: len(u.matrices) == 0 && !cin.Threaded(body), Joined: u.joined, Moves: w.moves}
	for _, n := range w.args {
		out.Reads[n] = w.reads[u.Args[n].Name]
	}
	return out
}

// Foresee estimates the steps that the loops of a call take, and finds a failure that depends on
// sizes alone: see ir.Foresee. bounds are the ranges of Vars. counts holds, by argument, the number
// of positions of each level; an unknown argument, or counts, is nil.
func (u *Unit) Foresee(bounds [][2]int64, counts [][]int64, threads int) ir.Foreseen {
	g := ir.Given{Bounds: bounds, Threads: int64(threads), Args: make([][]ir.GivenLevel, len(u.Args))}
	for n, a := range u.Args {
		if n == 0 || a.Map {
			continue
		}
		dims, positions := u.Request.Tensors[a.Tensor].Dims, 1.0
		if a.Old {
			dims = u.Request.Old.Dims
		}
		for l, m := range a.Format.Order {
			switch {
			case counts != nil && counts[n] != nil:
				positions = float64(max(counts[n][l], 1))
			case a.Format.Levels[l] == tensor.Dense:
				positions *= float64(max(dims[m], 1))
			}
			g.Args[n] = append(g.Args[n], ir.GivenLevel{Positions: positions, Size: dims[m]})
		}
	}
	return ir.Foresee(u.Func, g)
}

// share is that of the coordinates of some variables.
type share struct {
	of   float64
	sure bool
}

var always = share{1, true}

// and is the share at which two things hold.
func (s share) and(t share) share {
	return share{s.of * t.of, s.sure && t.sure && (s.of == 1 || t.of == 1) || s.never() || t.never()}
}

// or is the share at which one of two things holds.
func (s share) or(t share) share {
	both := share{1 - s.of, s.sure}.and(share{1 - t.of, t.sure})
	return share{1 - both.of, both.sure}
}

func (s share) never() bool { return s.of == 0 && s.sure }

// work is a count in progress.
type work struct {
	unit      *Unit
	extents   Extents
	relations *provenance.Graph
	args      []int
	// of temporaries: where they have a value, at given coordinates of the loops around them
	made                       map[string]share
	reads                      map[string]float64
	multiplications, additions float64
	exact                      bool

	makes map[string][]cin.Expr // what temporaries are made of
	outer map[string]int        // how many loops are around the statement that makes and reads one
	// of temporaries with places, the share that a pass fills, once it is known
	fill  map[string]float64
	moves Moves

	blocked int // how many of the loops around are the outermost of a product of matrices
	kept    int // how many of the statements around sum a row of the result in registers
}

// size is the size of a variable, or of the one that it stands for.
func (w *work) size(v string) float64 {
	if w.relations != nil && !slices.Contains(w.unit.Vars, v) {
		v = w.relations.Original(v)
	}
	return float64(w.extents.Size(v))
}

// space is the number of coordinates of some variables.
func (w *work) space(vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= w.size(v)
	}
	return n
}

// roots are the variables that accesses have which a loop's comes from.
func (w *work) roots(v string) []string {
	if w.relations == nil {
		return []string{v}
	}
	return w.relations.Underived(v)
}

// stmt counts a statement in loops over vars, which runs at a share of their coordinates.
func (w *work) stmt(s cin.Stmt, vars []string, at share) {
	if w.unit.kept[s] {
		w.kept++
		defer func() { w.kept-- }()
	}
	switch s := s.(type) {
	case *cin.Forall:
		if w.unit.matrices[s] {
			w.blocked++
			defer func() { w.blocked-- }()
		}
		if !w.extents.NoMoves {
			w.tiles(s)
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
		w.stmt(s.Body, vars, at)
	case *cin.Seq:
		for _, t := range s.List {
			w.stmt(t, vars, at)
		}
	case *cin.Where:
		t := cin.Target(s.Producer)
		w.outer[t.Name] = len(vars)
		w.stmt(s.Producer, vars, at.and(w.wanted(s.Consumer, t.Name, vars)))
		w.made[t.Name] = w.filled(s.Producer, t, vars)
		w.stmt(s.Consumer, vars, at)
	case *cin.Assign:
		n := w.space(vars)
		w.expr(s.RHS, n, at)
		if s.Accumulate {
			w.count(&w.additions, n, at.and(w.present(s.RHS)))
		}
		if !w.extents.NoMoves {
			w.assign(s, vars)
		}
	}
}

// count adds the operations that are done at a share of n coordinates.
func (w *work) count(to *float64, n float64, at share) {
	*to += n * at.of
	w.exact = w.exact && at.sure
}

// wanted is the share of the coordinates of vars at which a consumer of a temporary wants it: where
// all else that it is multiplied by has a value, as far as that is known there.
func (w *work) wanted(consumer cin.Stmt, temporary string, vars []string) share {
	most := share{0, true}
	cin.Paths(consumer, func(_ []*cin.Forall, a *cin.Assign) {
		var known []cin.Expr
		reads := false
		for _, f := range factorsOf(a.RHS) {
			here := true
			cin.ExprAccesses(f, func(x *cin.Access) {
				reads = reads || x.Name == temporary
				here = here && x.Name != temporary &&
					!slices.ContainsFunc(x.Vars, func(v string) bool { return !slices.Contains(vars, v) })
			})
			if here {
				known = append(known, f)
			}
		}
		if s := w.product(known); reads && s.of >= most.of {
			most = s
		}
	})
	return most
}

// filled is the share of a temporary's coordinates, and those of vars, that its producer gives a
// value.
func (w *work) filled(producer cin.Stmt, t *cin.Access, vars []string) share {
	all := share{0, true}
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

// summed is the share at which a sum over vars has a value: sure where one sparse operand alone
// decides it, and vars are those of its inner levels.
func (w *work) summed(x cin.Expr, vars []string) share {
	s := w.present(x)
	if len(vars) == 0 || s.of >= 1 || s.never() {
		return s
	}
	var sparse []cin.Expr
	for _, f := range factorsOf(x) {
		if w.present(f) != always {
			sparse = append(sparse, f)
		}
	}
	if a, ok := sparse[0].(*cin.Access); ok && len(sparse) == 1 {
		if outer, ok := w.prefix(a, vars); ok {
			return outer
		}
	}
	return share{-math.Expm1(w.space(vars) * math.Log1p(-s.of)), false}
}

// prefix is the share of the coordinates of an operand's outer levels that are stored, where those
// of vars that it has are its inner ones.
func (w *work) prefix(a *cin.Access, vars []string) (share, bool) {
	arg := w.arg(a.Name)
	if arg < 0 {
		return share{}, false
	}
	var outer []string
	order := w.unit.Args[arg].Format.Order
	for _, m := range order {
		if slices.Contains(vars, a.Vars[m]) {
			break
		}
		outer = append(outer, a.Vars[m])
	}
	n := len(outer)
	for _, m := range order[n:] {
		if !slices.Contains(vars, a.Vars[m]) {
			return share{}, false
		}
	}
	if n == 0 {
		return always, true // some coordinate is stored
	}
	if n < len(order) && w.unit.Args[arg].Format.Levels[n-1] == tensor.Dense {
		return share{}, false // a place in it may have nothing below
	}
	return w.stored(arg, n-1, outer), true
}

// arg is the argument of a name; -1 for a temporary.
func (w *work) arg(name string) int {
	for _, n := range w.args {
		if w.unit.Args[n].Name == name {
			return n
		}
	}
	return -1
}

// stored is the share of the coordinates of vars at which an argument has a position at a level.
func (w *work) stored(arg, level int, vars []string) share {
	n := w.space(vars)
	if n == 0 {
		return share{0, true}
	}
	return share{min(float64(w.extents.Counts[arg][level])/n, 1), true}
}

// factorsOf are the factors of a product.
func factorsOf(x cin.Expr) []cin.Expr {
	if b, ok := x.(*cin.Binary); ok && b.Op == '*' {
		return append(factorsOf(b.X), factorsOf(b.Y)...)
	}
	if n, ok := x.(*cin.Neg); ok {
		return factorsOf(n.X)
	}
	return []cin.Expr{x}
}

// others are the factors that f is multiplied by, but for those that are the same access.
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

// present is the share of its coordinates at which an expression has a value.
func (w *work) present(x cin.Expr) share {
	switch x := x.(type) {
	case *cin.Access:
		if s, ok := w.made[x.Name]; ok {
			return s
		}
		arg := w.arg(x.Name)
		if arg < 0 || len(x.Vars) == 0 { // what the result has been given, or a scalar
			return always
		}
		return w.stored(arg, len(x.Vars)-1, x.Vars)
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
	return always
}

// product is the share at which all factors have a value. Accesses that are the same have one
// pattern.
func (w *work) product(factors []cin.Expr) share {
	all, seen := always, map[string]bool{}
	for _, f := range factors {
		if a, ok := f.(*cin.Access); ok {
			if seen[a.Key()] {
				continue
			}
			seen[a.Key()] = true
		}
		all = all.and(w.present(f))
	}
	return all
}

// expr counts the evaluation of an expression at a share of n coordinates, where it has a value
// there.
func (w *work) expr(x cin.Expr, n float64, at share) {
	switch x := x.(type) {
	case *cin.Access:
		w.reads[x.Name] += n * at.of * w.present(x).of
	case *cin.Neg:
		w.expr(x.X, n, at)
	case *cin.Binary:
		w.binary(x, n, at)
	}
}

func (w *work) binary(x *cin.Binary, n float64, at share) {
	a := w.present(x.X)
	switch x.Op {
	case '*':
		factors := factorsOf(x)
		w.count(&w.multiplications, n*float64(len(factors)-1), at.and(w.product(factors)))
		for _, f := range factors {
			w.expr(f, n, at.and(w.product(others(factors, f))))
		}
	case '/':
		w.count(&w.multiplications, n, at.and(a))
		w.expr(x.X, n, at)
		w.expr(x.Y, n, at.and(a))
	default:
		w.count(&w.additions, n, at.and(a.and(w.present(x.Y))))
		w.expr(x.X, n, at)
		w.expr(x.Y, n, at)
	}
}

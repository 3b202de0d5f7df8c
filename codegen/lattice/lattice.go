// Package lattice implements merge lattices. The lattice of a loop says which coordinates of its
// variable the loop must visit, and which operands may be present at each. Its inputs are the
// iterators of the sparse levels that hold coordinates of the variable.
//
// A lattice is a set of points, and a point is a set of iterators. A point says that the loop's
// body may have a value at coordinates where all of its iterators are present. A point with
// Universe says that there may be a value at every coordinate; the iterators that are present there
// contribute to the value. Expressions combine points as follows (Kjolstad et al., "The Tensor
// Algebra Compiler", 2017, section 5, with the quotient added):
//
//   - The points of a product x*y are the unions of each point of x with each point of y.
//   - The points of a sum are the points of both operands, and the union of each pair.
//   - The points of a quotient x/y are the points of x, because an absent denominator counts as
//     zero, and the union of each pair.
//   - The points of a call are the points of the sum of its arguments. If the function is not zero
//     at zeros, the points are the points of this sum plus a number.
//
// If a lattice has two points, it also has their union. At any coordinate, one largest point
// therefore describes everything that is present.
//
//	lattice.go     lattices of expressions and of loops
//	place.go       how far an access has been followed down its levels
//	annihilate.go  whether an absent operand makes an expression absent
//	record.go      the lattices of all loops of a leaf, as text
package lattice

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// Set is a set of iterators, which are numbered from 0. Iterator k is bit k%8 of byte k/8. The last
// byte is not 0, so that equal sets are equal strings.
type Set string

// Only returns the set that contains only iterator k.
func Only(k int) Set {
	s := make([]byte, k/8+1)
	s[k/8] = 1 << (k % 8)
	return Set(s)
}

// Has reports whether iterator k is in s.
func (s Set) Has(k int) bool { return k/8 < len(s) && s[k/8]>>(k%8)&1 != 0 }

// Len returns the number of iterators in s.
func (s Set) Len() int {
	n := 0
	for k := range len(s) {
		n += bits.OnesCount8(s[k])
	}
	return n
}

// First returns the smallest iterator in s, which must not be empty.
func (s Set) First() int {
	k := 0
	for s[k] == 0 {
		k++
	}
	return k*8 + bits.TrailingZeros8(s[k])
}

// Union returns the set of iterators that are in s or t.
func (s Set) Union(t Set) Set {
	if len(s) < len(t) {
		s, t = t, s
	}
	u := []byte(s)
	for k := range len(t) {
		u[k] |= t[k]
	}
	return Set(u)
}

// compare orders sets like binary numbers in which iterator 0 is the lowest bit.
func (s Set) compare(t Set) int {
	if c := cmp.Compare(len(s), len(t)); c != 0 {
		return c
	}
	for k := len(s) - 1; k >= 0; k-- {
		if c := cmp.Compare(s[k], t[k]); c != 0 {
			return c
		}
	}
	return 0
}

// Point is a set of iterators that may be present together. If Universe is set, the loop's body may
// have a value even where none of them is present.
type Point struct {
	Iters    Set
	Universe bool
}

// covers reports whether p has all iterators of q. If q.Universe is set, p.Universe must also be
// set.
func (p Point) covers(q Point) bool {
	return p.Iters.Union(q.Iters) == p.Iters && (p.Universe || !q.Universe)
}

// Lattice is the merge lattice of a loop. Points with more iterators come first. If it has no
// points, the loop's body has a value at no coordinate.
type Lattice struct {
	Iters  []string // for each iterator, the key of its access
	Points []Point
	// Coarse is true if one operation had more than maxPoints pairs of points. The lattice then has
	// one point with all iterators, and any subset of these may be present.
	Coarse bool
}

// kind says how a loop over a variable visits an access.
type kind uint8

const (
	absent  kind = iota // it has no value in this loop
	full                // it may have a value everywhere: a dense level, or another variable
	iterate             // a sparse level holds the coordinates, and the loop iterates over them
)

// query returns the kind of an access in the current loop.
type query func(a *cin.Access) kind

// maxPoints is the largest number of pairs that one operation combines. A pair is a point of one
// operand and a point of the other. If an operation has more pairs, the lattice becomes coarse (see
// Lattice). maxPoints does not limit the number of points of a lattice.
const maxPoints = 256

// latticeOf returns the merge lattice of a loop with the body s. q returns how the loop visits an
// access. An access to a temporary is replaced by the expression of its producer if the producer is
// in s.
func latticeOf(s cin.Stmt, q query) *Lattice {
	b := &builder{q: q, temps: map[string]points{}}
	pts := b.stmt(s)
	if b.coarse {
		b = &builder{q: q, temps: map[string]points{}, coarse: true}
		pts = b.stmt(s)
	}
	l := &Lattice{Iters: b.iters, Points: pts, Coarse: b.coarse}
	slices.SortStableFunc(l.Points, func(p, r Point) int {
		if d := r.Iters.Len() - p.Iters.Len(); d != 0 {
			return d
		}
		if p.Universe != r.Universe {
			if p.Universe {
				return -1
			}
			return 1
		}
		return p.Iters.compare(r.Iters)
	})
	return l
}

type points []Point

func (ps points) add(p Point) points {
	if slices.Contains(ps, p) {
		return ps
	}
	return append(ps, p)
}

type builder struct {
	q      query
	iters  []string
	temps  map[string]points
	coarse bool
}

func (b *builder) stmt(s cin.Stmt) points {
	switch s := s.(type) {
	case *cin.Where:
		t := cin.Target(s.Producer).Name
		outer, shadowed := b.temps[t]
		b.temps[t] = b.stmt(s.Producer)
		if a, _ := cin.Reduces(s.Producer); a != nil && a.Op.Stored == a.Op {
			b.temps[t] = b.union(b.temps[t], points{{Universe: true}}) // it always has a value
		}
		r := b.stmt(s.Consumer)
		delete(b.temps, t)
		if shadowed {
			b.temps[t] = outer
		}
		return r
	case *cin.Seq:
		var r points
		for _, t := range s.List {
			r = b.union(r, b.stmt(t))
		}
		return r
	case *cin.Assign:
		return b.expr(s.RHS)
	}
	if t := cin.Inner(s); t != nil {
		return b.stmt(t)
	}
	panic("BUG: lattice: unknown statement")
}

func (b *builder) expr(x cin.Expr) points {
	switch x := x.(type) {
	case *cin.Access:
		if p, ok := b.temps[x.Name]; ok {
			return p
		}
		switch b.q(x) {
		case absent:
			return nil
		case full:
			return points{{Universe: true}}
		}
		k := slices.Index(b.iters, x.Key())
		if k < 0 {
			k = len(b.iters)
			b.iters = append(b.iters, x.Key())
		}
		return points{{Iters: Only(k)}}
	case *cin.Lit:
		return points{{Universe: true}}
	case *cin.Neg:
		return b.expr(x.X)
	case *cin.Call:
		var pts points
		for k, y := range x.Args {
			if k > 0 && x.Func.NeedsAll {
				pts = b.pairs(pts, b.expr(y), func(p, q Point) bool { return p.Universe && q.Universe })
				continue
			}
			pts = b.union(pts, b.expr(y))
		}
		if !x.Func.KeepsZero {
			pts = b.union(pts, points{{Universe: true}})
		}
		return pts
	case *cin.Binary:
		l, r := b.expr(x.X), b.expr(x.Y)
		switch x.Op {
		case '*':
			return b.pairs(l, r, func(p, q Point) bool { return p.Universe && q.Universe })
		case '/':
			return b.join(b.pairs(l, r, func(p, q Point) bool { return p.Universe }), l)
		}
		return b.union(l, r)
	}
	panic("BUG: lattice: unknown expression")
}

func (b *builder) pairs(l, r points, universe func(p, q Point) bool) points {
	if len(l)*len(r) > maxPoints {
		b.coarse = true
		l, r = l[:1], r[:1]
	}
	var out points
	for _, p := range l {
		for _, q := range r {
			out = out.add(Point{p.Iters.Union(q.Iters), universe(p, q)})
		}
	}
	return out
}

func (b *builder) union(l, r points) points {
	out := b.pairs(l, r, func(p, q Point) bool { return p.Universe || q.Universe })
	return b.join(b.join(out, l), r)
}

// join returns the points of l and r without duplicates. If b.coarse is true, join returns a single
// point instead: the union of all these points. join never sets b.coarse.
func (b *builder) join(l, r points) points {
	for _, p := range r {
		if b.coarse && len(l) > 0 {
			l = points{{l[0].Iters.Union(p.Iters), l[0].Universe || p.Universe}}
			continue
		}
		l = l.add(p)
	}
	return l
}

// Universe reports whether the loop visits every coordinate.
func (l *Lattice) Universe() bool {
	return slices.ContainsFunc(l.Points, func(p Point) bool { return p.Universe })
}

// UniversePoints returns the points with Universe set, which say that there may be a value at every
// coordinate. The last of them has no iterators, unless the lattice is coarse.
func (l *Lattice) UniversePoints() []Point {
	var out []Point
	for _, p := range l.Points {
		if p.Universe {
			out = append(out, p)
		}
	}
	return out
}

// All returns the set of all iterators in the lattice.
func (l *Lattice) All() Set {
	var s Set
	for _, p := range l.Points {
		s = s.Union(p.Iters)
	}
	return s
}

// Under returns the points that p covers, including p, with larger points first. They are the cases
// that may occur at a coordinate while all iterators of p have coordinates left.
func (l *Lattice) Under(p Point) []Point {
	var out []Point
	for _, q := range l.Points {
		if p.covers(q) {
			out = append(out, q)
		}
	}
	return out
}

// String returns the lattice on one line: {B(i,j), C(i,j)} {B(i,j)} {C(i,j)}. U is the universe.
func (l *Lattice) String() string {
	if len(l.Points) == 0 {
		return "absent"
	}
	parts := make([]string, len(l.Points))
	for i, p := range l.Points {
		var names []string
		if p.Universe {
			names = append(names, "U")
		}
		for k, it := range l.Iters {
			if p.Iters.Has(k) {
				names = append(names, it)
			}
		}
		parts[i] = fmt.Sprintf("{%s}", strings.Join(names, ", "))
	}
	return strings.Join(parts, " ")
}

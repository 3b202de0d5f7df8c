// Package lattice is merge lattices: which coordinates of a variable a loop
// must visit, given the iterators of sparse levels below it, and what may be
// present at each.
//
// A lattice is a set of points. A point is a set of iterators, and says that
// there may be a value at coordinates where all of them are present; Universe
// says that there may be one at every coordinate, whose value those iterators
// that are present take part in. The points of a sum are its sides' points, and
// each pair of them together; of a product each pair together; of a quotient
// x/y each pair together and x's own, since an absent denominator is a zero
// (Kjolstad et al., "The Tensor Algebra Compiler", 2017, section 5, with the
// quotient added). With two points a lattice has their union, so that at any
// coordinate one largest point describes all that is present.
package lattice

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// Set is a set of iterators, by number: their bits, iterator 0 in the lowest bit of the
// first byte. The last byte is not 0, so that equal sets are equal strings.
type Set string

// Only is the set of iterator k.
func Only(k int) Set {
	s := make([]byte, k/8+1)
	s[k/8] = 1 << (k % 8)
	return Set(s)
}

// Has tells whether iterator k is in s.
func (s Set) Has(k int) bool { return k/8 < len(s) && s[k/8]>>(k%8)&1 != 0 }

// Len is the number of iterators in s.
func (s Set) Len() int {
	n := 0
	for k := range len(s) {
		n += bits.OnesCount8(s[k])
	}
	return n
}

// First is the smallest iterator in s, which is not empty.
func (s Set) First() int {
	k := 0
	for s[k] == 0 {
		k++
	}
	return k*8 + bits.TrailingZeros8(s[k])
}

// Union is what s or t has.
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

// compare orders sets as numbers, of which iterator 0 is the lowest bit.
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

// Point is one point.
type Point struct {
	Iters    Set
	Universe bool
}

// covers tells whether what q needs is needed at p as well.
func (p Point) covers(q Point) bool {
	return p.Iters.Union(q.Iters) == p.Iters && (p.Universe || !q.Universe)
}

// Lattice has its points by falling number of iterators. No points: the
// statement is absent at every coordinate.
type Lattice struct {
	Iters  []string // the key of each iterator's access
	Points []Point
	// Coarse: there were too many points. The one point that is left holds every
	// iterator, and any subset of it may be present.
	Coarse bool
}

// kind is what an access is to a loop over a variable.
type kind uint8

const (
	absent  kind = iota // it has no value here
	full                // it has one at every coordinate: dense, located, or not of this variable
	iterate             // a sparse level holds its coordinates
)

// query tells what an access is to the loop at hand.
type query func(a *cin.Access) kind

// maxPoints is the number of points past which a lattice becomes coarse.
const maxPoints = 256

// of is the lattice of a loop with body s. An access to a temporary whose producer lies in s
// stands for the producer.
func of(s cin.Stmt, q query) *Lattice {
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
	case *cin.Forall:
		return b.stmt(s.Body)
	case *cin.Where:
		t := cin.Target(s.Producer).Name
		outer, shadowed := b.temps[t]
		b.temps[t] = b.stmt(s.Producer)
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

// join adds the points of r to l; where points are coarse, there is one.
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

// Universe tells whether the loop visits every coordinate.
func (l *Lattice) Universe() bool {
	return slices.ContainsFunc(l.Points, func(p Point) bool { return p.Universe })
}

// UniversePoints are the points that hold at every coordinate; the last has no
// iterators. Each other point is one of them without the universe.
func (l *Lattice) UniversePoints() []Point {
	var out []Point
	for _, p := range l.Points {
		if p.Universe {
			out = append(out, p)
		}
	}
	return out
}

// All is the set of iterators that take part.
func (l *Lattice) All() Set {
	var s Set
	for _, p := range l.Points {
		s = s.Union(p.Iters)
	}
	return s
}

// Under are the points that p covers, itself among them, larger ones first:
// the cases at a coordinate while the iterators of p have not run out.
func (l *Lattice) Under(p Point) []Point {
	var out []Point
	for _, q := range l.Points {
		if p.covers(q) {
			out = append(out, q)
		}
	}
	return out
}

// String is the lattice on one line: {B(i,j), C(i,j)} {B(i,j)} {C(i,j)}, with
// U for the universe.
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

package choice

import (
	"math"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/lattice"
)

// This file estimates how often loops run, and what their merges cost.

// These are estimated times in nanoseconds: of a step of a merge of two operands, of a step of a
// search, of a coordinate that is looked up, of an entry that is copied to a table, and of a place
// of a table that is set to 0. A table larger than the caches is slower by farLookup.
const (
	mergeStep, searchStep, lookupStep, fillStep, clearStep = 2.5, 6, 1.5, 3, 0.5
	farLookup                                              = 4
)

// merged is a loop over variable v that merges several operands. visits is the number of times that
// the loop runs.
type merged struct {
	v      string
	visits float64
	outer  []string           // the variables of the loops around it
	trips  map[string]float64 // for each of these variables, how many times the loop's body runs
	sides  []side
}

// side is an operand that a merge visits. segment is the mean number of its entries in a visit.
type side struct {
	operand *analysis.Operand
	segment float64
}

// merges returns the loops that intersect several operands.
func merges(f *analysis.Facts) (list []merged) {
	eachTrip(f, func(v string, visits float64, lat *lattice.Lattice, sides []side, in scope,
		trips map[string]float64) {
		if len(lat.Points) != 1 || lat.Universe() || len(sides) < 2 || len(sides) != len(lat.Iters) {
			return
		}
		m := merged{v: v, visits: visits, outer: slices.Clone(in.bound), trips: map[string]float64{},
			sides: sides}
		for _, u := range in.bound {
			m.trips[u] = trips[u]
		}
		list = append(list, m)
	})
	return list
}

// eachTrip calls fn for each variable v of the statement over which a loop runs. visits estimates
// how many times the loop runs. trips estimates how many times the bodies of loops run: the loop
// over v and the loops around it. sides lists the operands that the loop visits.
func eachTrip(f *analysis.Facts, fn func(v string, visits float64, lat *lattice.Lattice,
	sides []side, in scope, trips map[string]float64)) {
	trips := map[string]float64{}
	eachVariable(f, f.Stmt, scope{}, func(v string, body cin.Stmt, in scope) {
		visits := 1.0
		if k := len(in.bound); k > 0 {
			visits = trips[in.bound[k-1]]
		}
		lat := loopLattice(f, v, body, in)
		sides := sidesOf(f, lat.Iters, body, v)
		trips[v] = visits * stepsOf(f, v, lat.Universe(), len(lat.Points) == 1, sides)
		fn(v, visits, lat, sides, in, trips)
	})
}

// runsOf estimates how many times the body of the last of the given loops runs. Each of the loops is
// inside the one before it. runsOf returns 1 if loops is empty.
func runsOf(f *analysis.Facts, loops []*cin.Forall) (runs float64) {
	runs = 1
	var vars []string
	for _, l := range loops {
		vars = append(vars, l.Var)
	}
	eachTrip(f, func(v string, _ float64, _ *lattice.Lattice, _ []side, in scope,
		trips map[string]float64) {
		if len(vars) > 0 && slices.Equal(append(slices.Clone(in.bound), v), vars) {
			runs = trips[v]
		}
	})
	return runs
}

// sidesOf returns the operands with the given keys that a loop over v visits.
func sidesOf(f *analysis.Facts, keys []string, body cin.Stmt, v string) (sides []side) {
	for _, x := range f.Operands(body) {
		l := slices.Index(x.Vars, v)
		if l < 0 || !slices.Contains(keys, x.Key) {
			continue
		}
		n := positionsIn(f, x, l)
		if l > 0 {
			n /= max(positionsIn(f, x, l-1), 1)
		}
		sides = append(sides, side{x, n})
	}
	return sides
}

// positionsIn returns the number of positions in level l of an operand. If only the number of
// entries is known, it returns the largest possible number.
func positionsIn(f *analysis.Facts, x *analysis.Operand, l int) float64 {
	if x.Tensor.Counts != nil {
		return float64(x.Tensor.Counts[l])
	}
	n := f.Places(x.Vars[:l+1])
	if !x.Tensor.Kind(l).CanLocate() {
		n = min(n, float64(max(x.Tensor.NNZ, 0)))
	}
	return n
}

// stepsOf estimates the number of iterations of a loop over v. all is true if the loop visits all
// coordinates, and common is true if it visits only coordinates that all sides have.
func stepsOf(f *analysis.Facts, v string, all, common bool, sides []side) float64 {
	size := max(float64(f.Problem.Sizes[v]), 1)
	if all || len(sides) == 0 {
		return size
	}
	n := sides[0].segment
	for _, x := range sides[1:] {
		if common {
			n *= x.segment / size
		} else {
			n += x.segment
		}
	}
	return min(n, size)
}

// mergeTime returns the estimated time of a merge, and of the fastest search if this is faster.
func (m *merged) mergeTime() float64 { return min(m.stepping(), m.searching()) }

func (m *merged) stepping() float64 {
	n := 0.0
	for _, x := range m.sides {
		n += x.segment
	}
	return m.visits * n * mergeStep
}

func (m *merged) searching() float64 {
	least, n := math.Inf(1), 0.0
	for _, x := range m.sides {
		least = min(least, x.segment)
	}
	for _, x := range m.sides {
		n += least * (math.Log2(max(x.segment/max(least, 1), 1)) + 1)
	}
	return m.visits * n * searchStep
}

// eachVariable calls fn for each loop in s, with the variable of the statement that the loop
// determines, the body of the loop and its scope. A loop may determine several variables.
func eachVariable(f *analysis.Facts, s cin.Stmt, in scope,
	fn func(v string, body cin.Stmt, in scope)) {
	switch s := s.(type) {
	case *cin.Where:
		eachVariable(f, s.Producer, in, fn)
		eachVariable(f, s.Consumer, reading(f, cin.Target(s.Producer), in), fn)
	case *cin.Seq:
		for _, t := range s.List {
			eachVariable(f, t, in, fn)
		}
	case *cin.Forall:
		in = in.within(s.Var)
		vars, _ := f.Determined(in.loops)
		for _, v := range vars {
			fn(v, s.Body, in)
			in = in.at(v)
		}
		eachVariable(f, s.Body, in, fn)
	}
}

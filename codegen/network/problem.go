package network

import (
	"math/bits"
	"slices"

	"distaff/codegen/strategy"
)

// Access is a tensor at variables, in mode order, as an operand of the leaf is stored.
type Access struct {
	Tensor strategy.Tensor
	Vars   []string
}

// Factor is one factor of a product. One of several accesses, such as a sum in
// parentheses, is taken as it is, and to have a value everywhere.
type Factor struct {
	Text     string // its name, where it is one access; "" for others
	Accesses []Access
	Matrix   bool // its values are of the type that is computed in
	made     bool // an intermediate, which is stored in the order of the loops that read it
}

// Way says which contractions are looked for.
type Way uint8

const (
	Auto     Way = iota // any
	Direct              // all factors in one nest of loops
	Pairwise            // two at a time, each whole before the next
)

func (w Way) String() string { return [...]string{"auto", "direct", "pairwise"}[w] }

// Problem is a product and what it is added to.
type Problem struct {
	Factors []Factor
	Sizes   map[string]int64
	// Left are the variables of the result, in its storage order; the first Ordered of them
	// are appended to in order, the others are written at random.
	Left    []string
	Ordered int
	// Order, where it is not nil, is the order of the loops around the product itself, as other
	// terms of the statement ask for it. Nothing is converted then.
	Order []string
	// Keep: nothing is converted.
	Keep bool
	// Exact: multiplications count, as where the numbers are integers; else a product of several
	// numbers that do not change in a loop costs no more than one.
	Exact bool
	// Inside: no intermediate with variables is made outside of all loops.
	Inside bool
	// Contracted: some intermediate is made.
	Contracted bool
	// MaxOrder is the most variables that an intermediate has, -1 for any number.
	MaxOrder int
	Way      Way
	Tree     *Tree // nil for any
	// Gemm is what the multiply-adds of a product of matrices cost that has so many rows, columns and
	// terms, infinite where it is to be loops. nil: there are none.
	Gemm func(rows, cols, terms float64) float64
}

// MaxFactors and MaxVars are the largest product that is searched.
const (
	MaxFactors = 8
	MaxVars    = 12
)

// set is a set of variables, or of factors, by number.
type set uint32

func (s set) has(k int) bool    { return s>>k&1 != 0 }
func (s set) within(t set) bool { return s&^t == 0 }
func (s set) len() int          { return bits.OnesCount32(uint32(s)) }
func (s set) first() int        { return bits.TrailingZeros32(uint32(s)) }

// level is a storage level of an access.
type level struct {
	v      int
	walked bool // its coordinates are a list: those of the levels above it are known first
	above  set
}

// model is a problem in numbers.
type model struct {
	problem *Problem
	vars    []string
	size    []float64
	levels  [][][]level // by factor and access
	has     []set       // the variables of each factor
	result  set
	ordered []int // the variables that are appended in order
	fixed   []int // Order
	density [][]float64
	// Of sets of factors: their variables, those that others or the result have as well, and how full
	// their contraction is at each set of variables, -1 where that was not asked for.
	held, opened []set
	joined       [][]float64
	entries      int64 // of all tensors
	// converted are the accesses that are stored in another order, by factor, as bits; walked the
	// variables of each factor that a list of coordinates has, uniform those at all of whose
	// coordinates it has a value or at none, and last those that are in no level but the last.
	converted, walked, uniform, last []set
}

// Searched reports whether a product is small enough to be searched.
func (p *Problem) Searched() bool {
	return len(p.Factors) <= MaxFactors && len(p.variables()) <= MaxVars
}

// Known reports whether a product has factors to contract, of at most MaxStep variables each, and
// their statistics are known.
func (p *Problem) Known() bool {
	if len(p.Factors) < 2 {
		return false
	}
	for k := range p.Factors {
		if f := (&Problem{Factors: p.Factors[k : k+1]}); len(f.variables()) > MaxStep {
			return false
		}
	}
	for _, f := range p.Factors {
		for _, a := range f.Accesses {
			if a.Tensor.NNZ < 0 && !a.Tensor.Format.AllDense() {
				return false
			}
		}
	}
	return true
}

func (p *Problem) variables() []string {
	vars := slices.Clone(p.Left)
	for _, f := range p.Factors {
		for _, a := range f.Accesses {
			for _, v := range a.Vars {
				if !slices.Contains(vars, v) {
					vars = append(vars, v)
				}
			}
		}
	}
	return vars
}

func newModel(p *Problem) *model {
	m := &model{problem: p, vars: p.variables(), joined: make([][]float64, 1<<len(p.Factors))}
	for _, v := range m.vars {
		m.size = append(m.size, max(float64(p.Sizes[v]), 1))
	}
	for k, v := range p.Left {
		m.result |= 1 << m.number(v)
		if k < p.Ordered {
			m.ordered = append(m.ordered, m.number(v))
		}
	}
	for _, v := range p.Order {
		if n := m.number(v); n >= 0 {
			m.fixed = append(m.fixed, n)
		}
	}
	seen := map[string]bool{}
	for _, f := range p.Factors {
		for _, a := range f.Accesses {
			if t := a.Tensor; !seen[t.Name] {
				seen[t.Name] = true
				m.entries += max(t.NNZ, 0)
			}
		}
		var accesses [][]level
		has := set(0)
		for _, a := range f.Accesses {
			levels := m.levelsOf(a)
			for _, l := range levels {
				has |= 1 << l.v
			}
			accesses = append(accesses, levels)
		}
		m.levels, m.has = append(m.levels, accesses), append(m.has, has)
	}
	for f := range p.Factors {
		m.density = append(m.density, m.densities(f))
	}
	for factors := range set(1) << len(p.Factors) {
		m.held = append(m.held, m.varsOf(factors))
	}
	for factors, vars := range m.held {
		m.opened = append(m.opened, vars&(m.held[m.all()&^set(factors)]|m.result))
	}
	m.convert(m.anyOrder())
	return m
}

func (m *model) number(v string) int { return slices.Index(m.vars, v) }

// levelsOf are the storage levels of an access. The second level of a variable that it has
// twice is searched, and asks for nothing.
func (m *model) levelsOf(a Access) []level {
	var out []level
	above := set(0)
	for k, mode := range a.Tensor.Format.Order {
		v := m.number(a.Vars[mode])
		walked := !a.Tensor.Format.Levels[k].Caps().Locate && !above.has(v)
		out = append(out, level{v, walked, above})
		above |= 1 << v
	}
	return out
}

// all are the factors.
func (m *model) all() set { return 1<<len(m.problem.Factors) - 1 }

// varsOf are the variables of some factors.
func (m *model) varsOf(factors set) set {
	out := set(0)
	for s := factors; s != 0; s &= s - 1 {
		out |= m.has[s.first()]
	}
	return out
}

// open are the variables of some factors that the others or the result have as well: those of
// their contraction.
func (m *model) open(factors set) set { return m.opened[factors] }

// anyOrder has the accesses of sparse intermediates, which loops walk in any order, by factor, as
// bits.
func (m *model) anyOrder() []set {
	accesses := make([]set, len(m.problem.Factors))
	for f, x := range m.problem.Factors {
		if x.made && !x.Accesses[0].Tensor.Format.AllDense() {
			accesses[f] = 1
		}
	}
	return accesses
}

// convert has accesses stored in other orders, by factor, as bits.
func (m *model) convert(accesses []set) {
	n := len(m.problem.Factors)
	m.converted, m.walked, m.uniform, m.last = accesses, make([]set, n), make([]set, n), make([]set, n)
	for f := range n {
		for v := range m.vars {
			for _, x := range []struct {
				to []set
				is bool
			}{{m.walked, m.isWalked(f, v)}, {m.uniform, m.isUniform(f, v)}, {m.last, m.isLast(f, v)}} {
				if x.is {
					x.to[f] |= 1 << v
				}
			}
		}
	}
}

// canWalk tells whether a loop over v, inside of loops over bound, can step through what a factor
// stores.
func (m *model) canWalk(f, v int, bound set) bool {
	for k, levels := range m.levels[f] {
		if m.converted[f].has(k) {
			continue
		}
		for _, l := range levels {
			if l.v == v && l.walked && !l.above.within(bound) {
				return false
			}
		}
	}
	return true
}

// isWalked tells whether a level of v in a factor is a list of coordinates.
func (m *model) isWalked(f, v int) bool {
	for k, levels := range m.levels[f] {
		for _, l := range levels {
			if l.v == v && (l.walked || m.converted[f].has(k)) {
				return true
			}
		}
	}
	return false
}

// isUniform tells whether a factor has a value at all coordinates of v or at none: the level of v,
// and those below it, are dense.
func (m *model) isUniform(f, v int) bool {
	for k, levels := range m.levels[f] {
		below := false
		for n, l := range levels {
			below = below || l.v == v
			if below && (m.converted[f].has(k) ||
				!m.problem.Factors[f].Accesses[k].Tensor.Format.Levels[n].Caps().Locate) {
				return false
			}
		}
	}
	return true
}

// isLast tells whether v's level is the last of each access of a factor that has it.
func (m *model) isLast(f, v int) bool {
	for _, levels := range m.levels[f] {
		for n, l := range levels {
			if l.v == v && n != len(levels)-1 {
				return false
			}
		}
	}
	return true
}

package network

import (
	"math/bits"
	"slices"

	"distaff/codegen/analysis"
)

// Access is a tensor with the variables of its modes, in mode order. It has the format of the
// leaf's operand.
type Access struct {
	Tensor analysis.Tensor
	Vars   []string
}

// Factor is one factor of a product. A factor may have several accesses, for example if it is a sum
// in parentheses. The search does not take such a factor apart, and assumes that it has a value
// everywhere.
type Factor struct {
	Text     string // its name if it is one access; "" if not
	Accesses []Access
	Matrix   bool // its values have the type of the computation
	made     bool // an intermediate: it is stored in the order of the loops that read it
}

// Method restricts the plans that the search considers.
type Method uint8

const (
	Auto     Method = iota // any
	Direct                 // all factors in one nest of loops
	Pairwise               // two at a time, each whole before the next
)

func (w Method) String() string { return [...]string{"auto", "direct", "pairwise"}[w] }

// Problem describes a product and the result that it is added to.
type Problem struct {
	Factors []Factor
	Sizes   map[string]int64
	// Left lists the variables of the result in its storage order. Entries are appended to the
	// result in the order of the first Ordered variables. Along the others they are written in any
	// order.
	Left    []string
	Ordered int
	// Order is the order of the product's own loops, which the other terms of the statement share.
	// If Order is not nil, no access is converted. Nil means that any order is allowed.
	Order []string
	// Keep forbids conversions.
	Keep bool
	// Exact is true if every multiplication is done, as with integers. If it is false, a product of
	// values that do not change in a loop is computed only once.
	Exact bool
	// Inside forbids intermediates with variables that are made outside of all loops.
	Inside bool
	// Contracted forbids plans without an intermediate.
	Contracted bool
	// MaxOrder is the largest number of variables of an intermediate, -1 for no limit.
	MaxOrder int
	Method   Method
	Tree     *Tree // nil if any tree is allowed
	// Gemm returns the cost of the multiply-adds of a product of matrices of these sizes. It
	// returns infinity if loops are better. The function is nil if products of matrices are not
	// wanted.
	Gemm func(rows, cols, terms float64) float64
	// Packed says that a product of matrices may run over many variables at little further cost.
	Packed bool
	// Seconds limits the search for the order of the contractions of a large product.
	Seconds float64
}

// MaxFactors and MaxVars are the largest numbers of factors and variables of a product that is
// searched.
const (
	MaxFactors = 8
	MaxVars    = 12
)

// set is a set of small numbers, for example of variables or factors, with one bit for each.
type set uint32

func (s set) has(k int) bool    { return s>>k&1 != 0 }
func (s set) within(t set) bool { return s&^t == 0 }
func (s set) len() int          { return bits.OnesCount32(uint32(s)) }
func (s set) first() int        { return bits.TrailingZeros32(uint32(s)) }

// level is a storage level of an access.
type level struct {
	v      int
	walked bool // its coordinates are a list, so the levels above must be bound before it
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
	ordered []int // the variables along which the result is appended to in order
	fixed   []int // the variables of Order
	density [][]float64
	// Indexed by set of factors: held has the variables of the factors, and opened has the
	// variables of their contraction (see open). joined has the density of the contraction, indexed
	// by set of variables; -1 means that the density is not computed yet.
	held, opened []set
	joined       [][]float64
	entries      int64 // of all tensors
	// Indexed by factor: converted has the set of its accesses that are stored in another order.
	// walked, uniform and last are sets of variables, which isWalked, isUniform and isLast define.
	converted, walked, uniform, last []set
}

// Searched reports whether a product is small enough for the search.
func (p *Problem) Searched() bool {
	return len(p.Factors) <= MaxFactors && len(p.variables()) <= MaxVars
}

// Known reports whether enough is known of a product to estimate costs: it has at least two factors
// of at most MaxStep variables each, and the number of entries of every sparse tensor is known.
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

// variables returns all variables: first the result's, and then the factors'.
func (p *Problem) variables() []string { return appendVars(slices.Clone(p.Left), p.Factors...) }

// factorVars returns the variables of the factors.
func (p *Problem) factorVars() []string { return appendVars(nil, p.Factors...) }

// vars returns the variables of a factor.
func (f Factor) vars() []string { return appendVars(nil, f) }

// appendVars appends the variables of factors that list does not have.
func appendVars(list []string, factors ...Factor) []string {
	seen := map[string]bool{}
	for _, v := range list {
		seen[v] = true
	}
	for _, f := range factors {
		for _, a := range f.Accesses {
			for _, v := range a.Vars {
				if !seen[v] {
					seen[v], list = true, append(list, v)
				}
			}
		}
	}
	return list
}

// placesOf returns the number of points in the space of variables.
func (p *Problem) placesOf(vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= max(float64(p.Sizes[v]), 1)
	}
	return n
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

// levelsOf returns the storage levels of an access. If a variable occurs twice, the leaf searches
// the variable's second level for the coordinate. The second level therefore does not restrict the
// order of loops.
func (m *model) levelsOf(a Access) []level {
	var out []level
	above := set(0)
	for k, mode := range a.Tensor.Format.Order {
		v := m.number(a.Vars[mode])
		walked := !a.Tensor.Format.Levels[k].CanLocate() && !above.has(v)
		out = append(out, level{v, walked, above})
		above |= 1 << v
	}
	return out
}

// all returns the set of all factors.
func (m *model) all() set { return 1<<len(m.problem.Factors) - 1 }

// varsOf returns the variables of the factors.
func (m *model) varsOf(factors set) set {
	out := set(0)
	for s := factors; s != 0; s &= s - 1 {
		out |= m.has[s.first()]
	}
	return out
}

// open returns the variables that a contraction of the given factors has. Each of these variables
// also occurs in the result or in a factor that is not given.
func (m *model) open(factors set) set { return m.opened[factors] }

// anyOrder returns, for each factor, the set of accesses to sparse intermediates in the factor.
// Loops can visit the entries of such an intermediate in any order.
func (m *model) anyOrder() []set {
	accesses := make([]set, len(m.problem.Factors))
	for f, x := range m.problem.Factors {
		if x.made && !x.Accesses[0].Tensor.Format.AllDense() {
			accesses[f] = 1
		}
	}
	return accesses
}

// convert sets which accesses of each factor are read in a converted storage order. It also
// recomputes the tables that depend on storage orders.
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

// canWalk reports whether a loop over v, nested in loops over bound, can walk factor f in its
// storage order.
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

// isWalked reports whether a level of v in factor f is a list of coordinates. All levels of a
// converted access count as lists.
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

// isUniform reports whether all levels of v in factor f, and all levels below them, are dense and
// belong to accesses that are not converted. For fixed coordinates of the other variables, the
// factor then has a value at every coordinate of v or at none.
func (m *model) isUniform(f, v int) bool {
	for k, levels := range m.levels[f] {
		below := false
		for n, l := range levels {
			below = below || l.v == v
			if below && (m.converted[f].has(k) ||
				!m.problem.Factors[f].Accesses[k].Tensor.Format.Levels[n].CanLocate()) {
				return false
			}
		}
	}
	return true
}

// isLast reports whether v belongs only to the last level of each access of factor f. The result is
// also true if f lacks v.
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

package network

import "math"

// Densities are shares: of the points of a space of some variables, how many a factor or an
// intermediate has a value at or below. Sizes, entries and counts of positions at each level
// give those of a factor at the variables of its outer levels; at others, its entries are
// taken to lie uniformly, and patterns of different factors to be independent.

// places is the number of points of a space of variables.
func (m *model) places(vars set) float64 {
	n := 1.0
	for s := vars; s != 0; s &= s - 1 {
		n *= m.size[s.first()]
	}
	return n
}

// thrown is the share of so many places that so many entries take, if thrown at random.
func thrown(entries, places float64) float64 { return -math.Expm1(-entries / places) }

// densities are those of a factor, at each set of variables.
func (m *model) densities(f int) []float64 {
	out := make([]float64, 1<<len(m.vars))
	for s := range out {
		vars := set(s) & m.has[f]
		switch {
		case set(s) != vars:
			out[s] = out[vars]
		case len(m.problem.Factors[f].Accesses) != 1:
			out[s] = 1
		default:
			out[s] = m.share(m.problem.Factors[f].Accesses[0], m.levels[f][0], vars)
		}
	}
	return out
}

// share is the density of an access at some of its variables.
func (m *model) share(a Access, levels []level, vars set) float64 {
	t := &a.Tensor
	if t.Format.AllDense() || vars == 0 {
		return 1
	}
	places, dense := m.places(vars), true
	for n, l := range levels {
		dense = dense && (!vars.has(l.v) || t.Format.Levels[n].Caps().Locate && l.above.within(vars))
	}
	if dense {
		return 1
	}
	prefix := set(0)
	for n, l := range levels {
		if prefix |= 1 << l.v; prefix == vars && t.Counts != nil &&
			(n == len(levels)-1 || levels[n+1].v != l.v) {
			return min(float64(t.Counts[n])/places, 1)
		}
	}
	// Of a variable that it has twice, only the diagonal counts.
	entries, space := float64(t.NNZ), 1.0
	for _, l := range levels {
		space *= m.size[l.v]
	}
	entries *= m.places(prefix) / space
	if vars == prefix {
		return min(entries/places, 1)
	}
	return thrown(entries, places)
}

// products is the number of points at which all of some factors have a value.
func (m *model) products(factors set) float64 {
	vars := m.held[factors]
	n := m.places(vars)
	for s := factors; s != 0; s &= s - 1 {
		n *= m.density[s.first()][vars]
	}
	return n
}

// filled is the density of the contraction of some factors at vars.
func (m *model) filled(factors, vars set) float64 {
	vars &= m.open(factors)
	known := m.joined[factors]
	if known == nil {
		known = make([]float64, 1<<len(m.vars))
		for k := range known {
			known[k] = -1
		}
		m.joined[factors] = known
	}
	if known[vars] < 0 {
		d := 1.0
		for s := factors; s != 0; s &= s - 1 {
			d *= m.density[s.first()][vars]
		}
		products := m.products(factors)
		if known[vars] = min(d, thrown(products, m.places(vars))); products >= m.places(m.held[factors]) {
			known[vars] = 1 // a value at every point
		}
	}
	return known[vars]
}

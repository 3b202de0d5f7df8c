package network

import "math"

// The density of a factor or an intermediate at a set of variables is a share: it has a value at,
// or below, this share of the points of the variables' space. At the variables of a factor's outer
// levels the density follows from sizes and from the number of positions of each level. At other
// variables the entries are assumed to be uniformly distributed. Patterns of different factors are
// assumed to be independent.

// places returns the number of points in the space of the variables.
func (m *model) places(vars set) float64 {
	n := 1.0
	for s := vars; s != 0; s &= s - 1 {
		n *= m.size[s.first()]
	}
	return n
}

// filledShare returns the expected share of places with an entry, if the given number of entries is
// put into places at random.
func filledShare(entries, places float64) float64 { return -math.Expm1(-entries / places) }

// densities returns the densities of factor f, indexed by set of variables.
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

// share returns the density of an access at the variables vars.
func (m *model) share(a Access, levels []level, vars set) float64 {
	t := &a.Tensor
	if t.Format.AllDense() || vars == 0 {
		return 1
	}
	places, dense := m.places(vars), true
	for n, l := range levels {
		dense = dense && (!vars.has(l.v) || t.Format.Levels[n].CanLocate() && l.above.within(vars))
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
	// Only the diagonal counts if the access has a variable twice.
	entries, space := float64(t.NNZ), 1.0
	for _, l := range levels {
		space *= m.size[l.v]
	}
	entries *= m.places(prefix) / space
	if vars == prefix {
		return min(entries/places, 1)
	}
	return filledShare(entries, places)
}

// products returns the number of points where every given factor has a value.
func (m *model) products(factors set) float64 {
	vars := m.held[factors]
	n := m.places(vars)
	for s := factors; s != 0; s &= s - 1 {
		n *= m.density[s.first()][vars]
	}
	return n
}

// filled returns how dense an intermediate is. The intermediate is the contraction of the given
// factors. The result is the expected share of the coordinates of vars at which the intermediate
// has a value.
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
		known[vars] = min(d, filledShare(products, m.places(vars)))
		if products >= m.places(m.held[factors]) {
			known[vars] = 1 // a value at every point
		}
	}
	return known[vars]
}

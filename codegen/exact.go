package codegen

import "slices"

// Trip counts from shortest to longest are compiled into the leaf: at them the C
// compiler unrolls and keeps rows in registers. Shorter ones gain nothing, and
// each would be a leaf of its own.
const (
	shortest = 8
	longest  = 256
)

// trips finds which of the variables that Request.Exact allows have their size
// compiled in: those of short dense loops, that index nothing but dense levels. A
// schedule says itself what is bound().
func (c *compilation) trips() error {
	out := map[string]int64{}
	c.exact = out
	if len(c.Schedule) > 0 {
		return nil
	}
	for _, v := range c.Exact {
		if n := c.size(v); slices.Contains(c.normal.Vars, v) && n >= shortest && n <= longest {
			out[v] = n
		}
	}
	drop := func(vars []string, dense func(mode int) bool) {
		for m, v := range vars {
			if !dense(m) {
				delete(out, v)
			}
		}
	}
	for _, u := range c.uses {
		drop(u.vars, func(m int) bool { return u.format.Levels[slices.Index(u.format.Order, m)].Caps().Locate })
	}
	result := c.unit.Result.Format
	drop(c.normal.LHS.Vars, func(m int) bool { return result.Levels[slices.Index(result.Order, m)].Caps().Locate })
	c.innermost(out)
	return nil
}

// innermost keeps, of the candidates, those that are a last storage level
// somewhere: loops that stream memory.
func (c *compilation) innermost(out map[string]int64) {
	last := map[string]bool{}
	for _, u := range c.uses {
		if n := len(u.vars); n > 0 {
			last[u.vars[u.format.Order[n-1]]] = true
		}
	}
	lhs := c.normal.LHS
	if n := len(lhs.Vars); n > 0 {
		last[lhs.Vars[c.unit.Result.Format.Order[n-1]]] = true
	}
	for v := range out {
		if !last[v] {
			delete(out, v)
		}
	}
}

package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"distaff/codegen/format"
)

// generator draws one statement, its formats and its data.
type generator struct {
	rng     *rand.Rand
	sizes   map[string]int64
	orders  map[string][]int64 // dims of tensors so far
	names   int
	integer bool
}

var letters = []string{"i", "j", "k", "l"}

func (g *generator) vars(n int) []string {
	var out []string
	for range n {
		out = append(out, letters[g.rng.IntN(len(letters))])
	}
	return out
}

func (g *generator) access() string {
	vars := g.vars([]int{0, 1, 1, 2, 2, 2, 3, 3, 4}[g.rng.IntN(9)])
	dims := make([]int64, len(vars))
	for m, v := range vars {
		dims[m] = g.sizes[v]
	}
	name := ""
	if g.rng.IntN(3) == 0 {
		for n := range g.names {
			if t := string(rune('B' + n)); slices.Equal(g.orders[t], dims) {
				name = t
			}
		}
	}
	if name == "" {
		name = string(rune('B' + g.names))
		g.names++
		g.orders[name] = dims
	}
	if len(vars) == 0 {
		return name
	}
	return name + "(" + strings.Join(vars, ",") + ")"
}

func (g *generator) expr(depth int, scope int) string {
	if depth <= 0 || g.names > 6 {
		if g.rng.IntN(12) == 0 {
			return fmt.Sprint(g.rng.IntN(3) + 1)
		}
		return g.access()
	}
	switch r := g.rng.IntN(20); {
	case r < 5:
		return g.access()
	case r < 11:
		return g.expr(depth-1, scope) + " * " + g.paren(depth-1, scope)
	case r < 15:
		return g.paren(depth-1, scope) + " + " + g.paren(depth-1, scope)
	case r < 16:
		return g.paren(depth-1, scope) + " - " + g.paren(depth-1, scope)
	case r < 17:
		return "-" + g.paren(depth-1, scope)
	case r < 18:
		return g.paren(depth-1, scope) + " / " + g.paren(depth-1, scope)
	}
	v := letters[g.rng.IntN(len(letters))]
	body := g.expr(depth-1, scope)
	return "sum(" + v + ", " + body + ")"
}

func (g *generator) paren(depth, scope int) string {
	s := g.expr(depth, scope)
	if strings.ContainsAny(s, "+-/*") {
		return "(" + s + ")"
	}
	return s
}

func (g *generator) statement() string {
	n := g.rng.IntN(4)
	perm := g.rng.Perm(len(letters))
	lhs := "A"
	if n > 0 {
		var vars []string
		for _, k := range perm[:n] {
			vars = append(vars, letters[k])
		}
		lhs += "(" + strings.Join(vars, ",") + ")"
	}
	op := " = "
	if g.rng.IntN(8) == 0 {
		op = " += "
	}
	return lhs + op + g.expr(3, 0)
}

func (g *generator) format(order int, result bool) format.Format {
	for {
		f := format.Format{Order: g.rng.Perm(order)}
		if g.rng.IntN(2) == 0 {
			for l := range f.Order {
				f.Order[l] = l
			}
		}
		for range order {
			kinds := "ddddsssssuqcp"
			if result {
				kinds = "ddsss"
			}
			f.Levels = append(f.Levels, format.Kind(kinds[g.rng.IntN(len(kinds))]))
		}
		if f.Check() == nil {
			return f
		}
	}
}

func (g *generator) entries(dims []int64) []entry {
	density := []float64{0, 0.15, 0.4, 0.8}[g.rng.IntN(4)]
	var out []entry
	at := make([]int64, len(dims))
	var fill func(m int)
	fill = func(m int) {
		if m == len(dims) {
			if len(dims) == 0 || g.rng.Float64() < density {
				out = append(out, entry{slices.Clone(at), g.value()})
			}
			return
		}
		for c := range dims[m] {
			at[m] = c
			fill(m + 1)
		}
	}
	fill(0)
	return out
}

func (g *generator) value() float64 {
	if !g.integer && g.rng.IntN(40) == 0 {
		return math.Inf(1)
	}
	return float64(g.rng.IntN(7) - 2)
}

package ir

import (
	"distaff/io/tensor"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// polynomial is an Int64 expression in a normal form, a sum of products. A key is the names of the
// variables of a product, sorted and separated by spaces; the value is the product's coefficient.
// Coefficients wrap like Int64, so that expressions with the same polynomial have the same value.
type polynomial map[string]int64

func variable(v *Var) polynomial { return polynomial{v.Name: 1} }

// String returns a text that is equal for equal polynomials.
func (p polynomial) String() string {
	var b strings.Builder
	for _, product := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%+d", p[product])
		if product != "" {
			b.WriteString(" " + product)
		}
	}
	return b.String()
}

// plus returns p + n*q.
func (p polynomial) plus(q polynomial, n int64) polynomial {
	sum := maps.Clone(p)
	for product, k := range q {
		if sum[product] += n * k; sum[product] == 0 {
			delete(sum, product)
		}
	}
	return sum
}

func (p polynomial) times(q polynomial) polynomial {
	out := polynomial{}
	for a, n := range p {
		for b, m := range q {
			vars := append(strings.Fields(a), strings.Fields(b)...)
			slices.Sort(vars)
			out = out.plus(polynomial{strings.Join(vars, " "): 1}, n*m)
		}
	}
	return out
}

// outsideLoop returns p with v, the variable of a loop, replaced by a name that is valid outside
// the loop. The name is made of the loop's bounds, so that loops with the same bounds give the same
// polynomial. The name also contains a number, which is one more than the largest number in other
// names of p. Nested loops therefore get different names.
func (p polynomial) outsideLoop(v *Var, bounds string) polynomial {
	n := 0
	has := false
	for product := range p {
		for _, x := range strings.Fields(product) {
			var at int
			if _, err := fmt.Sscanf(x, "<%d,", &at); err == nil {
				n = max(n, at)
			}
			has = has || x == v.Name
		}
	}
	if !has {
		return p
	}
	name := fmt.Sprintf("<%d,%s>", n+1, strings.ReplaceAll(bounds, " ", "*"))
	out := polynomial{}
	for product, k := range p {
		vars := strings.Fields(product)
		for i, x := range vars {
			if x == v.Name {
				vars[i] = name
			}
		}
		slices.Sort(vars)
		out = out.plus(polynomial{strings.Join(vars, " "): 1}, k)
	}
	return out
}

// polynomial returns x as a polynomial. ok is false if x is not a polynomial of variables that are
// assigned only once.
func (c *inPlace) polynomial(x Expr) (p polynomial, ok bool) {
	switch x := x.(type) {
	case *Var:
		if p, ok := c.stands[x]; ok {
			return p, true
		}
		return variable(x), c.fixed[x]
	case *Lit:
		if x.I == 0 {
			return polynomial{}, true
		}
		return polynomial{"": x.I}, x.Typ == tensor.Int64
	case *Binary:
		a, okA := c.polynomial(x.X)
		b, okB := c.polynomial(x.Y)
		if !okA || !okB || len(a)*len(b) > 1000 {
			return polynomial{}, false
		}
		switch x.Op {
		case Add:
			return a.plus(b, 1), true
		case Sub:
			return a.plus(b, -1), true
		case Mul:
			return a.times(b), true
		}
	}
	return polynomial{}, false
}

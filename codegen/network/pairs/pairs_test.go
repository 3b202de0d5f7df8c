package pairs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// randomProblem returns a product of the given number of factors. Variables may belong to any
// number of factors, and some of them to the result.
func randomProblem(r *rand.Rand, factors int, sparse bool) *Problem {
	p := &Problem{Seconds: 0.03}
	vars := factors + r.IntN(factors+1)
	for v := range vars {
		p.Sizes = append(p.Sizes, float64(1+r.IntN(9)))
		if r.IntN(6) == 0 {
			p.Result = append(p.Result, v)
		}
	}
	for k := range factors {
		f := Factor{Density: 1}
		for range 1 + r.IntN(3) {
			v := (k + r.IntN(4)) % vars
			if r.IntN(8) == 0 {
				v = r.IntN(vars)
			}
			if !slices.Contains(f.Vars, v) {
				f.Vars = append(f.Vars, v)
			}
		}
		if sparse && r.IntN(2) == 0 {
			f.Density = math.Exp2(-6 * r.Float64())
		}
		p.Factors = append(p.Factors, f)
	}
	return p
}

// counted is an item of a plain account of a contraction.
type counted struct {
	factors map[int]bool
	vars    map[int]bool
	density float64
}

// account returns the number of multiply-adds of the contraction of a and b, its cost, and what it
// makes. It follows the definitions: a variable is summed if no factor outside and no result has it.
func account(p *Problem, a, b counted) (products, cost float64, made counted) {
	made = counted{map[int]bool{}, map[int]bool{}, 1}
	for _, x := range []counted{a, b} {
		for f := range x.factors {
			made.factors[f] = true
		}
	}
	size := 1.0
	all := map[int]bool{}
	for _, x := range []counted{a, b} {
		for v := range x.vars {
			if !all[v] {
				all[v], size = true, size*p.Sizes[v]
			}
		}
	}
	places := 1.0
	for v := range all {
		if outside(p, made.factors, v) {
			made.vars[v], places = true, places*p.Sizes[v]
		}
	}
	dense, share, inside := true, 1.0, 1.0
	held := map[int]bool{}
	for f := range made.factors {
		share *= p.Factors[f].Density
		dense = dense && p.Factors[f].Density == 1
		for _, v := range p.Factors[f].Vars {
			if !held[v] && !made.vars[v] {
				inside *= p.Sizes[v]
			}
			held[v] = true
		}
	}
	if !dense {
		made.density = -math.Expm1(-share * inside)
		if math.Log2(share*inside) > 6 {
			made.density = 1
		}
	}
	products = size * a.density * b.density
	cost = products + placeCost*places
	if made.density < sparseBelow {
		cost = products * sparseCost
	}
	return products, cost, made
}

func outside(p *Problem, factors map[int]bool, v int) bool {
	if slices.Contains(p.Result, v) {
		return true
	}
	for f, x := range p.Factors {
		if !factors[f] && slices.Contains(x.Vars, v) {
			return true
		}
	}
	return false
}

// leaf returns factor f, after the sum over the variables that only it has.
func leaf(p *Problem, f int) counted {
	x := counted{map[int]bool{f: true}, map[int]bool{}, p.Factors[f].Density}
	inside := 1.0
	for _, v := range p.Factors[f].Vars {
		if outside(p, x.factors, v) {
			x.vars[v] = true
		} else {
			inside *= p.Sizes[v]
		}
	}
	if x.density < 1 {
		x.density = -math.Expm1(-x.density * inside)
	}
	return x
}

// leastCost returns the least cost of contracting items, by trying all orders.
func leastCost(p *Problem, items []counted) float64 {
	if len(items) == 1 {
		return 0
	}
	least := math.Inf(1)
	for a := range items {
		for b := range a {
			_, cost, made := account(p, items[a], items[b])
			rest := []counted{made}
			for k, x := range items {
				if k != a && k != b {
					rest = append(rest, x)
				}
			}
			least = min(least, cost+leastCost(p, rest))
		}
	}
	return least
}

// follow returns the multiply-adds and the cost of a tree, and the entries of its largest
// intermediate. It fails if an item is used twice or not at all.
func follow(t *testing.T, p *Problem, x *Tree) (products, cost, largest float64) {
	t.Helper()
	var items []counted
	for f := range p.Factors {
		items = append(items, leaf(p, f))
	}
	used := map[int]bool{}
	for k, pair := range x.Pairs {
		for _, n := range pair {
			if used[n] || n >= len(items) {
				t.Fatalf("%v: item %d of pair %d is not there", x, n, k)
			}
			used[n] = true
		}
		n, c, made := account(p, items[pair[0]], items[pair[1]])
		products, cost, items = products+n, cost+c, append(items, made)
		if k < len(x.Pairs)-1 {
			size := made.density
			for v := range made.vars {
				size *= p.Sizes[v]
			}
			largest = max(largest, size)
		}
	}
	if len(x.Pairs) != len(p.Factors)-1 {
		t.Fatalf("%d pairs for %d factors", len(x.Pairs), len(p.Factors))
	}
	return products, cost, largest
}

func near(x, y float64) bool { return math.Abs(x-y) <= 1e-6*max(math.Abs(x), math.Abs(y)) }

// TestExact compares the trees of small products with the best of all trees.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for n := range 200 {
		p := randomProblem(r, 1+n%6, n%2 == 0)
		x := Find(p)
		products, cost, _ := follow(t, p, x)
		var items []counted
		for f := range p.Factors {
			items = append(items, leaf(p, f))
		}
		if want := leastCost(p, items); cost > want*(1+1e-6) || !near(products, x.MultiplyAdds) {
			t.Errorf("%+v: got %+v of the cost %g and %g multiply-adds, want the cost %g", *p, *x, cost,
				products, want)
		}
	}
}

// TestLarge checks the trees of large products: they are whole, their figures are right, and the
// search finds them again.
func TestLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for n := range 24 {
		p := randomProblem(r, []int{12, 15, 40, 120}[n%4], n%3 == 0)
		x := Find(p)
		products, _, largest := follow(t, p, x)
		if !near(products, x.MultiplyAdds) || !near(largest, x.Largest) {
			t.Errorf("%d factors: got %g multiply-adds, %g entries; counted %g and %g", len(p.Factors),
				x.MultiplyAdds, x.Largest, products, largest)
		}
		if again := p.find(); !reflect.DeepEqual(x, again) {
			t.Errorf("%d factors: the second search found another tree", len(p.Factors))
		}
	}
}

// TestChain compares chains of matrices with the best order, by the classical dynamic program.
func TestChain(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, n := range []int{20, 100, 250} {
		p := &Problem{Seconds: 1, Result: []int{0, n}}
		for k := range n + 1 {
			p.Sizes = append(p.Sizes, float64(2+r.IntN(60)))
			if k < n {
				p.Factors = append(p.Factors, Factor{[]int{k, k + 1}, 1})
			}
		}
		best := make([][]float64, n)
		for i := n - 1; i >= 0; i-- {
			best[i] = make([]float64, n)
			for j := i + 1; j < n; j++ {
				best[i][j] = math.Inf(1)
				for k := i; k < j; k++ {
					best[i][j] = min(best[i][j],
						best[i][k]+best[k+1][j]+p.Sizes[i]*p.Sizes[k+1]*p.Sizes[j+1])
				}
			}
		}
		if got, want := Find(p).MultiplyAdds, best[0][n-1]; got > 1.05*want {
			t.Errorf("%d matrices: got %g multiply-adds, want about %g", n, got, want)
		}
	}
}

// TestGrid checks that the contraction of a square lattice of 2 by 2 tensors goes along it.
func TestGrid(t *testing.T) {
	const n = 10
	p := &Problem{Seconds: 1}
	number := map[string]int{}
	edge := func(i, j int, to string) int {
		key := fmt.Sprint(i, j, to)
		if _, ok := number[key]; !ok {
			number[key] = len(number)
			p.Sizes = append(p.Sizes, 2)
		}
		return number[key]
	}
	for i := range n {
		for j := range n {
			f := Factor{Density: 1}
			if i > 0 {
				f.Vars = append(f.Vars, edge(i-1, j, "down"))
			}
			if i < n-1 {
				f.Vars = append(f.Vars, edge(i, j, "down"))
			}
			if j > 0 {
				f.Vars = append(f.Vars, edge(i, j-1, "right"))
			}
			if j < n-1 {
				f.Vars = append(f.Vars, edge(i, j, "right"))
			}
			p.Factors = append(p.Factors, f)
		}
	}
	// Row by row, each of the 100 steps has at most 2^12 multiply-adds.
	if got := Find(p).MultiplyAdds; got > 100<<11 {
		t.Errorf("got %g multiply-adds, want at most %d", got, 100<<11)
	}
}

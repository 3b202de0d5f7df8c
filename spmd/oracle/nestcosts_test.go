package oracle

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"distaff/codegen"
	"distaff/codegen/interp"
	"distaff/codegen/notation"
	"distaff/io/tcs"
)

// directCost matches the cost of a single loop nest in a description of contractions.
var directCost = regexp.MustCompile(`(?m)^direct .* cost ([0-9.e+-]+)`)

// longProduct returns a product of n tensors of one to three modes.
func (g *generator) longProduct(n int) *notation.Stmt {
	all := []string{"i", "j", "k", "l", "m", "n", "o", "p", "q", "r"}
	g.pool = all[:min(3+g.rand.IntN(n+1), len(all))]
	s := &notation.Stmt{LHS: &notation.Access{Name: "A"}}
	for k := range n {
		a := &notation.Access{Name: string(rune('B' + k)), Vars: g.vars(1 + g.pick(15, 60, 25))}
		g.used = append(g.used, a)
		if s.RHS == nil {
			s.RHS = a
		} else {
			s.RHS = &notation.Binary{Op: '*', X: s.RHS, Y: a}
		}
	}
	for _, v := range notation.FreeVars(s.RHS) {
		if g.chance(0.3) && len(s.LHS.Vars) < 3 {
			s.LHS.Vars = append(s.LHS.Vars, v)
		}
	}
	back, err := notation.Parse(s.String())
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	return back
}

// enlarge multiplies all sizes by times. If even is true, all coordinates are drawn again.
// Otherwise equal coordinates of different tensors remain equal.
func (c *Case) enlarge(r *rand.Rand, times int64, even bool) {
	for _, t := range c.Tensors {
		for m := range t.Dims {
			t.Dims[m] *= times
		}
		for _, e := range t.Entries {
			for m := range e.Coord {
				if e.Coord[m] *= times; even {
					e.Coord[m] = r.Int64N(t.Dims[m])
				}
			}
		}
		t.Entries = storable(t.Format, t.Entries)
	}
}

// nestCase generates a product of n tensors. If large is true, its sizes are about 2^26 times as
// large as in other tests, with equally many entries. even is a parameter of enlarge.
func nestCase(r *rand.Rand, n int, large, even bool) *Case {
	for {
		g := &generator{rand: r,
			o: Options{MaxPoints: 50_000, Denser: true, Exact: true}.withDefaults()}
		if large {
			g.o.Kinds = "suqc"
		}
		s := g.longProduct(n)
		if notation.Check(s) != nil {
			continue
		}
		c := g.data(s)
		c.Variant = 16 // the compiler knows the true numbers of entries, and there is one thread
		if large {
			for l := range c.Tensors[0].Format.Levels {
				c.Tensors[0].Format.Levels[l] = 's'
			}
			c.enlarge(r, 1<<26, even)
		}
		if _, err := c.Prepare(); err == nil {
			return c
		}
	}
}

// nestSteps returns the predicted cost of a case's single loop nest, and the number of iterations
// that its loops ran. ok is false if an operand is converted, because the loops do not include that
// work.
func nestSteps(c *Case) (cost float64, ran int64, ok bool, err error) {
	p, err := c.Prepare()
	if err != nil {
		return 0, 0, false, err
	}
	leaf, err := compileAs(p, "leaf", func(r *codegen.Request) error {
		r.Ask.Network = "direct"
		return nil
	})
	if err != nil {
		return 0, 0, false, err
	}
	defer leaf.close()
	if slices.ContainsFunc(leaf.unit.Args, func(a codegen.Arg) bool { return a.Convert }) {
		return 0, 0, false, nil
	}
	m := directCost.FindStringSubmatch(leaf.unit.Network())
	if m == nil {
		return 0, 0, false, fmt.Errorf("no cost in\n%s", leaf.unit.Network())
	}
	if cost, err = strconv.ParseFloat(m[1], 64); err != nil {
		return 0, 0, false, err
	}
	prog, err := interp.Compile(leaf.unit.Func)
	if err != nil {
		return 0, 0, false, err
	}
	_, err = leaf.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		return interpret(prog, args, bounds, interp.Env{Threads: 1, Seed: 1, Steps: 2e7, Ran: &ran},
			leaf.unit.Result.Format.AllDense() || leaf.unit.Result.Shares >= 0)
	})
	return cost, ran, true, err
}

// aside is the approximate number of iterations of the loops that combine the sums of threads.
const aside = 400

// TestNestCosts compares the cost of a single loop nest with the number of iterations that its
// loops run. The cost may be too low if different tensors have equal coordinates although they use
// only a tiny part of their modes.
func TestNestCosts(t *testing.T) {
	t.Parallel()
	n := uint64(1000)
	if *nFlag > 0 {
		n = *nFlag
	}
	var ratios []float64
	large := 0
	for k := *firstFlag; k < *firstFlag+n; k++ {
		r := Rand(*seedFlag, k)
		kind := r.IntN(5) // 0: large sizes with equal coordinates; 1: large sizes with other ones
		c := nestCase(r, 2+r.IntN(9), kind < 2, kind == 1)
		cost, ran, ok, err := nestSteps(c)
		if err != nil {
			t.Fatalf("seed %d, case %d: %v\n%s", *seedFlag, k, err, c.Text())
		}
		if !ok {
			continue
		}
		if (cost+10)/float64(ran+10) > 1000 {
			t.Errorf("seed %d, case %d: the cost %g is far above %d iterations of\n%s", *seedFlag, k,
				cost, ran, c.Text())
		}
		// Terms with an empty operand are left out before a leaf runs.
		empty := slices.ContainsFunc(c.Tensors,
			func(t *Tensor) bool { return t.Input && len(t.Entries) == 0 })
		if kind > 0 && !empty && max(cost, float64(ran)) > aside {
			ratios = append(ratios, (cost+aside)/(float64(ran)+aside))
		}
		if kind < 2 {
			large++
		}
	}
	slices.Sort(ratios)
	at := func(share float64) float64 { return ratios[int(share*float64(len(ratios)))] }
	far := 0
	for _, x := range ratios {
		if x < 1./30 || x > 30 {
			far++
		}
	}
	t.Logf("%d products, %d of large sizes: the cost is %.2g, %.2g, %.2g, %.2g and %.2g times the "+
		"iterations at 1%%, 25%%, 50%%, 75%% and 99%%, and %d times off by more than 30", len(ratios),
		large, at(0.01), at(0.25), at(0.5), at(0.75), at(0.99), far)
	if at(0.5) < 0.5 || at(0.5) > 2 || far*100 > len(ratios) {
		t.Error("want a median within 2, and 99% within 30")
	}
	if len(ratios) < int(n)/12 || large < int(n)/20 {
		t.Errorf("%d products, %d of large sizes, of %d draws", len(ratios), large, n)
	}
}

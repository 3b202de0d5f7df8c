package network

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"distaff/codegen/diag"
	"distaff/codegen/format"
	"distaff/codegen/strategy"
)

func tensor(name, levels string, nnz int64, counts ...int64) strategy.Tensor {
	f := format.Format{}
	for k := range levels {
		f.Levels = append(f.Levels, format.Kind(levels[k]))
		f.Order = append(f.Order, k)
	}
	return strategy.Tensor{Name: name, Format: f, NNZ: nnz, Counts: counts}
}

func factor(t strategy.Tensor, vars ...string) Factor {
	return Factor{Text: t.Name, Accesses: []Access{{Tensor: t, Vars: vars}}}
}

// randomProblem is a product of up to most tensors with up to as many variables as names has letters.
func randomProblem(r *rand.Rand, most int, names string) *Problem {
	p := &Problem{Sizes: map[string]int64{}, MaxOrder: -1, Exact: r.IntN(2) == 0}
	for _, v := range strings.Split(names, "") {
		p.Sizes[v] = 2 + r.Int64N(60)
	}
	for k := range most {
		order := min(1+r.IntN(3), len(names))
		levels, vars, space := "", []string{}, 1.0
		for _, v := range r.Perm(len(names))[:order] {
			vars = append(vars, names[v:v+1])
			levels += string("dss"[r.IntN(3)])
			space *= float64(p.Sizes[names[v:v+1]])
		}
		nnz := int64(space)
		if strings.Contains(levels, "s") {
			nnz = 1 + r.Int64N(int64(space))
		}
		p.Factors = append(p.Factors, factor(tensor(string(rune('A'+k)), levels, nnz), vars...))
	}
	for v := range strings.SplitSeq(names, "") {
		if r.IntN(3) == 0 {
			p.Left = append(p.Left, v)
		}
	}
	return p
}

// exhaustive is the least cost of all sequences of loops and producers: every order of
// loops, and every item contracted at every place, each sequence by itself.
func (s *search) exhaustive(x state) float64 {
	least := math.Inf(1)
	vars := s.loopsOf(x)
	if x.bound == vars {
		least = 0
	}
	for v := range s.vars {
		if vars.has(v) && !x.bound.has(v) && s.allowed(x.items, x.bound, v) {
			least = min(least, s.loop(x, vars, v)+s.exhaustive(state{x.items, x.bound | 1<<v}))
		}
	}
	s.producers(x, func(made set) {
		own, rest := x.parted(made)
		cost, share := s.makeCost(own, x.others(made), x.bound)
		inside := s.exhaustive(state{own, x.bound})
		if math.IsInf(inside, 1) {
			return
		}
		if inside *= share; x.bound == 0 {
			inside *= 1 + serialCost
		}
		least = min(least, cost+inside+s.exhaustive(state{rest, x.bound}))
	})
	return least
}

// TestExhaustive: no sequence of loops and producers costs less than what the search finds.
func TestExhaustive(t *testing.T) {
	made := 0
	for k := range uint64(120) {
		r := rand.New(rand.NewPCG(3, k))
		p := randomProblem(r, 2+r.IntN(2), "ijkl"[:2+r.IntN(3)])
		p.Keep = true
		m := newModel(p)
		s := &search{model: m}
		want := s.exhaustive(m.whole())
		q, _ := newModel(p).within(maxStates)
		switch {
		case q == nil && math.IsInf(want, 1):
			continue
		case q == nil || math.Abs(q.Cost-want) > 1e-6*want:
			t.Fatalf("case %d: got %+v, want a cost of %g", k, q, want)
		}
		if !q.Whole() {
			made++
		}
	}
	if made < 10 {
		t.Errorf("%d plans have intermediates", made)
	}
}

// TestLarge: products of up to eight tensors have a plan soon, with a bound where a beam finds it.
func TestLarge(t *testing.T) {
	beams := 0
	for k := range uint64(3) {
		p := randomProblem(rand.New(rand.NewPCG(5, k)), 8, "abcdefghij")
		p.Keep = true
		for f := range p.Factors { // of storage that serves any loops
			a := &p.Factors[f].Accesses[0]
			a.Tensor = tensor(a.Tensor.Name, strings.Repeat("d", len(a.Vars)), a.Tensor.NNZ)
		}
		start := time.Now()
		q := Search(p)
		if q == nil {
			t.Fatalf("case %d has no plan", k)
		}
		t.Log(time.Since(start), q.Sums())
		if q.Bound > 0 {
			beams++
			if q.Bound > q.Cost {
				t.Errorf("the bound %g is above the cost %g", q.Bound, q.Cost)
			}
		}
	}
	if beams == 0 {
		t.Error("no beam")
	}
}

// runningExample is that of CoNST, section 4.
func runningExample() *Problem {
	p := &Problem{MaxOrder: -1, Left: []string{"j", "k", "i"}, Sizes: map[string]int64{}}
	for v := range strings.SplitSeq("rjpqik", "") {
		p.Sizes[v] = 50
	}
	t := func(name string) strategy.Tensor { return tensor(name, "sss", 6000, 50, 2400, 6000) }
	p.Factors = []Factor{factor(t("A"), "p", "q", "i"), factor(t("B"), "r", "j", "p"), factor(t("C"), "r", "q", "k"), factor(t("D"), "r", "j", "k")}
	return p
}

// TestRunningExample: with intermediates of two variables at most, the source's tree has the source's loops.
func TestRunningExample(t *testing.T) {
	p := runningExample()
	var err error
	if p.Tree, err = ParseTree("((A*B)*C)*D"); err != nil {
		t.Fatal(err)
	}
	p.Tree.Bind(p.Factors)
	p.MaxOrder, p.Keep = 2, true
	text := p.Text(Search(p), "R")
	if want := "loops  r j {w(q,i): p q i} {w1(k,i): q k i} k i\n"; !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant %s in it", text, want)
	}
}

// TestTrees: what is no tree is refused at its place.
func TestTrees(t *testing.T) {
	for text, want := range map[string]string{"": "got the end, want the name of a tensor or a (", "A": "want a *", "A*": "got the end", "(A*B": "want a * or a )", "A*B)": "got ), want a * or the end", "A+B": "got +"} {
		_, err := ParseTree(text)
		var d *diag.Error
		if !errors.As(err, &d) || d.Code != diag.NetworkSyntax || !strings.Contains(d.Msg, want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	tree, err := ParseTree("(A * B1) * A")
	if err != nil {
		t.Fatal(err)
	}
	f := func(names ...string) (out []Factor) {
		for _, n := range names {
			out = append(out, Factor{Text: n})
		}
		return out
	}
	if extra, missing := tree.Bind(f("A", "A", "B1")); extra != nil || len(missing) > 0 {
		t.Errorf("got %v, %v", extra, missing)
	}
	if extra, _ := tree.Bind(f("A", "B1")); extra == nil || extra.Name != "A" || extra.At != 11 {
		t.Errorf("got %+v, want the second A", extra)
	}
	if _, missing := tree.Bind(f("A", "A", "B1", "C")); len(missing) != 1 || missing[0] != "C" {
		t.Errorf("got %v, want C", missing)
	}
}

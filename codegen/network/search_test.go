package network

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"distaff/codegen/analysis"
	"distaff/codegen/diag"
	"distaff/io/tensor"
)

func operandOf(name, levels string, nnz int64, counts ...int64) analysis.Tensor {
	f := tensor.Format{}
	for k := range levels {
		f.Levels = append(f.Levels, tensor.Kind(levels[k]))
		f.Order = append(f.Order, k)
	}
	return analysis.Tensor{Name: name, Format: f, NNZ: nnz, Counts: counts}
}

func factor(t analysis.Tensor, vars ...string) Factor {
	return Factor{Text: t.Name, Accesses: []Access{{Tensor: t, Vars: vars}}}
}

// randomProblem returns a random product of the given number of tensors. The kinds of levels are
// drawn from among, and the variables from the letters of names.
func randomProblem(r *rand.Rand, tensors int, names, among string) *Problem {
	p := &Problem{Sizes: map[string]int64{}, MaxOrder: -1, Exact: r.IntN(2) == 0}
	for _, v := range strings.Split(names, "") {
		p.Sizes[v] = 2 + r.Int64N(60)
	}
	for k := range tensors {
		order := min(1+r.IntN(3), len(names))
		levels, vars, space := "", []string{}, 1.0
		for _, v := range r.Perm(len(names))[:order] {
			vars = append(vars, names[v:v+1])
			levels += string(among[r.IntN(len(among))])
			space *= float64(p.Sizes[names[v:v+1]])
		}
		nnz := int64(space)
		if strings.Contains(levels, "s") {
			nnz = 1 + r.Int64N(max(int64(space)>>(4*r.IntN(2)), 1))
		}
		p.Factors = append(p.Factors, factor(operandOf(string(rune('A'+k)), levels, nnz), vars...))
	}
	for v := range strings.SplitSeq(names, "") {
		if r.IntN(3) == 0 {
			p.Left = append(p.Left, v)
		}
	}
	return p
}

// exhaustive finds the costs of all sequences of loops and producers: every order of loops, and
// every item contracted at every place. With shared, the rest of a state is searched only once for
// each way in which its items were made. The keys of shared distinguish these ways by the items'
// trees and by the variables that were bound when each item was made.
type exhaustive struct {
	*search
	shared map[string]totals // nil: the rest is searched again for each sequence
}

// totals holds the costs of sequences. It never drops one sequence in favour of another.
type totals map[spent]bool

func (list totals) least() float64 {
	least := math.Inf(1)
	for s := range list {
		least = min(least, s.cost())
	}
	return least
}

// names maps the items of a state to texts of how they were made.
type names map[item]string

func (e *exhaustive) best(x state, history names) totals {
	if e.shared == nil {
		return e.all(x, history)
	}
	key := fmt.Sprint(x.bound, slices.Sorted(maps.Values(history)))
	list, ok := e.shared[key]
	if !ok {
		list = e.all(x, history)
		e.shared[key] = list
	}
	return list
}

func (e *exhaustive) all(x state, history names) totals {
	list := totals{}
	vars := e.loopsOf(x)
	if x.bound == vars {
		list[spent{}] = true
	}
	if cost := e.gemmCost(x, vars); !math.IsInf(cost, 1) {
		list[spent{cost, cost}] = true
	}
	for v := range e.model.vars {
		if vars.has(v) && !x.bound.has(v) && e.model.allowed(x.items, x.bound, v) {
			own, often := e.loop(x, vars, v), e.waitFactor(x, v)
			for rest := range e.best(state{x.items, x.bound | 1<<v}, history) {
				list[spent{often * (own.loaded + rest.loaded), often * (own.moved + rest.moved)}] = true
			}
		}
	}
	e.producers(x, func(made set, own, rest []item) {
		share := e.share(x, made)
		cost := e.model.makeCost(own, share, x.bound)
		parts, left := names{}, names{}
		for _, it := range own {
			parts[it] = history[it]
		}
		for _, it := range rest {
			if left[it] = history[it]; left[it] == "" {
				left[it] = fmt.Sprint(x.bound, slices.Sorted(maps.Values(parts)))
			}
		}
		inside := e.best(state{slices.Clone(own), x.bound}, parts)
		if least := inside.least(); x.bound == 0 && !math.IsInf(least, 1) {
			inside = totals{unoverlapped(least): true}
		}
		begun := e.model.startCost(own, x.bound)
		for behind := range e.best(state{slices.Clone(rest), x.bound}, left) {
			for in := range inside {
				list[spent{cost + share*(in.loaded+begun.loaded) + behind.loaded,
					cost + share*in.moved + behind.moved}] = true
			}
		}
	})
	return list
}

// leastOf returns the least cost of a product over all conversions.
func leastOf(p *Problem, share bool) float64 {
	least := math.Inf(1)
	m := newModel(p)
	for _, c := range m.conversions() {
		m.convert(c.accesses)
		e := &exhaustive{search: &search{model: m}}
		if share {
			e.shared = map[string]totals{}
		}
		x, history := m.whole(), names{}
		for _, it := range x.items {
			history[it] = fmt.Sprint("factor", it.factors.first())
		}
		least = min(least, c.cost+e.best(x, history).least())
	}
	return least
}

// TestExhaustive checks that no sequence of loops and producers, with any set of conversions, costs
// less than the plan of the search. Products of up to three tensors with four variables are
// searched sequence by sequence. Products of up to four tensors with five variables share the rest
// of equal sequences.
func TestExhaustive(t *testing.T) {
	made, converted, cheap, gemms := 0, 0, 0, 0
	for k := range uint64(420) {
		r := rand.New(rand.NewPCG(3, k))
		share := k >= 120
		tensors, vars := 2+r.IntN(2), "ijkl"[:2+r.IntN(3)]
		if share {
			tensors, vars = 3+r.IntN(2), "ijklm"[:4+r.IntN(2)]
		}
		among := [...]string{"dss", "s"}[k/2%2]
		if k%4 == 0 {
			among = "d"
		}
		p := randomProblem(r, tensors, vars, among)
		p.Keep = k%2 == 0
		if k%4 == 0 {
			p.Gemm = func(rows, cols, terms float64) float64 { return rows * cols * terms / 100 }
			for f := range p.Factors {
				p.Factors[f].Matrix = true
			}
		}
		want := leastOf(p, share)
		q, _ := newModel(p).within(math.MaxInt)
		if q != nil {
			q.Cost -= q.Serial * min(q.Serial/waitingCost, maxWaiting) // the search leaves it out
		}
		switch {
		case q == nil && math.IsInf(want, 1):
			continue
		case q == nil || math.Abs(q.Cost-want) > 1e-6*want:
			t.Fatalf("case %d: got %+v, want a cost of %g", k, q, want)
		}
		if !q.IsSingleNest() {
			made++
		}
		q.Root.Each(func(c *Contraction) {
			if c.Gemm != nil {
				gemms++
			}
		})
		if slices.ContainsFunc(q.Converted,
			func(list []bool) bool { return slices.Contains(list, true) }) {
			converted++
			p.Keep = true
			if kept, _ := newModel(p).within(math.MaxInt); kept != nil {
				cheap++
				if kept.Cost < q.Cost {
					t.Errorf("case %d: %g without conversions, %g with", k, kept.Cost, q.Cost)
				}
			}
		}
	}
	if made < 100 || converted < 10 || cheap < 5 || gemms < 5 {
		t.Errorf(
			"%d plans have intermediates, %d convert, %d of these though they need not; %d contractions are products of matrices", made, converted, cheap, gemms)
	}
}

// exactProblem returns a random product of the largest size that is always searched exactly.
func exactProblem(k uint64) *Problem {
	p := randomProblem(rand.New(rand.NewPCG(9, k)), exactFactors, "abcdefgh"[:exactVars], "dss")
	p.Keep = k%2 == 0
	return p
}

// TestExact checks that the largest products that the documentation promises are searched exactly.
func TestExact(t *testing.T) {
	for k := range uint64(12) {
		if q := Search(exactProblem(k)); q == nil && k%2 == 1 || q != nil && q.Bound > 0 {
			t.Errorf("case %d: got %+v, want a plan that no other is below", k, q)
		}
	}
}

// TestSideBySide checks that threads that search conversions in parallel find the same plan as one
// thread that searches the conversions in order.
func TestSideBySide(t *testing.T) {
	converted := 0
	for k := uint64(1); k < 30; k += 2 {
		want, all := newModel(exactProblem(k)).within(math.MaxInt - 1)
		got, _ := newModel(exactProblem(k)).within(math.MaxInt)
		if !all || !reflect.DeepEqual(got, want) {
			t.Errorf("case %d: got %+v, want %+v", k, got, want)
		}
		if want != nil && slices.ContainsFunc(want.Converted,
			func(list []bool) bool { return slices.Contains(list, true) }) {
			converted++
		}
	}
	if converted < 3 {
		t.Errorf("%d plans convert something, want 3", converted)
	}
}

// BenchmarkSearch searches products of five tensors with eight variables and reports the slowest
// search.
func BenchmarkSearch(b *testing.B) {
	slowest := time.Duration(0)
	k := uint64(0)
	for b.Loop() {
		start := time.Now()
		Search(exactProblem(k))
		slowest = max(slowest, time.Since(start))
		k++
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
}

// TestLarge checks that products of up to eight tensors soon have a plan. A plan from a beam must
// have a bound.
func TestLarge(t *testing.T) {
	beams := 0
	for k := range uint64(3) {
		p := randomProblem(rand.New(rand.NewPCG(5, k)), 8, "abcdefghij", "dss")
		p.Keep = true
		for f := range p.Factors { // with a storage that any order of loops can walk
			a := &p.Factors[f].Accesses[0]
			a.Tensor = operandOf(a.Tensor.Name, strings.Repeat("d", len(a.Vars)), a.Tensor.NNZ)
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

// runningExample returns the example of CoNST, section 4.
func runningExample() *Problem {
	p := &Problem{MaxOrder: -1, Left: []string{"j", "k", "i"}, Sizes: map[string]int64{}}
	for v := range strings.SplitSeq("rjpqik", "") {
		p.Sizes[v] = 50
	}
	t := func(name string) analysis.Tensor { return operandOf(name, "sss", 6000, 50, 2400, 6000) }
	p.Factors = []Factor{factor(t("A"), "p", "q", "i"), factor(t("B"), "r", "j", "p"),
		factor(t("C"), "r", "q", "k"), factor(t("D"), "r", "j", "k")}
	return p
}

// TestRunningExample checks that, with intermediates of at most two variables, the tree of the
// example has the loops of the publication.
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

// TestSerial checks that the cost of an intermediate outside of all loops counts as serial if one
// thread makes it: if its outermost loop is over none of its variables, if most of its places are
// empty, or if little is added to it. Scalars and intermediates that threads share are not serial.
func TestSerial(t *testing.T) {
	for _, c := range []struct {
		name, levels string
		vars         []string // the variables of B; the other factors are C(j,k) and x(k)
		nnz          int64    // of C
		rows, terms  int64
		tree         string
		serial       bool
	}{
		{"shared, with marks", "ds", []string{"i", "j"}, 2_000_000, 2000, 2000, "B*(C*x)", false},
		{"an array", "dd", []string{"i", "j"}, 4_000_000, 2000, 2000, "B*(C*x)", false},
		{"little is added", "ds", []string{"i", "j"}, 4000, 2000, 2000, "B*(C*x)", true},
		{"most places are empty", "ss", []string{"i", "j"}, 100_000, 1_000_000, 100, "B*(C*x)", true},
		{"over the sum first", "ss:1,0", []string{"i", "j"}, 2_000_000, 2000, 2000, "B*(C*x)", true},
		{"a number", "ds", []string{"i"}, 2_000_000, 2000, 2000, "B*(C*x)", false},
	} {
		levels, order, _ := strings.Cut(c.levels, ":")
		m := operandOf("C", levels, c.nnz)
		if order != "" {
			m.Format.Order = []int{1, 0}
		}
		p := &Problem{MaxOrder: -1, Left: []string{"i"}, Keep: true,
			Sizes: map[string]int64{"i": 2000, "j": c.rows, "k": c.terms}}
		p.Factors = []Factor{factor(operandOf("B", "ds"[:len(c.vars)], 2000*min(c.rows, 100)), c.vars...),
			factor(m, "j", "k"), factor(operandOf("x", "d", c.terms), "k")}
		var err error
		if p.Tree, err = ParseTree(c.tree); err != nil {
			t.Fatal(err)
		}
		p.Tree.Bind(p.Factors)
		q := Search(p)
		if q == nil {
			t.Errorf("%s: no plan", c.name)
		} else if (q.Serial > 0) != c.serial || q.Serial > q.Cost {
			t.Errorf("%s: %g of %g are serial in\n%s", c.name, q.Serial, q.Cost, p.Text(q, "y"))
		}
	}
}

// TestAppendedSums checks that a result that is appended to in another order than its own is
// charged one addition for each sum of the loops inside, and not for each product.
func TestAppendedSums(t *testing.T) {
	p := &Problem{MaxOrder: -1, Left: []string{"i", "j"}, Ordered: 2, Order: []string{"j", "i", "k"},
		Sizes: map[string]int64{"i": 10, "j": 10, "k": 1000}}
	p.Factors = []Factor{factor(operandOf("A", "dd", 10000), "j", "k"),
		factor(operandOf("B", "dd", 10000), "i", "k")}
	outer := Search(p)
	p.Order = []string{"k", "j", "i"}
	if inner := Search(p); outer.Cost > 5e4 || inner.Cost < 4e5 {
		t.Errorf("the sum in the innermost loop costs %g, want less than a step for each of the 1e5 "+
			"products; in the outermost %g, want more than four", outer.Cost, inner.Cost)
	}
}

// TestConverting: the cost of converting an access counts no more entries than its tensor has
// positions or its modes have coordinates, even if the tensor claims more.
func TestConverting(t *testing.T) {
	sizes := map[string]int64{"i": 3, "j": 5}
	for _, c := range []struct {
		tensor analysis.Tensor
		want   float64 // entries
	}{
		{operandOf("A", "ss", 7), 7},
		{operandOf("A", "ss", 1<<30), 15},
		{operandOf("A", "ss", 1<<30, 2, 4), 4},
		{operandOf("A", "uc", 1<<30), 1 << 30}, // entries may repeat
		{operandOf("A", "uc", 1<<30, 9, 9), 9},
		{operandOf("A", "ss", 0), 1},
	} {
		a := Access{Tensor: c.tensor, Vars: []string{"i", "j"}}
		if got := a.Converting(sizes); got != convertCost*c.want {
			t.Errorf("%v: got %g, want that of %g entries", c.tensor, got, c.want)
		}
	}
}

// TestTreeOfPlan checks that a search for the tree of the best plan gives a plan of the same cost,
// and that a search over trees only, as a beam does it, does so too.
func TestTreeOfPlan(t *testing.T) {
	nested := 0
	for k := range uint64(1000) {
		p := randomProblem(rand.New(rand.NewPCG(11, k)), 4, "ijklm", "dss")
		p.Keep = k%2 == 0
		q := Search(p)
		if q == nil || q.IsSingleNest() {
			continue
		}
		text, inner := p.treeOf(q.Root), false
		if strings.Contains(text, "sum(") {
			continue // the text of a tree cannot express a sum of one factor
		}
		q.Root.Each(func(c *Contraction) {
			inner = inner || c != q.Root && len(c.Items) > 0 &&
				slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Part != nil })
		})
		if inner {
			nested++
		}
		var err error
		if p.Tree, err = ParseTree(text); err != nil {
			t.Fatalf("case %d: %v", k, err)
		}
		p.Tree.Bind(p.Factors)
		if asked := Search(p); asked == nil || asked.Cost > q.Cost*sameCost {
			t.Errorf("case %d: %s costs %g, and asked for %+v", k, text, q.Cost, asked)
		}
	}
	if nested < 10 {
		t.Errorf("%d plans make an intermediate inside of the loops of another", nested)
	}
}

// TestTrees checks that a text that is not a tree is refused at the position of its error.
func TestTrees(t *testing.T) {
	for text, want := range map[string]string{"": "got the end, want the name of a tensor or \"(\"",
		"A": "want auto, direct, pairwise, or a tree of at least two factors, as in (A*B)*C", "A*": "got the end",
		"(A*B": "want \"*\" or \")\"",
		"A*B)": "got ), want \"*\" or the end of the tree", "A+B": "got +"} {
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

// TestPrintedBound checks that a lower bound is printed only if it is at least a hundredth of the
// cost.
func TestPrintedBound(t *testing.T) {
	for bound, want := range map[float64]bool{0: false, 9: false, 10: true, 500: true} {
		q := &Plan{Cost: 1000, Bound: bound}
		if got := strings.Contains(q.Sums(), "no plan costs less"); got != want {
			t.Errorf("a bound of %g of a cost of %g is printed: %v, want %v", bound, q.Cost, got, want)
		}
	}
}

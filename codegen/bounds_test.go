package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/codegen/provenance"
	"distaff/io/tensor"
)

// unnamed returns a form unchanged. With numbers, no form needs a name.
func unnamed(_ string, f provenance.Form) provenance.Form { return f }

// size is the symbol of a variable's size.
type size string

func (s size) String() string { return "size of " + string(s) }

// visits records the points that the loops of a scheduled statement visit, in order. It computes
// the bounds of loops as numbers, with the forms of package provenance.
type visits struct {
	t      *testing.T
	stmt   cin.Stmt
	g      *provenance.Graph
	sizes  map[string]int64
	vars   []string // the variables of a point's coordinates
	points [][]int64

	coord    map[string]int64
	narrowed map[string]*provenance.Narrowed
	counting map[string]*provenance.Counting
	natural  int // number of visited loops of components in natural order
	counted  int
}

func (v *visits) span(x string) provenance.Range {
	return provenance.Range{Lo: provenance.Const(0), Hi: provenance.Of(size(x)), Size: -1}
}

func (v *visits) number(f provenance.Form) int64 {
	return provenance.Eval(f, func(s provenance.Symbol) int64 { return v.sizes[string(s.(size))] })
}

func (v *visits) visit(s cin.Stmt) {
	switch s := s.(type) {
	case *cin.SuchThat:
		v.visit(s.Body)
	case *cin.Assign:
		p := make([]int64, len(v.vars))
		for k, x := range v.vars {
			p[k] = v.coord[x]
		}
		v.points = append(v.points, p)
	case *cin.Forall:
		c := v.g.Component(s.Var)
		switch {
		case c == nil:
			for x := range v.sizes[s.Var] {
				v.coord[s.Var] = x
				v.visit(s.Body)
			}
		case cin.Natural(v.stmt, v.g, c):
			v.narrow(s, c)
		default:
			v.count(s, c)
		}
	default:
		v.t.Fatalf("no statement of one nest: %s", cin.String(s))
	}
}

// narrow visits a loop of a component in natural order.
func (v *visits) narrow(f *cin.Forall, c *provenance.Component) {
	v.natural++
	n := v.narrowed[c.Top]
	if n == nil {
		n = v.g.Narrow(c, v.span, unnamed)
	}
	if n.Leaf != f.Var {
		v.t.Fatalf("a loop over %s where %s is next", f.Var, n.Leaf)
	}
	for x := v.number(n.Range.Lo); x < v.number(n.Range.Hi); x++ {
		if n.Range.Size >= 0 && v.number(n.Range.Hi)-v.number(n.Range.Lo) != n.Range.Size {
			v.t.Fatalf("%s has %v values, of %d that are known", f.Var, n.Range, n.Range.Size)
		}
		if len(n.Tiles) > 0 {
			v.narrowed[c.Top] = n.Enter(provenance.Const(x))
		} else {
			for k, at := range n.At(provenance.Const(x)) {
				v.coord[n.Roots[k]] = v.number(at)
			}
		}
		v.visit(f.Body)
	}
	v.narrowed[c.Top] = n
	if f.Var == c.Leaves[0] {
		delete(v.narrowed, c.Top)
	}
}

// count visits a loop of a component whose loops count iterations.
func (v *visits) count(f *cin.Forall, c *provenance.Component) {
	v.counted++
	id := c.Roots[0]
	outer := v.counting[id]
	s := outer
	if s == nil {
		s = &provenance.Counting{G: v.g, N: map[string]provenance.Form{}}
		for _, r := range c.Roots {
			s.N[r] = v.span(r).Extent()
		}
		for _, r := range v.g.Relations() {
			if s.N[r.From[0]] != nil {
				s.Count(&r, unnamed)
			}
		}
	}
	end, sure := s.N[f.Var], map[string]bool{}
	if len(s.Value) == len(c.Leaves)-1 {
		end, sure = s.Reach(f.Var, end, unnamed)
	}
	for x := range v.number(end) {
		next := s.Bind(f.Var, provenance.Const(x))
		v.counting[id] = next
		if len(next.Value) < len(c.Leaves) || v.recover(next, sure, c) {
			v.visit(f.Body)
		}
	}
	v.counting[id] = outer
}

// recover finds the coordinates of a component's roots. It returns false if a guard excludes them.
func (v *visits) recover(s *provenance.Counting, sure map[string]bool,
	c *provenance.Component) bool {
	for _, r := range slices.Backward(v.g.Relations()) {
		if s.N[r.From[0]] == nil {
			continue
		}
		guarded := s.Recover(&r, sure, unnamed)
		past := v.number(s.Value[r.From[0]]) >= v.number(s.N[r.From[0]])
		if guarded && past {
			return false
		}
		if past && r.Kind != provenance.Fuse {
			v.t.Fatalf("%s is past its range, and no guard asks", r.From[0])
		}
	}
	for _, r := range c.Roots {
		v.coord[r] = v.number(s.Value[r])
	}
	return true
}

// logged changes a leaf so that, for each value that it stores, it also appends the value's place
// in the result to a log. The log is the values of an additional argument.
func logged(u *codegen.Unit) {
	var result *ir.Array
	for _, p := range u.Func.Params {
		if p.Slot == (ir.Slot{Arg: 0, Field: ir.Vals}) {
			result = p.A
		}
	}
	log, n := ir.NewArray("log", tensor.Int64), ir.NewVar("logged", tensor.Int64)
	u.Func.Params = append(u.Func.Params,
		ir.Param{Slot: ir.Slot{Arg: len(u.Args), Field: ir.Vals}, A: log})
	ir.Walk(u.Func.Body, func(s ir.Stmt) {
		b, ok := s.(*ir.Block)
		if !ok {
			return
		}
		var list []ir.Stmt
		for _, t := range b.List {
			list = append(list, t)
			if x, ok := t.(*ir.Store); ok && x.A == result {
				list = append(list, &ir.Store{A: log, Index: n, X: x.Index},
					&ir.Assign{V: n, Accumulate: true, X: ir.Int(1)})
			}
		}
		b.List = list
	})
	u.Func.Body.List = append([]ir.Stmt{&ir.Declare{V: n, Init: ir.Int(0)}}, u.Func.Body.List...)
}

// interpreted returns the points that the leaf stores to, in that order.
func interpreted(t *testing.T, u *codegen.Unit, dims []int64) [][]int64 {
	logged(u)
	n := int64(1)
	var levels []interp.Level
	var bounds [][2]int64
	for _, d := range dims {
		n *= d
		levels = append(levels, interp.Level{Size: d})
		bounds = append(bounds, [2]int64{0, d})
	}
	args := []interp.Arg{
		{Levels: levels, Vals: interp.Array{Data: make([]float64, n), Fresh: true}},
		{Levels: levels, Vals: interp.Array{Data: make([]float64, n)}},
		{Vals: interp.Array{Data: slices.Repeat([]int64{-1}, int(n)+1)}},
	}
	prog, err := interp.Compile(u.Func)
	if err != nil {
		t.Fatal(err)
	}
	if fail, err := prog.Run(args, bounds, interp.Env{Threads: 1, Steps: 5e6}); err != nil ||
		fail != nil {
		t.Fatal(err, fail)
	}
	var out [][]int64
	for _, at := range args[2].Vals.Data.([]int64) {
		if at < 0 {
			break
		}
		p := make([]int64, len(dims))
		for k := len(dims) - 1; k >= 0; k-- {
			p[k], at = at%dims[k], at/dims[k]
		}
		out = append(out, p)
	}
	return out
}

// TestBoundsAsNumbers compares, for random schedules, the points that the bounds of index variables
// give as numbers with the points that the lowered loops visit, including their order.
func TestBoundsAsNumbers(t *testing.T) {
	natural, counted, guarded := 0, 0, 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 5))
		vars := []string{"i", "j", "k"}[:1+rng.IntN(3)]
		s, err := notation.Parse(fmt.Sprintf("A(%[1]s) = B(%[1]s)", strings.Join(vars, ",")))
		if err != nil {
			t.Fatal(err)
		}
		r := codegen.Request{Statement: codegen.Statement{Stmt: s, ComputeType: tensor.Float64},
			Tensors: codegen.Tensors{All: map[string]codegen.Tensor{}, Sizes: map[string]int64{}},
			Ask:     codegen.Ask{Verify: true}}
		dims := make([]int64, len(vars))
		for k, x := range vars {
			dims[k] = int64(rng.IntN(9))
			if rng.IntN(3) > 0 {
				dims[k] += 2
			}
			r.Tensors.Sizes[x] = dims[k]
		}
		for _, name := range []string{"A", "B"} {
			r.Tensors.All[name] = codegen.Tensor{Format: tensor.DenseOf(len(vars)), Type: tensor.Float64,
				Dims: dims,
				NNZ:  -1}
		}
		r.Ask.Schedule = []string{"assemble(A,Append)"}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 1 + rng.IntN(6) {
			q := r
			q.Ask.Schedule = append(slices.Clone(r.Ask.Schedule), drawLoops(rng, u.CIN, r.Tensors.Sizes, n))
			if next, err := codegen.Compile(q); err == nil {
				r, u = q, next
			}
		}
		v := &visits{t: t, stmt: u.CIN, g: cin.Relations(u.CIN), sizes: r.Tensors.Sizes, vars: vars,
			coord:    map[string]int64{},
			narrowed: map[string]*provenance.Narrowed{}, counting: map[string]*provenance.Counting{}}
		v.visit(u.CIN)
		if strings.Contains(ir.Print(u.Func), "if ") {
			guarded++
		}
		natural, counted = natural+min(v.natural, 1), counted+min(v.counted, 1)
		got := interpreted(t, u, dims)
		if !slices.EqualFunc(got, v.points, slices.Equal[[]int64]) {
			t.Fatalf("seed %d: -s=%s with sizes %v: the loops visit\n%v\nand the bounds say\n%v\n%s", seed,
				strings.Join(r.Ask.Schedule, ","), r.Tensors.Sizes, got, v.points, cin.Pretty(u.CIN))
		}
		all := int64(1)
		for _, d := range dims {
			all *= d
		}
		slices.SortFunc(got, slices.Compare[[]int64])
		if got = slices.CompactFunc(got, slices.Equal[[]int64]); int64(len(got)) != all ||
			len(v.points) != len(got) {
			t.Fatalf("seed %d: -s=%s with sizes %v: %d visits to %d points of %d", seed,
				strings.Join(r.Ask.Schedule, ","), r.Tensors.Sizes, len(v.points), len(got), all)
		}
	}
	t.Logf("%d with loops in natural order, %d with loops that count, %d with guards", natural,
		counted, guarded)
	if natural < 60 || counted < 60 || guarded < 60 {
		t.Error("too few of a kind")
	}
}

// drawLoops returns a random command that changes loops. It may be refused.
func drawLoops(rng *rand.Rand, s cin.Stmt, sizes map[string]int64, n int) string {
	var vars []string
	cin.Walk(s, func(s cin.Stmt) {
		if f, ok := s.(*cin.Forall); ok {
			vars = append(vars, f.Var)
		}
	})
	k := rng.IntN(len(vars))
	v := vars[k]
	part := []int64{1, 2, 3, 4, 5, 300, 1 << 40}[rng.IntN(7)]
	switch rng.IntN(7) {
	case 0, 1:
		return fmt.Sprintf("split(%s,x%d,y%d,%d)", v, n, n, part)
	case 2:
		return fmt.Sprintf("divide(%s,x%d,y%d,%d)", v, n, n, part)
	case 3:
		return fmt.Sprintf("fuse(%s,%s,x%d)", v, vars[min(k+1, len(vars)-1)], n)
	case 4:
		if d, ok := sizes[v]; ok {
			return fmt.Sprintf("bound(%s,x%d,%d,MaxExact)", v, n, d)
		}
	}
	rng.Shuffle(len(vars), func(a, b int) { vars[a], vars[b] = vars[b], vars[a] })
	return "reorder(" + strings.Join(vars, ",") + ")"
}

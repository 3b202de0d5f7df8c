package oracle

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/algebra"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Options limits the cases that Generate draws. The zero value has the fewest limits.
type Options struct {
	MaxOperands int    // the most operands on the right side; 0 means 5
	MaxOrder    int    // the most modes of a tensor; 0 means 5
	MaxPoints   int64  // the most points of the iteration space of all variables; 0 means 4,000
	Kinds       string // the level kinds of operands; "" means all
	// Exact excludes values that depend on the order of evaluation: fractions, quotients,
	// infinities and NaN.
	Exact bool
	// Types are the types of tensors; nil means a mix of all types.
	Types []tensor.Type
	// Follow is the share of cases whose sparse result has the pattern of an operand's outer
	// levels. The runtime adds to their sparse blocks in place.
	Follow float64
	// Long is the share of cases where one variable of the result is much longer than all other
	// variables. Half of them are products of sparse matrices.
	Long float64
	// Plus is the share of cases that add a product to other terms, which have the result's
	// variables.
	Plus float64
	// Networks limits statements to products of 2 to 6 tensors, some of them with a second term.
	Networks bool
	Factors  bool // products of several tensors have 3 to 12 factors
	// Denser draws more entries, because a product of many sparse tensors has few nonzeros.
	Denser bool
	// Zeros is the share of floats that are -1, 0 or -0. It is also the share of formats whose last
	// level is dense although some other level is not, and the share of cases where the sign of a
	// zero in the result depends on how a sum is grouped.
	Zeros float64
}

func (o Options) withDefaults() Options {
	if o.MaxOperands == 0 {
		o.MaxOperands = 5
	}
	if o.MaxOrder == 0 {
		o.MaxOrder = 5
	}
	if o.MaxPoints == 0 {
		o.MaxPoints = 4000
	}
	if o.Kinds == "" {
		o.Kinds = tensor.Format{Levels: tensor.Kinds}.Letters()
	}
	return o
}

// Rand returns the random source of case number k of a seed.
func Rand(seed, k uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, k)) }

// Generate draws a case that Prepare accepts.
func Generate(r *rand.Rand, o Options) *Case {
	o = o.withDefaults()
	for {
		g := &generator{rand: r, o: o}
		var s *notation.Stmt
		switch {
		case o.Networks:
			s = g.network()
		case o.Follow > 0 && g.chance(o.Follow):
			s = g.following()
		case o.Long > 0 && g.chance(o.Long/2):
			s = g.product()
		case o.Zeros > 0 && g.chance(o.Zeros):
			s = g.zeroSum()
		case o.Plus > 0 && g.chance(o.Plus):
			s = g.productPlusTerms()
		default:
			s = g.statement()
		}
		if notation.Check(s) != nil {
			continue
		}
		c := g.data(s)
		if _, err := c.Prepare(); err == nil {
			return c
		}
	}
}

type generator struct {
	rand    *rand.Rand
	o       Options
	pool    []string                 // the variables that the statement may use
	formats map[string]tensor.Format // the formats that the statement requires, by tensor
	used    []*notation.Access       // the operands so far
	divides bool                     // the statement has a quotient
	long    string                   // the variable that must be the longest; "" if any may be
	sum     string                   // the variable that must be the second longest
}

func (g *generator) chance(p float64) bool { return g.rand.Float64() < p }

// pick draws an index; its probability is proportional to its weight.
func (g *generator) pick(weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := g.rand.IntN(total)
	for k, w := range weights {
		if n < w {
			return k
		}
		n -= w
	}
	panic("BUG: weights")
}

func (g *generator) statement() *notation.Stmt {
	all := []string{"i", "j", "k", "l", "m", "n"}
	g.pool = all[:2+g.pick(15, 35, 30, 15, 5)]
	operands := min(1+g.pick(15, 35, 27, 14, 9), g.o.MaxOperands)
	e := g.withIndices(g.withReductions(g.withCalls(g.expr(operands))))
	s := &notation.Stmt{LHS: &notation.Access{Name: "A"}, RHS: e,
		Accumulate: g.chance(0.1)}
	free := notation.FreeVars(s.RHS)
	g.rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	keep := []float64{0.2, 0.6, 0.6, 0.9}[g.rand.IntN(4)]
	for _, v := range free {
		if g.chance(keep) && len(s.LHS.Vars) < g.o.MaxOrder {
			s.LHS.Vars = append(s.LHS.Vars, v)
		}
	}
	if g.chance(0.06) && len(s.LHS.Vars) < g.o.MaxOrder {
		at := g.rand.IntN(len(s.LHS.Vars) + 1)
		s.LHS.Vars = slices.Insert(s.LHS.Vars, at, "z")
	}
	g.leftIndices(s)
	// Print and parse the statement, so that it equals its text in a case file.
	back, err := notation.Parse(s.String())
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	return back
}

// expr draws an expression of n operands.
func (g *generator) expr(n int) notation.Expr {
	var e notation.Expr
	if n == 1 {
		e = g.leaf()
	} else {
		left := 1 + g.rand.IntN(n-1)
		if g.chance(0.5) {
			left = n - 1 // the shape of a product of many factors
		}
		op := "*+-/"[g.pick(50, 25, 12, 10)]
		if g.o.Exact && op == '/' {
			op = '*'
		}
		g.divides = g.divides || op == '/'
		e = &notation.Binary{Op: op, X: g.expr(left), Y: g.expr(n - left)}
	}
	if g.chance(0.04) {
		e = &notation.Neg{X: e}
	}
	if free := notation.FreeVars(e); len(free) > 0 && g.chance(0.07) {
		g.rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
		e = &notation.Sum{Vars: free[:1+g.rand.IntN(min(2, len(free)))], X: e}
	}
	return e
}

// withCalls returns e with calls of functions in some places, in one of four expressions. What it
// draws depends on the text of e alone, so that all other draws are the same without it.
func (g *generator) withCalls(e notation.Expr) notation.Expr {
	h := fnv.New64()
	h.Write([]byte(notation.ExprString(e)))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	if r.IntN(4) > 0 {
		return e
	}
	function := func(args int) *algebra.Function {
		list := slices.DeleteFunc(slices.Clone(algebra.Functions), func(f *algebra.Function) bool {
			return f.Args != args || f.Internal || g.o.Exact && f.Int == nil
		})
		return list[r.IntN(len(list))]
	}
	var with func(e notation.Expr) notation.Expr
	with = func(e notation.Expr) notation.Expr {
		switch x := e.(type) {
		case *notation.Neg:
			e = &notation.Neg{X: with(x.X)}
		case *notation.Sum:
			e = &notation.Sum{Op: x.Op, Vars: x.Vars, X: with(x.X)}
		case *notation.Binary:
			y := &notation.Binary{Op: x.Op, X: with(x.X), Y: with(x.Y)}
			if e = y; r.IntN(6) == 0 {
				e = &notation.Call{Func: function(2), Args: []notation.Expr{y.X, y.Y}}
			}
		}
		if r.IntN(5) == 0 {
			e = &notation.Call{Func: function(1), Args: []notation.Expr{e}}
		}
		if a, ok := e.(*notation.Access); ok && r.IntN(8) == 0 {
			fill, _ := notation.ParseExprIn("-1", notation.Span{End: 2})
			e = &notation.Call{Func: algebra.Find("fill"), Args: []notation.Expr{a, fill}}
		}
		return e
	}
	return with(e)
}

// withReductions returns e with reductions other than sums in some places, in one of eight
// expressions. What it draws depends on the text of e alone, like the draws of withCalls.
func (g *generator) withReductions(e notation.Expr) notation.Expr {
	h := fnv.New64()
	h.Write([]byte(notation.ExprString(e)))
	r := rand.New(rand.NewPCG(h.Sum64(), 2))
	if r.IntN(8) > 0 {
		return e
	}
	op := func() *algebra.Reduction {
		return algebra.Reductions[1+r.IntN(len(algebra.Reductions)-1)]
	}
	var with func(e notation.Expr, odds int) notation.Expr
	with = func(e notation.Expr, odds int) notation.Expr {
		switch x := e.(type) {
		case *notation.Neg:
			e = &notation.Neg{X: with(x.X, 6)}
		case *notation.Sum:
			e = &notation.Sum{Op: op(), Vars: x.Vars, X: with(x.X, 6)}
		case *notation.Binary:
			e = &notation.Binary{Op: x.Op, X: with(x.X, 6), Y: with(x.Y, 6)}
		case *notation.Call:
			e = x.MapArgs(func(y notation.Expr) notation.Expr { return with(y, 6) })
		}
		if vars := notation.FreeVars(e); r.IntN(odds) == 0 && len(vars) > 0 {
			r.Shuffle(len(vars), func(a, b int) { vars[a], vars[b] = vars[b], vars[a] })
			s := &notation.Sum{Op: op(), Vars: vars[:1+r.IntN(min(2, len(vars)))], X: e}
			if e = s; s.Op.Stored != nil && r.IntN(2) == 0 && !g.o.Exact {
				s.Op, s.X = s.Op.Stored, both(s.X)
			}
		}
		return e
	}
	return with(e, 4)
}

// both returns e, or calls of both in place of the outermost sums of e.
func both(e notation.Expr) notation.Expr {
	if x, ok := e.(*notation.Binary); ok && x.Op == '+' {
		return &notation.Call{Func: algebra.Find("both"),
			Args: []notation.Expr{both(x.X), both(x.Y)}}
	}
	return e
}

// leftIndices gives the left side indices that are not variables, in one of eight statements. What
// it draws depends on the statement alone.
func (g *generator) leftIndices(s *notation.Stmt) {
	h := fnv.New64()
	h.Write([]byte(s.String()))
	r := rand.New(rand.NewPCG(h.Sum64(), 3))
	vars := slices.Clone(s.LHS.Vars)
	if r.IntN(8) > 0 || len(vars) == 0 {
		return
	}
	s.LHS.Index, s.LHS.Outside = make([]notation.Expr, len(vars)), make([]bool, len(vars))
	for m, v := range vars {
		var text string
		switch r.IntN(7) {
		case 0:
			text = fmt.Sprint(r.IntN(3))
		case 1:
			text = fmt.Sprintf("%s+%d", v, r.IntN(3))
		case 2:
			text = fmt.Sprintf("2*%s+%d", v, r.IntN(2))
		case 3:
			text = fmt.Sprintf("%s+%s", v, vars[r.IntN(len(vars))])
		case 4:
			s.LHS.Vars[m] = vars[r.IntN(len(vars))]
			continue
		default:
			continue
		}
		s.LHS.Vars[m], s.LHS.Index[m] = "", g.parse(text)
	}
}

// parse returns an expression. Names of index variables are not yet coordinates (notation.Resolve).
func (g *generator) parse(text string) notation.Expr {
	s, err := notation.ParseIn("A = "+text, notation.Span{Pos: 0, End: 4 + len(text)})
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	return s.RHS
}

// withIndices returns e with indices that are not variables in some places, and with index
// variables as numbers, in one of five expressions. What it draws depends on the text of e alone.
func (g *generator) withIndices(e notation.Expr) notation.Expr {
	h := fnv.New64()
	h.Write([]byte(notation.ExprString(e)))
	r := rand.New(rand.NewPCG(h.Sum64(), 4))
	free := notation.FreeVars(e)
	if len(free) == 0 || r.IntN(5) > 0 || strings.Contains(notation.ExprString(e), "stored(") {
		return e // package notation makes no such reduction of accesses with indices
	}
	index := func(v string) (text string, outside bool) {
		w := free[r.IntN(len(free))]
		n := r.IntN(3)
		switch r.IntN(8) {
		case 0:
			return fmt.Sprint(n), false
		case 1:
			return fmt.Sprintf("2*%s+%d", v, n), false
		case 2:
			return fmt.Sprintf("%s+%s", v, w), false
		case 3:
			return fmt.Sprintf("%d*%s+%s+%d", 1+n, w, v, r.IntN(2)), false
		case 4:
			return fmt.Sprintf("%s-%d", v, n), true
		case 5:
			return fmt.Sprintf("%d-%s", n+1, v), true
		case 6:
			return fmt.Sprintf("%s-%s+1", v, w), true
		}
		return fmt.Sprintf("%s+%d", v, n), r.IntN(3) == 0
	}
	return notation.MapExpr(e, func(a *notation.Access) notation.Expr {
		c := *a
		c.Vars = slices.Clone(a.Vars)
		c.Index, c.Outside = make([]notation.Expr, len(c.Vars)), make([]bool, len(c.Vars))
		for m, v := range c.Vars {
			if r.IntN(3) == 0 {
				var text string
				text, c.Outside[m] = index(v)
				c.Vars[m], c.Index[m] = "", g.parse(text)
			}
		}
		if r.IntN(8) == 0 {
			return &notation.Binary{Op: "*+-"[r.IntN(3)], X: &c,
				Y: &notation.Coordinate{Var: free[r.IntN(len(free))]}}
		}
		return &c
	})
}

func (g *generator) leaf() notation.Expr {
	switch {
	case g.chance(0.08):
		texts := []string{"1", "2", "3", "7", "2.0", "1e1", "0", "0.5", "1.25e-1"}
		if g.o.Exact {
			texts = texts[:7]
		}
		s, err := notation.Parse("A = " + texts[g.rand.IntN(len(texts))])
		if err != nil {
			panic("BUG: oracle: " + err.Error())
		}
		return s.RHS
	case g.chance(0.2) && len(g.used) > 0:
		// Use a tensor once more, with the same, permuted or other variables.
		old := g.used[g.rand.IntN(len(g.used))]
		a := &notation.Access{Name: old.Name, Vars: slices.Clone(old.Vars)}
		switch g.rand.IntN(3) {
		case 0:
			g.rand.Shuffle(len(a.Vars), func(x, y int) { a.Vars[x], a.Vars[y] = a.Vars[y], a.Vars[x] })
		case 1:
			a.Vars = g.vars(len(a.Vars))
		}
		return a
	}
	order := min(g.pick(8, 30, 34, 18, 7, 3), g.o.MaxOrder)
	a := &notation.Access{Name: string(rune('B' + len(g.used))), Vars: g.vars(order)}
	if order == 0 {
		a.Name = strings.ToLower(a.Name) + "0"
	}
	g.used = append(g.used, a)
	return a
}

// vars draws n variables, mostly distinct ones.
func (g *generator) vars(n int) []string {
	perm := g.rand.Perm(len(g.pool))
	var out []string
	for k := range n {
		if k < len(perm) && !g.chance(0.04) {
			out = append(out, g.pool[perm[k]])
		} else {
			out = append(out, g.pool[g.rand.IntN(len(g.pool))])
		}
	}
	return out
}

// format draws a format of the given level kinds. If result is true, the format can store every
// pattern: it has no level of Format.Bound and no padded level.
func (g *generator) format(order int, kinds string, result bool) tensor.Format {
	weight := map[byte]int{'d': 40, 's': 45, 'u': 12, 'q': 30, 'c': 12, 'p': 6}
	weights := make([]int, len(kinds))
	for k := range kinds {
		if weights[k] = weight[kinds[k]]; weights[k] == 0 {
			weights[k] = 20
		}
	}
	zeros := order > 1 && strings.Trim(kinds, "d") != "" && g.o.Zeros > 0 && g.chance(g.o.Zeros)
	for {
		b := make([]byte, order)
		for l := range b {
			b[l] = kinds[g.pick(weights...)]
		}
		if zeros {
			b[order-1] = 'd'
		}
		text := string(b)
		if order > 1 && g.chance(0.4) {
			modes := make([]string, order)
			for l, m := range g.rand.Perm(order) {
				modes[l] = strconv.Itoa(m)
			}
			text += ":" + strings.Join(modes, ",")
		}
		f, err := notation.ParseFormat(text)
		if err == nil && zeros && f.AllDense() {
			continue
		}
		if err == nil && !(result &&
			(len(f.Bound()) > 0 || slices.ContainsFunc(f.Levels,
				func(k tensor.Kind) bool { return k.IsPadded() }))) {
			return f
		}
	}
}

// plainFormat returns a format with only compressed levels.
func plainFormat(order int) tensor.Format {
	f, err := notation.ParseFormat(strings.Repeat("s", order))
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	return f
}

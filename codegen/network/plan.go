package network

import (
	"slices"
	"strconv"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
)

// Plan is a way to compute a product.
type Plan struct {
	Root *Contraction
	// Converted[f][k] is true if access k of factor f is first stored in another order. Cost is the
	// estimated cost of everything, in multiply-adds of a scalar loop.
	Converted [][]bool
	Cost      float64
	// Products is the number of multiply-adds, Bytes the bytes that they read, and Memory the bytes
	// that the intermediates of one thread occupy.
	Products, Bytes, Memory float64
	// Serial is the part of Cost during which a single thread works: it makes intermediates that
	// are outside all loops.
	Serial float64
	// If a beam search found the plan, Bound is a lower bound of the cost of any plan. Otherwise
	// Bound is 0.
	Bound float64
}

// Contraction multiplies factors and intermediates in its own loops. Its result is the result of
// the product, or an intermediate that another contraction, the consumer, reads. A contraction and
// its consumer may share outer loops, and the contraction's own loops run inside the shared ones.
type Contraction struct {
	Name string // of the intermediate; the compiler replaces it by a name that is not taken
	// Steps lists the contraction's own loops and the producers between them, outermost first.
	// Loops lists all loops around the body. The first Shared of them belong to the enclosing
	// contraction.
	Steps  []Step
	Loops  []string
	Shared int
	// Factors has the numbers of the factors that it multiplies, and Items the intermediates.
	Factors []int
	Items   []*Contraction
	Gemm    *Gemm // its innermost loops if they are a product of matrices; nil if not
	// Vars has the variables of the intermediate that the contraction makes, in storage order,
	// which is the order of its consumer's loops. The intermediate is made Uses times. It has
	// Places coordinates each time, and Entries entries in all runs together.
	Vars                  []string
	Kind                  Kind
	Uses, Entries, Places float64
	Products              float64
	set                   set
	// loops is the cost of the contraction's loops, and made the further cost of its intermediate.
	// Both are 0 if the intermediate is made inside other loops.
	loops, made float64
}

// Step is a loop over Var or, if Part is not nil, the producer of an intermediate.
type Step struct {
	Var  string
	Part *Contraction
}

// IsSingleNest reports whether a plan multiplies all factors in one nest of loops.
func (p *Plan) IsSingleNest() bool { return len(p.Root.Items) == 0 }

// Order returns the largest number of variables of an intermediate.
func (p *Plan) Order() int {
	most := 0
	p.Root.Each(func(c *Contraction) {
		if c != p.Root {
			most = max(most, len(c.Vars))
		}
	})
	return most
}

// Filled reports whether all intermediates are scalars and arrays.
func (p *Plan) Filled() bool {
	filled := true
	p.Root.Each(func(c *Contraction) { filled = filled && (c == p.Root || c.Kind <= Array) })
	return filled
}

// Each calls fn for every producer in a contraction, in the order in which they are computed. It
// finally calls fn for the contraction itself.
func (c *Contraction) Each(fn func(*Contraction)) {
	for _, s := range c.Steps {
		if s.Part != nil {
			s.Part.Each(fn)
		}
	}
	fn(c)
}

// CompleteOrder returns an order of all variables for the nest of a contraction. First come the
// variables in around, which belong to the loops around the nest. Then come the variables of the
// contraction's own loops, and finally the other variables in all.
func (c *Contraction) CompleteOrder(around, all []string) []string {
	order, seen := []string{}, make(map[string]bool, len(all))
	for _, v := range slices.Concat(around, c.Loops, all) {
		if !seen[v] {
			seen[v], order = true, append(order, v)
		}
	}
	return order
}

// plan builds the plan of least cost for the conversions c. It uses the moves that the search has
// found with these conversions.
func (s *search) plan(c conversion) *Plan {
	b := &builder{search: s, plan: &Plan{}, made: map[set]*Contraction{}, named: map[string]int{}}
	x := s.model.whole()
	cost, way := cheapestOf(s.ways(x))
	b.plan.Cost = cost + c.cost
	b.plan.Root = b.contraction(x, nil, 1, way)
	b.plan.Root.useLoops()
	b.plan.addSerial()
	for f := range s.model.problem.Factors {
		list := make([]bool, len(s.model.problem.Factors[f].Accesses))
		for k := range list {
			list[k] = c.accesses[f].has(k)
		}
		b.plan.Converted = append(b.plan.Converted, list)
	}
	return b.plan
}

// builder makes a plan from moves.
type builder struct {
	search *search
	plan   *Plan
	made   map[set]*Contraction // intermediates by their factors
	named  map[string]int
}

// contraction builds the contraction of state x, and adds its bytes and multiply-adds to the plan.
// The contraction is nested in the loops over the variables in loops. way is the index of the
// alternative that the search chose for x. share is the fraction of points at which the contraction
// runs, among the points where all items of x have a value. The fraction is below 1 if items
// outside x have no value at some of these points.
func (b *builder) contraction(x state, loops []string, share float64, way int) *Contraction {
	c := &Contraction{Loops: slices.Clone(loops), Shared: len(loops), set: x.factors()}
	vars := b.search.loopsOf(x)
	for {
		ways := b.search.memo[b.search.model.key(x)]
		if way >= len(ways) {
			panic("BUG: network: a plan comes to what cannot be computed")
		}
		f := ways[way]
		first := f.first
		way = f.next
		switch {
		case first.made != 0:
			c.Steps = append(c.Steps, Step{Part: b.part(x, first.made, c.Loops, share, f.inside)})
			_, rest := x.parted(first.made, make([]item, 2*MaxFactors))
			x = state{rest, x.bound}
			vars = b.search.loopsOf(x)
			continue
		case first.gemm:
			b.gemm(c, x, vars, share)
		case x.bound != vars:
			v := b.search.model.vars[first.v]
			if x.bound == 0 {
				c.loops = f.spent.cost()
			}
			b.plan.Bytes += share * b.search.model.loopOver(x.items, vars, x.bound, first.v).bytes
			c.Steps, c.Loops = append(c.Steps, Step{Var: v}), append(c.Loops, v)
			x.bound |= 1 << first.v
			continue
		}
		break
	}
	c.Products = share * b.search.model.iterations(x.items, vars)
	b.plan.Products += c.Products
	for _, it := range x.items {
		if !it.made {
			c.Factors = append(c.Factors, it.factors.first())
			continue
		}
		made := b.made[it.factors]
		made.storedFor(c)
		c.Items = append(c.Items, made)
	}
	return c
}

// addSerial sets Serial, and adds the cost of the other threads' waiting to Cost. Loops that one
// thread runs could use a further thread for each waitingCost of their cost, up to maxWaiting.
func (p *Plan) addSerial() {
	p.Serial = p.Root.serial()
	p.Cost += p.Serial * min(p.Serial/waitingCost, maxWaiting)
}

// waitingCost and maxWaiting say how many threads wait for one thread (see addSerial).
const waitingCost, maxWaiting = 1e6, 7

// serial returns the cost of all intermediates that one thread makes outside all loops. It does not
// count scalars and products of matrices, because several threads compute them.
func (c *Contraction) serial() (cost float64) {
	for _, s := range c.Steps {
		if s.Part == nil {
			break
		}
		cost += s.Part.serial() + s.Part.alone()
	}
	return cost
}

// alone returns the cost of making the intermediate of c, if one thread makes it. The intermediate
// is made outside all loops. If several threads make it, the cost is 0.
func (c *Contraction) alone() float64 {
	x := analysis.Intermediate{Added: c.Products, Entries: c.Entries}
	first := slices.IndexFunc(c.Steps, func(s Step) bool { return s.Part == nil })
	switch {
	case len(c.Vars) == 0 || first < 0 || c.IsGemm():
		return 0
	// otherwise one thread fills it in order
	case c.Kind == Array, c.Kind == Marks &&
		(choice.IsSummed(x) || !slices.Equal(c.Loops[:len(c.Vars)], c.Vars)):
		if choice.MayShare(x) && slices.Contains(c.Vars, c.Steps[first].Var) {
			return 0
		}
	}
	return c.loops + c.made
}

// part builds the producer that contracts some items of state x, and adds its bytes, multiply-adds
// and memory to the plan. made has the numbers of these items in x. The parameters loops and way
// have the same meaning as for contraction. share is the fraction for the consumer. For the
// producer, part multiplies share by the fraction of points where all other items of x have a
// value.
func (b *builder) part(x state, made set, loops []string, share float64, way int) *Contraction {
	own, _ := x.parted(made, make([]item, 2*MaxFactors))
	alone := b.search.share(x, made)
	c := b.contraction(state{own, x.bound}, loops, share*alone, way)
	open := b.search.model.open(c.set)
	for s := open &^ x.bound; s != 0; s &= s - 1 {
		c.Vars = append(c.Vars, b.search.model.vars[s.first()])
	}
	c.Kind = b.search.model.kindOf(c.set, x.bound)
	if x.bound == 0 {
		c.made = b.search.model.makeCost(own, 1, 0)
	}
	c.Uses = share * alone * b.search.model.iterations(own, x.bound)
	c.Entries = share * alone * b.search.model.places(open) * b.search.model.filled(c.set, open)
	c.Places = b.search.model.places(open &^ x.bound)
	b.plan.addMemory(c)
	b.name(c)
	b.made[c.set] = c
	return c
}

// addMemory adds the memory of an intermediate to the plan's memory.
func (p *Plan) addMemory(c *Contraction) {
	switch c.Kind {
	case Array:
		p.Memory += c.Places * valueBytes
	case Marks:
		p.Memory += c.Places*(valueBytes+1) + c.Entries*(valueBytes+crdBytes)
	case Lists:
		p.Memory += c.Places * (valueBytes + crdBytes + 1)
	case Hash:
		p.Memory += min(c.Entries, c.Places) * hashBytes
	}
}

// name gives an intermediate its name.
func (b *builder) name(c *Contraction) {
	c.Name = c.Letter()
	if n := b.named[c.Name]; n > 0 {
		c.Name += strconv.Itoa(n)
	}
	b.named[c.Letter()]++
}

// storedFor sorts the variables of an intermediate into the order of its reader's loops.
func (c *Contraction) storedFor(reader *Contraction) {
	slices.SortFunc(c.Vars, func(u, v string) int {
		return slices.Index(reader.Loops, u) - slices.Index(reader.Loops, v)
	})
}

// Letter returns the first letter of an intermediate's name: t for a scalar, w for a workspace.
func (c *Contraction) Letter() string {
	if len(c.Vars) == 0 {
		return "t"
	}
	return "w"
}

// hashBytes is the approximate size of one entry of a hash table.
const hashBytes = 64

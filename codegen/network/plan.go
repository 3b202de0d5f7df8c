package network

import (
	"slices"
	"strconv"

	"distaff/codegen/strategy"
)

// Plan is a way to compute a product.
type Plan struct {
	Root *Contraction
	// Converted are the accesses, by factor and number, that are stored in another order first,
	// and Cost the estimate of all, in multiply-adds of a scalar loop.
	Converted [][]bool
	Cost      float64
	// Products is the number of multiply-adds, Bytes what is read for them, and Memory the bytes
	// that intermediates take, a thread.
	Products, Bytes, Memory float64
	// Serial is the part of Cost that makes intermediates with variables outside of all loops, on one
	// thread.
	Serial float64
	// Bound, of a plan that a beam found, is a cost that no plan is below; 0 of the best plan.
	Bound float64
}

// Contraction multiplies items in loops of its own, inside of those that it shares with what
// it is a part of.
type Contraction struct {
	Name string // of the intermediate: another where a tensor has this one
	// Steps are its loops and parts, outermost first; the first Shared of Loops are around it.
	Steps  []Step
	Loops  []string
	Shared int
	// Factors are those that it multiplies itself, and Items the intermediates.
	Factors []int
	Items   []*Contraction
	Gemm    *Gemm // its innermost loops, where they are a product of matrices; else nil
	// Vars are those of the intermediate that it makes, in the order in which they are stored: that of
	// its consumer's loops. Kind says how; it is made so often, with so many Entries in all, of which
	// Places may be there at a time.
	Vars                  []string
	Kind                  Kind
	Uses, Entries, Places float64
	Products              float64
	set                   set
	// loops is what its loops cost, and made what the intermediate costs beyond these, where it is
	// made outside of all others and by loops.
	loops, made float64
}

// Step is a loop over Var or, where Part is not nil, the producer of an intermediate.
type Step struct {
	Var  string
	Part *Contraction
}

// Whole tells whether a plan multiplies all factors in one nest of loops.
func (p *Plan) Whole() bool { return len(p.Root.Items) == 0 }

// Order is the largest number of variables that an intermediate has.
func (p *Plan) Order() int {
	most := 0
	p.Root.Each(func(c *Contraction) {
		if c != p.Root {
			most = max(most, len(c.Vars))
		}
	})
	return most
}

// Filled tells whether all intermediates are numbers and arrays.
func (p *Plan) Filled() bool {
	filled := true
	p.Root.Each(func(c *Contraction) { filled = filled && (c == p.Root || c.Kind <= Array) })
	return filled
}

// Each calls fn for a contraction and its parts, in the order in which they are computed.
func (c *Contraction) Each(fn func(*Contraction)) {
	for _, s := range c.Steps {
		if s.Part != nil {
			s.Part.Each(fn)
		}
	}
	fn(c)
}

// plan follows the moves that the search found.
func (s *search) plan(c conversion) *Plan {
	b := &builder{search: s, plan: &Plan{}, made: map[set]*Contraction{}, named: map[string]int{}}
	x := s.model.whole()
	cost, way := cheapestOf(s.ways(x))
	b.plan.Cost = cost + c.cost
	b.plan.Root = b.contraction(x, nil, 1, way)
	b.plan.Root.ungemm()
	b.plan.Serial = b.plan.Root.serial()
	for f := range s.model.problem.Factors {
		list := make([]bool, len(s.model.problem.Factors[f].Accesses))
		for k := range list {
			list[k] = c.accesses[f].has(k)
		}
		b.plan.Converted = append(b.plan.Converted, list)
	}
	return b.plan
}

// builder makes a plan of moves.
type builder struct {
	search *search
	plan   *Plan
	made   map[set]*Contraction // intermediates by their factors
	named  map[string]int
}

// contraction is the plan of a state, inside of loops, which are run for a share of the points that
// its items alone would have, by one of its ways.
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

// serial is what a plan's intermediates cost that one thread makes outside of all loops. A number
// is summed on threads, and a product of matrices runs on them.
func (c *Contraction) serial() (cost float64) {
	for _, s := range c.Steps {
		if s.Part == nil {
			break
		}
		cost += s.Part.serial() + s.Part.alone()
	}
	return cost
}

// alone is what an intermediate costs that is made outside of all loops on one thread, 0 where
// several make it.
func (c *Contraction) alone() float64 {
	x := strategy.Intermediate{Added: c.Products, Entries: c.Entries}
	first := slices.IndexFunc(c.Steps, func(s Step) bool { return s.Part == nil })
	switch {
	case len(c.Vars) == 0 || first < 0 || c.IsGemm():
		return 0
	// else it is filled in order
	case c.Kind == Array, c.Kind == Marks &&
		(x.Summed() || !slices.Equal(c.Loops[:len(c.Vars)], c.Vars)):
		if x.Shared() && slices.Contains(c.Vars, c.Steps[first].Var) {
			return 0
		}
	}
	return c.loops + c.made
}

// part is the producer of some items of a state.
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
	b.plan.holds(c)
	b.name(c)
	b.made[c.set] = c
	return c
}

// holds counts the memory of an intermediate.
func (p *Plan) holds(c *Contraction) {
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

// name names an intermediate.
func (b *builder) name(c *Contraction) {
	c.Name = c.Letter()
	if n := b.named[c.Name]; n > 0 {
		c.Name += strconv.Itoa(n)
	}
	b.named[c.Letter()]++
}

// storedFor stores an intermediate in the order of the loops that read it.
func (c *Contraction) storedFor(reader *Contraction) {
	slices.SortFunc(c.Vars, func(u, v string) int {
		return slices.Index(reader.Loops, u) - slices.Index(reader.Loops, v)
	})
}

// Letter is what the name of an intermediate begins with: t of a scalar, w of a workspace.
func (c *Contraction) Letter() string {
	if len(c.Vars) == 0 {
		return "t"
	}
	return "w"
}

// hashBytes is about what an entry of a hash table takes.
const hashBytes = 64

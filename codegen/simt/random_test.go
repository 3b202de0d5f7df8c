package simt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// program makes random leaves with correct loops of Blocks, Warps and Lanes: different iterations
// of a loop never store to the same place. All values are integers, so sums do not depend on their
// order.
type program struct {
	r     *rand.Rand
	b     strings.Builder
	depth int
	names int
	left  int // number of statements that may still be added
}

// unit is the level of the code that contains a statement.
type unit uint8

const (
	host unit = iota
	inBlocks
	inWarps
	inLanes
)

// slice is a part of an array that the current code may use. It starts at base, an expression.
type slice struct {
	array  string
	base   string
	n      int
	store  bool // code may store to it
	atomic bool // code may only add to it atomically
}

// scope describes what the current code may use.
type scope struct {
	unit  unit
	warps int      // iterations of loops of Warps in the block; 0 if all lanes belong to the block
	vars  []string // variables that may be read, none negative
	// variables that may be set, declared in this iteration of the surrounding parallel loops
	own    []string
	slices []slice
	allocs []string // arrays that are freed at the end of the block
	loops  int      // number of serial loops around the code
}

func (s scope) clone() *scope {
	s.vars = append([]string(nil), s.vars...)
	s.own = append([]string(nil), s.own...)
	s.slices = append([]slice(nil), s.slices...)
	return &s
}

const (
	programBlocks = 3
	programTile   = 160 // number of elements of z that belong to a block
)

// randomLeaf returns the text of a leaf. It stores to parameter z, adds atomically to parameter
// sums, and reads parameters x and n, which is 0 to 40.
func randomLeaf(seed uint64) string {
	p := &program{r: rand.New(rand.NewPCG(seed, 3)), left: 40}
	p.line("func f")
	p.line("  param z int64 = t0.vals")
	p.line("  param sums int64 = t1.vals")
	p.line("  param x int64 const = t2.vals")
	p.line("  param n = t2.level0.size")
	p.line("{")
	p.depth++
	top := &scope{unit: host, vars: []string{"n"},
		slices: []slice{{"z", "0", programBlocks * programTile, true, false}}}
	p.line("var h int64 = n %% 7 + x[0]")
	p.line("var total int64 = 0")
	top.vars = append(top.vars, "h")
	for k := 0; k < 1+p.r.IntN(2); k++ {
		if p.r.IntN(4) == 0 {
			p.line("z[%s] = total + h", p.place(top.slices[0], top))
		}
		p.blocks(top)
	}
	p.line("sums[0] = total")
	p.depth--
	p.line("}")
	return p.b.String()
}

func (p *program) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat(" ", p.depth))
	fmt.Fprintf(&p.b, format+"\n", args...)
}

func (p *program) name(prefix string) string {
	p.names++
	return fmt.Sprintf("%s%d", prefix, p.names)
}

// value returns a small expression that is not negative.
func (p *program) value(s *scope) string {
	switch k := p.r.IntN(6); {
	case k == 0:
		return fmt.Sprint(p.r.IntN(9))
	case k <= 2 && len(s.vars) > 0:
		return s.vars[p.r.IntN(len(s.vars))]
	case k == 3:
		return fmt.Sprintf("x[%s %% 64]", p.value(s))
	case k == 4:
		for range 4 {
			if c := s.slices[p.r.IntN(len(s.slices))]; !c.atomic {
				return fmt.Sprintf("%s[%s] %% 1000", c.array, p.place(c, s))
			}
		}
	}
	return fmt.Sprintf("(%s + %s) %% 97", p.value(s), p.value(s))
}

// place returns a random index in a slice.
func (p *program) place(c slice, s *scope) string {
	if c.n == 1 {
		return c.base
	}
	at := fmt.Sprint(p.r.IntN(c.n))
	if p.r.IntN(3) > 0 && len(s.vars) > 0 {
		at = fmt.Sprintf("(%s + %s) %% %d", s.vars[p.r.IntN(len(s.vars))], at, c.n)
	}
	return c.base + " + " + at
}

// divide limits the slices to the parts that one iteration of a loop over v may use. The loop has
// at most the given number of iterations.
func (p *program) divide(s *scope, v string, iterations int) {
	for k, c := range s.slices {
		switch part := c.n / iterations; {
		case !c.store:
		case part == 0 || p.r.IntN(3) == 0:
			s.slices[k].store = false
			if c.store && !c.atomic && p.r.IntN(3) == 0 {
				s.slices[k].atomic = true
			}
		default:
			s.slices[k].n, s.slices[k].base = part, fmt.Sprintf("%s + %s * %d", c.base, v, part)
		}
	}
}

// blocks adds a loop of Blocks.
func (p *program) blocks(s *scope) {
	v := p.name("b")
	in := s.clone()
	in.unit, in.own, in.loops = inBlocks, nil, 0
	in.slices[0] = slice{"z", fmt.Sprintf("%s * %d", v, programTile), programTile, true, false}
	in.vars = append(in.vars, v)
	in.warps = 1 + p.r.IntN(3)
	reduce := ""
	if p.r.IntN(3) == 0 {
		reduce = " reduce(total)"
	}
	p.line("for %s in 0 : %s blocks%s {", v, []string{"3", "min(n, 3)"}[p.r.IntN(2)], reduce)
	p.depth++
	p.body(in, func() {
		if reduce != "" {
			p.line("total += %s", p.value(in))
		}
	})
	p.depth--
	p.line("}")
}

// body adds a few statements, and calls end to add the last ones.
func (p *program) body(s *scope, end func()) {
	s.allocs = nil
	for k := 0; k < 1+p.r.IntN(5) && p.left > 0; k++ {
		p.left--
		p.statement(s)
	}
	end()
	for _, a := range s.allocs {
		p.line("free %s", a)
	}
}

func (p *program) statement(s *scope) {
	switch k := p.r.IntN(14); {
	case k < 2:
		v := p.name("v")
		p.line("var %s int64 = %s", v, p.value(s))
		s.vars, s.own = append(s.vars, v), append(s.own, v)
	case k == 2 && len(s.own) > 0:
		p.line("%s = %s", s.own[p.r.IntN(len(s.own))], p.value(s))
	case k == 3:
		p.line("atomic sums[%s %% 8 + 1] += %s", p.value(s), p.value(s))
	case k < 6:
		p.store(s)
	case k == 6:
		a, n := p.name("a"), 1+p.r.IntN(100)
		if p.r.IntN(4) == 0 && s.loops == 0 {
			p.line("alloc %s int64[h + %d] zero", a, n)
			s.allocs = append(s.allocs, a)
		} else {
			p.line("local %s int64[%d]", a, n)
		}
		s.slices = append(s.slices, slice{a, "0", n, true, false})
	case k == 7:
		p.line("if %s < %s {", p.value(s), p.value(s))
		p.inner(s.clone())
		if p.r.IntN(3) == 0 {
			p.line("} else {")
			p.inner(s.clone())
		}
		p.line("}")
	case k == 8 && s.loops < 2:
		v := p.name("i")
		in := s.clone()
		in.loops++
		in.vars = append(in.vars, v)
		if iterations := 1 + p.r.IntN(6); p.r.IntN(2) == 0 {
			p.divide(in, v, iterations)
			in.own = nil
			p.line("for %s in %s %% 3 : %d unrolled(%d) jam {", v, p.value(s), iterations, 2+p.r.IntN(3))
		} else {
			p.line("for %s in %s %% 3 : %d {", v, p.value(s), 1+p.r.IntN(3))
		}
		p.inner(in)
		p.line("}")
	case k == 9:
		p.whole(s)
	case k > 9 && s.unit != inLanes:
		p.parallel(s)
	default:
		p.store(s)
	}
}

func (p *program) inner(s *scope) {
	p.depth++
	p.body(s, func() {})
	p.depth--
}

func (p *program) store(s *scope) {
	c := s.slices[p.r.IntN(len(s.slices))]
	switch {
	case c.atomic:
		p.line("atomic %s[%s] += %s", c.array, p.place(c, s), p.value(s))
	case c.store:
		p.line("%s[%s] %s %s", c.array, p.place(c, s), []string{"=", "+="}[p.r.IntN(2)], p.value(s))
	}
}

// whole adds a fill or a copy of a slice.
func (p *program) whole(s *scope) {
	c, d := s.slices[p.r.IntN(len(s.slices))], s.slices[p.r.IntN(len(s.slices))]
	if !c.store {
		return
	}
	if c.array != d.array && !d.atomic && p.r.IntN(2) == 0 {
		p.line("copy %s[%s] = %s[%s], %d", c.array, c.base, d.array, d.base, min(c.n, d.n))
		return
	}
	p.line("fill %s[%s : %s + %s %% %d] = %s", c.array, c.base, c.base, p.value(s), c.n+1, p.value(s))
}

// parallel adds a loop of Warps or Lanes.
func (p *program) parallel(s *scope) {
	in := s.clone()
	in.own, in.loops = nil, 0
	v, kind, width := p.name("w"), "warps", in.warps
	in.unit = inWarps
	if s.unit == inWarps || p.r.IntN(2) == 0 {
		in.unit, kind, width = inLanes, "lanes", 32
		if s.unit == inBlocks {
			width = []int{32, 64, 20, 96}[p.r.IntN(4)]
		}
	}
	iterations := 1 + p.r.IntN(2*width)
	count := fmt.Sprint(iterations)
	if p.r.IntN(2) == 0 {
		count = fmt.Sprintf("min(%d, %s)", iterations, p.value(s))
	}
	p.divide(in, v, iterations)
	in.vars = append(in.vars, v)
	reduce, total := "", ""
	if p.r.IntN(2) == 0 {
		total = p.name("r")
		p.line("var %s int64 = %s", total, p.value(s))
		reduce = fmt.Sprintf(" reduce(%s)", total)
	}
	p.line("for %s in 0 : %s %s(%d)%s {", v, count, kind, width, reduce)
	p.depth++
	p.body(in, func() {
		if total != "" {
			p.line("%s += %s", total, p.value(in))
		}
	})
	p.depth--
	p.line("}")
	if total != "" {
		s.vars = append(s.vars, total)
	}
}

package simt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A program draws leaves with loops of Blocks, Warps and Lanes that are right: what iterations of
// one of these store, they do not share. All is of integers, whose sums do not depend on their
// order.
type program struct {
	r     *rand.Rand
	b     strings.Builder
	depth int
	names int
	left  int // statements that it may still have
}

// unit says which code a statement stands in.
type unit uint8

const (
	host unit = iota
	inBlocks
	inWarps
	inLanes
)

// slice is a part of an array that the code at hand may use, from base on, as text.
type slice struct {
	array  string
	base   string
	n      int
	store  bool // it may also be stored to
	atomic bool // it may only be added to atomically
}

// scope is what the code at hand sees.
type scope struct {
	unit   unit
	warps  int      // of loops of Warps in the block, 0 where all lanes are of the block
	vars   []string // that may be read, none below 0
	own    []string // that may be set, declared in this iteration of the parallel loops around
	slices []slice
	allocs []string // that are freed at the block's end
	loops  int      // that are serial
}

func (s scope) clone() *scope {
	s.vars = append([]string(nil), s.vars...)
	s.own = append([]string(nil), s.own...)
	s.slices = append([]slice(nil), s.slices...)
	return &s
}

const (
	programBlocks = 3
	programTile   = 160 // elements of z that are a block's
)

// randomLeaf is the text of a leaf with parameters z, which it stores to, sums, which it adds to
// atomically, x and a number n of 0 to 40.
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

// value is a small expression that is not negative.
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

// place is an index of a slice.
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

// divide is what an iteration of a loop over v, with so many at most, may use of the slices.
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

// blocks is a loop of Blocks.
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

// body is a few statements, and last what end adds.
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
		p.line("for %s in %s %% 3 : %d {", v, p.value(s), 1+p.r.IntN(3))
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

// whole is a statement about a whole array.
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

// parallel is a loop of Warps or Lanes.
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

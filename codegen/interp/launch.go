package interp

import (
	"fmt"
	"math"

	"distaff/codegen/ir"
)

// kernel is a Launch as code that a thread runs from one meeting point to the next.
// What meets nobody on its way is one closure, as elsewhere; only the statements around
// Barriers and Shuffles are taken apart into jumps, so that a thread can stop at
// one while others run.
type kernel struct {
	name          string
	number        int // among the leaf's launches
	threads       int
	block, thread int // slots of the variables that hold their numbers
	code          []op
	own           own
	shared        int // number of Shared statements
	meetings      int // number of Barriers and Shuffles
}

// op is a step of a kernel's code: run, a meeting, a conditional jump (to where cond does not
// hold) or, with none of them, a jump.
type op struct {
	run  stmtFn
	meet *meeting
	cond intFn
	to   int
}

// meeting is a Barrier or a Shuffle.
type meeting struct {
	what   string // barrier or shuffle
	text   string
	number int  // among the kernel's, from 1, in their order in the text
	warp   bool // the threads of a warp meet, not of the block
	trips  []trip
	mask   int                    // of a Shuffle; 0 for a Barrier
	bring  stmtFn                 // before a thread waits at a Shuffle, it computes its value
	take   func(fr, other *frame) // it gets the other thread's
	lose   stmtFn                 // it gets that of a thread that failed
}

// trip is a loop around a meeting: the slot that counts its iterations.
type trip struct {
	slot int
	what string
}

func (m *meeting) String() string {
	return fmt.Sprintf("`%s` (number %d of the kernel's barriers and shuffles)", m.text, m.number)
}

func (c *compiler) launch(s *ir.Launch) stmtFn {
	grid := c.int(s.Grid)
	k := &kernel{name: s.Name, number: c.p.kernels, threads: int(s.Threads),
		block: c.variable(s.Block), thread: c.variable(s.Thread)}
	c.p.kernels++
	outside := c.loops
	c.loops, c.launched, c.kernel = nil, written(s.Body), k
	b := &coder{c: c, k: k}
	b.block(s.Body)
	k.code, k.own = b.code, c.ownOf(s.Body)
	c.loops, c.launched, c.kernel = outside, nil, nil
	return func(fr *frame) { k.run(fr, grid(fr)) }
}

// meets reports whether a thread meets others in s.
func meets(s ir.Stmt) (found bool) {
	ir.Walk(s, func(s ir.Stmt) {
		switch s.(type) {
		case *ir.Barrier, *ir.Shuffle:
			found = true
		}
	})
	return found
}

// coder makes a kernel's code.
type coder struct {
	c     *compiler
	k     *kernel
	code  []op
	trips []trip // of the loops around
}

func (b *coder) emit(o op) int {
	b.code = append(b.code, o)
	return len(b.code) - 1
}

func (b *coder) block(s *ir.Block) {
	var straight []ir.Stmt
	flush := func() {
		if len(straight) > 0 {
			b.emit(op{run: b.c.block(&ir.Block{List: straight})})
			straight = nil
		}
	}
	for _, s := range s.List {
		if !meets(s) {
			straight = append(straight, s)
			continue
		}
		flush()
		b.stmt(s)
	}
	flush()
}

// stmt makes code of a statement in which threads meet.
func (b *coder) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Block:
		b.block(s)
	case *ir.If:
		b.branch(s)
	case *ir.For:
		b.loop(s)
	case *ir.While:
		b.while(s)
	case *ir.Barrier:
		m := b.meeting("barrier", "barrier", s.Warp)
		if s.Warp {
			m.text = "barrier warp"
		}
	case *ir.Shuffle:
		b.shuffle(s)
	default:
		panic(fmt.Sprintf("BUG: interp: statement %T in a launch", s))
	}
}

func (b *coder) branch(s *ir.If) {
	test := b.emit(op{cond: b.c.int(s.Cond)})
	b.block(s.Then)
	if s.Else == nil {
		b.code[test].to = len(b.code)
		return
	}
	skip := b.emit(op{})
	b.code[test].to = len(b.code)
	b.block(s.Else)
	b.code[skip].to = len(b.code)
}

// hidden is a slot for a value of a type that no variable of the leaf has.
func (b *coder) hidden(t ir.Type) int { return b.c.variable(&ir.Var{Typ: t}) }

// enter begins a loop around meetings and is the slot that counts its iterations from 1.
func (b *coder) enter(what string) int {
	k := b.hidden(ir.Int64)
	b.trips = append(b.trips, trip{k, what})
	return k
}

func (b *coder) leave() { b.trips = b.trips[:len(b.trips)-1] }

// loop makes code of a For. The loop variable is its own cursor: the body cannot assign to it.
func (b *coder) loop(s *ir.For) {
	v, end, lo, hi, step := b.c.variable(s.V), b.hidden(ir.Int64), b.c.int(s.Lo), b.c.int(s.Hi), s.Step
	count := b.enter("the loop over " + s.V.Name)
	b.emit(op{run: func(fr *frame) {
		fr.ints[v], fr.ints[end] = lo(fr), hi(fr)
		fr.ints[count] = 0
		fr.inLoops = append(fr.inLoops, v)
	}})
	test := b.emit(op{cond: func(fr *frame) int64 { return truth(fr.ints[v] < fr.ints[end]) }})
	b.emit(op{run: func(fr *frame) {
		fr.step()
		fr.ints[count]++
	}})
	b.block(s.Body)
	last := b.emit(op{cond: func(fr *frame) int64 { return truth(fr.ints[v] <= fr.ints[end]-step) }})
	b.emit(op{run: func(fr *frame) { fr.ints[v] += step }})
	b.emit(op{to: test})
	b.code[test].to, b.code[last].to = len(b.code), len(b.code)
	b.emit(op{run: func(fr *frame) { fr.inLoops = fr.inLoops[:len(fr.inLoops)-1] }})
	b.leave()
}

func (b *coder) while(s *ir.While) {
	cond := b.c.int(s.Cond)
	count := b.enter("a while loop")
	b.emit(op{run: func(fr *frame) { fr.ints[count] = 0 }})
	test := b.emit(op{cond: cond})
	b.emit(op{run: func(fr *frame) {
		fr.step()
		fr.ints[count]++
	}})
	b.block(s.Body)
	b.emit(op{to: test})
	b.code[test].to = len(b.code)
	b.leave()
}

func (b *coder) meeting(what, text string, warp bool) *meeting {
	b.k.meetings++
	m := &meeting{what: what, text: text, number: b.k.meetings, warp: warp,
		trips: append([]trip(nil), b.trips...)}
	b.emit(op{meet: m})
	return m
}

// shuffle makes a meeting to which each thread brings its value in a slot of its own: X may
// read V. From a thread that failed comes what memory holds that nobody has written.
func (b *coder) shuffle(s *ir.Shuffle) {
	x, v := b.hidden(s.V.Typ), b.c.variable(s.V)
	m := b.meeting("shuffle", fmt.Sprintf("shuffle %s = %s, %d", s.V.Name, s.X, s.Mask), true)
	m.mask = int(s.Mask)
	switch t := s.V.Typ; {
	case t.IsFloat():
		f := b.c.float(s.X)
		m.bring = func(fr *frame) { fr.floats[x] = f(fr) }
		m.take = func(fr, other *frame) { fr.floats[v] = other.floats[x] }
		m.lose = func(fr *frame) { fr.floats[v] = math.NaN() }
	case t.IsComplex():
		f := b.c.complex(s.X)
		m.bring = func(fr *frame) { fr.complexs[x] = f(fr) }
		m.take = func(fr, other *frame) { fr.complexs[v] = other.complexs[x] }
		m.lose = func(fr *frame) { fr.complexs[v] = complex(math.NaN(), math.NaN()) }
	case t == ir.Bool:
		f := b.c.int(s.X)
		m.bring = func(fr *frame) { fr.ints[x] = f(fr) }
		m.take = func(fr, other *frame) { fr.ints[v] = other.ints[x] }
		m.lose = func(fr *frame) { fr.ints[v] = int64(fr.rng.IntN(2)) }
	default:
		f := b.c.int(s.X)
		m.bring = func(fr *frame) { fr.ints[x] = f(fr) }
		m.take = func(fr, other *frame) { fr.ints[v] = other.ints[x] }
		m.lose = func(fr *frame) { fr.ints[v] = poison }
	}
}

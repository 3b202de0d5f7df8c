package interp

import (
	"fmt"
	"math"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// kernel is the code of a Launch for one thread. The code is divided at meetings, which are
// Barriers and Shuffles. A thread runs it from one meeting to the next. Consecutive statements that
// contain no meeting are one closure. Statements around meetings become jumps, so that a thread can
// stop at a meeting while other threads run.
type kernel struct {
	name          string
	number        int // among the leaf's launches
	threads       int
	block, thread int // indices in frame.ints of the block's and the thread's numbers
	code          []op
	own           own
	shared        int // number of Shared statements
	meetings      int // number of Barriers and Shuffles
}

// op is a step of a kernel's code. There are three kinds. If run is set, the step calls run. If
// meet is set, the thread waits at this meeting. Otherwise the step is a jump, and to is the number
// of the next step. If cond is also set, the thread jumps only if the value of cond is 0.
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
	number int  // from 1, in the order of the kernel's text
	warp   bool // the threads of a warp meet, instead of the threads of the block
	trips  []trip
	mask   int                    // the mask of a Shuffle; 0 for a Barrier
	bring  stmtFn                 // computes the value of a Shuffle before the thread waits
	take   func(fr, other *frame) // sets the variable of fr to the value that other brought
	lose   stmtFn                 // sets the variable to an undefined value: the partner has failed
}

// trip is a loop that contains a meeting. slot is the index in frame.ints of the number of its
// iterations so far.
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

// meets reports whether s contains a Barrier or a Shuffle.
func meets(s ir.Stmt) (found bool) {
	ir.WalkRows(s, func(_ ir.Stmt, r *ir.Row) { found = found || r.Traits&ir.Waits != 0 })
	return found
}

// coder generates the code of a kernel.
type coder struct {
	c     *compiler
	k     *kernel
	code  []op
	trips []trip // the loops around the current statement
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

// stmt generates the code of a statement that contains a meeting.
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

// hidden returns the index in the frame of a new variable of type t, which the leaf itself does not
// have.
func (b *coder) hidden(t tensor.Type) int { return b.c.variable(&ir.Var{Typ: t}) }

// enter begins a loop that contains meetings, and returns the index in frame.ints of the number of
// its iterations. The loop's code increments this number. what describes the loop in errors.
func (b *coder) enter(what string) int {
	k := b.hidden(tensor.Int64)
	b.trips = append(b.trips, trip{k, what})
	return k
}

func (b *coder) leave() { b.trips = b.trips[:len(b.trips)-1] }

// loop generates the code of a For. It needs no hidden copy of the loop variable, because the body
// cannot assign this variable.
func (b *coder) loop(s *ir.For) {
	v, end, lo, hi, step := b.c.variable(s.V), b.hidden(tensor.Int64), b.c.int(s.Lo), b.c.int(s.Hi),
		s.Step
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

// shuffle generates the code of a Shuffle, in which threads of a warp exchange values. Each thread
// first computes s.X into a hidden variable, because s.X may read s.V. Then s.V gets the value of
// the other thread. If the other thread has failed, s.V gets an undefined value.
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
	case t == tensor.Bool:
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

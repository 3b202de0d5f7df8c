package interp

import (
	"math"
	"slices"

	"distaff/codegen/ir"
)

type threadState uint8

const (
	ready   threadState = iota
	waiting             // waits at the meeting code[pc]
	ended
	failed // ended by a Fail
)

// thread is a thread of a block. Its frame has its own variables and shares the leaf's arrays.
type thread struct {
	fr     *frame
	warp   *warp
	number int16 // in the block, from 1
	state  threadState
	pc     int
	made   []int // for each Shared statement, how many times the thread has run it
}

// at returns the meeting where t waits. t must be waiting.
func (t *thread) at(k *kernel) *meeting { return k.code[t.pc].meet }

// warp is a warp of the current block.
type warp struct {
	grid   *grid
	number int16 // in the block, from 1
	// epoch changes at each barrier of the warp or of the block.
	epoch   uint32
	threads []thread
	order   []int // the indices of its threads, shuffled
}

// grid runs the blocks of a launch one after another. All blocks reuse the same threads.
type grid struct {
	k       *kernel
	outside *frame
	launch  uint32
	block   int32 // the number of the current block, from 1
	// epoch changes at each barrier of the block and when a block begins.
	epoch   uint32
	epochs  uint32 // the last value that nextEpoch returned
	threads []thread
	warps   []warp
	shared  [][]*memory // the block's arrays: for each Shared statement, one for each time it is run
	failure *Failure    // the failure of the first thread that failed
}

// run runs a launch with the given number of blocks, in a random order.
func (k *kernel) run(fr *frame, blocks int64) {
	switch {
	case blocks < 0 || blocks > math.MaxInt32:
		fr.errorf("launch %s: a grid of %d blocks, want 0 to %d", k.name, blocks, math.MaxInt32)
	case blocks > fr.steps/int64(k.threads):
		fr.errorf("too many threads of launch %s: the leaf does not end", k.name)
	}
	g := fr.grids[k.number]
	if g == nil {
		g = newGrid(k, fr)
		fr.grids[k.number] = g
	}
	g.begin()
	for _, b := range fr.rng.Perm(int(blocks)) {
		g.enter(int32(b))
		g.run()
	}
	if g.failure != nil {
		panic(g.failure)
	}
}

func newGrid(k *kernel, fr *frame) *grid {
	n, p := k.threads, fr.prog
	g := &grid{k: k, outside: fr, threads: make([]thread, n), warps: make([]warp, n/ir.WarpSize),
		shared: make([][]*memory, k.shared)}
	ints, floats, complexs := make([]int64, n*p.ints), make([]float64, n*p.floats),
		make([]complex128, n*p.complexs)
	arrays, made := make([]*memory, n*len(p.arrays)), make([]int, n*k.shared)
	for i := range g.warps {
		threads := g.threads[i*ir.WarpSize : (i+1)*ir.WarpSize]
		g.warps[i] = warp{grid: g, number: int16(i) + 1, threads: threads}
		for lane := range threads {
			g.warps[i].order = append(g.warps[i].order, lane)
		}
	}
	for i := range g.threads {
		t := &g.threads[i]
		t.fr = &frame{prog: p, rng: fr.rng, live: fr.live, thread: t,
			ints: part(ints, i, n), floats: part(floats, i, n), complexs: part(complexs, i, n),
			arrays: part(arrays, i, n)}
		t.warp, t.number, t.made = &g.warps[i/ir.WarpSize], int16(i)+1, part(made, i, n)
	}
	return g
}

// part returns the i-th of n equal parts of s.
func part[T any](s []T, i, n int) []T {
	size := len(s) / n
	return s[i*size : (i+1)*size : (i+1)*size]
}

// begin copies the leaf's variables and arrays to the frames of the threads.
func (g *grid) begin() {
	fr := g.outside
	fr.launches++
	g.launch, g.failure = fr.launches, nil
	for i := range g.threads {
		f := g.threads[i].fr
		copy(f.ints, fr.ints)
		copy(f.floats, fr.floats)
		copy(f.complexs, fr.complexs)
		copy(f.arrays, fr.arrays)
	}
}

func (g *grid) nextEpoch() uint32 {
	g.epochs++
	return g.epochs
}

// enter prepares the threads for block number b, from 0.
func (g *grid) enter(b int32) {
	g.outside.steps -= int64(g.k.threads)
	g.block, g.epoch = b+1, g.nextEpoch()
	clear(g.shared)
	for i := range g.warps {
		g.warps[i].epoch = g.nextEpoch()
	}
	for i := range g.threads {
		t := &g.threads[i]
		t.state, t.pc = ready, 0
		clear(t.made)
		for _, a := range g.k.own.arrays {
			t.fr.arrays[a] = g.outside.arrays[a]
		}
		t.fr.ints[g.k.block], t.fr.ints[g.k.thread] = int64(b), int64(i)
		t.fr.inLoops = append(append(t.fr.inLoops[:0], g.outside.inLoops...), g.k.block, g.k.thread)
	}
}

// run runs the threads of a block to their end. In each step it advances a random warp to the next
// meeting, a point where threads wait for each other. If the threads of the whole block must meet
// there, the warp waits for the other warps.
func (g *grid) run() {
	going := make([]*warp, 0, len(g.warps))
	for i := range g.warps {
		going = append(going, &g.warps[i])
	}
	for len(going) > 0 {
		for len(going) > 0 {
			i := g.outside.rng.IntN(len(going))
			if !g.advance(going[i]) {
				going[i] = going[len(going)-1]
				going = going[:len(going)-1]
			}
		}
		if g.met(g.threads) == nil {
			return
		}
		g.epoch = g.nextEpoch()
		for i := range g.warps {
			w := &g.warps[i]
			w.epoch = g.nextEpoch()
			if w.goOn() {
				going = append(going, w)
			}
		}
	}
}

// advance runs the threads of a warp in a random order, each until its next meeting or its end. It
// returns true if the warp can continue without waiting for other warps.
func (g *grid) advance(w *warp) bool {
	g.outside.rng.Shuffle(len(w.order),
		func(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] })
	for _, lane := range w.order {
		if t := &w.threads[lane]; t.state == ready {
			g.resume(t)
		}
	}
	m := g.met(w.threads)
	if m == nil || !m.warp {
		return false
	}
	if m.mask == 0 {
		w.epoch = g.nextEpoch()
	} else {
		w.exchange(m)
	}
	return w.goOn()
}

// siblingFailed reports whether a thread in the block of fr's thread has failed. Values that the
// failed thread should have computed, such as its part of a sum, are then undefined for the other
// threads, which nevertheless run to their end.
func (fr *frame) siblingFailed() bool {
	return fr.thread != nil &&
		slices.ContainsFunc(fr.thread.warp.grid.threads, func(t thread) bool { return t.state == failed })
}

// goOn makes the waiting threads of a warp ready to continue after their meeting. It returns false
// if no thread was waiting.
func (w *warp) goOn() (any bool) {
	for i := range w.threads {
		if t := &w.threads[i]; t.state == waiting {
			t.state, any = ready, true
			t.pc++
		}
	}
	return any
}

// exchange gives each thread of a Shuffle the value that its partner brought. It does not order
// accesses to memory.
func (w *warp) exchange(m *meeting) {
	for i := range w.threads {
		t, other := &w.threads[i], &w.threads[i^m.mask]
		switch {
		case t.state != waiting:
		case other.state == waiting:
			m.take(t.fr, other.fr)
		default:
			m.lose(t.fr)
		}
	}
}

// resume runs a thread until it waits or ends.
func (g *grid) resume(t *thread) {
	fr := t.fr
	fr.steps = g.outside.steps
	defer func() {
		g.outside.steps = fr.steps
		switch r := recover().(type) {
		case nil:
		case *Failure:
			t.state = failed
			if g.failure == nil {
				g.failure = r
			}
		default:
			panic(r)
		}
	}()
	code, pc := g.k.code, t.pc
	for pc < len(code) {
		switch o := &code[pc]; {
		case o.run != nil:
			o.run(fr)
			pc++
		case o.meet != nil:
			if o.meet.bring != nil {
				o.meet.bring(fr)
			}
			t.pc, t.state = pc, waiting
			return
		case o.cond != nil && o.cond(fr) != 0:
			pc++
		default:
			pc = o.to
		}
	}
	t.state = ended
}

// met returns the meeting where all threads wait, or nil if none waits. Threads that failed do not
// count. It ends the run if the others are not all at the same meeting and in the same iteration of
// the loops around it.
func (g *grid) met(threads []thread) *meeting {
	var first, gone *thread
	for i := range threads {
		t := &threads[i]
		switch {
		case t.state == ended:
			gone = t
		case t.state != waiting:
		case first == nil:
			first = t
		default:
			g.compare(first, t)
		}
	}
	if first == nil {
		return nil
	}
	m := first.at(g.k)
	if gone != nil {
		first.fr.errorf(
			"divergent %s in launch %s: in block %d, thread %d waits at %s, but thread %d has "+
				"ended",
			m.what, g.k.name, g.block-1, first.number-1, m, gone.number-1)
	}
	return m
}

// compare ends the run unless the waiting threads a and b are at the same meeting and in the same
// iteration.
func (g *grid) compare(a, b *thread) {
	m, other := a.at(g.k), b.at(g.k)
	if m != other {
		a.fr.errorf(
			"divergent %s in launch %s: in block %d, thread %d waits at %s, but thread %d "+
				"waits at %s",
			m.what, g.k.name, g.block-1, a.number-1, m, b.number-1, other)
	}
	for _, l := range m.trips {
		if x, y := a.fr.ints[l.slot], b.fr.ints[l.slot]; x != y {
			a.fr.errorf(
				"divergent %s in launch %s: in block %d, thread %d waits at %s in iteration "+
					"%d of %s, but thread %d in iteration %d",
				m.what, g.k.name, g.block-1, a.number-1, m, x-1, l.what, b.number-1, y-1)
		}
	}
}

// sharedArray compiles a Shared statement. If a thread runs the statement again, it gets the same
// memory, because other threads may still use the values stored before. All elements are then
// marked as not written.
func (c *compiler) sharedArray(s *ir.Shared) stmtFn {
	k, a, n, number := c.array(s.A), s.A, s.Len, c.kernel.shared
	c.kernel.shared++
	return func(fr *frame) {
		t := fr.thread
		g, time := t.warp.grid, t.made[number]
		t.made[number]++
		if time == len(g.shared[number]) {
			m := makeMemory(a.Name, a.Elem, n, false)
			if time > 0 {
				again := *g.shared[number][0]
				again.init = m.init
				m = &again
			} else {
				m.byThread = make([]threadCell, n)
			}
			g.shared[number] = append(g.shared[number], m)
		}
		fr.arrays[k] = g.shared[number][time]
	}
}

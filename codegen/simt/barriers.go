package simt

import (
	"maps"
	"slices"

	"distaff/codegen/ir"
)

// role says which threads of a block, or of a warp, run a statement. If all of them run it, the
// statement may contain barriers. Otherwise it may not, unless it is a loop of Warps.
type role uint8

const (
	allThreads role = iota // all threads, in the same way
	oneThread              // the first thread
	eachThread             // each thread, for its own part
	eachWarp               // each warp, for its own part of a loop of Warps
)

// access is a set of kinds of accesses to an array.
type access uint8

const (
	readByAll access = 1 << iota
	readByOne
	readByEach
	storedByOne
	storedByEach
	addedByOne // atomic additions
	addedByEach
)

const (
	addedAny = addedByOne | addedByEach
	byOne    = readByOne | storedByOne | addedByOne
)

// accesses has the accesses to each array. It leaves out arrays for which shares returns false.
type accesses map[*ir.Array]access

func (a accesses) clone() accesses {
	c := accesses{}
	c.add(a)
	return c
}

// add adds the accesses of b to a, and reports whether a has changed.
func (a accesses) add(b accesses) (more bool) {
	for array, how := range b {
		if a[array]|how != a[array] {
			a[array] |= how
			more = true
		}
	}
	return more
}

// conflict reports whether a barrier is needed between the accesses of a and the later accesses of
// b. It is needed if one access is a store and the two may be made by different threads. Atomic
// additions do not conflict with each other.
func (a accesses) conflict(b accesses) bool {
	for array, later := range b {
		if earlier := a[array]; earlier != 0 && eitherClashes(earlier, later) {
			return true
		}
	}
	return false
}

func eitherClashes(a, b access) bool { return clash(a, b) || clash(b, a) }

// clash reports whether a contains a store to data that another thread accesses in b.
func clash(a, b access) bool {
	return a&storedByEach != 0 && b != 0 ||
		a&storedByOne != 0 && b&^byOne != 0 ||
		a&addedByEach != 0 && b&^addedAny != 0 ||
		a&addedByOne != 0 && b&^addedAny&^byOne != 0
}

// barrierPlacer places barriers in a launch.
type barrierPlacer struct {
	l      *launcher
	stored map[*ir.Array]bool // arrays that the launch stores to
	warp   bool               // the code is run by a warp
	loops  int                // number of loops around the current statement
}

// shares reports whether the threads that run the code may see each other's stores to a.
func (w *barrierPlacer) shares(a *ir.Array) bool {
	own, isOwn := w.l.own[a]
	return w.stored[a] && !(isOwn && (own == ofThread || !w.warp))
}

// barriers places barriers in the launch's code.
func (l *launcher) barriers(body *ir.Block) {
	w := &barrierPlacer{l: l, stored: map[*ir.Array]bool{}}
	ir.Walk(body, func(s ir.Stmt) {
		if a, _ := stores(s); a != nil {
			w.stored[a] = true
		}
	})
	w.block(body, accesses{})
}

// stores returns the array that s itself stores to, and whether it changes an element atomically.
// It returns nil if s stores to no array.
func stores(s ir.Stmt) (a *ir.Array, atomic bool) {
	switch s := s.(type) {
	case *ir.Store:
		return s.A, s.Atomic
	case *ir.Fetch:
		return s.A, true
	}
	return nil, false
}

// block places barriers in b. since has the accesses since the last barrier before b. On return it
// has the accesses since the last barrier in b.
func (w *barrierPlacer) block(b *ir.Block, since accesses) {
	if b == nil {
		return
	}
	list := b.List
	b.List = nil
	for _, s := range list {
		w.stmt(s, since, b)
	}
}

// wait appends a barrier if one is needed between the accesses in since and the accesses in next.
// It then clears since.
func (w *barrierPlacer) wait(next, since accesses, out *ir.Block) {
	if !since.conflict(next) {
		return
	}
	clear(since)
	out.List = append(out.List, &ir.Barrier{Warp: w.warp || w.l.threads == ir.WarpSize})
}

// stmt appends s, with barriers before and inside it. It updates since to the accesses since the
// last barrier.
func (w *barrierPlacer) stmt(s ir.Stmt, since accesses, out *ir.Block) {
	role := w.l.roles[s]
	if role == allThreads {
		w.runByAll(s, since, out)
		return
	}
	does := w.all(s, role)
	w.wait(does, since, out)
	since.add(does)
	out.List = append(out.List, s)
	if role == eachWarp {
		in := &barrierPlacer{l: w.l, stored: w.stored, warp: true}
		before := accesses{}
		if w.loops > 0 {
			// The warp may have run this code in an earlier iteration, and its threads may still
			// use the warp's own arrays.
			in.collect(s, eachWarp, before)
			maps.DeleteFunc(before, func(a *ir.Array, _ access) bool { return w.l.own[a] != ofWarp })
		}
		in.within(s, before)
	}
}

// runByAll appends to out a statement that all threads run in the same way, with the barriers that
// it needs. since has the memory accesses since the last barrier. If they conflict with the
// accesses of the statement, a barrier comes before the statement or inside it. runByAll also
// updates since.
func (w *barrierPlacer) runByAll(s ir.Stmt, since accesses, out *ir.Block) {
	does := accesses{}
	w.reads(ir.Exprs(s), readByAll, does)
	w.wait(does, since, out)
	switch s.(type) {
	case *ir.For, *ir.While:
		// One barrier before the loop may replace a barrier in each of its iterations.
		if later := w.all(s, allThreads); since.conflict(later) && w.needsFewer(s, since) {
			w.wait(later, since, out)
		}
	}
	since.add(does)
	out.List = append(out.List, s)
	w.within(s, since)
}

// needsFewer reports whether a barrier before a loop makes fewer barriers necessary inside it.
func (w *barrierPlacer) needsFewer(s ir.Stmt, since accesses) bool {
	w.within(s, since.clone())
	without := strip(s)
	w.within(s, accesses{})
	return strip(s) < without
}

// strip removes all barriers from s and returns their number.
func strip(s ir.Stmt) (n int) {
	ir.Walk(s, func(t ir.Stmt) {
		if b, ok := t.(*ir.Block); ok {
			before := len(b.List)
			b.List = slices.DeleteFunc(b.List, func(t ir.Stmt) bool { _, ok := t.(*ir.Barrier); return ok })
			n += before - len(b.List)
		}
	})
	return n
}

// within places barriers in the statements inside s.
func (w *barrierPlacer) within(s ir.Stmt, since accesses) {
	switch s := s.(type) {
	case *ir.Block:
		w.block(s, since)
	case *ir.If:
		other := since.clone()
		w.block(s.Then, since)
		w.block(s.Else, other)
		since.add(other)
	case *ir.For:
		w.loopBody(s.Body, w.l.strides[s], nil, since)
	case *ir.While:
		cond := accesses{}
		w.reads(ir.Exprs(s), readByAll, cond)
		w.loopBody(s.Body, false, cond, since)
	}
}

// loopBody places barriers in the body of a loop, including the barriers that are needed between
// two iterations. cond has the accesses of the loop's condition, which is evaluated between two
// iterations. since has the accesses since the last barrier.
//
// strided is true if the loop runs the iterations of a loop of Blocks or Warps that belong to one
// block or warp. Such iterations are independent, with one exception: all iterations reuse the
// arrays that the launch itself makes.
func (w *barrierPlacer) loopBody(body *ir.Block, strided bool, cond, since accesses) {
	begin := since.clone()
	w.loops++
	defer func() { w.loops-- }()
	for {
		strip(body)
		in := begin.clone()
		w.block(body, in)
		w.wait(cond, in, body)
		in.add(cond)
		since.add(in)
		if strided {
			maps.DeleteFunc(in, func(a *ir.Array, _ access) bool { return !w.l.made[a] })
		}
		if !begin.add(in) {
			return
		}
	}
}

// all returns the memory accesses of statement s and of the statements inside s. runner says which
// threads run s.
func (w *barrierPlacer) all(s ir.Stmt, runner role) accesses {
	does := accesses{}
	w.collect(s, runner, does)
	return does
}

// collect adds the accesses of s, and of the statements inside s, to the set does. by says which
// threads run s.
func (w *barrierPlacer) collect(s ir.Stmt, by role, does accesses) {
	if r := w.l.roles[s]; r != allThreads && by == allThreads {
		by = r
	}
	read, stored, added := readByAll, storedByEach, addedByEach
	switch by {
	case oneThread:
		read, stored, added = readByOne, storedByOne, addedByOne
	case eachThread, eachWarp:
		read = readByEach
	}
	w.reads(ir.Exprs(s), read, does)
	if a, atomic := stores(s); a != nil && w.shares(a) {
		if atomic {
			stored = added
		}
		does[a] |= stored
	}
	for _, t := range ir.Inside(s) {
		w.collect(t, by, does)
	}
}

// reads finds the arrays that the expressions in list read, and adds them to set. kind is the kind
// of access that it records for each of these arrays.
func (w *barrierPlacer) reads(list []ir.Expr, kind access, set accesses) {
	for _, x := range list {
		ir.WalkExpr(x, func(x ir.Expr) {
			if a := ir.ArrayOf(x); a != nil && w.shares(a) {
				set[a] |= kind
			}
		})
	}
}

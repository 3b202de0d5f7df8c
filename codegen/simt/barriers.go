package simt

import (
	"maps"
	"slices"

	"distaff/codegen/ir"
)

// role says which threads run a statement that stands in code that all threads of a block, or of a
// warp, run alike. The statements inside it have no barriers, but for those of a loop of Warps.
type role uint8

const (
	allThreads role = iota // alike
	oneThread              // the first
	eachThread             // its own part
	eachWarp               // its own part, a loop of Warps
)

// access says in which ways an array has been read and stored to since threads met.
type access uint8

const (
	readByAll access = 1 << iota
	readByOne
	readByEach
	storedByOne
	storedByEach
	addedByOne // atomically
	addedByEach
)

const (
	addedAny = addedByOne | addedByEach
	byOne    = readByOne | storedByOne | addedByOne
)

// accesses are those of the arrays that a launch stores to and that are not a thread's own.
type accesses map[*ir.Array]access

func (a accesses) clone() accesses {
	c := accesses{}
	c.add(a)
	return c
}

// add tells whether b says anything that a does not.
func (a accesses) add(b accesses) (more bool) {
	for array, how := range b {
		if a[array]|how != a[array] {
			a[array] |= how
			more = true
		}
	}
	return more
}

// conflict tells whether a thread may do what b says while another has not yet done what a says:
// one of both stores, and they are not the same thread. Atomic additions do not conflict with each
// other.
func (a accesses) conflict(b accesses) bool {
	for array, later := range b {
		if earlier := a[array]; earlier != 0 && disagree(earlier, later) {
			return true
		}
	}
	return false
}

func disagree(a, b access) bool { return clash(a, b) || clash(b, a) }

// clash tells whether a stores what another thread does anything to in b.
func clash(a, b access) bool {
	return a&storedByEach != 0 && b != 0 ||
		a&storedByOne != 0 && b&^byOne != 0 ||
		a&addedByEach != 0 && b&^addedAny != 0 ||
		a&addedByOne != 0 && b&^addedAny&^byOne != 0
}

// waits places barriers in a launch.
type waits struct {
	l      *launcher
	stored map[*ir.Array]bool // that several threads may see
	warp   bool               // the code is a warp's
	loops  int                // around the statement at hand
}

// shares tells whether threads that the code is of may see what others of them store to a.
func (w *waits) shares(a *ir.Array) bool {
	own, isOwn := w.l.own[a]
	return w.stored[a] && !(isOwn && (own == ofThread || !w.warp))
}

// barriers places barriers in the launch's code.
func (l *launcher) barriers(body *ir.Block) {
	w := &waits{l: l, stored: map[*ir.Array]bool{}}
	ir.Walk(body, func(s ir.Stmt) {
		if s, ok := s.(*ir.Store); ok {
			w.stored[s.A] = true
		}
	})
	w.block(body, accesses{})
}

// block places barriers in b, before which the accesses in since were made. It adds what b does
// since the last barrier.
func (w *waits) block(b *ir.Block, since accesses) {
	if b == nil {
		return
	}
	list := b.List
	b.List = nil
	for _, s := range list {
		w.stmt(s, since, b)
	}
}

// wait appends a barrier where what comes next wants one.
func (w *waits) wait(next, since accesses, out *ir.Block) {
	if !since.conflict(next) {
		return
	}
	clear(since)
	out.List = append(out.List, &ir.Barrier{Warp: w.warp || w.l.threads == ir.WarpSize})
}

// stmt appends s, with barriers before it and in it.
func (w *waits) stmt(s ir.Stmt, since accesses, out *ir.Block) {
	role := w.l.roles[s]
	if role == allThreads {
		w.alike(s, since, out)
		return
	}
	does := w.all(s, role)
	w.wait(does, since, out)
	since.add(does)
	out.List = append(out.List, s)
	if role == eachWarp {
		in := &waits{l: w.l, stored: w.stored, warp: true}
		before := accesses{}
		if w.loops > 0 {
			// The warp may have come through here before: what it has of its own, its threads may still use.
			in.collect(s, eachWarp, before)
			maps.DeleteFunc(before, func(a *ir.Array, _ access) bool { return w.l.own[a] != ofWarp })
		}
		in.within(s, before)
	}
}

// alike appends a statement that all threads run alike.
func (w *waits) alike(s ir.Stmt, since accesses, out *ir.Block) {
	does := accesses{}
	w.reads(ir.Exprs(s), readByAll, does)
	w.wait(does, since, out)
	switch s.(type) {
	case *ir.For, *ir.While:
		// A barrier before the loop may be instead of one in each of its iterations.
		if later := w.all(s, allThreads); since.conflict(later) && w.fewer(s, since) {
			w.wait(later, since, out)
		}
	}
	since.add(does)
	out.List = append(out.List, s)
	w.within(s, since)
}

// fewer tells whether a loop has fewer barriers with another one before it.
func (w *waits) fewer(s ir.Stmt, since accesses) bool {
	w.within(s, since.clone())
	without := strip(s)
	w.within(s, accesses{})
	return strip(s) < without
}

// strip takes all barriers out of s again, and tells how many there were.
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

// within places barriers in what s holds.
func (w *waits) within(s ir.Stmt, since accesses) {
	switch s := s.(type) {
	case *ir.Block:
		w.block(s, since)
	case *ir.If:
		other := since.clone()
		w.block(s.Then, since)
		w.block(s.Else, other)
		since.add(other)
	case *ir.For:
		w.again(s.Body, w.l.strides[s], nil, since)
	case *ir.While:
		cond := accesses{}
		w.reads(ir.Exprs(s), readByAll, cond)
		w.again(s.Body, false, cond, since)
	}
}

// again places barriers in the body of a loop, where each iteration but the first follows another,
// with what a condition reads between. Iterations of a strided loop of Blocks or Warps share
// nothing but arrays that the launch itself has.
func (w *waits) again(body *ir.Block, strided bool, cond, since accesses) {
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

// all are the accesses of a statement and all that it holds, by the threads of a role.
func (w *waits) all(s ir.Stmt, by role) accesses {
	does := accesses{}
	w.collect(s, by, does)
	return does
}

// collect adds them to does.
func (w *waits) collect(s ir.Stmt, by role, does accesses) {
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
	switch s := s.(type) {
	case *ir.Store:
		if how := stored; w.shares(s.A) {
			if s.Atomic {
				how = added
			}
			does[s.A] |= how
		}
	case *ir.Block:
		for _, t := range s.List {
			w.collect(t, by, does)
		}
	case *ir.If:
		w.collect(s.Then, by, does)
		if s.Else != nil {
			w.collect(s.Else, by, does)
		}
	case *ir.For:
		w.collect(s.Body, by, does)
	case *ir.While:
		w.collect(s.Body, by, does)
	}
}

// reads adds the arrays that expressions read.
func (w *waits) reads(list []ir.Expr, how access, does accesses) {
	for _, x := range list {
		ir.WalkExpr(x, func(x ir.Expr) {
			var a *ir.Array
			switch x := x.(type) {
			case *ir.Load:
				a = x.A
			case *ir.Search:
				a = x.A
			}
			if a != nil && w.shares(a) {
				does[a] |= how
			}
		})
	}
}

package interp

// threadCell records what the threads of a launch did to one element. Accesses of two threads race
// if at least one is a store, they are not both atomic, and no barrier separates the threads. A
// barrier of the block separates all threads of the block. A barrier of a warp separates the
// threads of the warp.
type threadCell struct {
	launch uint32
	done   [3]doers // indexed by access
}

// doers records the threads that accessed an element in one way, for example by a load, and that
// may race with the current thread. If several blocks accessed the element, doers records only that
// (block is many), because no barrier separates blocks. If one block did, doers records the
// accesses since the latest barrier of this block. If only one warp made them, doers records the
// accesses since the latest barrier of this warp.
type doers struct {
	block        int32  // from 1; 0 if there was no access, many if there were several blocks
	epoch        uint32 // the block's epoch: a new one starts at each barrier
	warpEpoch    uint32
	warp, thread int16 // from 1, or many
}

// conflict reports whether d contains a thread other than t that no barrier separates from t.
func (d *doers) conflict(t *thread) bool {
	w := t.warp
	switch g := w.grid; {
	case d.block == 0:
		return false
	case d.block != g.block:
		return true
	case d.epoch != g.epoch:
		return false
	case d.warp != w.number:
		return true
	}
	return d.warpEpoch == w.epoch && d.thread != t.number
}

// add adds the thread t to d.
func (d *doers) add(t *thread) {
	w := t.warp
	switch g := w.grid; {
	case d.block != 0 && d.block != g.block:
		d.block = many
	case d.block == 0 || d.epoch != g.epoch:
		*d = doers{g.block, g.epoch, w.epoch, w.number, t.number}
	case d.warp != w.number:
		d.warp = many
	case d.warpEpoch != w.epoch:
		d.warpEpoch, d.thread = w.epoch, t.number
	case d.thread != t.number:
		d.thread = many
	}
}

var didWhat = [...]string{reading: "read", writing: "written", updating: "written atomically"}

// touch records an access of t to element i of m. It ends the run if the access races with an
// access of another thread.
func (t *thread) touch(m *memory, i int64, a access) {
	if n := m.len(); int64(len(m.byThread)) < n {
		m.byThread = append(m.byThread, make([]threadCell, n-int64(len(m.byThread)))...)
	}
	c := &m.byThread[i]
	if l := t.warp.grid.launch; c.launch != l {
		*c = threadCell{launch: l}
	}
	for before := range c.done {
		// Reads do not race with each other, nor do atomic stores.
		if b := access(before); (b != a || a == writing) && c.done[b].conflict(t) {
			t.race(m, i, a, b, &c.done[b])
		}
	}
	c.done[a].add(t)
}

func (t *thread) race(m *memory, i int64, now, before access, d *doers) {
	g := t.warp.grid
	format := "race in launch %s: %s[%d] is %s by thread %d of block %d, and %s by "
	args := []any{g.k.name, m.name, i + m.first, didWhat[now], t.number - 1, g.block - 1,
		didWhat[before]}
	switch {
	case d.block == many:
		format += "several blocks"
	case d.warp == many || d.thread == many:
		format += "several threads of block %d"
		args = append(args, d.block-1)
	default:
		format += "thread %d of block %d"
		args = append(args, d.thread-1, d.block-1)
	}
	if d.block == g.block {
		format += " with no barrier between them"
	}
	t.fr.errorf(format, args...)
}

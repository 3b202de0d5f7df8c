package store

import (
	"math/bits"
	"slices"
	"strings"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// rows writes a .tcs whose last level is compressed, from blocks that each hold a part of a row's
// entries. A row is what the last level stores under one coordinate of the levels above, and its
// key is the linear position of that coordinate, so that keys follow the order of storage. A row of
// the result is its blocks' parts, one after another in the order of their boxes in the last mode.
//
// Where all levels above the last are dense, every key is a row, also one without entries. Else the
// rows are listed: only keys with entries are stored, and they travel with the entries.
//
// The keys are cut in windows of bounded entries and rows. Each rank puts consecutive windows
// together and writes them.
type rows struct {
	c     comm.Comm
	t     *Blocks
	f     *frame // of the levels above the last
	dense int    // leading dense levels
	row   int    // the level of rows, the last but one
	order []int  // all blocks, in the order of their boxes in the last mode
	limit *tcs.Limit
	bytes int64 // of all buffers of a rank
	near  bool  // all blocks are this rank's, in the memory of their owners

	ends    []int64         // where windows end, as keys
	rows    []int64         // of each window, by rank: [window*ranks + rank]
	entries []int64         // of each window, by rank: [window*ranks + rank]
	starts  []int64         // entries before each window, and all
	first   []int           // by rank, its first window; then the number of windows
	cuts    map[int][]int64 // of each own block, the rows before each window, and all
	held    []int64         // by rank, how many blocks it has

	nodes [][]int64 // of listed rows: by level from dense on, the nodes before each window
	last  []int64   // of listed rows: by window, the last key up to its end, or -1

	lay      *tcs.File
	pos, crd []int // sections, by level
	vals     int
}

// windowsMost bounds what the ranks tell one another of windows, in numbers.
const windowsMost = 1 << 20

// smaller divides the sizes of windows; tests have many windows of little data.
var smaller int64 = 1

// newRows returns nil, at every rank, if the result has another form, if blocks are stored in
// another way than the result, if a listed row is empty, or if one row has more entries than a
// window. Collective.
func newRows(c comm.Comm, t *Blocks, limit *tcs.Limit) (*rows, error) {
	levels := len(t.Kinds)
	compressed := strings.TrimLeft(t.Kinds, "d")
	if levels < 2 || compressed == "" || strings.Trim(compressed, "s") != "" ||
		!countable(t.Dims, t.Modes[:levels-1]) {
		return nil, nil
	}
	x := &rows{c: c, t: t, f: newFrame(t.Dims, t.Modes[:levels-1]),
		dense: levels - len(compressed), row: levels - 2, limit: limit}
	fine := t.stored()
	for _, b := range t.Own {
		fine = fine && exact(b) && full(b, x.dense)
	}
	if fine, err := agree(c, fine); err != nil || !fine {
		return nil, err
	}
	x.order = t.along(t.Modes[levels-1])
	if ok, err := x.cut(); err != nil || !ok {
		return nil, err
	}
	return x, nil
}

// countable reports whether keys of the modes' coordinates fit in 62 bits and there is any.
func countable(dims []int64, modes []int) bool {
	n := uint64(1)
	for _, m := range modes {
		hi, lo := bits.Mul64(n, uint64(dims[m]))
		if hi != 0 || lo > 1<<62 {
			return false
		}
		n = lo
	}
	return n > 0
}

// listed reports whether only rows with entries are stored.
func (x *rows) listed() bool { return x.dense <= x.row }

// entry returns the bytes that an entry takes in a message and in its place, at most. Every entry
// may be a listed row, with a key and an end.
func (x *rows) entry() int64 {
	if x.listed() {
		return 20 + int64(x.t.Type.Size())
	}
	return 8 + int64(x.t.Type.Size())
}

// perRow returns the bytes that a row takes without its entries, at most: an end in each block that
// has a part of it, and where it begins. It returns 0 if rows are listed: entry counts them.
func (x *rows) perRow() int64 {
	if x.listed() {
		return 0
	}
	last, parts := x.t.Modes[x.row+1], map[[2]int64]bool{}
	for _, box := range x.t.Boxes {
		parts[box[last]] = true
	}
	return int64(4*len(parts) + 16)
}

// cut divides the rows in windows and the windows among the ranks. ok is false if that cannot be
// done within bounds. Collective.
func (x *rows) cut() (ok bool, err error) {
	ranks, entry, perRow := x.c.Size(), x.entry(), x.perRow()
	sum := []int64{0}
	var runs []*run
	for _, k := range x.t.numbers() {
		sum[0] += x.t.Own[k].Vals.Len
		runs = append(runs, &run{t: x.t.Own[k]})
	}
	if err := x.c.Allreduce(comm.Of(sum), comm.Sum); err != nil {
		return false, err
	}
	if x.bytes, err = bufferBytes(x.c, x.limit); err != nil {
		return false, err
	}
	bytes := window(x.bytes, 2*ranks+4+x.halves())
	total := sum[0] * entry
	if perRow > 0 {
		total += x.f.total * perRow
	}
	good := wanted(bytes, total, ranks)
	parts, step := sum[0]/max(good/entry/smaller, 1)+1, x.f.total
	windows := parts
	if perRow > 0 {
		step = max(good/perRow/smaller, 1)
		windows += x.f.total/step + 1
	}
	if windows*int64(ranks) > windowsMost {
		return false, nil
	}
	if x.ends, err = cutRows(x.c, runs, x.f, int(parts)); err != nil {
		return false, err
	}
	for row := step; row < x.f.total; row += step {
		x.ends = append(x.ends, row)
	}
	slices.Sort(x.ends)
	x.ends = slices.Compact(x.ends)
	x.rows, x.entries = make([]int64, len(x.ends)*ranks), make([]int64, len(x.ends)*ranks)
	x.cutBlocks()
	for k, at := range x.cuts {
		pos := x.t.Own[k].Levels[x.row+1].Pos
		for w := range x.ends {
			if at[w] < at[w+1] {
				i := w*ranks + x.c.Rank()
				x.rows[i] += at[w+1] - at[w]
				x.entries[i] += pos.Int(at[w+1]) - pos.Int(at[w])
			}
		}
	}
	for _, counts := range [][]int64{x.rows, x.entries} {
		if err := x.c.Allreduce(comm.Of(counts), comm.Sum); err != nil {
			return false, err
		}
	}
	return x.share(2 * max(bytes/entry/smaller, 1)), nil
}

// cutBlocks finds where windows cut this rank's blocks, and counts the blocks of each rank.
func (x *rows) cutBlocks() {
	x.cuts, x.held = map[int][]int64{}, make([]int64, x.c.Size())
	for _, owner := range x.t.Owners {
		x.held[owner]++
	}
	for k := range x.t.Own {
		at := []int64{0}
		for _, end := range x.ends {
			at = append(at, x.before(k, at[len(at)-1], end))
		}
		x.cuts[k] = at
	}
}

// share gives each rank windows of about the same bytes. It returns false if one window has more
// than most entries.
func (x *rows) share(most int64) bool {
	ranks, weight := x.c.Size(), []int64{0}
	x.starts = []int64{0}
	for w := range x.ends {
		n := int64(0)
		for _, k := range x.entries[w*ranks : (w+1)*ranks] {
			n += k
		}
		if n > most {
			return false
		}
		x.starts = append(x.starts, x.starts[w]+n)
		bytes := n * x.entry()
		if lo, hi := x.span(w); !x.listed() {
			bytes += 8 * (hi - lo)
		}
		weight = append(weight, weight[w]+bytes)
	}
	total := float64(weight[len(x.ends)])
	for rank := range ranks {
		w, _ := slices.BinarySearch(weight[:len(x.ends)], int64(total/float64(ranks)*float64(rank)))
		x.first = append(x.first, w)
	}
	x.first = append(x.first, len(x.ends))
	return true
}

// span returns the keys of window w, from lo up to hi.
func (x *rows) span(w int) (lo, hi int64) {
	if w > 0 {
		lo = x.ends[w-1]
	}
	return lo, x.ends[w]
}

// along lists all blocks in the order of their boxes in a mode.
func (t *Blocks) along(mode int) []int {
	order := make([]int, len(t.Owners))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := t.Boxes[a][mode], t.Boxes[b][mode]
		return slices.Compare(p[:], q[:])
	})
	return order
}

// nearby makes all blocks this rank's.
func (x *rows) nearby(t *Blocks) {
	x.t, x.near = t, true
	x.cutBlocks()
	for _, counts := range [][]int64{x.rows, x.entries} {
		allMine(counts, x.c)
	}
}

// write writes the file. Collective.
func (x *rows) write(s *site) error {
	near, err := x.t.nearby(x.c)
	if err != nil {
		return err
	}
	if near != nil {
		defer near.close(x.t)
		x.nearby(near)
	}
	if x.listed() {
		if err := x.count(); err != nil {
			return err
		}
	}
	if err := x.layOut(); err != nil {
		return err
	}
	p := &parcels{c: x.c, limit: x.limit, first: x.first, near: x.near, size: x.size,
		pack: func(mem []byte, w int) { x.pack(x.bundle(mem, w, x.c.Rank()), w) },
	}
	var spans []coo.FileRange
	err = s.resizing(x.lay.Size(), func() error {
		return p.exchange(func() error {
			return s.write(func() (err error) { spans, err = x.receive(s, p); return err })
		})
	})
	if err != nil {
		return err
	}
	return s.finish(x.lay, spans)
}

package store

import (
	"math/bits"
	"slices"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// rows writes a .tcs file whose last level is compressed. A row is the entries of the last level
// that have the same coordinates in all levels above. A block may hold only some entries of a row.
// The file has the entries of a row block by block, in the order of the blocks' boxes in the mode
// of the last level. The key of a row is the position of its coordinates in the row-major order of
// the levels above the last. Rows are therefore stored in the order of their keys.
//
// If all levels above the last are dense, every key has a row, which may be empty. Otherwise the
// rows are listed: only keys with entries are stored, and messages with entries contain the keys of
// the rows.
//
// The keys are cut into windows with bounded numbers of entries. If rows are not listed, the number
// of rows in a window is bounded, too. Each rank assembles and writes consecutive windows.
type rows struct {
	c     comm.Comm
	t     *Blocks
	f     *frame // linear order of the levels above the last
	dense int    // number of leading dense levels
	row   int    // the level of rows, the last but one
	order []int  // all blocks, in the order of their boxes in the mode of the last level
	limit *tcs.Limit
	bytes int64 // of all buffers of a rank
	near  bool  // all blocks count as this rank's, in the memory of their owners

	ends    []int64         // ends of the windows, as keys
	rows    []int64         // number of rows, by window and rank: [window*ranks + rank]
	entries []int64         // number of entries, by window and rank: [window*ranks + rank]
	starts  []int64         // number of entries before each window, then of all
	first   []int           // by rank, its first window; then the number of windows
	cuts    map[int][]int64 // for each block of this rank, the rows before each window, then all
	held    []int64         // number of blocks of each rank

	nodes [][]int64 // for listed rows: by level from dense on, the nodes before each window
	last  []int64   // for listed rows: by window, the last key before its end, or -1

	lay      *tcsfile.File
	pos, crd []int // numbers of the sections, by level
	vals     int
}

// maxWindowCounts is the largest accepted product of the numbers of windows and ranks. The ranks
// exchange one count of rows and one count of entries for each window and rank.
const maxWindowCounts = 1 << 20

// shrinkWindows is the number by which the sizes of windows are divided. Tests increase it, to get
// many windows from little data.
var shrinkWindows int64 = 1

// newRows prepares to write the tensor by rows. It returns nil at every rank in each of
// these cases:
//   - The levels are not dense levels above compressed levels.
//   - There are too many keys, or none.
//   - Blocks are stored differently from the result.
//   - A listed row is empty.
//   - The rows cannot be cut into windows (see cut).
//
// Every rank must call newRows.
func newRows(c comm.Comm, t *Blocks, limit *tcs.Limit) (*rows, error) {
	levels := len(t.Layout.Format.Levels)
	dense := t.Layout.Format.LeadingDense()
	other := func(k tensor.Kind) bool { return k != tensor.Compressed }
	if levels < 2 || dense == levels || slices.ContainsFunc(t.Layout.Format.Levels[dense:], other) ||
		!isCountable(t.Layout.Dims, t.Layout.Format.Order[:levels-1]) {
		return nil, nil
	}
	x := &rows{c: c, t: t, f: newFrame(t.Layout.Dims, t.Layout.Format.Order[:levels-1]),
		dense: dense, row: levels - 2, limit: limit}
	fine := t.hasTensorFormat()
	for _, b := range t.Own {
		fine = fine && isExact(b) && hasNoEmptySegment(b, x.dense)
	}
	if fine, err := agree(c, fine); err != nil || !fine {
		return nil, err
	}
	x.order = t.along(t.Layout.Format.Order[levels-1])
	if ok, err := x.cut(); err != nil || !ok {
		return nil, err
	}
	return x, nil
}

// isCountable reports whether the modes have at least one coordinate tuple, and at most 2^62.
func isCountable(dims []int64, modes []int) bool {
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

// isListed reports whether only rows with entries are stored.
func (x *rows) isListed() bool { return x.dense <= x.row }

// entry returns an upper bound of the bytes that one entry occupies, both in a message and in an
// assembled window. If rows are listed, the bound includes a key and the end of a row, because each
// entry may be in a row of its own.
func (x *rows) entry() int64 {
	if x.isListed() {
		return 20 + int64(x.t.Layout.Type.Size())
	}
	return 8 + int64(x.t.Layout.Type.Size())
}

// perRow returns an upper bound of the bytes that a row occupies in addition to its entries. These
// are the start of the row, and the row's end in each block that has entries of the row. perRow
// returns 0 if rows are listed, because the function entry then includes these bytes.
func (x *rows) perRow() int64 {
	if x.isListed() {
		return 0
	}
	last, parts := x.t.Layout.Format.Order[x.row+1], map[[2]int64]bool{}
	for _, box := range x.t.Boxes {
		parts[box[last]] = true
	}
	return int64(4*len(parts) + 16)
}

// cut divides the rows into windows, and the windows among the ranks. ok is false if there would be
// too many windows (see maxWindowCounts), or if some window has too many entries for the buffers.
// Every rank must call it.
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
	good := windowBytes(bytes, total, ranks)
	parts, step := sum[0]/max(good/entry/shrinkWindows, 1)+1, x.f.total
	windows := parts
	if perRow > 0 {
		step = max(good/perRow/shrinkWindows, 1)
		windows += x.f.total/step + 1
	}
	if windows*int64(ranks) > maxWindowCounts {
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
	return x.share(2 * max(bytes/entry/shrinkWindows, 1)), nil
}

// cutBlocks finds where the windows cut this rank's blocks, and counts the blocks of each rank.
func (x *rows) cutBlocks() {
	x.cuts, x.held = map[int][]int64{}, make([]int64, x.c.Size())
	for _, owner := range x.t.Owners {
		x.held[owner]++
	}
	for k := range x.t.Own {
		at := []int64{0}
		for _, end := range x.ends {
			at = append(at, x.rowsBefore(k, at[len(at)-1], end))
		}
		x.cuts[k] = at
	}
}

// share assigns consecutive windows to each rank, with about the same number of bytes for every
// rank. It returns false if a window has more than maxEntries entries. The tensor is then not
// written as rows.
func (x *rows) share(maxEntries int64) bool {
	ranks, weight := x.c.Size(), []int64{0}
	x.starts = []int64{0}
	for w := range x.ends {
		n := int64(0)
		for _, k := range x.entries[w*ranks : (w+1)*ranks] {
			n += k
		}
		if n > maxEntries {
			return false
		}
		x.starts = append(x.starts, x.starts[w]+n)
		bytes := n * x.entry()
		if lo, hi := x.span(w); !x.isListed() {
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

// span returns the range of keys of window w, [lo, hi).
func (x *rows) span(w int) (lo, hi int64) {
	if w > 0 {
		lo = x.ends[w-1]
	}
	return lo, x.ends[w]
}

// along returns the numbers of all blocks in the order of their boxes in a mode.
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

// nearby prepares x for a rank that reads all blocks itself, so that nothing is sent. t describes
// the same tensor and says that all blocks belong to this rank (see Blocks.nearby).
func (x *rows) nearby(t *Blocks) {
	x.t, x.near = t, true
	x.cutBlocks()
	for _, counts := range [][]int64{x.rows, x.entries} {
		allMine(counts, x.c)
	}
}

// write writes the file. Every rank must call it.
func (x *rows) write(s *sharedFile) error {
	near, err := x.t.nearby(x.c)
	if err != nil {
		return err
	}
	if near != nil {
		defer near.close(x.t)
		x.nearby(near)
	}
	if x.isListed() {
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

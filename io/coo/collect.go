package coo

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"distaff/io/tcs"
)

// reader yields entries in storage order: columns by level. n 0 is the end.
type reader interface {
	next(b *Batch) (n int, err error)
	close()
}

// sorted is a stream's entries in storage order, to be read as often as
// needed, from where they fit: memory, the stream itself (it was in order), or
// runs on disk.
type sorted struct {
	spec     Spec
	cfg      Config
	in       Stream
	dims     []int64 // final sizes
	n        int64   // entries, before repeated ones are summed
	min, max []int64 // a level; max -1 without entries
	keeps    bool    // repeated coordinates stay

	mem  *store  // entries in memory, in order, repeats summed
	runs *spill  // entries in runs on disk
	hist []int64 // from the stream in place: see counter; nil elsewhere

	fixed bool // the stream can't give other entries when it is read again
	last  bool // entries in memory are read for the last time
}

func (s *sorted) free() {
	if s.mem != nil {
		s.mem.drop()
	}
	if s.runs != nil {
		s.runs.close()
	}
}

// collector reads a stream once.
type collector struct {
	sorted *sorted
	b      Batch
	cols   [][]int64
	conv   []byte
	exact  bool
	limits [][2]int64 // a level, the half-open range of coordinates; high -1 where unknown
	store  *store
	budget int64
	count  *counter // counts in place; nil while entries are kept
	spills bool     // in place was tried and the input is not in order
}

// leastBudget is what a collector may take at least.
const leastBudget = 64 << 10

// errUnsorted ends an attempt to count in place.
var errUnsorted = errors.New("not in order")

// collect reads the stream and brings its entries into the storage order of
// the spec, which is normal.
func collect(in Stream, spec Spec, cfg Config) (*sorted, error) {
	c := &collector{sorted: &sorted{spec: spec, cfg: cfg, in: in, keeps: tcs.KeepsRepeats(spec.Kinds)}}
	if spec.Duplicates == Refuse {
		c.sorted.keeps = false
	}
	c.budget = max(cfg.Limit.Free()/4, leastBudget)
	if t, ok := in.(*tensorStream); ok {
		c.sorted.fixed = t.t.File() == ""
	}
	err := c.run()
	if err == errUnsorted {
		c.sorted.free()
		c.spills = true
		if err = in.Rewind(); err == nil {
			err = c.run()
		}
	}
	if err == nil {
		err = c.finish()
	}
	if err != nil {
		if c.store != nil {
			c.store.drop()
		}
		c.sorted.free()
		return nil, err
	}
	return c.sorted, nil
}

// orderedStream is a stream that knows that it comes in storage order, or in
// one from which a sort by the first levels is enough.
type orderedStream interface {
	// sortLevels is how many of the levels that store those modes, from the
	// outermost on, the entries must be sorted by (stably) to be in order.
	sortLevels(modes []int) int
}

// run reads the stream to its end.
func (c *collector) run() error {
	levels := len(c.sorted.spec.Kinds)
	c.sorted.n, c.sorted.hist, c.sorted.runs, c.sorted.mem, c.count = 0, nil, nil, nil, nil
	c.sorted.min, c.sorted.max = make([]int64, levels), make([]int64, levels)
	c.cols = make([][]int64, levels)
	for l := range c.sorted.max {
		c.sorted.max[l] = -1
	}
	dims, exact := c.sorted.in.Dims()
	if c.sorted.spec.Dims != nil {
		dims, exact = c.sorted.spec.Dims, true
	}
	c.exact = exact
	width := make([]uint, levels)
	c.limits = make([][2]int64, levels)
	for l, m := range c.sorted.spec.Modes {
		c.limits[l] = [2]int64{0, -1}
		width[l] = 20
		if exact {
			c.limits[l][1] = dims[m]
			width[l] = bitsFor(dims[m])
		}
		if c.sorted.spec.Box != nil {
			c.limits[l] = c.sorted.spec.Box[m]
		}
	}
	if c.store != nil {
		c.store.drop()
	}
	c.store = newStore(newPacker(width), c.sorted.spec.Type.Size(), c.sorted.cfg.Limit)
	if o, ok := c.sorted.in.(orderedStream); ok && !c.spills &&
		o.sortLevels(c.sorted.spec.Modes) == 0 {
		c.count = newCounter(c.sorted.spec.Kinds)
	}
	for {
		err := c.sorted.in.Next(&c.b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if c.b.N > 0 {
			if err := c.take(); err != nil {
				return err
			}
		}
	}
}

// take adds the batch.
func (c *collector) take() error {
	vals, err := c.convert(&c.b)
	if err != nil {
		return err
	}
	if err := c.spans(); err != nil {
		return err
	}
	c.sorted.n += int64(c.b.N)
	if c.count != nil {
		return c.inPlace(0)
	}
	if !c.store.pack.fits(c.sorted.max) {
		if err := c.makeRoom(c.store.repack(c.store.pack.grown(c.sorted.max))); err != nil {
			return err
		}
	}
	for from := 0; from < c.b.N && c.count == nil; {
		if c.store.bytes() > c.budget {
			if err := c.overflow(from); err != nil {
				return err
			}
			continue
		}
		n, err := c.store.add(c.cols, vals, from, c.b.N)
		from += n
		if err != nil {
			var m *tcs.MemoryError
			if !errors.As(err, &m) || c.store.n == 0 {
				return err
			}
			if err := c.overflow(from); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeRoom spills the store if repacking it failed for want of memory.
func (c *collector) makeRoom(err error) error {
	var m *tcs.MemoryError
	if !errors.As(err, &m) {
		return err
	}
	if err := c.spillStore(); err != nil {
		return err
	}
	return c.store.repack(c.store.pack.grown(c.sorted.max))
}

// convert is the batch's values in the type wanted.
func (c *collector) convert(b *Batch) ([]byte, error) {
	from, to := c.sorted.in.Type(), c.sorted.spec.Type
	if from == to {
		return b.Vals, nil
	}
	if need := b.N * to.Size(); cap(c.conv) < need {
		c.conv = make([]byte, need)
	}
	bad, err := tcs.ConvertValues(c.conv[:b.N*to.Size()], to, b.Vals, from, b.N)
	if err != nil && bad >= 0 {
		at := make([]int64, len(b.Coords))
		for m := range at {
			at[m] = b.Coords[m][bad]
		}
		return nil, &Error{Exit: 2, Name: c.sorted.spec.Name,
			Msg: fmt.Sprintf("%v, at %s", err, place(at))}
	}
	return c.conv[:b.N*to.Size()], err
}

// spans sets the columns by level and widens the spans of coordinates seen.
func (c *collector) spans() error {
	for l, m := range c.sorted.spec.Modes {
		col := c.b.Coords[m][:c.b.N]
		c.cols[l] = col
		lo, hi := col[0], col[0]
		for _, x := range col {
			lo, hi = min(lo, x), max(hi, x)
		}
		r := c.limits[l]
		if lo < r[0] || hi < 0 || r[1] >= 0 && hi >= r[1] || hi > maxCoord {
			return c.outside(l)
		}
		if c.sorted.max[l] < 0 {
			c.sorted.min[l] = lo
		}
		c.sorted.min[l], c.sorted.max[l] = min(c.sorted.min[l], lo), max(c.sorted.max[l], hi)
	}
	return nil
}

// maxCoord is the largest coordinate.
const maxCoord = tcs.MaxSize - 1

func (c *collector) outside(l int) error {
	r := c.limits[l]
	m := c.sorted.spec.Modes[l]
	for _, x := range c.cols[l] {
		if x < 0 {
			return c.sorted.spec.dataErr("coordinate %d of mode %d is no index", x, m)
		}
		if x > maxCoord {
			return c.sorted.spec.dataErr(
				"coordinate %d of mode %d is past the largest, %d: sizes are at most 2^61", x+1, m,
				int64(tcs.MaxSize))
		}
		if x < r[0] || r[1] >= 0 && x >= r[1] {
			if r[0] > 0 || c.sorted.spec.Box != nil {
				return c.sorted.spec.dataErr("coordinate %d of mode %d is outside its block, %d to %d", x+1, m,
					r[0]+1, r[1])
			}
			return c.sorted.spec.dataErr("coordinate %d of mode %d is past its size %d", x+1, m, r[1])
		}
	}
	panic("BUG: coo: a coordinate outside its range is not to be found")
}

// overflow makes room: entries that came in order so far are counted and left
// to a second reading of the stream; others go to disk. The batch's entries
// from from on are not in the store.
func (c *collector) overflow(from int) error {
	if c.store.sorted && c.sorted.runs == nil && !c.spills {
		c.count = newCounter(c.sorted.spec.Kinds)
		r := c.store.reader(0, c.store.n)
		var b Batch
		for {
			n, err := r.next(&b)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if !c.count.add(b.Coords, n) {
				panic("BUG: coo: a store in order is not in order")
			}
		}
		c.store.drop()
		return c.inPlace(from)
	}
	return c.spillStore()
}

// inPlace counts the batch's entries from from on.
func (c *collector) inPlace(from int) error {
	cols := make([][]int64, len(c.cols))
	for l := range cols {
		cols[l] = c.cols[l][from:]
	}
	if !c.count.add(cols, c.b.N-from) {
		return errUnsorted
	}
	return nil
}

// spillStore sorts what is in memory and writes it to disk as a run.
func (c *collector) spillStore() error {
	if c.sorted.runs == nil {
		f, err := newSpill(c.sorted.cfg.Tmp, c.store.valSize)
		if err != nil {
			return err
		}
		c.sorted.runs = f
	}
	if err := c.store.sort(0, c.sorted.cfg.threads()); err != nil {
		return err
	}
	if err := c.sorted.runs.write(c.store); err != nil {
		return err
	}
	c.store.drop()
	return nil
}

// finish sorts what is in memory, and settles sizes.
func (c *collector) finish() error {
	dims, _ := c.sorted.in.Dims()
	if c.sorted.spec.Dims != nil {
		dims = c.sorted.spec.Dims
	}
	c.sorted.dims = slices.Clone(dims)
	if c.count != nil {
		c.sorted.hist = c.count.hist
		if c.sorted.spec.Duplicates == Refuse && c.sorted.hist[len(c.sorted.hist)-1] > 0 {
			return c.sorted.spec.repeatErr(c.sorted.byMode(c.count.repeated))
		}
		return nil
	}
	if c.sorted.runs != nil {
		if err := c.spillStore(); err != nil {
			return err
		}
		c.store.free()
		c.sorted.runs.pack = c.store.pack
		return c.sorted.runs.reduce(c.budget)
	}
	low := 0
	if o, ok := c.sorted.in.(orderedStream); ok {
		low = c.store.pack.lowBit(o.sortLevels(c.sorted.spec.Modes))
	}
	if err := c.store.sort(low, c.sorted.cfg.threads()); err != nil {
		var m *tcs.MemoryError
		if !errors.As(err, &m) {
			return err
		}
		return c.finishOnDisk()
	}
	c.sorted.mem = c.store
	c.store = nil
	if c.sorted.mem.dups && !c.sorted.keeps {
		return c.sorted.mem.sum(&c.sorted.spec)
	}
	return nil
}

// finishOnDisk spills a store that is too large to be sorted in what memory
// is left, in pieces.
func (c *collector) finishOnDisk() error {
	all := c.store
	c.store = newStore(all.pack, all.valSize, all.limit)
	if c.sorted.runs == nil {
		f, err := newSpill(c.sorted.cfg.Tmp, all.valSize)
		if err != nil {
			all.drop()
			return err
		}
		c.sorted.runs = f
	}
	for len(all.chunks) > 0 {
		one := newStore(all.pack, all.valSize, all.limit)
		one.chunks, all.chunks = all.chunks[:1], all.chunks[1:]
		one.n = int64(len(one.chunks[0].recs) / one.stride())
		err := one.sortHere()
		if err == nil {
			err = c.sorted.runs.write(one)
		}
		one.drop()
		if err != nil {
			all.drop()
			return err
		}
	}
	c.sorted.runs.pack = all.pack
	return c.sorted.runs.reduce(c.budget)
}

// byMode is a coordinate by level in the order of modes.
func (s *sorted) byMode(levels []int64) []int64 {
	at := make([]int64, len(levels))
	for l, x := range levels {
		at[s.spec.Modes[l]] = x
	}
	return at
}

// lowBit is the lowest bit of the first n levels.
func (p *packer) lowBit(n int) int {
	if n == 0 || n >= len(p.word) {
		return 0
	}
	return (p.words-1-p.word[n-1])*64 + int(min(p.shift[n-1], 63))
}

// open reads the entries; repeats are summed unless they stay.
func (s *sorted) open() (reader, error) {
	switch {
	case s.mem != nil:
		return s.mem.reader(0, s.mem.n), nil
	case s.runs != nil:
		r, err := s.runs.merge(s.runs.runs)
		if err != nil || s.keeps {
			return r, err
		}
		return &summer{from: r, spec: &s.spec, byMode: s.byMode}, nil
	default:
		if err := s.in.Rewind(); err != nil {
			return nil, err
		}
		r := &streamReader{c: &collector{sorted: s}}
		if s.keeps || s.hist[len(s.hist)-1] == 0 {
			return r, nil
		}
		return &summer{from: r, spec: &s.spec, byMode: s.byMode}, nil
	}
}

// streamReader reads a stream that is in order.
type streamReader struct{ c *collector }

func (r *streamReader) close() {}

func (r *streamReader) next(b *Batch) (int, error) {
	for {
		if err := r.c.sorted.in.Next(&r.c.b); err == io.EOF {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		if r.c.b.N > 0 {
			break
		}
	}
	vals, err := r.c.convert(&r.c.b)
	if err != nil {
		return 0, err
	}
	if len(b.Coords) != len(r.c.sorted.spec.Modes) {
		b.Coords = make([][]int64, len(r.c.sorted.spec.Modes))
	}
	for l, m := range r.c.sorted.spec.Modes {
		b.Coords[l] = r.c.b.Coords[m]
	}
	b.Vals, b.N = vals, r.c.b.N
	return b.N, nil
}

// storeReader reads records [at, end) of a store in order.
type storeReader struct {
	s       *store
	k       int   // chunk
	off     int64 // record in the chunk
	at, end int64
	eat     bool // give chunks up that were read from their beginning to their end
	whole   bool // chunk k was so far
}

func (s *store) reader(from, to int64) *storeReader {
	r := &storeReader{s: s, at: from, end: to}
	for r.k < len(s.chunks) {
		n := int64(len(s.chunks[r.k].recs) / s.stride())
		if from < n {
			break
		}
		from -= n
		r.k++
	}
	r.off = from
	r.whole = from == 0
	return r
}

func (r *storeReader) close() {}

func (r *storeReader) next(b *Batch) (int, error) {
	for r.at < r.end {
		recs := r.s.chunks[r.k].recs[r.off*int64(r.s.stride()):]
		n := int(min(int64(len(recs)/r.s.stride()), BatchSize, r.end-r.at))
		if n == 0 {
			if r.eat && r.whole {
				r.s.chunks[r.k].mem.Release()
				r.s.chunks[r.k] = chunk{}
			}
			r.k, r.off, r.whole = r.k+1, 0, true
			continue
		}
		b.Resize(len(r.s.pack.word), n, r.s.valSize)
		r.s.decode(recs, n, b.Coords, b.Vals)
		r.at += int64(n)
		r.off += int64(n)
		return n, nil
	}
	return 0, nil
}

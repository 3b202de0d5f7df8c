package coo

import (
	"errors"
	"io"
	"slices"
	"unsafe"

	"distaff/io/tensor"
)

// reader yields batches of entries in storage order. The readers of Sorter.unsummed are an
// exception: they may yield another order. A batch has one column of coordinates for each level.
// next returns the number n of entries in the batch, which is 0 at the end.
type reader interface {
	next(b *Batch) (n int, err error)
	close()
}

// entries are the entries of a tensor in storage order. They can be read several times. Values at
// equal coordinates are summed, unless the spec keeps repeats. The entries are in memory (store),
// on disk (spill), or still in a stream that is in order (replay).
type entries interface {
	// count makes the first pass, over several parts if there are many entries. The number of parts
	// is at most threads.
	count(spec *Spec, threads int) ([]PartCount, error)
	// read returns a reader of one part. parts is the number of parts that count returned, or 1. If
	// last is true, this part will not be read again, so that its memory can be released.
	read(spec *Spec, part, parts int, last bool) (reader, error)
	free()
}

// collector reads a stream once. It stores the entries in the sorter. If the entries come in
// storage order, it may count the entries instead and store none of them. The stream is then read
// again.
type collector struct {
	in     *Intake
	sorter *Sorter
	counts *counter // nil while entries are kept
	keep   bool     // entries must be kept, because the stream is not in order
	levels int      // sortLevels of the stream
}

// minBudget is the smallest memory budget of a collector, in bytes.
const minBudget = 64 << 10

// errUnsorted reports that the entries must be read again: they were only counted, because they
// seemed to come in order, and one was not in order.
var errUnsorted = errors.New("entries must be in order")

// collect reads the stream and returns its entries in the storage order of the spec, which must be
// normal (Spec.normal).
func collect(in Stream, spec Spec, cfg Config) (*sorted, error) {
	s, err := collectOnce(in, spec, cfg, false)
	if err == errUnsorted {
		if err = in.Rewind(); err == nil {
			s, err = collectOnce(in, spec, cfg, true)
		}
	}
	return s, err
}

// collectOnce reads the stream once, to its end, and collects its entries for a tensor that spec
// describes. If keep is true, it stores all entries. If keep is false and the entries come in
// storage order, it may only count them. It returns errUnsorted if it did not store the entries and
// then reads one that is out of order.
func collectOnce(in Stream, spec Spec, cfg Config, keep bool) (s *sorted, err error) {
	dims, exact := in.Dims()
	if spec.Dims != nil {
		dims, exact = spec.Dims, true
	}
	width := make([]uint, len(spec.Format.Levels))
	for l, m := range spec.Format.Order {
		if width[l] = 20; exact {
			width[l] = bitsFor(dims[m])
		}
	}
	if !exact {
		dims = nil
	}
	pool := &Pool{budget: max(cfg.Limit.Free()/4, minBudget)}
	c := &collector{in: newIntake(in, spec, dims), keep: keep}
	c.sorter = newSorter(spec, cfg, newPacker(width), 1, pool)
	var known bool
	if c.levels, known = sortLevels(in, spec.Format.Order); known && c.levels == 0 && !keep {
		c.counts = newCounter(len(spec.Format.Levels))
	}
	defer c.sorter.Close()
	for err == nil {
		err = c.take()
	}
	if err != io.EOF {
		return nil, err
	}
	if dims, _ = in.Dims(); spec.Dims == nil {
		spec.Dims = slices.Clone(dims)
	}
	s = &sorted{spec: spec, cfg: cfg, min: c.in.min, max: c.in.max}
	s.entries, err = c.entries()
	return s, err
}

// take reads the next batch. At the end it returns io.EOF.
func (c *collector) take() error {
	cols, vals, n, err := c.in.Next()
	if err != nil {
		return err
	}
	if c.counts == nil {
		if err := c.sorter.widen(c.in.max); err != nil {
			return err
		}
	}
	for from := 0; from < n && c.counts == nil; {
		k, err := c.sorter.put(0, cols, vals, from, n)
		if from += k; err == nil {
			continue
		}
		if c.inOrder() && isFull(err) {
			c.countKept()
			return c.count(cols, from, n)
		}
		if err := c.sorter.makeRoom(err); err != nil {
			return err
		}
	}
	if c.counts != nil {
		return c.count(cols, 0, n)
	}
	return nil
}

// inOrder reports whether the entries can be counted instead of stored. They can if there are some,
// all so far came in order and are in memory, and c.keep is false.
func (c *collector) inOrder() bool {
	s := c.sorter.lanes[0]
	return !c.keep && c.sorter.disk == nil && s.n > 0 && s.sorted
}

// countKept counts the entries that are stored, and then drops them to free their memory. The
// stream must be read again to get the entries.
func (c *collector) countKept() {
	c.counts = newCounter(len(c.in.spec.Format.Levels))
	s := c.sorter.lanes[0]
	r := s.reader(0, s.n)
	var b Batch
	for n, _ := r.next(&b); n > 0; n, _ = r.next(&b) {
		if !c.counts.add(b.Coords, n) {
			panic("BUG: coo: a store in order is not in order")
		}
	}
	c.sorter.Close()
}

// count counts entries [from, n) of the batch. It returns errUnsorted if they are not in order.
func (c *collector) count(cols [][]int64, from, n int) error {
	rest := make([][]int64, len(cols))
	for l := range cols {
		rest[l] = cols[l][from:]
	}
	if !c.counts.add(rest, n-from) {
		return errUnsorted
	}
	return nil
}

// entries returns the entries that were read, in storage order.
func (c *collector) entries() (entries, error) {
	in, spec := c.in.in, &c.in.spec
	if c.counts == nil {
		return c.sorter.sort(c.sorter.pack.lowBit(c.levels))
	}
	hist := c.counts.hist
	if spec.Duplicates == Refuse && hist[len(hist)-1] > 0 {
		return nil, spec.repeatErr(spec.byMode(c.counts.repeated))
	}
	t, ok := in.(*tensorStream)
	fixed := ok && t.t.File() == ""
	return &replay{in: in, hist: hist, min: c.in.min, max: c.in.max, fixed: fixed}, nil
}

// replay yields the entries of a stream whose entries come in storage order. It does not store
// them, but reads the stream again for each reader.
type replay struct {
	in       Stream
	hist     []int64 // counter.hist of the first reading
	min, max []int64 // by level
	fixed    bool    // the stream cannot change between two readings
}

func (s *replay) free() {}

// count returns the counts from the first reading of the stream. If values at equal coordinates are
// summed, entries with equal coordinates count once.
func (s *replay) count(spec *Spec, _ int) ([]PartCount, error) {
	p := PartCount{Hist: slices.Clone(s.hist), Sorted: true}
	if last := len(p.Hist) - 1; !spec.keepsRepeats() {
		if p.Hist[last] = 0; last == 0 { // a scalar: its first entry is also counted here
			p.Hist[last] = min(s.hist[last], 1)
		}
	}
	for _, n := range p.Hist {
		p.N += n
	}
	return []PartCount{p}, nil
}

func (s *replay) read(spec *Spec, _, _ int, last bool) (reader, error) {
	if err := s.in.Rewind(); err != nil {
		return nil, err
	}
	var r reader = &streamReader{newIntake(s.in, *spec, nil)}
	if !spec.keepsRepeats() && s.hist[len(s.hist)-1] > 0 {
		r = &summer{from: r, spec: spec}
	}
	if last && !s.fixed {
		parts, err := s.count(spec, 1)
		r = &verifier{from: r, spec: spec, s: s, want: parts[0].Hist,
			again: newCounter(len(spec.Format.Levels))}
		return r, err
	}
	return r, nil
}

// verifier reads a stream again. The tensor's arrays have room only for the entries that the first
// reading counted. So verifier returns an error if the counts of the entries differ now, if the
// entries are not in order, or if a coordinate is outside the range of the first reading.
type verifier struct {
	from  reader
	spec  *Spec
	s     *replay
	want  []int64
	again *counter
}

func (v *verifier) close() { v.from.close() }

func (v *verifier) next(b *Batch) (int, error) {
	n, err := v.from.next(b)
	if err != nil {
		return 0, err
	}
	same := n > 0 || slices.Equal(v.again.hist, v.want)
	for l, col := range b.Coords {
		for _, x := range col[:n] {
			same = same && x >= v.s.min[l] && x <= v.s.max[l]
		}
	}
	same = same && v.again.add(b.Coords, n)
	for k, h := range v.again.hist {
		same = same && h <= v.want[k]
	}
	if !same {
		return 0, v.spec.errChanged()
	}
	return n, nil
}

// streamReader reads a stream that is in order.
type streamReader struct{ in *Intake }

func (r *streamReader) close() {}

func (r *streamReader) next(b *Batch) (int, error) {
	vals, err := r.in.read()
	if err == io.EOF {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	b.Coords, b.Vals, b.N = append(b.Coords[:0], r.in.cols...), vals, r.in.b.N
	return b.N, nil
}

// summer adds the values of neighbouring entries with equal coordinates, or returns an error for
// such entries if the spec refuses duplicates. The last entry of a batch is pending until the next
// batch shows whether it repeats.
type summer struct {
	from reader
	spec *Spec

	in       Batch
	at       int // number of entries of in that are used up
	pending  bool
	crd      []int64
	val      []byte
	capacity int // number of entries that a batch of next has room for at first
}

func (s *summer) close() { s.from.close() }

func (s *summer) next(b *Batch) (int, error) {
	typ := s.spec.Type
	size := int(typ.Size())
	levels := len(s.spec.Format.Levels)
	if s.crd == nil {
		s.crd, s.val, s.capacity = make([]int64, levels), make([]byte, size), firstBatch
	}
	b.Resize(levels, s.capacity, size)
	n := 0
	put := func() {
		if n == b.N {
			b.Extend(levels, size)
			s.capacity = b.N
		}
		for l := range s.crd {
			b.Coords[l][n] = s.crd[l]
		}
		copy(b.Vals[n*size:], s.val)
		n++
	}
	for n < BatchSize {
		if s.at == s.in.N {
			k, err := s.from.next(&s.in)
			if err != nil {
				return 0, err
			}
			s.at = 0
			if s.in.N = k; k == 0 {
				if s.pending {
					put()
					s.pending = false
				}
				break
			}
		}
		same := s.pending
		for l := 0; same && l < levels; l++ {
			same = s.in.Coords[l][s.at] == s.crd[l]
		}
		v := s.in.Vals[s.at*size : (s.at+1)*size]
		if same {
			if s.spec.Duplicates == Refuse {
				return 0, s.spec.repeatErr(s.spec.byMode(s.crd))
			}
			addTo(typ, s.val, v)
			s.at++
			continue
		}
		if s.pending {
			put()
		}
		for l := range s.crd {
			s.crd[l] = s.in.Coords[l][s.at]
		}
		copy(s.val, v)
		s.pending = true
		s.at++
	}
	for l := range b.Coords {
		b.Coords[l] = b.Coords[l][:n]
	}
	b.Vals, b.N = b.Vals[:n*size], n
	return n, nil
}

// addTo adds the value in src to the value in dst.
func addTo(t tensor.Type, dst, src []byte) {
	d, s := unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0])
	t.Store(d, t.Add(t.Load(d), t.Load(s)))
}

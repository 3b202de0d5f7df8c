package coo

import (
	"errors"
	"slices"

	"distaff/io/tcs"
)

// Builder assembles a tensor from entries that are brought to it in several
// lanes: those of lane 0, in the order in which they are added, are the first of
// its input, then those of lane 1, and so on, whatever turns the lanes take.
// Repeated coordinates are summed in that order. Entries are kept packed, and in
// files where memory has no room, as Assemble keeps them.
type Builder struct {
	spec  Spec
	cfg   Config
	pack  *packer
	lanes []*store // nil before the first entry
	slab  slab     // of the lanes
	n     int64    // entries so far
	bytes int64    // of the stores' records
	pool  *Pool
	runs  *spill
	lane  []int // of each run
}

// Pool is the memory that several builders share: where their records pass it, those of
// the builder with the most go to disk.
type Pool struct {
	budget, held int64
	builders     []*Builder
}

// NewPool shares a quarter of what the limit has left.
func NewPool(limit *tcs.Limit) *Pool { return &Pool{budget: PoolBudget(limit.Free())} }

// PoolBudget is the bytes of records that a Pool holds, where so many are free.
func PoolBudget(free int64) int64 { return max(free/4, 1<<20) }

// relieve sends the largest builder's records to disk; false if there are none.
func (p *Pool) relieve() (bool, error) {
	var most *Builder
	for _, b := range p.builders {
		if b.bytes > 0 && (most == nil || b.bytes > most.bytes) {
			most = b
		}
	}
	if most == nil {
		return false, nil
	}
	return true, most.spillAll()
}

// NewBuilder makes a builder of the tensor of spec, whose sizes, modes, type and,
// for a block, Box are set; nil stands for a pool of its own.
func NewBuilder(spec Spec, cfg Config, lanes int, pool *Pool) *Builder {
	width := make([]uint, len(spec.Kinds))
	for l, m := range spec.Modes {
		width[l] = bitsFor(spec.Dims[m])
	}
	if pool == nil {
		pool = NewPool(cfg.Limit)
	}
	b := &Builder{spec: spec, cfg: cfg, pack: newPacker(width), lanes: make([]*store, lanes),
		pool: pool}
	pool.builders = append(pool.builders, b)
	return b
}

// hold counts records that came, or went.
func (b *Builder) hold(bytes int64) {
	b.bytes += bytes
	b.pool.held += bytes
}

// Add appends n entries of the block's box to a lane: columns by level.
func (b *Builder) Add(lane int, cols [][]int64, vals []byte, n int) error {
	if b.lanes[lane] == nil {
		b.lanes[lane] = newStore(b.pack, b.spec.Type.Size(), b.cfg.Limit)
		b.lanes[lane].slab = &b.slab
	}
	s := b.lanes[lane]
	for from := 0; from < n; {
		if b.pool.held > b.pool.budget {
			if _, err := b.pool.relieve(); err != nil {
				return err
			}
		}
		k, err := s.add(cols, vals, from, n)
		from, b.n = from+k, b.n+int64(k)
		b.hold(int64(k * s.stride() * 8))
		if err != nil {
			var m *tcs.MemoryError
			if !errors.As(err, &m) {
				return err
			}
			if ok, e := b.pool.relieve(); e != nil {
				return e
			} else if !ok {
				return err
			}
		}
	}
	return nil
}

// N is how many entries were added.
func (b *Builder) N() int64 { return b.n }

// spillAll sorts what is in memory and writes it to disk, a run a lane.
func (b *Builder) spillAll() error {
	if b.runs == nil {
		f, err := newSpill(b.cfg.Tmp, b.spec.Type.Size())
		if err != nil {
			return err
		}
		f.pack = b.pack
		b.runs = f
	}
	for i, s := range b.lanes {
		if s == nil || s.n == 0 {
			continue
		}
		if err := b.spillLane(i, s); err != nil {
			return err
		}
	}
	b.slab.free()
	b.hold(-b.bytes)
	return nil
}

// spillLane writes a lane out, a chunk at a time where there is no memory to
// sort it as a whole.
func (b *Builder) spillLane(i int, s *store) error {
	write := func(s *store) error {
		before := len(b.runs.runs)
		err := b.runs.write(s)
		for range len(b.runs.runs) - before {
			b.lane = append(b.lane, i)
		}
		return err
	}
	err := s.sort(0, b.cfg.threads())
	var m *tcs.MemoryError
	if err == nil {
		err = write(s)
		s.drop()
		return err
	}
	if !errors.As(err, &m) {
		return err
	}
	for len(s.chunks) > 0 {
		one := newStore(s.pack, s.valSize, s.limit)
		one.chunks, s.chunks = s.chunks[:1:1], s.chunks[1:]
		one.n = int64(len(one.chunks[0].recs) / one.stride())
		if err = one.sortHere(); err == nil {
			err = write(one)
		}
		one.drop()
		if err != nil {
			return err
		}
	}
	s.drop()
	return nil
}

// collected is all entries in storage order.
func (b *Builder) collected() (*sorted, error) {
	c := &collector{sorted: &sorted{spec: b.spec, cfg: b.cfg, dims: b.spec.Dims, n: b.n,
		keeps: tcs.KeepsRepeats(b.spec.Kinds)}}
	if b.spec.Duplicates == Refuse {
		c.sorted.keeps = false
	}
	c.sorted.in, c.budget = noStream{b.spec.Dims}, b.pool.budget
	if b.runs != nil {
		if err := b.spillAll(); err != nil {
			return nil, err
		}
		// Of equal entries the run that comes first is the first.
		order := make([]int, len(b.lane))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return b.lane[i] - b.lane[j] })
		runs := make([]run, len(order))
		for i, k := range order {
			runs[i] = b.runs.runs[k]
		}
		b.runs.runs = runs
		c.sorted.runs, b.runs = b.runs, nil
		if err := c.sorted.runs.reduce(c.budget); err != nil {
			c.sorted.free()
			return nil, err
		}
		return c.sorted, nil
	}
	b.slab.free()
	b.hold(-b.bytes) // they become the tensor's
	all := newStore(b.pack, b.spec.Type.Size(), b.cfg.Limit)
	for i, s := range b.lanes {
		if s != nil {
			all.join(s)
			b.lanes[i] = nil
		}
	}
	c.store = all
	if err := c.finish(); err != nil {
		all.drop()
		if c.sorted.mem != nil {
			c.sorted.mem.drop()
		}
		c.sorted.free()
		return nil, err
	}
	return c.sorted, nil
}

// join appends the records of o, which has the same packing, and takes them over.
func (s *store) join(o *store) {
	if o.n == 0 {
		o.free()
		return
	}
	if s.n == 0 {
		chunks := s.chunks
		s.chunks, s.sorted, s.dups = o.chunks, o.sorted, o.dups
		copy(s.first, o.first)
		copy(s.last, o.last)
		copy(s.vary, o.vary)
		for _, c := range chunks {
			c.mem.Release()
		}
	} else {
		switch cmp := slices.Compare(o.first, s.last); {
		case cmp < 0:
			s.sorted = false
		case cmp == 0:
			s.dups = true
		}
		s.sorted, s.dups = s.sorted && o.sorted, s.dups || o.dups
		for w := range s.vary {
			s.vary[w] |= o.vary[w] | (o.first[w] ^ s.first[w])
		}
		copy(s.last, o.last)
		s.chunks = append(s.chunks, o.chunks...)
	}
	s.n += o.n
	o.chunks = nil
	o.reset()
}

// Finish is the tensor, which the caller closes. The builder is empty then.
func (b *Builder) Finish(wide bool) (*tcs.Tensor, error) {
	b.spec.Wide = b.spec.Wide || wide
	if tcs.AllDense(b.spec.Kinds) && b.spec.Duplicates != Refuse {
		return b.spread()
	}
	src, err := b.collected()
	if err != nil {
		return nil, err
	}
	defer src.free()
	for {
		t, err := src.tensor()
		if ok, e := b.relieved(err); e != nil || !ok {
			return t, e
		}
	}
}

// relieved is err, or where it says that memory is wanted and other builders have
// some, true.
func (b *Builder) relieved(err error) (bool, error) {
	var full *tcs.MemoryError
	if !errors.As(err, &full) {
		return false, err
	}
	ok, e := b.pool.relieve()
	if e != nil || !ok {
		return false, errors.Join(e, err)
	}
	return true, nil
}

// spread makes a dense tensor, which needs no sorting.
func (b *Builder) spread() (*tcs.Tensor, error) {
	out, err := NewSpread(b.spec, b.cfg, Add)
	for err != nil { // entries may stand in its way
		if ok, e := b.relieved(err); !ok {
			return nil, e
		}
		out, err = NewSpread(b.spec, b.cfg, Add)
	}
	var readers []reader
	if b.runs != nil {
		src, err := b.collected()
		if err != nil {
			out.Close()
			return nil, err
		}
		defer src.free()
		m, err := src.runs.merge(src.runs.runs)
		if err != nil {
			out.Close()
			return nil, err
		}
		readers = append(readers, m)
	} else {
		defer b.Close()
		for _, s := range b.lanes {
			if s != nil {
				readers = append(readers, s.reader(0, s.n))
			}
		}
	}
	var batch Batch
	for _, r := range readers {
		for {
			n, err := r.next(&batch)
			if err != nil {
				out.Close()
				return nil, err
			}
			if n == 0 {
				break
			}
			if err := out.Add(batch.Coords, batch.Vals, n); err != nil {
				out.Close()
				return nil, err
			}
		}
	}
	return out.Finish()
}

// Close gives memory and files up.
func (b *Builder) Close() {
	for i, s := range b.lanes {
		if s != nil {
			s.drop()
			b.lanes[i] = nil
		}
	}
	b.slab.free()
	b.hold(-b.bytes)
	if b.runs != nil {
		b.runs.close()
		b.runs = nil
	}
}

// noStream stands for input that is collected already.
type noStream struct{ dims []int64 }

func (s noStream) Dims() ([]int64, bool) { return s.dims, true }
func (s noStream) Type() tcs.Type        { return tcs.Invalid }
func (s noStream) Next(*Batch) error     { panic("BUG: coo: entries of no stream") }
func (s noStream) Rewind() error         { panic("BUG: coo: entries of no stream") }
func (s noStream) Close() error          { return nil }

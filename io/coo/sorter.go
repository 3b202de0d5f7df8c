package coo

import (
	"errors"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Sorter sorts entries that are added in several lanes, and makes a tensor from the sorted entries.
// Values at equal coordinates are summed (or kept) in a fixed order: the entries of lane 0 in the
// order of Add, then the entries of lane 1, and so on, whatever the order of the calls of Add.
// Entries are stored packed in memory (store). If memory is full, they go to sorted runs on disk
// (spill).
type Sorter struct {
	spec  Spec
	cfg   Config
	pack  *packer
	pool  *Pool
	lanes []*store // nil before the first entry
	slab  *slab    // shared by the lanes; may be nil
	n     int64    // number of entries so far
	bytes int64    // size of the records in memory
	disk  *spill   // nil before a run is written
	lane  []int    // by run, its lane
}

// Pool is a memory budget that several Sorters share. If their records exceed it, the records of
// the largest Sorter go to disk.
type Pool struct {
	budget, held int64
	sorters      []*Sorter
}

// NewPool returns a pool with a quarter of the memory that the limit has left, but at least 1 MiB.
func NewPool(limit *tcs.Limit) *Pool { return &Pool{budget: PoolBudget(limit.Free())} }

// PoolBudget returns the budget of a Pool in bytes if free bytes are available.
func PoolBudget(free int64) int64 { return max(free/4, 1<<20) }

// relieve moves the records of the largest Sorter to disk. It returns false if no Sorter has
// records.
func (p *Pool) relieve() (bool, error) {
	var most *Sorter
	for _, s := range p.sorters {
		if s.bytes > 0 && (most == nil || s.bytes > most.bytes) {
			most = s
		}
	}
	if most == nil {
		return false, nil
	}
	return true, most.spill()
}

// NewSorter returns a Sorter for the tensor that spec describes. The sizes, modes and type in spec
// must be set. For a block of a tensor, Box must be set too. lanes is the number of lanes. Each
// lane collects entries by itself. If pool is nil, the Sorter has its own pool.
func NewSorter(spec Spec, cfg Config, lanes int, pool *Pool) *Sorter {
	width := make([]uint, len(spec.Format.Levels))
	for l, m := range spec.Format.Order {
		width[l] = bitsFor(spec.Dims[m])
	}
	if pool == nil {
		pool = NewPool(cfg.Limit)
	}
	s := newSorter(spec, cfg, newPacker(width), lanes, pool)
	s.slab = &slab{}
	return s
}

func newSorter(spec Spec, cfg Config, pack *packer, lanes int, pool *Pool) *Sorter {
	s := &Sorter{spec: spec, cfg: cfg, pack: pack, lanes: make([]*store, lanes), pool: pool}
	pool.sorters = append(pool.sorters, s)
	return s
}

// countBytes adds bytes, which may be negative, to the counted size of the records in memory.
func (s *Sorter) countBytes(bytes int64) {
	s.bytes += bytes
	s.pool.held += bytes
}

// N returns the number of entries that were added.
func (s *Sorter) N() int64 { return s.n }

// Add appends n entries to a lane, given as columns by level. They must be inside the block's box.
func (s *Sorter) Add(lane int, cols [][]int64, vals []byte, n int) error {
	for from := 0; from < n; {
		k, err := s.put(lane, cols, vals, from, n)
		if from += k; err != nil {
			if err := s.makeRoom(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// errFull says that the budget of the pool is used up.
var errFull = errors.New("the memory pool is full")

// isFull reports whether err means that there is not enough memory.
func isFull(err error) bool {
	var m *tcs.MemoryError
	return err == errFull || errors.As(err, &m)
}

// put appends entries [from, to) to a lane, and returns the number of entries that it appended. If
// memory is full, it appends only some and returns an error. After makeRoom has freed memory, put
// can be called again for the entries that are left.
func (s *Sorter) put(lane int, cols [][]int64, vals []byte, from, to int) (int, error) {
	if s.lanes[lane] == nil {
		s.lanes[lane] = newStore(s.pack, int(s.spec.Type.Size()), s.cfg.Limit)
		s.lanes[lane].slab = s.slab
	}
	if s.pool.held > s.pool.budget {
		return 0, errFull
	}
	st := s.lanes[lane]
	n, err := st.add(cols, vals, from, to)
	s.n += int64(n)
	s.countBytes(int64(n * st.stride() * 8))
	return n, err
}

// makeRoom moves records to disk after put returned err. It returns err if err does not concern
// memory, or if the memory limit is reached and no Sorter has records.
func (s *Sorter) makeRoom(err error) error {
	if !isFull(err) {
		return err
	}
	ok, e := s.pool.relieve()
	if e != nil || ok || err == errFull {
		return e
	}
	return err
}

// widen changes the packing, if needed, so that coordinates up to top[l] fit in each level l. There
// must be only one lane.
func (s *Sorter) widen(top []int64) error {
	if s.pack.canPack(top) {
		return nil
	}
	s.pack = s.pack.widened(top)
	st := s.lanes[0]
	if st == nil {
		return nil
	}
	err := st.repack(s.pack)
	if isFull(err) {
		if err = s.spill(); err == nil {
			err = st.repack(s.pack)
		}
	}
	s.countBytes(st.bytes() - s.bytes)
	return err
}

// spill sorts the records in memory and writes them to disk, one run for each lane. If memory is
// too small to sort a lane, it writes one run for each chunk of the lane.
func (s *Sorter) spill() error {
	for i, st := range s.lanes {
		if st == nil || st.n == 0 {
			continue
		}
		err := s.spillLane(i, func(d *spill) error { return d.take(st, s.cfg.threads()) })
		if err != nil {
			return err
		}
	}
	s.slab.free()
	s.countBytes(-s.bytes)
	return nil
}

// spillLane moves records of a lane to disk. It opens the spill if there is none yet, and then
// calls write, which must append the records to the spill in sorted runs. It notes that these runs
// belong to the lane.
func (s *Sorter) spillLane(lane int, write func(*spill) error) error {
	if s.disk == nil {
		d, err := newSpill(s.cfg.Tmp, int(s.spec.Type.Size()))
		if err != nil {
			return err
		}
		s.disk = d
	}
	err := write(s.disk)
	for len(s.lane) < len(s.disk.runs) {
		s.lane = append(s.lane, lane)
	}
	return err
}

// sort sorts all entries by the bits of their keys from low upwards. Entries that agree in these
// bits must be in order already. Afterwards the Sorter is empty.
func (s *Sorter) sort(low int) (entries, error) {
	defer s.Close()
	if s.disk == nil {
		all := s.joined()
		err := all.sort(low, s.cfg.threads())
		if err == nil && all.dups && !s.spec.keepsRepeats() {
			err = all.sum(&s.spec)
		}
		if err == nil {
			return all, nil
		}
		if isFull(err) {
			err = s.spillLane(0, func(d *spill) error { return d.takeChunks(all) })
		}
		if all.drop(); err != nil {
			return nil, err
		}
	}
	return s.merged()
}

// joined moves the records of all lanes to one store, in the order of lanes. They no longer count
// for the pool.
func (s *Sorter) joined() *store {
	s.slab.free()
	s.countBytes(-s.bytes)
	all := newStore(s.pack, int(s.spec.Type.Size()), s.cfg.Limit)
	for i, st := range s.lanes {
		if st != nil {
			all.join(st)
			s.lanes[i] = nil
		}
	}
	return all
}

// merged writes the records in memory to disk, and returns all entries on disk.
func (s *Sorter) merged() (*spill, error) {
	if err := s.spill(); err != nil {
		return nil, err
	}
	d := s.disk
	// Equal entries must stay in the order of lanes.
	order := tensor.Identity(len(s.lane))
	slices.SortStableFunc(order, func(i, j int) int { return s.lane[i] - s.lane[j] })
	runs := make([]run, len(order))
	for i, k := range order {
		runs[i] = d.runs[k]
	}
	d.runs, d.pack = runs, s.pack
	if err := d.reduce(s.pool.budget); err != nil {
		return nil, err
	}
	s.disk = nil
	return d, nil
}

// Finish makes the tensor, which the caller closes. Afterwards the Sorter is empty. wide selects
// 64-bit positions and coordinates.
func (s *Sorter) Finish(wide bool) (*tcs.Tensor, error) {
	s.spec.Wide = s.spec.Wide || wide
	if s.spec.Format.AllDense() && s.spec.Duplicates != Refuse {
		return s.spread()
	}
	all := &sorted{spec: s.spec, cfg: s.cfg}
	var err error
	if all.entries, err = s.sort(0); err != nil {
		return nil, err
	}
	defer all.free()
	for {
		t, err := all.tensor()
		if ok, e := s.relieved(err); e != nil || !ok {
			return t, e
		}
	}
}

// relieved moves a Sorter's records to disk if err means that memory is full. It returns true if
// the caller can try again. Otherwise it returns false and an error that contains err. If the
// records could not be moved, the error contains the reason too.
func (s *Sorter) relieved(err error) (bool, error) {
	if !isFull(err) {
		return false, err
	}
	ok, e := s.pool.relieve()
	if e != nil || !ok {
		return false, errors.Join(e, err)
	}
	return true, nil
}

// spread makes a dense tensor, which needs no sorting.
func (s *Sorter) spread() (*tcs.Tensor, error) {
	defer s.Close()
	out, err := NewSpread(s.spec, s.cfg, Add)
	for err != nil { // entries may occupy the memory that the tensor needs
		if ok, e := s.relieved(err); !ok {
			return nil, e
		}
		out, err = NewSpread(s.spec, s.cfg, Add)
	}
	readers, err := s.unsummed()
	for _, r := range readers {
		var b Batch
		for n := 1; n > 0 && err == nil; {
			if n, err = r.next(&b); n > 0 && err == nil {
				err = out.Add(b.Coords, b.Vals, n)
			}
		}
		r.close()
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out.Finish()
}

// unsummed returns readers that together yield all entries, without summing. Entries with equal
// coordinates come in the order of the input.
func (s *Sorter) unsummed() (list []reader, err error) {
	if s.disk != nil {
		d, err := s.merged()
		if err != nil {
			return nil, err
		}
		s.disk = d // the Sorter closes it
		m, err := d.merge(d.runs)
		return []reader{m}, err
	}
	for _, st := range s.lanes {
		if st != nil {
			list = append(list, st.reader(0, st.n))
		}
	}
	return list, nil
}

// Close releases memory and files.
func (s *Sorter) Close() {
	for i, st := range s.lanes {
		if st != nil {
			st.drop()
			s.lanes[i] = nil
		}
	}
	s.slab.free()
	s.countBytes(-s.bytes)
	if s.disk != nil {
		s.disk.close()
		s.disk = nil
	}
}

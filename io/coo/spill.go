package coo

import (
	"io"
	"os"
	"slices"
	"unsafe"

	"distaff/io/outfile"
)

// spill is a file of sorted runs of records. The file has no name, so that it disappears when the
// process ends, even if it is killed.
type spill struct {
	dir     string
	f       *os.File
	size    int64
	valSize int
	pack    *packer // packing of the records that merge yields
	runs    []run
	buffer  int // bytes to read at a time from each run
}

type run struct {
	off, n int64
	pack   *packer
}

func newSpill(dir string, valSize int) (*spill, error) {
	f, err := outfile.TempFile(dir)
	if err != nil {
		return nil, err
	}
	return &spill{dir: dir, f: f, valSize: valSize}, nil
}

// count makes the first pass over the merged runs.
func (s *spill) count(spec *Spec, _ int) ([]PartCount, error) {
	r, err := s.read(spec, 0, 1, false)
	if err != nil {
		return nil, err
	}
	defer r.close()
	p := NewPartCounter(len(spec.Format.Levels))
	if err := p.addAll(r); err != nil {
		return nil, err
	}
	if !p.p.Sorted {
		panic("BUG: coo: merged entries are not in order")
	}
	return []PartCount{p.Part()}, nil
}

// read merges all runs.
func (s *spill) read(spec *Spec, _, _ int, _ bool) (reader, error) {
	m, err := s.merge(s.runs)
	if err != nil || spec.keepsRepeats() {
		return m, err
	}
	return &summer{from: m, spec: spec}, nil
}

func (s *spill) free() { s.close() }

func (s *spill) close() {
	if s.f != nil {
		s.f.Close()
		s.f = nil
	}
}

// append writes words at the end of the file.
func (s *spill) append(words []uint64) error {
	if len(words) == 0 {
		return nil
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	if _, err := s.f.WriteAt(b, s.size); err != nil {
		return outfile.InTemp(s.dir, err)
	}
	s.size += int64(len(b))
	return nil
}

// write appends the records of a store, which must be sorted, as a run.
func (s *spill) write(st *store) error {
	if st.n == 0 {
		return nil
	}
	r := run{off: s.size, n: st.n, pack: st.pack}
	for _, c := range st.chunks {
		if err := s.append(c.recs); err != nil {
			return err
		}
	}
	s.runs = append(s.runs, r)
	return nil
}

// take sorts a store, appends it as a run, and empties it. If memory is too small to sort the
// store, each of its chunks becomes a run.
func (s *spill) take(st *store, threads int) error {
	err := st.sort(0, threads)
	if isFull(err) {
		return s.takeChunks(st)
	}
	if err == nil {
		err = s.write(st)
		st.drop()
	}
	return err
}

// takeChunks sorts each chunk of a store in place, appends it as a run, and empties the store.
func (s *spill) takeChunks(st *store) error {
	defer st.drop()
	for len(st.chunks) > 0 {
		one := newStore(st.pack, st.valSize, st.limit)
		one.chunks, st.chunks = st.chunks[:1:1], st.chunks[1:]
		one.n = int64(len(one.chunks[0].recs) / one.stride())
		err := one.sortHere()
		if err == nil {
			err = s.write(one)
		}
		if one.drop(); err != nil {
			return err
		}
	}
	return nil
}

// reduce merges runs until so few are left that they can be merged at once with a memory of budget
// bytes.
func (s *spill) reduce(budget int64) error {
	const least = 32 << 10
	fan := int(min(max(budget/least, 2), 256))
	for len(s.runs) > fan {
		next, err := newSpill(s.dir, s.valSize)
		if err != nil {
			return err
		}
		next.pack = s.pack
		s.buffer = int(min(max(budget/int64(fan), least), 1<<20))
		for g := range slices.Chunk(s.runs, fan) {
			if err := next.mergeFrom(s, g); err != nil {
				next.close()
				return err
			}
		}
		s.f.Close()
		*s = *next
	}
	s.buffer = int(min(max(budget/int64(max(len(s.runs), 1)), least), 1<<20))
	return nil
}

// mergeFrom merges the given runs of the spill o, and appends the result to s as one run.
func (s *spill) mergeFrom(o *spill, runs []run) error {
	m, err := o.merge(runs)
	if err != nil {
		return err
	}
	defer m.close()
	r := run{off: s.size, pack: s.pack}
	buf := make([]uint64, 0, 1<<15)
	for {
		rec, err := m.pop()
		if err != nil {
			return err
		}
		if rec == nil || len(buf)+len(rec) > cap(buf) {
			if err := s.append(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		if rec == nil {
			break
		}
		buf = append(buf, rec...)
		r.n++
	}
	s.runs = append(s.runs, r)
	return nil
}

// cursor reads one run.
type cursor struct {
	s    *spill
	r    run
	i    int // index of the run; equal records are returned in the order of runs
	buf  []uint64
	at   int
	head []uint64 // the current record, packed by s.pack
	conv []uint64
}

// advance moves to the next record. It returns false at the end.
func (c *cursor) advance() (bool, error) {
	st := c.r.pack.words + (c.s.valSize+7)/8
	if c.at == len(c.buf) {
		if c.r.n == 0 {
			return false, nil
		}
		n := int(min(c.r.n, int64(max(c.s.buffer/8/st, 1))))
		if cap(c.buf) < n*st {
			c.buf = make([]uint64, n*st)
		}
		c.buf = c.buf[:n*st]
		b := unsafe.Slice((*byte)(unsafe.Pointer(&c.buf[0])), 8*len(c.buf))
		if _, err := c.s.f.ReadAt(b, c.r.off); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return false, outfile.InTemp(c.s.dir, err)
		}
		c.r.off += int64(len(b))
		c.r.n -= int64(n)
		c.at = 0
	}
	c.head = c.buf[c.at : c.at+st]
	c.at += st
	if c.conv != nil {
		c.s.pack.convert(c.conv, c.head, c.r.pack)
		c.head = c.conv
	}
	return true, nil
}

// merger merges runs. h is a heap of cursors whose first element has the smallest record.
type merger struct {
	s   *spill
	h   []front
	out []uint64
}

// front is a cursor with the first word of its current record.
type front struct {
	key uint64
	c   *cursor
}

// before reports whether a's record comes before b's. Equal records come in the order of runs.
func (m *merger) before(a, b *front) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	for w := 1; w < m.s.pack.words; w++ {
		if x, y := a.c.head[w], b.c.head[w]; x != y {
			return x < y
		}
	}
	return a.c.i < b.c.i
}

// siftDown moves element i of the heap down to its place.
func (m *merger) siftDown(i int) {
	x := m.h[i]
	for {
		k := 2*i + 1
		if k >= len(m.h) {
			break
		}
		if k+1 < len(m.h) && m.before(&m.h[k+1], &m.h[k]) {
			k++
		}
		if !m.before(&m.h[k], &x) {
			break
		}
		m.h[i] = m.h[k]
		i = k
	}
	m.h[i] = x
}

func (s *spill) merge(runs []run) (*merger, error) {
	m := &merger{s: s, out: make([]uint64, s.pack.words+(s.valSize+7)/8)}
	for i, r := range runs {
		c := &cursor{s: s, r: r, i: i}
		if !r.pack.isSame(s.pack) {
			c.conv = make([]uint64, len(m.out))
		}
		ok, err := c.advance()
		if err != nil {
			return nil, err
		}
		if ok {
			m.h = append(m.h, front{c.head[0], c})
		}
	}
	for i := len(m.h)/2 - 1; i >= 0; i-- {
		m.siftDown(i)
	}
	return m, nil
}

func (m *merger) close() { m.h = nil }

// pop returns the next record, which is valid until the next call. It returns nil at the end.
func (m *merger) pop() ([]uint64, error) {
	if len(m.h) == 0 {
		return nil, nil
	}
	f := &m.h[0]
	copy(m.out, f.c.head)
	ok, err := f.c.advance()
	if err != nil {
		return nil, err
	}
	if ok {
		f.key = f.c.head[0]
	} else {
		last := len(m.h) - 1
		m.h[0] = m.h[last]
		m.h = m.h[:last]
	}
	if len(m.h) > 1 {
		m.siftDown(0)
	}
	return m.out, nil
}

func (m *merger) next(b *Batch) (int, error) {
	p := m.s.pack
	b.Resize(len(p.word), BatchSize, m.s.valSize)
	st := len(m.out)
	recs := make([]uint64, 0, BatchSize*st)
	for len(recs) < BatchSize*st {
		r, err := m.pop()
		if err != nil {
			return 0, err
		}
		if r == nil {
			break
		}
		recs = append(recs, r...)
	}
	n := len(recs) / st
	decode(p, m.s.valSize, recs, n, b.Coords, b.Vals)
	b.N = n
	return n, nil
}

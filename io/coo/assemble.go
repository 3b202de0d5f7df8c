package coo

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"distaff/io/outfile"
	"distaff/io/tcs"
)

// Assemble reads the stream, from where it stands, and makes the tensor that
// the spec asks for, its memory counted against cfg.Limit; the caller closes
// it. Entries may come in any order. What is wrong with them is an *Error
// (exit 3); a tensor past the limit is a *tcs.MemoryError (exit 5).
func Assemble(in Stream, spec Spec, cfg Config) (*tcs.Tensor, error) {
	spec, err := spec.normal(in)
	if err != nil {
		return nil, err
	}
	if t, err := scatter(in, spec, cfg); t != nil || err != nil {
		return t, err
	}
	src, err := collect(in, spec, cfg)
	if err != nil {
		return nil, err
	}
	defer src.free()
	return src.tensor()
}

// tensor makes both passes into memory. Entries in memory are given up as they
// are put into the tensor, which so counts for no more than what it takes beyond
// theirs. They can be read no more.
func (s *sorted) tensor() (*tcs.Tensor, error) {
	shape, hists, err := s.shape()
	if err != nil {
		return nil, err
	}
	limit := s.cfg.Limit
	held := int64(0)
	if s.mem != nil {
		held = s.mem.uncount()
	}
	t, err := tcs.New(shape, limit, s.spec.Name)
	var full *tcs.MemoryError
	if errors.As(err, &full) && s.mem != nil {
		if err = s.toDisk(); err == nil { // the entries may stand in its way
			hists, held = nil, 0
			t, err = tcs.New(shape, limit, s.spec.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	lay, err := shape.Layout()
	if err != nil {
		t.Close()
		return nil, err
	}
	if held -= lay.Bytes; held > 0 {
		if err := limit.Reserve(held, "sorted entries"); err != nil {
			t.Close()
			return nil, err
		}
		defer limit.Release(held)
	}
	s.last = true
	if err := s.fillMemory(t, shape, hists); err != nil {
		t.Close()
		return nil, err
	}
	t.Trust()
	return t, nil
}

// toDisk moves entries from memory to disk.
func (s *sorted) toDisk() error {
	f, err := newSpill(s.cfg.Tmp, s.mem.valSize)
	if err != nil {
		return err
	}
	f.pack, f.buffer = s.mem.pack, 1<<20
	if err := f.write(s.mem); err != nil {
		f.close()
		return err
	}
	s.mem.drop()
	s.mem, s.runs = nil, f
	return nil
}

// pieces cuts entries in memory into consecutive parts, one a thread.
func (s *sorted) pieces() []int64 {
	n := s.cfg.threads()
	if s.mem.n < 1<<16 {
		n = 1
	}
	cut := make([]int64, n+1)
	for i := range cut {
		cut[i] = int64(float64(s.mem.n) / float64(n) * float64(i))
	}
	cut[n] = s.mem.n
	return cut
}

// shape makes the first pass where it is still to be made. hists are the
// pieces' counts, nil where entries are not in memory.
func (s *sorted) shape() (*tcs.Shape, [][]int64, error) {
	hist := s.hist
	var hists [][]int64
	switch {
	case s.mem != nil:
		cut := s.pieces()
		hists = make([][]int64, len(cut)-1)
		each(len(hists), func(i int) {
			hists[i] = s.mem.count(s.spec.Kinds, cut[i], cut[i+1])
		})
		hist = make([]int64, len(s.spec.Kinds)+1)
		for _, h := range hists {
			for k, n := range h {
				hist[k] += n
			}
		}
	case s.runs != nil:
		var err error
		if hist, err = s.countRuns(); err != nil {
			return nil, nil, err
		}
	}
	sh := &tcs.Shape{Header: tcs.Header{Dims: s.dims, Box: slices.Clone(s.spec.Box),
		Splits: s.spec.Splits, Type: s.spec.Type},
		Kinds: s.spec.Kinds, Modes: s.spec.Modes, Counts: counts(s.spec.Kinds, hist), Wide: s.spec.Wide}
	if s.spec.FitDense {
		s.fit(sh)
	}
	return sh, hists, nil
}

// countRuns makes the first pass over runs on disk.
func (s *sorted) countRuns() ([]int64, error) {
	c := newCounter(s.spec.Kinds)
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	defer r.close()
	var b Batch
	for {
		n, err := r.next(&b)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return c.hist, nil
		}
		if !c.add(b.Coords, n) {
			panic("BUG: coo: merged entries are not in order")
		}
	}
}

// fit narrows the box of modes stored dense to the coordinates that there are.
func (s *sorted) fit(sh *tcs.Shape) {
	if sh.Header.Box == nil {
		sh.Header.Box = make([][2]int64, len(sh.Header.Dims))
		for m, n := range sh.Header.Dims {
			sh.Header.Box[m] = [2]int64{0, n}
		}
	}
	for l, m := range sh.Modes {
		if tcs.KindOf(sh.Kinds[l]).Form == tcs.Full && s.max[l] >= 0 {
			sh.Header.Box[m] = [2]int64{s.min[l], s.max[l] + 1}
		}
	}
}

// at unpacks the coordinates, by level, of record i.
func (s *store) at(i int64, coords []int64) {
	r := s.reader(i, i+1)
	rec := s.chunks[r.k].recs[r.off*int64(s.stride()):]
	for l := range coords {
		coords[l] = s.pack.get(rec, l)
	}
}

// fillMemory makes the second pass, in pieces side by side where the entries
// are in memory.
func (s *sorted) fillMemory(t *tcs.Tensor, shape *tcs.Shape, hists [][]int64) error {
	sinks := sinksOf(t)
	if len(hists) < 2 {
		r, err := s.open()
		if err != nil {
			return err
		}
		defer r.close()
		if m, ok := r.(*storeReader); ok {
			m.eat = s.last
		}
		return s.fillFrom(r, newFiller(&s.spec, shape, sinks))
	}
	cut := s.pieces()
	errs := make([]error, len(hists))
	before, prev := make([][]int64, len(hists)), make([][]int64, len(hists))
	hist := make([]int64, len(shape.Kinds)+1)
	for i, h := range hists {
		before[i] = counts(shape.Kinds, hist)
		for k, n := range h {
			hist[k] += n
		}
		if cut[i] > 0 {
			prev[i] = make([]int64, len(shape.Kinds))
			s.mem.at(cut[i]-1, prev[i])
		}
	}
	readers := make([]*storeReader, len(hists))
	for i := range readers {
		readers[i] = s.mem.reader(cut[i], cut[i+1])
		readers[i].eat = s.last
	}
	each(len(hists), func(i int) {
		f := newFiller(&s.spec, shape, sinks)
		if prev[i] != nil {
			f.resume(prev[i], before[i])
		}
		r := readers[i]
		var b Batch
		for n, _ := r.next(&b); n > 0 && errs[i] == nil; n, _ = r.next(&b) {
			errs[i] = f.add(b.Coords, b.Vals, n)
		}
		if i == len(hists)-1 && errs[i] == nil {
			errs[i] = f.finish()
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sinksOf gives the arrays of a tensor in memory, from their start on.
func sinksOf(t *tcs.Tensor) func(level int, part tcs.ArrayKind) *sink {
	return func(level int, part tcs.ArrayKind) *sink {
		switch part {
		case tcs.PosArray:
			return memorySink(t.Levels[level].Pos, 0)
		case tcs.CrdArray:
			return memorySink(t.Levels[level].Crd, 0)
		}
		return memorySink(t.Vals, 0)
	}
}

// errChanged says that a stream gave other entries when it was read again.
func (s *sorted) errChanged() error {
	return s.spec.dataErr("the input changed between two readings")
}

// fillFrom makes the second pass from r.
func (s *sorted) fillFrom(r reader, f *filler) error {
	var b Batch
	again := newCounter(s.spec.Kinds)
	for {
		n, err := r.next(&b)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if s.hist != nil && !s.fixed { // what is read again can have changed
			if err := s.recheck(again, &b, n); err != nil {
				return err
			}
		}
		if err := f.add(b.Coords, b.Vals, n); err != nil {
			return err
		}
	}
	if s.hist != nil && !s.fixed {
		last := len(s.hist) - 1
		if !slices.Equal(again.hist[:last], s.hist[:last]) ||
			s.keeps && again.hist[last] != s.hist[last] {
			return s.errChanged()
		}
	}
	return f.finish()
}

// recheck counts a batch of the second reading, and refuses what the first did
// not have: the arrays have room for that only.
func (s *sorted) recheck(again *counter, b *Batch, n int) error {
	for l, col := range b.Coords {
		for _, x := range col[:n] {
			if x < s.min[l] || x > s.max[l] {
				return s.errChanged()
			}
		}
	}
	if !again.add(b.Coords, n) {
		return s.errChanged()
	}
	last := len(s.hist) - 1
	for k, h := range again.hist {
		if h > s.hist[k] && (k < last || s.keeps) {
			return s.errChanged()
		}
	}
	return nil
}

// scatter makes an all-dense tensor straight from a stream whose sizes are
// known: nothing needs sorting. nil, nil where that does not apply.
func scatter(in Stream, spec Spec, cfg Config) (*tcs.Tensor, error) {
	dims, exact := in.Dims()
	if spec.Dims != nil {
		dims, exact = spec.Dims, true
	}
	if !tcs.AllDense(spec.Kinds) || !exact || spec.FitDense || spec.Duplicates == Refuse {
		return nil, nil
	}
	shape := &tcs.Shape{Header: tcs.Header{Dims: dims, Box: spec.Box, Splits: spec.Splits,
		Type: spec.Type}, Kinds: spec.Kinds, Modes: spec.Modes, Wide: spec.Wide}
	t, err := tcs.New(shape, cfg.Limit, spec.Name)
	if err != nil {
		return nil, err
	}
	s := &sorted{spec: spec, in: in, dims: dims}
	c := &collector{sorted: s, cols: make([][]int64, len(dims)), limits: make([][2]int64, len(dims))}
	s.min, s.max = make([]int64, len(dims)), make([]int64, len(dims))
	for l, m := range spec.Modes {
		c.limits[l], s.max[l] = shape.Header.Range(m), -1
	}
	var at []int64
	for {
		err := in.Next(&c.b)
		if err == io.EOF {
			break
		}
		var vals []byte
		if err == nil && c.b.N > 0 {
			if vals, err = c.convert(&c.b); err == nil {
				err = c.spans()
			}
		}
		if err != nil {
			t.Close()
			return nil, err
		}
		if c.b.N > 0 {
			at = c.positions(t, at)
			addAll(t, at, vals)
		}
	}
	t.Trust()
	return t, nil
}

// positions are those of the batch's entries in a dense tensor.
func (c *collector) positions(t *tcs.Tensor, at []int64) []int64 {
	if cap(at) < c.b.N {
		at = make([]int64, c.b.N)
	}
	at = at[:c.b.N]
	clear(at)
	for l, col := range c.cols {
		size, offset := t.Levels[l].Size, t.Levels[l].Offset
		for i, x := range col {
			at[i] = at[i]*size + x - offset
		}
	}
	return at
}

// addAll adds the values to those at positions at, which are zero before the first. What
// comes to a zero takes its place: added to it, -0 would be 0.
func addAll(t *tcs.Tensor, at []int64, vals []byte) {
	switch p := unsafe.Pointer(&vals[0]); t.Header.Type {
	case tcs.Float64:
		addEach(tcs.Values[float64](t), at, (*float64)(p))
	case tcs.Float32:
		addEach(tcs.Values[float32](t), at, (*float32)(p))
	case tcs.Int64:
		addEach(tcs.Values[int64](t), at, (*int64)(p))
	case tcs.Int32:
		addEach(tcs.Values[int32](t), at, (*int32)(p))
	case tcs.Complex128:
		addEach(tcs.Values[complex128](t), at, (*complex128)(p))
	case tcs.Complex64:
		addEach(tcs.Values[complex64](t), at, (*complex64)(p))
	}
}

func addEach[T float64 | float32 | int64 | int32 | complex128 | complex64](dst []T, at []int64,
	vals *T) {
	for i, v := range unsafe.Slice(vals, len(at)) {
		if p := &dst[at[i]]; *p == 0 {
			*p = v
		} else {
			*p += v
		}
	}
}

// AssembleFile is Assemble into a .tcs file at path, in the memory that
// cfg.Limit leaves, whatever the tensor's size. The file appears whole or not
// at all.
func AssembleFile(path string, in Stream, spec Spec, cfg Config) error {
	spec, err := spec.normal(in)
	if err != nil {
		return err
	}
	src, err := collect(in, spec, cfg)
	if err != nil {
		return err
	}
	defer src.free()
	shape, _, err := src.shape()
	if err != nil {
		return err
	}
	lay, err := tcs.NewFile(shape)
	if err != nil {
		return err
	}
	out, err := outfile.Create(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if out.Streams() {
		return src.stream(path, out, shape)
	}
	if err := out.Reserve(lay.Size()); err != nil {
		return err
	}
	sections := lay.Sections()
	sinks := make([]*sink, len(sections))
	for i, sec := range sections {
		sinks[i] = fileSink(out, sec)
	}
	f := newFiller(&src.spec, shape, func(level int, part tcs.ArrayKind) *sink {
		return sinks[slices.IndexFunc(sections,
			func(s tcs.Section) bool { return s.Level == level && s.Array == part })]
	})
	r, err := src.open()
	if err != nil {
		return err
	}
	defer r.close()
	if err := src.fillFrom(r, f); err != nil {
		return err
	}
	crcs := make([]uint32, len(sinks))
	for i, s := range sinks {
		s.flush()
		if s.err != nil {
			return out.Errorf(s.err)
		}
		if s.next() != sections[i].Len {
			panic(fmt.Sprintf("BUG: coo: section %d has %d elements, %d were counted", i, s.next(),
				sections[i].Len))
		}
		crcs[i] = s.crc
	}
	st, err := lay.StatsOf(out)
	if err != nil {
		return err
	}
	if _, err := out.WriteAt(lay.Header(crcs, st), 0); err != nil {
		return err
	}
	return out.Commit()
}

// stream writes a .tcs to a pipe: by way of memory, since its checksums and
// statistics come before its data.
func (s *sorted) stream(path string, out *outfile.File, shape *tcs.Shape) error {
	t, err := tcs.New(shape, s.cfg.Limit, path)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := s.fillMemory(t, shape, nil); err != nil {
		return err
	}
	if err := t.WriteTo(out, tcs.WriteOptions{Wide: shape.Wide, Limit: s.cfg.Limit}); err != nil {
		return out.Errorf(err)
	}
	return out.Commit()
}

package coo

import (
	"io"
	"slices"

	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

// Assemble reads the stream, starting with its next entry, and makes the tensor that the spec asks
// for. Entries may come in any order. The tensor's memory is counted against cfg.Limit, and the
// caller closes the tensor. Faults in the entries are reported as an *Error with exit code 3. A
// tensor that exceeds the limit is reported as a *tcs.MemoryError (exit code 5).
func Assemble(in Stream, spec Spec, cfg Config) (*tcs.Tensor, error) {
	spec, err := spec.normal(in)
	if err != nil {
		return nil, err
	}
	if t, err := scatter(in, spec, cfg); t != nil || err != nil {
		return t, err
	}
	s, err := collect(in, spec, cfg)
	if err != nil {
		return nil, err
	}
	defer s.free()
	return s.tensor()
}

// scatter stores the entries of a stream straight into a new tensor of dense levels, without
// sorting them. It returns nil, nil if that is not possible: for other levels, unknown sizes, or a
// spec that fits dense levels to the entries or refuses duplicates.
func scatter(in Stream, spec Spec, cfg Config) (*tcs.Tensor, error) {
	dims, exact := in.Dims()
	if spec.Dims != nil {
		dims, exact = spec.Dims, true
	}
	if !spec.Format.AllDense() || !exact || spec.FitDense || spec.Duplicates == Refuse {
		return nil, nil
	}
	spec.Dims = dims
	out, err := NewSpread(spec, cfg, Add)
	if err != nil {
		return nil, err
	}
	entries := newIntake(in, spec, dims)
	for err == nil {
		var cols [][]int64
		var vals []byte
		var n int
		if cols, vals, n, err = entries.Next(); err == nil {
			err = out.Add(cols, vals, n)
		}
	}
	if err != io.EOF {
		out.Close()
		return nil, err
	}
	return out.Finish()
}

// tensor makes both passes, into a tensor in memory. While the entries are copied to the tensor,
// their memory is released, so that both together occupy little more than the larger of the two.
// The entries cannot be read again.
func (s *sorted) tensor() (*tcs.Tensor, error) {
	j, err := s.joined()
	if err != nil {
		return nil, err
	}
	defer j.Close()
	limit, held := s.cfg.Limit, int64(0)
	mem, _ := s.entries.(*store)
	if mem != nil {
		held = mem.uncount()
	}
	err = j.allocate(limit, s.spec.Name)
	if mem != nil && isFull(err) {
		// the entries occupied the memory that the tensor needs
		if err = s.toDisk(mem); err == nil {
			held = 0
			j.mergeParts()
			err = j.allocate(limit, s.spec.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	lay, err := j.shape.Layout()
	if err != nil {
		return nil, err
	}
	if held -= lay.Bytes; held > 0 {
		if err := limit.Reserve(held, "sorted entries"); err != nil {
			return nil, err
		}
		defer limit.Release(held)
	}
	return s.fill(j)
}

// toDisk moves the entries from mem, which holds them in memory, to disk.
func (s *sorted) toDisk(mem *store) error {
	d, err := newSpill(s.cfg.Tmp, mem.valSize)
	if err != nil {
		return err
	}
	d.pack, d.buffer = mem.pack, 1<<20
	if err := d.write(mem); err != nil {
		d.close()
		return err
	}
	mem.drop()
	s.entries = d
	return nil
}

// joined makes the first pass.
func (s *sorted) joined() (*Joined, error) {
	parts, err := s.entries.count(&s.spec, s.cfg.threads())
	if err != nil {
		return nil, err
	}
	spec := s.spec
	if spec.FitDense {
		spec.Box = s.fit()
	}
	return newJoined(spec, parts)
}

// fit returns the box of the tensor. In the modes of dense levels, the box has only the range of
// the entries' coordinates.
func (s *sorted) fit() [][2]int64 {
	box := slices.Clone(s.spec.Box)
	if box == nil {
		for _, n := range s.spec.Dims {
			box = append(box, [2]int64{0, n})
		}
	}
	for l, m := range s.spec.Format.Order {
		if s.spec.Format.Levels[l].Form() == tensor.Full && s.max[l] >= 0 {
			box[m] = [2]int64{s.min[l], s.max[l] + 1}
		}
	}
	return box
}

// fill makes the second pass into the arrays of j. It fills the parts in parallel.
func (s *sorted) fill(j *Joined) (*tcs.Tensor, error) {
	n := len(j.parts)
	readers, errs := make([]reader, n), make([]error, n)
	for i := range readers { // make all readers before the first of them releases memory
		var err error
		if readers[i], err = s.entries.read(&s.spec, i, n, true); err != nil {
			return nil, err
		}
	}
	parallel(n, func(i int) {
		errs[i] = j.filler(i).addAll(readers[i], nil)
		readers[i].close()
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return j.finished(n - 1)
}

// AssembleFile is like Assemble, but writes a .tcs file at path. It needs no more memory than
// cfg.Limit allows, whatever the size of the tensor. If it fails, it leaves nothing at path.
func AssembleFile(path string, in Stream, spec Spec, cfg Config) error {
	spec, err := spec.normal(in)
	if err != nil {
		return err
	}
	s, err := collect(in, spec, cfg)
	if err != nil {
		return err
	}
	defer s.free()
	j, err := s.joined()
	if err != nil {
		return err
	}
	j.mergeParts()
	lay, err := tcsfile.NewFile(j.Shape())
	if err != nil {
		return err
	}
	out, err := outfile.Create(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if out.Streams() {
		return s.stream(path, out, j)
	}
	if err := out.Reserve(lay.Size()); err != nil {
		return err
	}
	r, err := s.entries.read(&s.spec, 0, 1, true)
	if err != nil {
		return err
	}
	defer r.close()
	ranges, err := j.write(0, r, lay, out)
	if err != nil {
		return err
	}
	crcs := make([]uint32, len(ranges))
	for i, r := range ranges {
		crcs[i] = r.CRC
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

// stream writes a .tcs file to a pipe. It assembles the tensor in memory first, because the
// checksums and statistics precede the data.
func (s *sorted) stream(path string, out *outfile.File, j *Joined) error {
	defer j.Close()
	if err := j.allocate(s.cfg.Limit, path); err != nil {
		return err
	}
	t, err := s.fill(j)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := tcsfile.WriteTo(out, t, tcsfile.WriteOptions{Wide: s.spec.Wide, Limit: s.cfg.Limit}); err != nil {
		return out.Errorf(err)
	}
	return out.Commit()
}

package coo

import (
	"io"

	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
)

// Assemble reads the stream, which must be at its first entry, and makes the tensor that the spec
// asks for. Entries may come in any order. The tensor's memory is counted against cfg.Limit, and
// the caller closes the tensor. Faults in the entries are reported as an *Error with exit code 3,
// or with exit code 2 if the requested type cannot hold a value. A tensor that exceeds the limit is
// reported as a *tcs.MemoryError (exit code 5).
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

// scatter stores the entries of a stream directly in a new tensor of dense levels, without sorting
// them. It returns nil, nil in four cases: a level is not dense, a size is unknown, spec asks for
// dense levels that cover only the range of the entries (FitDense), or spec refuses duplicates.
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

// AssembleFile is like Assemble, but writes a .tcs file at path. It needs no more memory than
// cfg.Limit allows, whatever the size of the tensor, unless path is a pipe or a device. Then the
// tensor must fit in memory. If AssembleFile fails, a regular file at path is unchanged.
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
	j, err := s.firstPass()
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

// stream writes a .tcs file to a pipe or a device. It assembles the tensor in memory first, because
// the checksums and statistics precede the data.
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

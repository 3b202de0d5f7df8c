package coo

import (
	"fmt"
	"io"
	"slices"

	"distaff/io/tcs"
)

// CountPart makes the first pass over a part of a tensor's entries that come in
// the order of modes.
func CountPart(in Stream, kinds string, modes []int) (PartCount, error) {
	c := NewPartCounter(kinds)
	cols := make([][]int64, len(kinds))
	var b Batch
	for {
		err := in.Next(&b)
		if err == io.EOF {
			return c.Part(), nil
		}
		if err != nil {
			return PartCount{}, err
		}
		for l, m := range modes {
			cols[l] = b.Coords[m][:b.N]
		}
		c.Add(cols, b.N)
	}
}

// Shape is the joined tensor's.
func (j *Joined) Shape() *tcs.Shape {
	return &tcs.Shape{Header: tcs.Header{Dims: j.spec.Dims, Box: slices.Clone(j.spec.Box),
		Splits: j.spec.Splits, Type: j.spec.Type},
		Kinds: j.spec.Kinds, Modes: j.spec.Modes, Counts: counts(j.spec.Kinds, j.hist), Wide: j.spec.Wide}
}

// FileRange is a range of a section of a file that was written: N elements from From
// on, and the CRC-32 of their bytes.
type FileRange struct {
	Section, From, N int64
	CRC              uint32
}

// WritePart makes the second pass over a part, which in holds: it writes what
// the part adds to each section of the file that lay lays out (source 000, sections
// 4.6.3 and 4.6.4), and, if it is the last part, what follows the last entry.
func (j *Joined) WritePart(part int, in Stream, lay *tcs.File, w io.WriterAt) ([]FileRange, error) {
	sections := lay.Sections()
	sinks := make([]*sink, len(sections))
	for i, sec := range sections {
		sinks[i] = fileSink(w, sec)
	}
	f := newFiller(&j.spec, j.Shape(), func(level int, part tcs.ArrayKind) *sink {
		return sinks[slices.IndexFunc(sections,
			func(s tcs.Section) bool { return s.Level == level && s.Array == part })]
	})
	for i := part - 1; i >= 0; i-- {
		if p := &j.parts[i]; p.N > 0 {
			f.resume(p.Last, j.before[part])
			break
		}
	}
	last := part == len(j.parts)-1
	from := make([]int64, len(sinks))
	for i, s := range sinks { // what is before is another's to write
		s.base, s.n = s.next(), 0
		from[i] = s.base
	}
	if err := f.fillAll(in, j.spec.Modes, sinks); err != nil {
		return nil, err
	}
	if last {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	spans := make([]FileRange, len(sinks))
	for i, s := range sinks {
		s.flush()
		if s.err != nil {
			return nil, s.err
		}
		if last && s.next() != sections[i].Len {
			panic(fmt.Sprintf("BUG: coo: section %d has %d elements, %d were counted", i, s.next(),
				sections[i].Len))
		}
		spans[i] = FileRange{int64(i), from[i], s.next() - from[i], s.crc}
	}
	return spans, nil
}

// fillAll appends all entries of the stream.
func (f *filler) fillAll(in Stream, modes []int, sinks []*sink) error {
	cols := make([][]int64, len(modes))
	var b Batch
	for {
		err := in.Next(&b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if b.N == 0 {
			continue
		}
		for l, m := range modes {
			cols[l] = b.Coords[m][:b.N]
		}
		if err := f.add(cols, b.Vals, b.N); err != nil {
			return err
		}
		for _, s := range sinks { // a full disk is not to be met at each write
			if s.err != nil {
				return s.err
			}
		}
	}
}

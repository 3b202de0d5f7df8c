package coo

import (
	"fmt"
	"io"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

// CountPart makes the first pass over one part of a tensor's entries, which come in the order of
// modes.
func CountPart(in Stream, f tensor.Format) (PartCount, error) {
	c := NewPartCounter(len(f.Levels))
	if err := c.addAll(inOrder(in, f.Order)); err != nil {
		return PartCount{}, err
	}
	return c.Part(), nil
}

// inOrder returns a reader of a stream whose entries already come in the order of modes.
func inOrder(in Stream, modes []int) reader {
	return &streamReader{newIntake(in, Spec{Format: tensor.Format{Order: modes}, Type: in.Type()},
		nil)}
}

// FileRange is a written range of a section of a file: N elements starting at element From, and the
// CRC-32 of their bytes.
type FileRange struct {
	Section, From, N int64
	CRC              uint32
}

// WritePart makes the second pass over one part of the tensor and writes the result to w. It reads
// the part's entries from stream. It writes the part's range of each section at the offsets of the
// layout lay (SuperTaco, sections 4.6.3 and 4.6.4). For the last part it also writes the elements
// after the last entry, such as the ends of pos arrays. It returns the ranges of the file that it
// wrote.
func (j *Joined) WritePart(part int, stream Stream, lay *tcsfile.File, w io.WriterAt) ([]FileRange, error) {
	return j.write(part, inOrder(stream, j.spec.Format.Order), lay, w)
}

// write is WritePart with a reader.
func (j *Joined) write(part int, r reader, lay *tcsfile.File, w io.WriterAt) ([]FileRange, error) {
	sections := lay.Sections()
	sinks := make([]*sink, len(sections))
	for i, sec := range sections {
		sinks[i] = fileSink(w, sec)
	}
	sinkOf := func(level int, array tcs.ArrayKind) *sink {
		return sinks[slices.IndexFunc(sections, func(s tcs.Section) bool {
			return s.Level == level && s.Array == array
		})]
	}
	f := j.resumeBefore(part, newFiller(&j.spec, j.Shape(), sinkOf))
	from := make([]int64, len(sinks))
	for i, s := range sinks { // other parts write the elements before the base
		s.base, s.n = s.next(), 0
		from[i] = s.base
	}
	if err := f.addAll(r, sinks); err != nil {
		return nil, err
	}
	last := part == len(j.parts)-1
	if last {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	ranges := make([]FileRange, len(sinks))
	for i, s := range sinks {
		s.flush()
		if s.err != nil {
			return nil, s.err
		}
		if last && s.next() != sections[i].Len {
			panic(fmt.Sprintf("BUG: coo: section %d has %d elements, %d were counted",
				i, s.next(), sections[i].Len))
		}
		ranges[i] = FileRange{int64(i), from[i], s.next() - from[i], s.crc}
	}
	return ranges, nil
}

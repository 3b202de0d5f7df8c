package coo

import (
	"fmt"
	"io"
	"slices"

	"distaff/io/tcs"
)

// Piece is what the first pass finds in a run of a tensor's entries, in storage
// order: a tensor that several writers make is cut into such pieces, all
// entries of one coordinate in the same (source 000, sections 4.6.3 and 4.6.4).
type Piece struct {
	N           int64   // entries
	First, Last []int64 // the outermost entries' coordinates by level; zero without entries
	Hist        []int64 // see counter; the first entry is counted as differing at level 0
}

// CountPiece makes the first pass over a piece, which comes in the order of
// modes. A stream out of order is an error.
func CountPiece(in Stream, kinds string, modes []int) (*Piece, error) {
	levels := len(kinds)
	p := &Piece{First: make([]int64, levels)}
	c := newCounter(kinds)
	cols := make([][]int64, levels)
	var b Batch
	for {
		err := in.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if b.N == 0 {
			continue
		}
		for l, m := range modes {
			cols[l] = b.Coords[m][:b.N]
			if p.N == 0 {
				p.First[l] = cols[l][0]
			}
		}
		if !c.add(cols, b.N) {
			panic("BUG: coo: the entries of a piece are not in order")
		}
		p.N += int64(b.N)
	}
	p.Last, p.Hist = c.prev, c.hist
	return p, nil
}

// Join puts pieces one after another: the counts of the whole, as in
// tcs.Shape.Counts, and of each piece where it begins.
func Join(kinds string, pieces []*Piece) (whole []int64, starts []*Start) {
	hist := make([]int64, len(kinds)+1)
	var last []int64
	for _, p := range pieces {
		starts = append(starts, &Start{prev: last, counts: counts(kinds, hist)})
		if p.N == 0 {
			continue
		}
		for k, n := range p.Hist {
			hist[k] += n
		}
		if last != nil { // its first entry was compared with nothing
			k := 0
			for k < len(kinds) && p.First[k] == last[k] {
				k++
			}
			hist[0]--
			hist[k]++
		}
		last = p.Last
	}
	return counts(kinds, hist), starts
}

// Start is what has come before a piece.
type Start struct {
	prev   []int64 // the last entry before it; nil for none
	counts []int64
}

// Span is a part of a section of a file that was written: N elements from From
// on, and the CRC-32 of their bytes.
type Span struct {
	Section, From, N int64
	CRC              uint32
}

// FillPiece makes the second pass: it writes what the piece adds to each
// section of the file that lay lays out, and, if it is the last piece, what
// follows the last entry. The spec is the whole tensor's, which has that shape.
func FillPiece(in Stream, spec Spec, shape *tcs.Shape, lay *tcs.File, at *Start, last bool, w io.WriterAt) ([]Span, error) {
	sections := lay.Sections()
	sinks := make([]*sink, len(sections))
	for i, sec := range sections {
		sinks[i] = fileSink(w, sec)
	}
	f := newFiller(&spec, shape, func(level int, part tcs.Part) *sink {
		return sinks[slices.IndexFunc(sections, func(s tcs.Section) bool { return s.Level == level && s.Part == part })]
	})
	if at.prev != nil {
		f.resume(at.prev, at.counts)
	}
	from := make([]int64, len(sinks))
	for i, s := range sinks { // what is before is another's to write
		s.base, s.n = s.next(), 0
		from[i] = s.base
	}
	if err := f.fillAll(in, spec.Modes, sinks); err != nil {
		return nil, err
	}
	if last {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	spans := make([]Span, len(sinks))
	for i, s := range sinks {
		s.flush()
		if s.err != nil {
			return nil, s.err
		}
		if last && s.next() != sections[i].Len {
			panic(fmt.Sprintf("BUG: coo: section %d has %d elements, %d were counted", i, s.next(), sections[i].Len))
		}
		spans[i] = Span{int64(i), from[i], s.next() - from[i], s.crc}
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

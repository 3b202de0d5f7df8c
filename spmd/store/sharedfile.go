package store

import (
	"encoding/json"
	"fmt"
	"slices"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/spmd/comm"
)

// sharedFile is one rank's handle of a file that all ranks write together. In ordered mode the
// ranks write one after another.
type sharedFile struct {
	c       comm.Comm
	file    *outfile.File // at rank 0 only
	handle  outfile.Handle
	part    *outfile.Writer // the open file; in ordered mode only in the rank's turn and at the end
	ordered bool
}

// newSharedFile opens rank 0's file at every rank. ok is false at every rank if some rank cannot
// open it. Every rank must call it.
func newSharedFile(c comm.Comm, file *outfile.File, ordered bool) (s *sharedFile, ok bool,
	err error) {
	s = &sharedFile{c: c, file: file, ordered: ordered}
	for _, named := range []bool{false, true} {
		var data []byte
		if c.Rank() == 0 {
			if named {
				file.Named() // if this fails, the others cannot open the file either, and say so
			}
			h, err := file.Handle()
			if err != nil {
				return nil, false, err
			}
			if data, err = json.Marshal(h); err != nil {
				panic("BUG: store: a handle does not encode: " + err.Error())
			}
		}
		if data, err = bcast(c, data); err != nil {
			return nil, false, err
		}
		if err := json.Unmarshal(data, &s.handle); err != nil {
			panic("BUG: store: a handle does not decode: " + err.Error())
		}
		opened := s.open()
		if ok, err = agree(c, opened == nil); ok && err == nil {
			s.handle.Token = nil // the file's data will overwrite the token
			if ordered {
				err = s.closePart()
			}
			return s, true, err
		}
		if opened == nil {
			s.closePart()
		}
		if err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

// open opens the file at this rank. If all ranks write at the same time, rank 0 continues to use
// the file that it has created. In ordered mode rank 0 opens the file again, so that it sees what
// other ranks have written.
func (s *sharedFile) open() (err error) {
	if s.c.Rank() == 0 && !s.ordered {
		s.part = s.file.Writer()
		return nil
	}
	if s.part, err = outfile.OpenWriter(s.handle); err != nil && s.c.Rank() == 0 {
		s.part, err = s.file.Writer(), nil
	}
	return err
}

func (s *sharedFile) closePart() error {
	if s.part == nil {
		return nil
	}
	p := s.part
	s.part = nil
	return p.Close()
}

// WriteAt writes to the file.
func (s *sharedFile) WriteAt(b []byte, off int64) (int, error) { return s.part.WriteAt(b, off) }

// resize sets the length of the file to n bytes and reserves the space. It does something only at
// rank 0.
func (s *sharedFile) resize(n int64) error {
	if s.c.Rank() != 0 {
		return nil
	}
	defer s.c.Busy()() // takes long on some file systems
	return s.file.Resize(n)
}

// resizing calls f at every rank, and resizes the file to n bytes at rank 0. f must write only to
// the first n bytes. In ordered mode, rank 0 resizes the file before it calls f. Otherwise rank 0
// resizes the file while f runs.
func (s *sharedFile) resizing(n int64, f func() error) error {
	if s.ordered || s.c.Rank() != 0 {
		if err := s.resize(n); err != nil {
			return err
		}
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- s.resize(n) }()
	err := f()
	if e := <-done; err == nil {
		err = e
	}
	return err
}

// write calls f, which writes this rank's spans of the file. In ordered mode, write first waits for
// this rank's turn. If this rank is on another machine than rank 0, the data is on disk when write
// returns without an error. If this rank is on the machine of rank 0, the data may still be in the
// system's memory, until rank 0 has flushed the file.
func (s *sharedFile) write(f func() error) error {
	if !s.ordered {
		if err := f(); err != nil {
			return err
		}
		return s.part.Flush()
	}
	me := s.c.Rank()
	token := []int64{int64(me)}
	if me > 0 {
		if err := wait(s.c.Irecv(comm.Of(token), me-1, tagTurn)); err != nil {
			return err
		}
		if token[0] != int64(me-1) {
			panic("BUG: store: a turn out of order")
		}
	}
	// opened again, so that this rank sees what others have written
	if err := s.open(); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = s.part.Flush()
	}
	if e := s.closePart(); err == nil {
		err = e
	}
	if err != nil || me == s.c.Size()-1 {
		return err
	}
	token[0] = int64(me)
	return wait(s.c.Isend(comm.Of(token), me+1, tagTurn))
}

// finish writes the header of a .tcs file whose sections are complete. The spans of all ranks must
// tile the layout. Every rank must call it.
func (s *sharedFile) finish(lay *tcsfile.File, spans []coo.FileRange) error {
	if err := s.c.Barrier(); err != nil {
		return err
	}
	if s.part == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	sh, err := lay.StatsShare(s.part, s.c.Rank(), s.c.Size())
	if err != nil {
		return err
	}
	if err := s.c.Allreduce(comm.Of(sh.Sums), comm.Sum); err != nil {
		return err
	}
	if err := s.c.Allreduce(comm.Of(sh.Most), comm.Max); err != nil {
		return err
	}
	all, err := gatherSpans(s.c, spans)
	if err != nil || s.c.Rank() != 0 {
		return err
	}
	_, err = s.WriteAt(lay.Header(tile(lay.Sections(), all), lay.Stats(sh)), 0)
	return err
}

// gatherSpans returns the spans of all ranks at rank 0, and nil at other ranks. Every rank must
// call it.
func gatherSpans(c comm.Comm, spans []coo.FileRange) ([]coo.FileRange, error) {
	var mine []int64
	for _, s := range spans {
		if s.N > 0 {
			mine = append(mine, s.Section, s.From, s.N, int64(s.CRC))
		}
	}
	counts := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(len(mine))}), comm.Of(counts)); err != nil {
		return nil, err
	}
	n := int64(0)
	for _, k := range counts {
		n += k
	}
	all := make([]int64, n)
	if err := c.Gatherv(comm.Of(mine), comm.Of(all), counts, 0); err != nil || c.Rank() != 0 {
		return nil, err
	}
	var list []coo.FileRange
	for ; len(all) > 0; all = all[4:] {
		list = append(list, coo.FileRange{Section: all[0], From: all[1], N: all[2],
			CRC: uint32(all[3])})
	}
	return list, nil
}

// tile combines the checksums of the spans into the checksums of whole sections. It panics if the
// spans leave a gap.
func tile(sections []tcs.Section, spans []coo.FileRange) []uint32 {
	slices.SortFunc(spans, func(a, b coo.FileRange) int {
		return compare([]int64{a.Section, a.From}, []int64{b.Section, b.From})
	})
	crcs, next := make([]uint32, len(sections)), make([]int64, len(sections))
	for _, s := range spans {
		if s.From != next[s.Section] {
			panic(fmt.Sprintf("BUG: store: section %d is written from element %d on, after %d", s.Section,
				s.From, next[s.Section]))
		}
		crcs[s.Section] = tcsfile.CombineCRC(crcs[s.Section], s.CRC, s.N*int64(sections[s.Section].Width))
		next[s.Section] += s.N
	}
	for i, sec := range sections {
		if next[i] != sec.Len {
			panic(fmt.Sprintf("BUG: store: section %d has %d elements, %d were written", i, sec.Len,
				next[i]))
		}
	}
	return crcs
}

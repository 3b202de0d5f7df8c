package tcsfile

import (
	"golang.org/x/sys/unix"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// File is the layout of a .tcs file before it is written. Several processes may write the sections
// at their offsets in any order; the header is written last.
type File struct{ h *fileHeader }

// NewFile returns the layout of the file of a tensor of that shape.
func NewFile(s *tcs.Shape) (*File, error) {
	h, err := newFileHeader(s)
	if err != nil {
		return nil, err
	}
	return &File{h}, nil
}

// Sections returns the sections. Their Offset is relative to the start of the file.
func (f *File) Sections() []tcs.Section {
	s := make([]tcs.Section, len(f.h.sections))
	for i := range s {
		s[i] = f.h.sections[i].section
	}
	return s
}

// Size returns the length of the file in bytes.
func (f *File) Size() int64 { return f.h.total }

// HeaderSize returns the length of the header in bytes.
func (f *File) HeaderSize() int64 { return f.h.length }

// Header returns the bytes of the header. crcs is the CRC-32 of each section's bytes;
// CombineCRC computes it for sections that are written in pieces. st are the statistics; their
// Levels may be nil.
func (f *File) Header(crcs []uint32, st tcs.Stats) []byte {
	if len(crcs) != len(f.h.sections) {
		panic("BUG: tcsfile: a checksum for every section is needed")
	}
	h := *f.h
	h.sections = append([]fileSection(nil), f.h.sections...)
	for i := range crcs {
		h.sections[i].crc = crcs[i]
	}
	levels := append([]tcs.LevelStats(nil), f.h.stats.Levels...)
	for l := range st.Levels {
		levels[l].Empty, levels[l].Most = st.Levels[l].Empty, st.Levels[l].Most
	}
	st.Levels = levels
	h.stats = st
	return h.encode()
}

// StatsOf computes the statistics of a file with layout f. All sections must be written; the
// header need not be.
func (f *File) StatsOf(file interface{ Fd() uintptr }) (tcs.Stats, error) {
	sh, err := f.StatsShare(file, 0, 1)
	if err != nil {
		return tcs.Stats{}, err
	}
	return f.Stats(sh), nil
}

// StatsShare computes the statistics of part k of n of the file's tensor. StatsOf computes the
// statistics of the whole tensor. All sections must be written before the call.
func (f *File) StatsShare(file interface{ Fd() uintptr }, k, n int) (tcs.StatsShare, error) {
	h := f.h
	ptr, err := unix.MmapPtr(int(file.Fd()), 0, nil, uintptr(h.total), unix.PROT_READ,
		unix.MAP_SHARED)
	if err != nil {
		return tcs.StatsShare{}, &tcs.Error{Exit: exitRun, Msg: "can't map the output", Err: err}
	}
	m := tcs.Foreign(ptr, h.total, func() error { return unix.MunmapPtr(ptr, uintptr(h.total)) })
	t := (&source{header: *h, mapped: m}).tensor()
	defer t.Close()
	var sh tcs.StatsShare
	err = t.Guarded(func() error { sh = t.StatsShare(int64(k), int64(n)); return nil })
	return sh, err
}

// Stats returns the file's statistics. sh must be the combination of all shares.
func (f *File) Stats(sh tcs.StatsShare) tcs.Stats {
	h := f.h
	t := h.shape.Bare()
	for l := range t.Levels {
		switch t.Levels[l].Form() {
		case tensor.Segmented:
			t.Levels[l].Crd.Len = h.shape.Counts[l]
		case tensor.Single:
			t.Levels[l].Crd.Len = t.Positions(l - 1)
		}
	}
	return sh.Stats(t)
}

package tcs

import "golang.org/x/sys/unix"

// Statistics counts what a file's header says. It reads the pos arrays, and the
// crd arrays of padded levels.
func (t *Tensor) Statistics() Stats {
	st := Stats{Levels: make([]LevelStats, len(t.Levels)), Entries: t.Vals.Len}
	padded := false
	parents := int64(1)
	for l := range t.Levels {
		lev := &t.Levels[l]
		s := &st.Levels[l]
		s.Positions = t.Positions(l)
		switch lev.Kind {
		case 'd':
			if s.Most = lev.Size; lev.Size == 0 {
				s.Empty = parents
			}
		case 's', 'u':
			for i, last := int64(1), int64(0); i < lev.Pos.Len; i++ {
				next := lev.Pos.Int(i)
				if next == last {
					s.Empty++
				}
				s.Most = max(s.Most, next-last)
				last = next
			}
		default:
			for i := range lev.Crd.Len {
				if lev.Crd.Int(i) < 0 {
					s.Empty++
				}
			}
			if lev.Crd.Len > s.Empty {
				s.Most = 1
			}
			padded = padded || s.Empty > 0
		}
		parents = s.Positions
	}
	if padded {
		st.Entries = 0
		for c, col, index := t.Cursor(), t.columns(512), make([]int64, 512); ; {
			k := c.Next(col, index)
			if k == 0 {
				break
			}
			st.Entries += int64(k)
		}
	}
	if len(t.Levels) > 0 && t.Vals.Len == 0 {
		r := t.Range(t.Levels[0].Mode)
		st.EmptySlices = r[1] - r[0]
	} else if len(t.Levels) > 0 {
		st.MaxSlice, st.EmptySlices = t.slices()
	}
	return st
}

func (t *Tensor) columns(n int) [][]int64 {
	c := make([][]int64, len(t.Dims))
	for m := range c {
		c[m] = make([]int64, n)
	}
	return c
}

// slices follows each coordinate of level 0 down to its values: the most that
// one has, and how many coordinates of the mode have none.
func (t *Tensor) slices() (most, empty int64) {
	r := t.Range(t.Levels[0].Mode)
	filled := int64(0)
	var run, last int64
	n := t.Positions(0)
	for p := range n {
		a, b := p, p+1
		x := p
		if t.Levels[0].Kind != 'd' {
			if x = t.Levels[0].Crd.Int(p); x < 0 {
				continue
			}
		}
		for l := 1; l < len(t.Levels); l++ {
			lev := &t.Levels[l]
			switch lev.Kind {
			case 'd':
				a, b = a*lev.Size, b*lev.Size
			case 's', 'u':
				a, b = lev.Pos.Int(a), lev.Pos.Int(b)
			case 'p':
				if b == a+1 && lev.Crd.Int(a) < 0 {
					b = a
				}
			}
		}
		if a == b {
			continue
		}
		if run > 0 && x == last {
			run += b - a
		} else {
			run, last = b-a, x
			filled++
		}
		most = max(most, run)
	}
	return most, r[1] - r[0] - filled
}

// StatsOf computes the statistics of a file laid out by f whose sections, but
// not the header, are in place.
func (f *File) StatsOf(file interface{ Fd() uintptr }) (Stats, error) {
	h := f.h
	ptr, err := unix.MmapPtr(int(file.Fd()), 0, nil, uintptr(h.total), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return Stats{}, &Error{Exit: exitRun, Msg: "can't map the output", Err: err}
	}
	m := Foreign(ptr, h.total, func() error { return unix.MunmapPtr(ptr, uintptr(h.total)) })
	t := (&source{header: *h, mapped: m}).tensor()
	defer t.Close()
	return t.Statistics(), nil
}

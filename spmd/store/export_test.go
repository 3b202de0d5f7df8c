package store

import (
	"distaff/io/convert"
	"distaff/spmd/comm"
)

// SmallWindows reduces the number of entries in windows of rows, until the returned function is
// called.
func SmallWindows(by int64) func() {
	shrinkWindows = by
	return func() { shrinkWindows = 1 }
}

// RowWindows returns the number of windows in which the blocks are assembled row by row, or 0 if
// another way is used.
func RowWindows(c comm.Comm, t *Blocks) (int, error) {
	x, err := newRows(c, t, nil)
	if x == nil {
		return 0, err
	}
	return len(x.ends), err
}

// WayOf returns the way in which a file of that name is written. Every rank must call it.
func WayOf(c comm.Comm, t *Blocks, name string) (string, error) {
	f, err := convert.FormatOf(name)
	if err != nil {
		return "", err
	}
	way, _, err := choose(&sharedFile{c: c}, &output{t: t, format: f})
	return way, err
}

// Ways returns the names of all ways.
func Ways() []string {
	var names []string
	for _, w := range writers {
		names = append(names, w.name)
	}
	return names
}

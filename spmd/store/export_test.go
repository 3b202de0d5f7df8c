package store

import (
	"distaff/io/convert"
	"distaff/spmd/comm"
)

// SmallWindows has windows of rows hold fewer entries, until the function that it
// returns is called.
func SmallWindows(by int64) func() {
	shrinkWindows = by
	return func() { shrinkWindows = 1 }
}

// RowWindows returns in how many windows the blocks are put together row by row, or 0 if they are
// not.
func RowWindows(c comm.Comm, t *Blocks) (int, error) {
	x, err := newRows(c, t, nil)
	if x == nil {
		return 0, err
	}
	return len(x.ends), err
}

// WayOf is the way in which a file of that name is written. Collective.
func WayOf(c comm.Comm, t *Blocks, name string) (string, error) {
	f, err := convert.FormatOf(name)
	if err != nil {
		return "", err
	}
	way, _, err := choose(&sharedFile{c: c}, &output{t: t, format: f})
	return way, err
}

// Ways are the names of all ways.
func Ways() []string {
	var names []string
	for _, w := range writers {
		names = append(names, w.name)
	}
	return names
}

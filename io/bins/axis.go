package bins

import (
	"fmt"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// axis is a sequence of bins of one width along one mode.
type axis struct {
	mode  int   // -1: no mode, all entries are in one bin
	size  int64 // a lower bound if the axis grows
	width int64 // coordinates of a bin
	bins  int
	grows bool    // the size is unknown: bins get wider when larger coordinates come
	at    []int32 // the bin of each entry of a batch
}

func newAxis(mode int, size, width int64, exact bool, most int) *axis {
	a := &axis{mode: mode, size: size, width: width, grows: !exact, bins: most}
	if exact {
		if width < 1 {
			panic(fmt.Sprintf("BUG: bins: a width of %d", width))
		}
		a.bins = int((size + width - 1) / width)
	}
	return a
}

// check returns the largest coordinate of a batch, and an error if a coordinate is negative or too
// large. If the axis grows, only tensor.MaxSize limits it. name is the file's name in the error.
func (a *axis) check(col []int64, name string) (last int64, err error) {
	low, last := col[0], col[0]
	for _, x := range col {
		low, last = min(low, x), max(last, x)
	}
	bad := func(format string, args ...any) error {
		return &coo.Error{Exit: 3, Name: name, Msg: fmt.Sprintf(format, args...)}
	}
	switch {
	case low < 0:
		return 0, bad(
			"got coordinate %d in mode %d, which must be at least 0 (counted from 0)",
			low, a.mode)
	case !a.grows && last >= a.size:
		return 0, bad("got coordinate %d in mode %d, want at most %d, its size",
			last+1, a.mode, a.size)
	case last >= tensor.MaxSize:
		return 0, bad("got coordinate %d in mode %d, want at most %d: sizes are at most 2^61",
			uint64(last)+1, a.mode, int64(tensor.MaxSize))
	}
	return last, nil
}

// place computes the bin of each coordinate. The coordinates must have passed check.
func (a *axis) place(col []int64) {
	if cap(a.at) < len(col) {
		a.at = make([]int32, len(col))
	}
	a.at = a.at[:len(col)]
	width := uint64(a.width)
	for k, x := range col {
		a.at[k] = int32(uint64(x) / width)
	}
}

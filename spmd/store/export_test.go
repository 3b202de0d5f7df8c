package store

import "distaff/spmd/comm"

// SmallWindows has windows of fibers hold fewer entries, until the function that it
// returns is called.
func SmallWindows(by int64) func() {
	smaller = by
	return func() { smaller = 1 }
}

// FiberWindows is how many windows of fibers blocks are put together in; 0 where
// they are not.
func FiberWindows(c comm.Comm, t *Blocks) (int, error) {
	x, err := newFibers(c, t, nil)
	if x == nil {
		return 0, err
	}
	return len(x.ends), err
}

package coo

import "slices"

// Presorted marks a stream whose entries are known to come in the order of modes. A sort in this
// order, or an assembly in a format with this order, stores no entries, but may read the stream
// again.
func Presorted(in Stream, modes []int) Stream { return &presorted{in, modes} }

type presorted struct {
	Stream
	modes []int
}

func (s *presorted) sortLevels(modes []int) int {
	if slices.Equal(modes, s.modes) {
		return 0
	}
	return len(modes)
}

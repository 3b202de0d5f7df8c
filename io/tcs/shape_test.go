package tcs

import (
	"distaff/io/tensor"
	"strings"
	"testing"
)

// TestAdviceIsComputed checks that an error about memory advises compressed levels only if the
// entries then have room.
func TestAdviceIsComputed(t *testing.T) {
	for _, c := range []struct {
		kinds   string
		size    int64 // of each mode
		entries int64
		want    string // the end of the error
	}{
		{"dd", 1000, 10, "(--memory-limit); stored as ss (-f) it takes at most 336 bytes"},
		{"ds", 1000, 10, "(--memory-limit); stored as ss (-f) it takes at most 336 bytes"},
		{"dd", 1000, 1000, "(--memory-limit)"},    // compressed it takes more than the limit
		{"dd", 1000, 1000000, "(--memory-limit)"}, // every coordinate is present
		{"dd", 1000, 0, "(--memory-limit)"},       // it is not known how many entries there are
		{"ss", 1000, 1000, "(--memory-limit)"},
		{"dd", 1 << 32, 10, "2^62 bytes; stored as ss (-f) it takes at most 464 bytes"},
		{"dd", 1 << 32, 1 << 50, "2^62 bytes"},
		{"dd", 1 << 32, 0, "2^62 bytes"},
	} {
		s := &Shape{Header: Header{Dims: []int64{c.size, c.size}, Type: tensor.Float64},
			Format: tensor.FormatOf(c.kinds, tensor.Identity(2)), Counts: []int64{c.entries, c.entries},
			Entries: c.entries}
		_, err := New(s, NewLimit(2000), "A")
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s of size %d with %d entries: got %v, want an error that ends in %q", c.kinds,
				c.size, c.entries, err, c.want)
		}
	}
}

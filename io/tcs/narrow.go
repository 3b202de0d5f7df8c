package tcs

import (
	"math"
	"unsafe"
)

// Narrow converts pos arrays from 64 to 32 bits, in place, if their positions fit. It must be
// called only for a tensor that was just made and is not shared. Such a tensor can have 64-bit
// arrays because a bound on its number of entries required them, although the actual number does
// not. The memory keeps its size.
func (t *Tensor) Narrow() {
	for l := range t.Levels {
		p := &t.Levels[l].Pos
		if p.Width != 8 || p.Len == 0 || p.Int(p.Len-1) > math.MaxInt32 {
			continue
		}
		// No element is overwritten before it is read: element i moves to a lower address.
		wide := unsafe.Slice((*int64)(p.Ptr), p.Len)
		narrow := unsafe.Slice((*int32)(p.Ptr), p.Len)
		for i, x := range wide {
			narrow[i] = int32(x)
		}
		p.Width = 4
	}
}

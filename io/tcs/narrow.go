package tcs

import (
	"math"
	"unsafe"
)

// Narrow brings pos arrays of 64 bits whose positions 32 bits hold to that
// width, in place: it is for the tensor that has just been made and that nothing
// shares, under a bound on its entries that turned out to be wide. The memory
// held stays as it is.
func (t *Tensor) Narrow() {
	for l := range t.Levels {
		p := &t.Levels[l].Pos
		if p.Width != 8 || p.Len == 0 || p.Int(p.Len-1) > math.MaxInt32 {
			continue
		}
		// Element i is read before anything is written at or past its place.
		wide := unsafe.Slice((*int64)(p.Ptr), p.Len)
		narrow := unsafe.Slice((*int32)(p.Ptr), p.Len)
		for i, x := range wide {
			narrow[i] = int32(x)
		}
		p.Width = 4
	}
}

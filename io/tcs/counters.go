package tcs

import "sync/atomic"

// Counters returns the counters of bytes in use and of the peak. An allocator outside Go
// updates them by atomic operations, to count against the same limit. The limit still owns
// them.
func (l *Limit) Counters() (used, peak *atomic.Int64) { return &l.used, &l.peak }

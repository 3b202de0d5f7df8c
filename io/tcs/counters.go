package tcs

import "sync/atomic"

// Counters are the bytes in use and the most there were, for an allocator
// outside Go that counts against the same limit by atomic operations. They stay
// the limit's.
func (l *Limit) Counters() (used, peak *atomic.Int64) { return &l.used, &l.peak }

package store

import (
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// maxWindow and minWindow bound the size of a window in bytes. goodWindow is the size to prefer
// if rows may be cut freely, because its buffers stay in a core's cache. bufferMemory is the limit
// for all windows or messages of a rank together, which only very many ranks exceed.
const (
	maxWindow    = 4 << 20
	goodWindow   = 1 << 20
	minWindow    = 64 << 10
	bufferMemory = 48 << 20
)

// bufferBytes returns how many bytes the buffers of each rank may occupy: bufferMemory, or half of
// the memory that is free at the rank with the least free memory, whichever is less. Every rank
// must call it.
func bufferBytes(c comm.Comm, limit *tcs.Limit) (int64, error) {
	return comm.AllreduceValue(c, rankBufferBytes(limit.Max() > 0, limit.Free()), comm.Min)
}

// rankBufferBytes returns the same for one rank. If limited is true, the rank has a memory limit,
// which leaves free bytes.
func rankBufferBytes(limited bool, free int64) int64 {
	if !limited {
		return bufferMemory
	}
	return min(bufferMemory, free/2)
}

// window returns the size in bytes of each of n windows that occupy total bytes together.
func window(total int64, n int) int64 {
	return min(max(total/int64(n), minWindow), maxWindow)
}

// windowBytes returns the size of a window, in bytes, for a result of total bytes: goodWindow, or
// more if the ranks would otherwise exchange counts of too many windows, but never more than
// `most`.
func windowBytes(most, total int64, ranks int) int64 {
	return min(most, max(goodWindow, 2*total/(maxWindowCounts/int64(ranks)+1)))
}

package store

import (
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// maxWindow and minWindow bound the size in bytes that the function window returns. goodWindow is
// the preferred size if rows may be cut anywhere. bufferMemory limits the size of all windows or
// messages of a rank together. Jobs with very many ranks may exceed it.
const (
	maxWindow    = 4 << 20
	goodWindow   = 1 << 20
	minWindow    = 64 << 10
	bufferMemory = 48 << 20
)

// bufferBytes returns how many bytes the buffers of each rank may occupy: bufferMemory, but under a
// memory limit at most half of the memory that is free at the rank with the least free memory.
// Every rank must call it.
func bufferBytes(c comm.Comm, limit *tcs.Limit) (int64, error) {
	return comm.AllreduceValue(c, rankBufferBytes(limit.Max() > 0, limit.Free()), comm.Min)
}

// rankBufferBytes returns how many bytes a rank may use for buffers. The result is bufferMemory,
// but at most free/2 if the rank has a memory limit. free is the number of bytes that remain below
// the limit.
func rankBufferBytes(limited bool, free int64) int64 {
	if !limited {
		return bufferMemory
	}
	return min(bufferMemory, free/2)
}

// window returns the size in bytes of each of n windows that share total bytes. The size is at
// least minWindow and at most maxWindow.
func window(total int64, n int) int64 {
	return min(max(total/int64(n), minWindow), maxWindow)
}

// windowBytes returns the size of a window, in bytes, for a result of total bytes: goodWindow, or
// more if the ranks would otherwise exchange counts of too many windows, but never more than
// maxBytes.
func windowBytes(maxBytes, total int64, ranks int) int64 {
	return min(maxBytes, max(goodWindow, 2*total/(maxWindowCounts/int64(ranks)+1)))
}

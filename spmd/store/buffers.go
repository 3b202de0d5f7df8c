package store

import (
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// maxWindow and minWindow bound the size in bytes that the function window returns. goodWindow is
// the preferred size in bytes of a window if rows may be cut anywhere. bufferMemory is the limit,
// in bytes, for the total size of a rank's windows or messages. Jobs with very many ranks may
// exceed this limit, because windows and messages have minimum sizes.
const (
	maxWindow    = 4 << 20
	goodWindow   = 1 << 20
	minWindow    = 64 << 10
	bufferMemory = 48 << 20
)

// bufferBytes returns the number of bytes that the buffers of each rank may occupy. This number is
// bufferMemory. If there is a memory limit, the number is also at most half of the free memory at
// the rank with the least free memory. Every rank must call it.
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

// windowBytes returns the size of a window in bytes. total is the size of the result in bytes. The
// size of a window is usually goodWindow. It is larger if windows of this size would be so many
// that the ranks exchange too many counts (see maxWindowCounts). It is at most maxBytes.
func windowBytes(maxBytes, total int64, ranks int) int64 {
	return min(maxBytes, max(goodWindow, 2*total/(maxWindowCounts/int64(ranks)+1)))
}

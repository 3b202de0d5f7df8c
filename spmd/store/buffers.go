package store

import (
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// windowMost and windowLeast bound the bytes of a window, windowGood those of one whose rows
// may be as few as wanted: its buffers stay in a core's cache. bufferMemory is what the
// windows or messages of a rank take together, at most but for very many ranks.
const (
	windowMost   = 4 << 20
	windowGood   = 1 << 20
	windowLeast  = 64 << 10
	bufferMemory = 48 << 20
)

// bufferBytes is what the buffers of each rank may take: bufferMemory, or where some rank's
// memory limit leaves less than twice that, half of what it leaves. Collective.
func bufferBytes(c comm.Comm, limit *tcs.Limit) (int64, error) {
	return comm.AllreduceValue(c, buffersOf(limit.Max() > 0, limit.Free()), comm.Min)
}

// buffersOf is bufferBytes of one rank, whose limit, if there is one, leaves free bytes.
func buffersOf(limited bool, free int64) int64 {
	if !limited {
		return bufferMemory
	}
	return min(bufferMemory, free/2)
}

// window is the bytes of each of n windows that take so many bytes together.
func window(total int64, n int) int64 {
	return min(max(total/int64(n), windowLeast), windowMost)
}

// wanted is the bytes of a window of a result of total bytes that most allow: windowGood,
// but where the ranks would have too many to tell one another of.
func wanted(most, total int64, ranks int) int64 {
	return min(most, max(windowGood, 2*total/(windowsMost/int64(ranks)+1)))
}

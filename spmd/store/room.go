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

// room is what the buffers of each rank may take: bufferMemory, or where some rank's
// memory limit leaves less than twice that, half of what it leaves. Collective.
func room(c comm.Comm, limit *tcs.Limit) (int64, error) {
	n := int64(bufferMemory)
	if limit.Max() > 0 {
		n = min(n, limit.Free()/2)
	}
	return comm.AllreduceValue(c, n, comm.Min)
}

// Buffers is what a rank takes beside its blocks, at most but for very many ranks, while it
// writes its share of a result together with others: share is the bytes of that, free
// what its memory limit leaves (0: there is none), and entries those that it writes as
// text, of so many modes (0: as numbers).
func Buffers(ranks int, share, free, entries int64, modes int) int64 {
	n := int64(bufferMemory)
	if free > 0 {
		n = min(n, free/2)
	}
	// Two windows of all that comes, one put together, two for each rank that this one's
	// own goes to; each is part of a share.
	n = min(max(n, int64(2*ranks+4)*windowLeast), int64(2*ranks+4)*windowMost, 8*share+1<<20)
	if entries > 0 {
		n += min(entries*int64(textMost*(modes+1)), spoolMemory+spoolChunk)
	}
	return n
}

// textMost is the characters of a number, and what follows it, at most.
const textMost = 26

// window is the bytes of each of n windows that take room together.
func window(room int64, n int) int64 {
	return min(max(room/int64(n), windowLeast), windowMost)
}

// wanted is the bytes of a window of a result of total bytes that most allow: windowGood,
// but where the ranks would have too many to tell one another of.
func wanted(most, total int64, ranks int) int64 {
	return min(most, max(windowGood, 2*total/(windowsMost/int64(ranks)+1)))
}

// Package comm is the communicator: what the runtime sends, receives and
// combines with, whether ranks are goroutines of one process (comm/local) or
// processes of a real MPI (comm/mpi). Package commtest is the suite that both
// pass.
//
// # Model
//
// A job has Size ranks, numbered from 0. A Comm is one rank's view of a group
// of ranks; Split makes smaller groups. Ranks exchange messages point to point
// (Isend, Irecv, then Wait) and in collectives, which every rank of the group
// calls in the same order. A message matches a receive of the same group,
// sender and tag; of two messages that match, the first sent is the first
// received. There is no wildcard: who sends is always known, so that a job's
// result never depends on timing.
//
// The collectives are written once, in this package, over the small Transport
// interface that local and mpi implement. A reduction combines in an order that
// rank numbers alone fix (see Reduce), so the same job gives the same bits over
// either transport, at any size of message and however ranks are delayed.
//
// # Memory
//
// A Buf is a typed view of memory that the caller owns and leaves alone until
// the request is done (Request.Wait, or a Test that says so): a send's buffer
// may be read, not written; a receive's neither. A failed Wait releases its buffer too.
// Memory outside the Go heap is sent where it lies; Go slices are staged where the
// transport wants that.
//
// # Failure
//
// The first rank that fails, by an error returned, a panic, Abort or its death,
// ends the job: every wait at every rank then returns an error, Context is
// cancelled with the cause, and the job ends with that rank's message and exit
// code. When every rank waits and nothing moves, as in a collective
// that a rank does not join, the watchdog says who waits where and ends the job.
//
// # Files
//
//	comm.go        Comm, and groups of its ranks
//	transport.go   Transport: what moves bytes
//	group.go       Comm over a Transport
//	call.go        a collective's kind and number
//	collective.go  collectives that move
//	reduce.go      collectives that add
//	op.go          the operations
//	request.go     messages under way
//	buf.go         buffers
//	slices.go      the same for Go slices,
//	values.go      and for values
//	place.go       where ranks run
//	board.go       what a rank waits for
//	errors.go      errors
//	exit.go        what must not outlive the process
package comm

import "context"

// Comm is one rank's view of a group of ranks. Point-to-point methods may be
// called from any goroutine; collectives from one at a time, in the same order
// at every rank of the group.
type Comm interface {
	// Rank is this rank's number in the group, 0 <= Rank < Size.
	Rank() int
	// Size is the number of ranks in the group.
	Size() int
	// WorldRank is the job-wide number of the group's rank r, the one that
	// messages show.
	WorldRank(r int) int
	// Context is cancelled, with its cause, when the job fails or is interrupted.
	Context() context.Context

	// Split divides the group: ranks of one color form a new group, ordered by
	// key, then by rank. A negative color joins none and gets nil. Collective.
	// A rank may be in some hundred groups at once; Close gives one back.
	Split(color, key int) (Comm, error)

	// Isend starts to send b to rank `to`. 0 <= tag <= MaxTag.
	Isend(b Buf, to, tag int) (*Request, error)
	// Irecv starts to receive at most b.Bytes() bytes from rank `from`; a longer
	// message is an error, a shorter one is Request.Bytes() long.
	Irecv(b Buf, from, tag int) (*Request, error)

	// Barrier returns when every rank of the group has called it.
	Barrier() error
	// Bcast copies b of rank root to b of every other rank. Sizes must agree.
	Bcast(b Buf, root int) error
	// Reduce combines b elementwise over the ranks into b of rank root; the
	// other ranks' b stays. The order is that of a binomial tree over rank
	// numbers, ((0+1)+(2+3))+((4+5)+...), whatever the root.
	Reduce(b Buf, op Op, root int) error
	// Allreduce is Reduce with the result in b of every rank, with the same bits.
	Allreduce(b Buf, op Op) error
	// Scan leaves in b of rank r the combination of ranks 0 to r.
	Scan(b Buf, op Op) error
	// Exscan leaves in b of rank r the combination of ranks 0 to r-1; op's
	// neutral element at rank 0.
	Exscan(b Buf, op Op) error
	// Gather concatenates every rank's send, all of one size, in recv of root.
	Gather(send, recv Buf, root int) error
	// Gatherv is Gather of counts[r] elements from rank r; root's counts matter.
	Gatherv(send, recv Buf, counts []int64, root int) error
	// Allgather concatenates every rank's send, all of one size, in every recv.
	Allgather(send, recv Buf) error
	// Allgatherv is Allgather of counts[r] elements from rank r, the same counts everywhere.
	Allgatherv(send, recv Buf, counts []int64) error
	// Alltoall sends part r of send to rank r, whose recv holds them in order of
	// rank; all parts have one size.
	Alltoall(send, recv Buf) error
	// Alltoallv is Alltoall with sendCounts[r] elements to, recvCounts[r] from rank r.
	Alltoallv(send Buf, sendCounts []int64, recv Buf, recvCounts []int64) error

	// Abort fails the job with an exit code and this rank's message: every wait
	// at every rank returns. It returns the error for the caller to return.
	Abort(code int, msg string) error
	// Counters is what this rank (not this group alone) has sent and received.
	Counters() Counters
	// Uncounted is the same group, whose traffic Counters leaves out: for
	// control messages, which are not payload.
	Uncounted() Comm
	// OneProcess says that all ranks of the job are in this process, so that one
	// may hand another a pointer.
	OneProcess() bool
	// Count adds to Counters what this rank handed over, or was handed, without
	// a message that carries it: memory that ranks of one process share.
	Count(c Counters)
	// Busy tells the watchdog that this rank computes, until the returned
	// function is called. A rank that waits in one goroutine while another
	// computes needs it; one that computes and then waits does not.
	Busy() (done func())
	// Close frees a group that Split made. Collective over that group. Closing
	// the job's first group does nothing: whoever started the job ends it.
	Close() error
}

// MaxTag is the largest tag of a message.
const MaxTag = 1<<14 - 1

// Counters counts payload. A point-to-point message counts once at its sender and once at its
// receiver, unless they are the same rank. Of collectives: a broadcast, and each rank's part of an
// allgather, counts once for its sender and once for each receiver; a reduction counts one message
// of every rank but the root to its parent in the binomial tree, an allreduce that and a broadcast
// from rank 0; gather and alltoall count a message for each part that travels; scans what their
// log2(Size) rounds send. A barrier, a split, the watchdog and what has no bytes count
// nothing.
type Counters struct {
	BytesSent, BytesReceived       int64
	MessagesSent, MessagesReceived int64
}

// Add is what c and n count together.
func (c Counters) Add(n Counters) Counters {
	return Counters{
		BytesSent:        c.BytesSent + n.BytesSent,
		BytesReceived:    c.BytesReceived + n.BytesReceived,
		MessagesSent:     c.MessagesSent + n.MessagesSent,
		MessagesReceived: c.MessagesReceived + n.MessagesReceived,
	}
}

// Sub is what was counted between two readings, from old to c.
func (c Counters) Sub(old Counters) Counters {
	return Counters{
		BytesSent:        c.BytesSent - old.BytesSent,
		BytesReceived:    c.BytesReceived - old.BytesReceived,
		MessagesSent:     c.MessagesSent - old.MessagesSent,
		MessagesReceived: c.MessagesReceived - old.MessagesReceived,
	}
}

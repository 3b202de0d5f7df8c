// Package comm is the communicator: it sends, receives and reduces data between the ranks of a job.
// The ranks are goroutines of one process (comm/local) or processes of an MPI library (comm/mpi).
// Package commtest is a test suite that both pass.
//
// # Model
//
// A job has Size ranks, numbered from 0. A Comm is one rank's view of a group of ranks; Split makes
// smaller groups. Ranks exchange messages point to point (Isend, Irecv, then Wait) and in
// collectives, which every rank of the group must call in the same order. A message matches a
// receive that has the same group, sender and tag. If two messages match a receive, the receive
// gets the message that was sent first. A receive always names its sender, so
// that the result of a job never depends on timing.
//
// The collectives are written once, in this package, on top of the small interface Transport that
// local and mpi implement. The order of the operands of a reduction depends on rank numbers only
// (see Reduce). The same job therefore computes the same bits with either transport, for any size
// of message and with any delays of ranks.
//
// # Memory
//
// A Buf is a typed view of memory that the caller owns. While a request is under way, the caller
// must not write the buffer of a send, and must neither read nor write the buffer of a receive. The
// request ends when Request.Wait returns, or when Test returns true. A Wait that fails also ends
// the request. Memory outside the Go heap is sent without a copy; Go slices are copied to a staging
// buffer if the transport needs one.
//
// # Failure
//
// A rank fails if its function returns an error or panics, if it calls Abort, or if it dies. The
// first rank that fails ends the job. Every wait at every rank then returns an error, Context is
// cancelled with the cause, and the job ends with the message and the exit code of that rank. If
// every rank waits and no message moves, for example because a rank does not join a collective, the
// watchdog lists the waits of all ranks and ends the job.
//
// # Files
//
//	comm.go        Comm: a group of ranks
//	transport.go   Transport: sends bytes between ranks
//	group.go       Comm on top of a Transport
//	call.go        the kind, number, messages and memory of a collective
//	collective.go  collectives that move data
//	reduce.go      collectives that combine data
//	op.go          the operations of reductions
//	request.go     messages under way
//	buf.go         buffers
//	slices.go      the methods of Comm for Go slices
//	values.go      collectives for values of any Go type, and agreement on errors
//	place.go       the machine and the cores of each rank
//	board.go       what a rank waits for
//	errors.go      errors
//	exit.go        cleans up before the process exits
package comm

import "context"

// Comm is one rank's view of a group of ranks. Any goroutine may call the point-to-point methods.
// Only one goroutine at a time may call collectives, and every rank of the group must call them in
// the same order.
type Comm interface {
	// Rank returns this rank's number in the group, 0 <= Rank < Size.
	Rank() int
	// Size returns the number of ranks in the group.
	Size() int
	// WorldRank returns the job-wide number of the group's rank r. Messages to users show this
	// number.
	WorldRank(r int) int
	// Context returns a context that is cancelled, with its cause, when the job fails or is
	// interrupted.
	Context() context.Context

	// Split divides the group: ranks with the same color form a new group, ordered by key and then
	// by rank. A rank with a negative color joins no group and gets nil. Every rank must call it. A
	// rank may be in several hundred groups at once; Close frees a group.
	Split(color, key int) (Comm, error)

	// Isend starts to send b to the rank `to`. The tag must be in [0, MaxTag].
	Isend(b Buf, to, tag int) (*Request, error)
	// Irecv starts to receive at most b.Bytes() bytes from the rank `from`. A longer message is an
	// error. Request.Bytes returns the length of a shorter one.
	Irecv(b Buf, from, tag int) (*Request, error)

	// Barrier returns when every rank of the group has called it.
	Barrier() error
	// Bcast copies b of rank root to b of every other rank. All buffers must have the same size.
	Bcast(b Buf, root int) error
	// Reduce combines b of all ranks, element by element, into b of rank root. It does not change b
	// of the other ranks. The order is the order of a binomial tree over rank numbers,
	// ((0+1)+(2+3))+((4+5)+...), for any root.
	Reduce(b Buf, op Op, root int) error
	// Allreduce is like Reduce, and every rank gets the same bits in b.
	Allreduce(b Buf, op Op) error
	// Scan sets b of rank r to the combination of ranks 0 to r.
	Scan(b Buf, op Op) error
	// Exscan sets b of rank r to the combination of ranks 0 to r-1, and b of rank 0 to the neutral
	// element of op.
	Exscan(b Buf, op Op) error
	// Gather concatenates send of every rank in recv of root. All send buffers have the same size.
	Gather(send, recv Buf, root int) error
	// Gatherv is like Gather, but rank r sends counts[r] elements. Only root needs counts.
	Gatherv(send, recv Buf, counts []int64, root int) error
	// Allgather concatenates send of every rank in recv of every rank. All send buffers have the
	// same size.
	Allgather(send, recv Buf) error
	// Allgatherv is Allgather with parts of different lengths: rank r sends counts[r] elements.
	// counts must be the same at all ranks.
	Allgatherv(send, recv Buf, counts []int64) error
	// Alltoall sends part r of send to rank r. recv gets the parts that were sent to this rank, in
	// order of rank. All parts have the same size.
	Alltoall(send, recv Buf) error
	// Alltoallv is Alltoall with parts of different lengths: part r of send has sendCounts[r]
	// elements, and rank r sends recvCounts[r] elements to this rank.
	Alltoallv(send Buf, sendCounts []int64, recv Buf, recvCounts []int64) error

	// Abort fails the job with an error of this rank. Every wait at every rank returns. Abort
	// returns an error that the caller should return.
	Abort(err error) error
	// Counters returns what this rank has sent and received in all its groups.
	Counters() Counters
	// Uncounted returns the same group without counting its traffic. It is for control messages,
	// which are not payload.
	Uncounted() Comm
	// OneProcess reports whether all ranks of the job are in this process, so that a rank may pass
	// a pointer to another.
	OneProcess() bool
	// Count adds c to Counters. It is called for data that this rank passes or receives without a
	// message, in memory that ranks of one process share.
	Count(c Counters)
	// Busy tells the watchdog that this rank computes, until the returned function is called. It is
	// needed if a rank waits in one goroutine while another goroutine computes. A rank that
	// computes first and waits afterwards does not need it.
	Busy() (done func())
	// Close frees a group that Split made. Every rank of the group must call it. Closing the job's
	// first group does nothing, because whoever started the job ends that group.
	Close() error
}

// MaxTag is the largest tag of a message.
const MaxTag = 1<<14 - 1

// Counters counts the payload of messages. A point-to-point message counts once at its sender and
// once at its receiver, unless sender and receiver are the same rank. A collective counts the
// messages of one fixed algorithm, whichever algorithm runs:
//
//   - a broadcast, and each rank's part of an allgather, counts once for its sender and once for
//     each receiver;
//   - in a reduction every rank except the root sends one message to its parent in the binomial
//     tree; an allreduce counts as a reduction and a broadcast from rank 0;
//   - gather and alltoall count a message for each part that is sent to another rank;
//   - scans count the messages of their log2(Size) rounds; an Exscan also counts a message from
//     each rank to the next rank.
//
// Barriers, splits, the watchdog and empty messages count nothing.
type Counters struct {
	BytesSent, BytesReceived       int64
	MessagesSent, MessagesReceived int64
}

// Add returns the sum of c and n.
func (c Counters) Add(n Counters) Counters {
	return Counters{
		BytesSent:        c.BytesSent + n.BytesSent,
		BytesReceived:    c.BytesReceived + n.BytesReceived,
		MessagesSent:     c.MessagesSent + n.MessagesSent,
		MessagesReceived: c.MessagesReceived + n.MessagesReceived,
	}
}

// Sub returns what was counted between two readings of Counters; old is the earlier one, c the
// later one.
func (c Counters) Sub(old Counters) Counters {
	return Counters{
		BytesSent:        c.BytesSent - old.BytesSent,
		BytesReceived:    c.BytesReceived - old.BytesReceived,
		MessagesSent:     c.MessagesSent - old.MessagesSent,
		MessagesReceived: c.MessagesReceived - old.MessagesReceived,
	}
}

package comm

import "context"

// Transport sends bytes between the ranks of a job. comm/local and comm/mpi implement it;
// everything else is implemented in this package.
type Transport interface {
	// Open returns the link of a group. Messages of one link never match receives of another.
	// members are the job-wide numbers of the group's ranks, including the caller. id is in [0,
	// Groups), and no other group that is open at one of the members has it.
	Open(id int, members []int) Link
	// Groups returns how many groups may be open at once, including the first group.
	Groups() int
	// Park blocks until at least one of the operations may have made progress. If the job is
	// cancelled, it returns the cause.
	Park(ops []Pending) error
	// Alloc allocates n bytes, aligned to 64 bytes, that can be sent and received without a staging
	// buffer. Free frees them.
	Alloc(n int64) (Buf, error)
	Free(b Buf)
	// Flat reports whether sending one buffer to many ranks costs one copy at each receiver and
	// nothing more at the sender, as in shared memory. Trees gain nothing then.
	Flat() bool
	// OneProcess reports whether all ranks of the job are in this process.
	OneProcess() bool
	// Fail fails the job with err. Only the first call has an effect.
	Fail(err error)
	// Context returns a context that is cancelled, with its cause, when the job fails or is
	// interrupted.
	Context() context.Context
}

// Link sends and receives the messages of one group. Ranks are numbers in the group.
type Link interface {
	Isend(b Buf, to, tag int) (Pending, error)
	Irecv(b Buf, from, tag int) (Pending, error)
}

// Pending is a message under way. Only one goroutine may use it at a time.
type Pending interface {
	// Test reports whether the message is done. If so, the caller may use the buffer again, and, if
	// err is nil, bytes is the number of bytes received or sent. Test may copy a message whose
	// sender and receiver are both ready.
	Test() (done bool, bytes int64, err error)
	// Release ends the message after the job was cancelled, or after its collective failed. MPI may
	// use a buffer from Alloc even afterwards.
	Release()
}

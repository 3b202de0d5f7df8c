package comm

import "context"

// Transport moves bytes between the ranks of a job: what comm/local and
// comm/mpi implement. Everything else is this package's.
type Transport interface {
	// Open is the matching context of a group: messages of one link never meet
	// another's. members are the group's job-wide ranks, the caller among them. No
	// other group that is open at a member has the same id, 0 <= id < Groups.
	Open(id int, members []int) Link
	// Groups is how many groups may be open at once, the first included.
	Groups() int
	// Park blocks until one of some operations may have moved, or the job is cancelled, when
	// it returns the cause.
	Park(ops []Pending) error
	// Alloc returns n bytes, aligned to 64, fit to be sent and received without
	// staging; Free takes them back.
	Alloc(n int64) (Buf, error)
	Free(b Buf)
	// Flat says that sending one buffer to many ranks costs each receiver one
	// copy and the sender nothing more, as in shared memory, so that trees gain nothing.
	Flat() bool
	// OneProcess says that all ranks of the job are in this process.
	OneProcess() bool
	// Fail fails the job, once: later calls change nothing.
	Fail(err error)
	// Context is cancelled with its cause when the job fails or is interrupted.
	Context() context.Context
}

// Link is one group's matching context; ranks are the group's.
type Link interface {
	Isend(b Buf, to, tag int) (Pending, error)
	Irecv(b Buf, from, tag int) (Pending, error)
}

// Pending is a message under way. One goroutine at a time uses it.
type Pending interface {
	// Test moves the message on and says whether it is done. Once done, bytes
	// is what arrived (or was sent), and the buffer is the caller's again.
	Test() (done bool, bytes int64, err error)
	// Release gives the message up, after the job was cancelled; on return
	// nothing at this rank touches the buffer any more.
	Release()
}

package transfer

import (
	"context"
	"sync"
	"sync/atomic"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// token identifies a block that is passed from one rank of this process to another.
type token int64

// entry is a block that one rank of this process has passed to another rank, and that the other
// rank has not yet received.
type entry struct {
	t    *tcs.Tensor // holds a reference to the block's memory
	stop func() bool // cancels the clean-up at the end of the job
}

var (
	lastToken atomic.Int64
	handed    sync.Map // token -> entry
)

// hand makes n tokens, which let ranks of this process receive t. The tokens have consecutive
// numbers, and hand returns the first token. Each token has its own reference to t. When the job
// ends, the references of the tokens that no rank has received are closed.
func hand(c comm.Comm, t *tcs.Tensor, n int) token {
	first := token(lastToken.Add(int64(n)) - int64(n) + 1)
	for k := range token(n) {
		e := entry{t: t.Alias()}
		// revoke finds the token in the map: it cannot matter before the entry is stored.
		e.stop = context.AfterFunc(c.Context(), func() { (first + k).revoke() })
		handed.Store(first+k, e)
		if c.Context().Err() != nil {
			(first + k).revoke()
		}
	}
	return first
}

// taken returns the token's block, which the caller must close. It returns nil if the job has
// failed.
func (k token) taken() *tcs.Tensor {
	e, ok := handed.LoadAndDelete(k)
	if !ok {
		return nil
	}
	e.(entry).stop()
	return e.(entry).t
}

// revoke closes the block unless it was received.
func (k token) revoke() {
	if t := k.taken(); t != nil {
		t.Close()
	}
}

// payload returns the number of messages and bytes that sending t's arrays would take.
func payload(t *tcs.Tensor) (messages, bytes int64) {
	for _, a := range arrays(t) {
		if a.Len > 0 {
			messages, bytes = messages+1, bytes+a.Len*int64(a.Width)
		}
	}
	return messages, bytes
}

func countSent(c comm.Comm, t *tcs.Tensor) {
	n, bytes := payload(t)
	c.Count(comm.Counters{MessagesSent: n, BytesSent: bytes})
}

func countReceived(c comm.Comm, t *tcs.Tensor) {
	n, bytes := payload(t)
	c.Count(comm.Counters{MessagesReceived: n, BytesReceived: bytes})
}

// share does the work of Send if both ranks are in one process.
func share(c comm.Comm, t *tcs.Tensor, to, tag int) (*Sending, error) {
	k := hand(c, t, 1)
	s := &Sending{meta: []int64{int64(k)}}
	r, err := c.Uncounted().Isend(comm.Of(s.meta), to, tag)
	if err != nil {
		k.revoke()
		return nil, err
	}
	s.requests = []*comm.Request{r}
	countSent(c, t)
	return s, nil
}

// take does the work of Recv if both ranks are in one process.
func take(c comm.Comm, from, tag int) (*tcs.Tensor, error) {
	k := make([]int64, 1)
	r, err := c.Uncounted().Irecv(comm.Of(k), from, tag)
	if err == nil {
		err = r.Wait()
	}
	if err != nil {
		return nil, err
	}
	return received(c, token(k[0]))
}

// received returns the block of a token that has arrived.
func received(c comm.Comm, k token) (*tcs.Tensor, error) {
	t := k.taken()
	if t == nil {
		if err := context.Cause(c.Context()); err != nil {
			return nil, err
		}
		panic("BUG: transfer: a block was handed over twice")
	}
	countReceived(c, t)
	return t, nil
}

// shareAll does the work of Bcast if all ranks are in one process.
func shareAll(c comm.Comm, t *tcs.Tensor, root int) (*tcs.Tensor, error) {
	k := make([]int64, 1)
	if c.Rank() == root {
		k[0] = int64(hand(c, t, c.Size()))
		token(k[0] + int64(root)).revoke()
	}
	if err := c.Uncounted().Bcast(comm.Of(k), root); err != nil {
		return nil, err
	}
	if c.Rank() == root {
		countSent(c, t)
		return t, nil
	}
	return received(c, token(k[0]+int64(c.Rank())))
}

package transfer

import (
	"context"
	"sync"
	"sync/atomic"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// token names a block on its way from one rank of this process to another.
type token int64

// entry is a block that was handed over and not yet taken.
type entry struct {
	t    *tcs.Tensor // holds the block's memory
	stop func() bool // of the clean-up at the job's end
}

var (
	lastToken atomic.Int64
	handed    sync.Map // token -> entry
)

// hand makes n tokens that follow one another, each of t again. What nobody
// has taken is closed when the job ends.
func hand(c comm.Comm, t *tcs.Tensor, n int) token {
	first := token(lastToken.Add(int64(n)) - int64(n) + 1)
	for k := range token(n) {
		e := entry{t: t.Alias()}
		// It finds the token where it runs: the entry is there before it can matter.
		e.stop = context.AfterFunc(c.Context(), func() { (first + k).revoke() })
		handed.Store(first+k, e)
		if c.Context().Err() != nil {
			(first + k).revoke()
		}
	}
	return first
}

// taken is the token's block, which is the caller's from now on; nil after the
// job has failed.
func (k token) taken() *tcs.Tensor {
	e, ok := handed.LoadAndDelete(k)
	if !ok {
		return nil
	}
	e.(entry).stop()
	return e.(entry).t
}

// revoke closes the block if nobody has taken it.
func (k token) revoke() {
	if t := k.taken(); t != nil {
		t.Close()
	}
}

// payload is what t's arrays would be as messages.
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

// share is Send between ranks of one process.
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

// take is Recv between ranks of one process.
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

// received is the block of a token that came.
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

// shareAll is Bcast between ranks of one process.
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

package comm

import (
	"distaff/io/tensor"
	"fmt"
)

// longBcast, longReduce and longAllgather are sizes of buffers in bytes. If its buffer is smaller,
// the collective does not use its algorithm for long buffers. These sizes change the cost of a
// collective but not its result.
const (
	longBcast     = 512 << 10
	longReduce    = 128 << 10
	longAllgather = 32 << 10
	window        = 64 // largest number of messages of an alltoall that are sent at the same time
)

// Barrier implements Comm.
func (g *group) Barrier() error { return g.begin("Barrier", kindBarrier, noDetail).barrier() }

// barrier is the dissemination barrier. It takes log2(P) rounds, rounded up. In round k, counted
// from 0, each rank signals the rank 2^k after it.
func (c *call) barrier() (err error) {
	defer func() { err = c.end(err) }()
	p, r := len(c.g.core.members), c.g.core.rank
	for d := 1; d < p; d *= 2 {
		if err := c.irecv(Buf{}, (r-d+p)%p); err != nil {
			return err
		}
		if err := c.isend(Buf{}, (r+d)%p); err != nil {
			return err
		}
		if err := c.wait(); err != nil {
			return err
		}
	}
	return nil
}

// Bcast implements Comm.
func (g *group) Bcast(b Buf, root int) error {
	c := g.begin("Bcast", kindBcast, rootOf(root))
	if err := c.checkRoot(root); err != nil {
		return err
	}
	if err := c.checkBuf(b); err != nil {
		return err
	}
	if err := c.end(c.bcast(b, root)); err != nil {
		return err
	}
	g.countBcast(b.Bytes(), root)
	return nil
}

func (g *group) countBcast(n int64, root int) {
	switch {
	case len(g.core.members) == 1:
	case g.core.rank == root:
		g.countSent(n)
	default:
		g.countReceived(n)
	}
}

func (c *call) bcast(b Buf, root int) error {
	p := len(c.g.core.members)
	n := b.Bytes()
	b = Buf{Ptr: b.Ptr, Len: n, Type: tensor.Byte, Heap: b.Heap}
	switch {
	case p == 1:
		return nil
	case c.g.core.t.Flat():
		if c.g.core.rank != root {
			return c.recv(b, root)
		}
		for s := 1; s < p; s++ {
			if err := c.isend(b, (root+s)%p); err != nil {
				return err
			}
		}
		return c.wait()
	case p > 2 && n >= longBcast && n/int64(p) >= 16<<10:
		return c.bcastLong(b, root)
	}
	return c.bcastTree(b, root)
}

// bcastTree sends b along the binomial tree rooted at root.
func (c *call) bcastTree(b Buf, root int) error {
	p := len(c.g.core.members)
	v := (c.g.core.rank - root + p) % p
	mask := 1
	for ; mask < p; mask *= 2 {
		if v&mask != 0 {
			if err := c.recv(b, (v-mask+root)%p); err != nil {
				return err
			}
			break
		}
	}
	for mask /= 2; mask > 0; mask /= 2 {
		if v+mask < p {
			if err := c.isend(b, (v+mask+root)%p); err != nil {
				return err
			}
		}
	}
	return c.wait()
}

// bcastLong scatters b over the ranks and then gathers the parts in a ring (van de Geijn's
// broadcast), so that no rank sends more than twice the size of b.
func (c *call) bcastLong(b Buf, root int) error {
	p := len(c.g.core.members)
	v := (c.g.core.rank - root + p) % p
	chunk := func(i int) Buf { return b.Slice(cut(b.Len, i, p), cut(b.Len, i+1, p)) }
	if v == 0 {
		for i := 1; i < p; i++ {
			if err := c.isend(chunk(i), (root+i)%p); err != nil {
				return err
			}
		}
	} else if err := c.recv(chunk(v), root); err != nil {
		return err
	}
	for s := 0; s < p-1; s++ {
		if v != 0 {
			if err := c.irecv(chunk((v-s-1+p)%p), (v-1+root+p)%p); err != nil {
				return err
			}
		}
		if v != p-1 {
			if err := c.isend(chunk((v-s+p)%p), (v+1+root)%p); err != nil {
				return err
			}
		}
		if err := c.wait(); err != nil {
			return err
		}
	}
	return nil
}

// cut returns the start of part i if n elements are cut into p parts of almost equal size.
func cut(n int64, i, p int) int64 {
	q, r := n/int64(p), n%int64(p)
	return q*int64(i) + min(int64(i), r)
}

func evenCounts(p int, n int64) []int64 {
	c := make([]int64, p)
	for i := range c {
		c[i] = n
	}
	return c
}

// offsets returns the start of each part if the parts have these counts, followed by the total.
func offsets(counts []int64) ([]int64, error) {
	off := make([]int64, len(counts)+1)
	for i, n := range counts {
		if n < 0 {
			return nil, fmt.Errorf("got the count %d for rank %d, want at least 0", n, i)
		}
		off[i+1] = off[i] + n
		if off[i+1] < 0 {
			return nil, fmt.Errorf("the counts add up to more than 2^63")
		}
	}
	return off, nil
}

// checkParts checks a buffer that holds one part for each rank. It returns the start of each part.
func (c *call) checkParts(what string, b Buf, counts []int64) ([]int64, error) {
	if err := c.checkBuf(b); err != nil {
		return nil, err
	}
	if len(counts) != len(c.g.core.members) {
		return nil, c.misuse("got %d %s counts, want one for each of the %d ranks",
			len(counts), what, len(c.g.core.members))
	}
	off, err := offsets(counts)
	if err != nil {
		return nil, c.misuse("%s %w", what, err)
	}
	if total := off[len(counts)]; total != b.Len {
		return nil, c.misuse(
			"the %s buffer has %d elements, but the counts add up to %d", what, b.Len, total)
	}
	return off, nil
}

// Gather implements Comm.
func (g *group) Gather(send, recv Buf, root int) error {
	return g.gather("Gather", send, recv, evenCounts(len(g.core.members), send.Len), root)
}

// Gatherv implements Comm.
func (g *group) Gatherv(send, recv Buf, counts []int64, root int) error {
	return g.gather("Gatherv", send, recv, counts, root)
}

func (g *group) gather(name string, send, recv Buf, counts []int64, root int) (err error) {
	c := g.begin(name, kindGather, rootOf(root))
	if err := c.checkRoot(root); err != nil {
		return err
	}
	if err := c.checkBuf(send); err != nil {
		return err
	}
	defer func() { err = c.end(err) }()
	if g.core.rank != root {
		if err := c.isend(send, root); err != nil {
			return err
		}
		g.countSent(send.Bytes())
		return c.wait()
	}
	off, err := c.checkParts("receive", recv, counts)
	if err != nil {
		return err
	}
	if !recv.isOfTypeOf(send) || counts[root] != send.Len {
		return c.misuse("the root sends %d %v, but its part has %d %v",
			send.Len, send.Type, counts[root],
			recv.Type)
	}
	for r := range counts {
		part := recv.Slice(off[r], off[r+1])
		if r == root {
			send.copyTo(part)
			continue
		}
		if err := c.irecv(part, r); err != nil {
			return err
		}
		g.countReceived(part.Bytes())
	}
	return c.wait()
}

// Allgather implements Comm.
func (g *group) Allgather(send, recv Buf) error {
	return g.allgather("Allgather", send, recv, evenCounts(len(g.core.members), send.Len))
}

// Allgatherv implements Comm.
func (g *group) Allgatherv(send, recv Buf, counts []int64) error {
	return g.allgather("Allgatherv", send, recv, counts)
}

func (g *group) allgather(name string, send, recv Buf, counts []int64) error {
	c := g.begin(name, kindAllgather, noDetail)
	if err := c.allgather(send, recv, counts); err != nil {
		return err
	}
	if len(counts) > 1 {
		parts := int64(0) // nonempty parts of other ranks
		for r, n := range counts {
			if r != g.Rank() {
				parts += min(n, 1)
			}
		}
		g.countSent(send.Bytes())
		g.countReceives(parts, recv.Bytes()-send.Bytes())
	}
	return nil
}

func (c *call) allgather(send, recv Buf, counts []int64) (err error) {
	defer func() { err = c.end(err) }()
	if err := c.checkBuf(send); err != nil {
		return err
	}
	off, err := c.checkParts("receive", recv, counts)
	if err != nil {
		return err
	}
	me := c.g.core.rank
	if !recv.isOfTypeOf(send) || counts[me] != send.Len {
		return c.misuse("the rank sends %d %v, but its part has %d %v",
			send.Len, send.Type, counts[me], recv.Type)
	}
	send.copyTo(recv.Slice(off[me], off[me+1]))
	return c.allgatherParts(recv, off)
}

// allgatherParts gathers parts in place. At the start, rank r has stored part r of b: the elements
// from off[r] to off[r+1]. At the end, every rank has all parts of b.
func (c *call) allgatherParts(b Buf, off []int64) error {
	p, me := len(c.g.core.members), c.g.core.rank
	part := func(r int) Buf { return b.Slice(off[r], off[r+1]) }
	switch {
	case p == 1:
		return nil
	case c.g.core.t.Flat() || p == 2:
		for s := 1; s < p; s++ {
			if err := c.irecv(part((me-s+p)%p), (me-s+p)%p); err != nil {
				return err
			}
			if err := c.isend(part(me), (me+s)%p); err != nil {
				return err
			}
		}
		return c.wait()
	case b.Bytes() < longAllgather:
		return c.allgatherShort(b, off)
	}
	for s := 0; s < p-1; s++ { // a ring: each step passes on the part that the last step received
		if err := c.irecv(part((me-s-1+p)%p), (me-1+p)%p); err != nil {
			return err
		}
		if err := c.isend(part((me-s+p)%p), (me+1)%p); err != nil {
			return err
		}
		if err := c.wait(); err != nil {
			return err
		}
	}
	return nil
}

// allgatherShort gathers the parts at rank 0 along the binomial tree, and then broadcasts b. A
// subtree of the binomial tree is a range of consecutive ranks, so its parts are consecutive in b.
func (c *call) allgatherShort(b Buf, off []int64) error {
	p, me := len(c.g.core.members), c.g.core.rank
	for d := 1; d < p; d *= 2 {
		if me&d != 0 {
			if err := c.isend(b.Slice(off[me], off[min(me+d, p)]), me-d); err != nil {
				return err
			}
			if err := c.wait(); err != nil {
				return err
			}
			break
		}
		if me+d < p {
			if err := c.recv(b.Slice(off[me+d], off[min(me+2*d, p)]), me+d); err != nil {
				return err
			}
		}
	}
	return c.bcastTree(b, 0)
}

// Alltoall implements Comm.
func (g *group) Alltoall(send, recv Buf) error {
	c := g.begin("Alltoall", kindAlltoall, noDetail)
	p := int64(len(g.core.members))
	if send.Len%p != 0 || recv.Len%p != 0 {
		return c.misuse("got buffers of %d and %d elements for %d ranks", send.Len, recv.Len, p)
	}
	return c.alltoall(send, evenCounts(int(p), send.Len/p), recv, evenCounts(int(p), recv.Len/p))
}

// Alltoallv implements Comm.
func (g *group) Alltoallv(send Buf, sendCounts []int64, recv Buf, recvCounts []int64) error {
	return g.begin("Alltoallv", kindAlltoall, noDetail).alltoall(send, sendCounts, recv, recvCounts)
}

// alltoall exchanges parts between pairs of ranks, at distance 1, 2, 3 and so on, with at most
// window messages at a time in each direction. Sender and receiver both know which parts are empty
// and skip them.
func (c *call) alltoall(send Buf, sendCounts []int64, recv Buf, recvCounts []int64) (err error) {
	g := c.g
	defer func() { err = c.end(err) }()
	soff, err := c.checkParts("send", send, sendCounts)
	if err != nil {
		return err
	}
	roff, err := c.checkParts("receive", recv, recvCounts)
	if err != nil {
		return err
	}
	p, me := len(g.core.members), g.core.rank
	if !send.isOfTypeOf(recv) || sendCounts[me] != recvCounts[me] {
		return c.misuse("the rank sends itself %d %v, but receives %d %v",
			sendCounts[me], send.Type, recvCounts[me],
			recv.Type)
	}
	send.Slice(soff[me], soff[me+1]).copyTo(recv.Slice(roff[me], roff[me+1]))
	for s := 1; s < p; s++ {
		to, from := (me+s)%p, (me-s+p)%p
		if recvCounts[from] > 0 {
			part := recv.Slice(roff[from], roff[from+1])
			if err := c.irecv(part, from); err != nil {
				return err
			}
			g.countReceived(part.Bytes())
		}
		if sendCounts[to] > 0 {
			part := send.Slice(soff[to], soff[to+1])
			if err := c.isend(part, to); err != nil {
				return err
			}
			g.countSent(part.Bytes())
		}
		if s%window == 0 {
			if err := c.wait(); err != nil {
				return err
			}
		}
	}
	return c.wait()
}

package comm

// Every reduction combines its operands as a binomial tree over rank numbers does. A block of 2, 4,
// 8, ... consecutive ranks is the combination of its left half and its right half; if the number of
// ranks is not a power of two, the last right half may be incomplete or missing. For long messages,
// each rank combines one part of the buffer, in the same order. Neither the size of the buffer nor
// the root changes a bit of the result, so a sum of floats depends on the number of ranks only.

// Reduce implements Comm.
func (g *group) Reduce(b Buf, op Op, root int) error {
	c := g.begin("Reduce", kindReduce, opToRoot(op, root))
	if err := c.checkRoot(root); err != nil {
		return err
	}
	f, err := c.combiner(b, op)
	if err != nil {
		return err
	}
	if c.long(b) {
		err = c.reduceLong(b, f, root)
	} else {
		err = c.reduceTree(b, f, root)
	}
	if err = c.end(err); err != nil {
		return err
	}
	g.countReduce(b.Bytes(), root)
	return nil
}

// Allreduce implements Comm.
func (g *group) Allreduce(b Buf, op Op) error {
	c := g.begin("Allreduce", kindAllreduce, opOf(op))
	f, err := c.combiner(b, op)
	if err != nil {
		return err
	}
	if c.long(b) {
		err = c.allreduceLong(b, f)
	} else {
		err = c.allreduceShort(b, f)
	}
	if err = c.end(err); err != nil {
		return err
	}
	g.countReduce(b.Bytes(), 0)
	g.countBcast(b.Bytes(), 0)
	return nil
}

func (c *call) combiner(b Buf, op Op) (combiner, error) {
	if err := c.checkBuf(b); err != nil {
		return nil, err
	}
	f, err := combinerOf(op, b.Type)
	if err != nil {
		return nil, c.misuse("no %w", err)
	}
	return f, nil
}

// long reports whether the buffer is reduced in parts, one for each rank. This is the case if there
// are 2 to 256 ranks, b has at least longReduce bytes, and the parts have at least 4 KiB on
// average.
func (c *call) long(b Buf) bool {
	p := int64(len(c.g.core.members))
	return p > 1 && p <= 256 && b.Bytes() >= longReduce && b.Bytes()/p >= 4<<10
}

// holder returns the rank that holds the combination of ranks lo to lo+n-1. That is root if root is
// among these ranks, otherwise the lowest rank.
func holder(lo, n, root int) int {
	if lo <= root && root < lo+n {
		return root
	}
	return lo
}

// walkTree enumerates the messages of one rank in a reduction along the binomial tree of p ranks.
// self is the number of this rank. First, walkTree calls recv for each rank that sends a
// combination to this rank. The order of the calls is the order of combining. The argument left
// says whether the received combination is the left operand. If this rank is not the root, walkTree
// then calls send with the rank that gets this rank's combination.
func walkTree(p, self, root int, recv func(from int, left bool) error,
	send func(to int) error) error {
	for n := 1; n < p; n *= 2 {
		lo := self &^ (n - 1)
		left := lo&n == 0 // this block is the left half of the next
		parent := lo &^ (2*n - 1)
		sibling := lo ^ n
		if sibling >= p {
			continue
		}
		other, whole := holder(sibling, n, root), holder(parent, 2*n, root)
		if whole != self {
			return send(whole)
		}
		if err := recv(other, !left); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) reduceTree(b Buf, f combiner, root int) error {
	me := c.g.core.rank
	acc := b
	var in Buf
	return walkTree(len(c.g.core.members), me, root, func(from int, left bool) (err error) {
		if in.Ptr == nil {
			if in, err = c.temp(b.Len, b.Type); err != nil {
				return err
			}
			if me != root { // b must not change except at the root
				if acc, err = c.temp(b.Len, b.Type); err != nil {
					return err
				}
				b.copyTo(acc)
			}
		}
		if err := c.recv(in, from); err != nil {
			return err
		}
		if left {
			f(acc.Ptr, in.Ptr, acc.Ptr, b.Len)
		} else {
			f(acc.Ptr, acc.Ptr, in.Ptr, b.Len)
		}
		return nil
	}, func(to int) error {
		if err := c.isend(acc, to); err != nil {
			return err
		}
		return c.wait()
	})
}

// allreduceShort combines the buffers of all ranks and leaves the combination in b at every rank.
// It takes log2(P) rounds, rounded up. Each round joins pairs of neighbouring blocks of ranks into
// blocks of twice the size. Each rank of a pair receives the combination of the other block. The
// combination of the left block becomes the left operand. If the right block has fewer ranks, some
// of its ranks send to several ranks of the left block.
func (c *call) allreduceShort(b Buf, f combiner) error {
	p, me := len(c.g.core.members), c.g.core.rank
	if p == 1 {
		return nil
	}
	in, err := c.temp(b.Len, b.Type)
	if err != nil {
		return err
	}
	for n := 1; n < p; n *= 2 {
		left := me &^ (2*n - 1)
		right := left + n
		if right >= p {
			continue // a left half without a right half
		}
		width := min(n, p-right)
		isLeft, i := me < right, me&(n-1)
		from := left + i
		if isLeft {
			from = right + i%width
		}
		if err := c.irecv(in, from); err != nil {
			return err
		}
		for to := i; isLeft && to < width || !isLeft && to < n; to += width {
			peer := left + to
			if isLeft {
				peer = right + to
			}
			if err := c.isend(b, peer); err != nil {
				return err
			}
		}
		if err := c.wait(); err != nil {
			return err
		}
		if isLeft {
			f(b.Ptr, b.Ptr, in.Ptr, b.Len)
		} else {
			f(b.Ptr, in.Ptr, b.Ptr, b.Len)
		}
	}
	return nil
}

// reduceParts combines the buffers b of all ranks, and returns one part of the combination. There
// is one part for each rank, and the result is the part that belongs to this rank. b does not
// change.
func (c *call) reduceParts(b Buf, f combiner) (Buf, error) {
	p, me := len(c.g.core.members), c.g.core.rank
	part := func(r int) Buf { return b.Slice(cut(b.Len, r, p), cut(b.Len, r+1, p)) }
	mine := part(me)
	all, err := c.temp(mine.Len*int64(p), b.Type)
	if err != nil {
		return Buf{}, err
	}
	operand := func(r int) Buf { return all.Slice(mine.Len*int64(r), mine.Len*int64(r+1)) }
	for s := 1; s < p; s++ {
		to, from := (me+s)%p, (me-s+p)%p
		if err := c.irecv(operand(from), from); err != nil {
			return Buf{}, err
		}
		if err := c.isend(part(to), to); err != nil {
			return Buf{}, err
		}
	}
	mine.copyTo(operand(me))
	if err := c.wait(); err != nil {
		return Buf{}, err
	}
	for n := 1; n < p; n *= 2 {
		for r := 0; r+n < p; r += 2 * n {
			left := operand(r).Ptr
			f(left, left, operand(r+n).Ptr, mine.Len)
		}
	}
	return operand(0), nil
}

func (c *call) reduceLong(b Buf, f combiner, root int) error {
	p, me := len(c.g.core.members), c.g.core.rank
	mine, err := c.reduceParts(b, f)
	if err != nil {
		return err
	}
	if me != root {
		if err := c.isend(mine, root); err != nil {
			return err
		}
		return c.wait()
	}
	for r := 0; r < p; r++ {
		part := b.Slice(cut(b.Len, r, p), cut(b.Len, r+1, p))
		if r == me {
			mine.copyTo(part)
		} else if err := c.irecv(part, r); err != nil {
			return err
		}
	}
	return c.wait()
}

func (c *call) allreduceLong(b Buf, f combiner) error {
	p, me := len(c.g.core.members), c.g.core.rank
	mine, err := c.reduceParts(b, f)
	if err != nil {
		return err
	}
	off := make([]int64, p+1)
	for r := range off {
		off[r] = cut(b.Len, r, p)
	}
	mine.copyTo(b.Slice(off[me], off[me+1]))
	return c.allgatherParts(b, off)
}

// countReduce counts the messages of a reduction as if it used the binomial tree. The counters
// therefore do not depend on the algorithm that computed the result.
func (g *group) countReduce(n int64, root int) {
	// The callbacks never fail, so walkTree does not.
	_ = walkTree(len(g.core.members), g.core.rank, root,
		func(int, bool) error { g.countReceived(n); return nil },
		func(int) error { g.countSent(n); return nil })
}

// Scan implements Comm.
func (g *group) Scan(b Buf, op Op) error {
	c := g.begin("Scan", kindScan, opOf(op))
	f, err := c.combiner(b, op)
	if err != nil {
		return err
	}
	return c.end(c.scan(b, f))
}

// Exscan implements Comm.
func (g *group) Exscan(b Buf, op Op) error {
	c := g.begin("Exscan", kindExscan, opOf(op))
	f, err := c.combiner(b, op)
	if err != nil {
		return err
	}
	return c.end(c.exscan(b, f, op))
}

// scan computes prefix combinations with the algorithm of Hillis and Steele. It takes log2(P)
// rounds, rounded up. In round k, counted from 0, a rank receives the partial combination of the
// rank 2^k before it, if there is such a rank. It then combines the received combination with its
// own.
func (c *call) scan(b Buf, f combiner) error {
	p, me := len(c.g.core.members), c.g.core.rank
	in, err := c.temp(b.Len, b.Type)
	if err != nil {
		return err
	}
	for d := 1; d < p; d *= 2 {
		if me >= d {
			if err := c.irecv(in, me-d); err != nil {
				return err
			}
			c.g.countReceived(b.Bytes())
		}
		if me+d < p {
			if err := c.isend(b, me+d); err != nil {
				return err
			}
			c.g.countSent(b.Bytes())
		}
		if err := c.wait(); err != nil {
			return err
		}
		if me >= d {
			f(b.Ptr, in.Ptr, b.Ptr, b.Len)
		}
	}
	return nil
}

func (c *call) exscan(b Buf, f combiner, op Op) error {
	p, me := len(c.g.core.members), c.g.core.rank
	sum, err := c.temp(b.Len, b.Type)
	if err != nil {
		return err
	}
	b.copyTo(sum)
	if err := c.scan(sum, f); err != nil {
		return err
	}
	if me > 0 {
		if err := c.irecv(b, me-1); err != nil {
			return err
		}
		c.g.countReceived(b.Bytes())
	} else {
		setNeutral(op, b)
	}
	if me+1 < p {
		if err := c.isend(sum, me+1); err != nil {
			return err
		}
		c.g.countSent(b.Bytes())
	}
	return c.wait()
}

package comm

import (
	"distaff/io/tensor"
	"fmt"
)

// The kinds of collective. The tag of every message of a collective contains the collective's kind
// and the low bits of its number, so that ranks that are in different collectives do not exchange
// data by mistake.
const (
	kindBarrier = iota
	kindBcast
	kindReduce
	kindAllreduce
	kindScan
	kindExscan
	kindGather
	kindAllgather
	kindAlltoall
	kindSplit
	kindClose
)

// internalTag is the smallest tag of a message of a collective. All tags of collectives consist of
// the bit internalTag, 10 bits of the collective's number, and 4 bits of its kind. Two collectives
// may therefore have the same tag. This is safe, because messages with the same tag are received in
// the order of their sends.
const internalTag = MaxTag + 1

// TagLimit is the number of different tags that a Link must support.
const TagLimit = 2 * internalTag

// call is one collective at one rank. It contains room for two messages and one temporary buffer,
// which are enough for most collectives, to save allocations.
type call struct {
	g      *group
	name   string
	detail detail
	seq    uint32
	tag    int
	reqs   []*Request
	temps  []Buf

	started  int // number of messages started; the first two are in messages
	messages [2]Request
	reqRoom  [2]*Request
	tempRoom [1]Buf
}

// detail is the operation and the root of a collective. Texts for the user show it after the name
// of the collective. noDetail shows nothing.
type detail struct{ op, root int } // -1 if the collective has none

var noDetail = detail{-1, -1}

func opOf(op Op) detail               { return detail{int(op), -1} }
func rootOf(root int) detail          { return detail{-1, root} }
func opToRoot(op Op, root int) detail { return detail{int(op), root} }

func (d detail) String() string {
	switch {
	case d.op >= 0 && d.root >= 0:
		return fmt.Sprintf(" (%v, root %d)", Op(d.op), d.root)
	case d.op >= 0:
		return fmt.Sprintf(" (%v)", Op(d.op))
	case d.root >= 0:
		return fmt.Sprintf(" (root %d)", d.root)
	}
	return ""
}

func (g *group) begin(name string, kind int, d detail) *call {
	seq := g.core.seq.Add(1)
	c := &call{g: g, name: name, detail: d, seq: seq, tag: internalTag | int(seq&0x3ff)<<4 | kind}
	c.reqs, c.temps = c.reqRoom[:0], c.tempRoom[:0]
	return c
}

func (c *call) String() string { return fmt.Sprintf("%s #%d on %s", c.name, c.seq, c.g.core.name) }

// misuse returns the error for a wrong call of the collective. It is for mistakes that are found
// before any message is sent.
func (c *call) misuse(format string, args ...any) error {
	return c.g.fail(c.String(), -1, -1, fmt.Errorf("wrong use: "+format, args...))
}

func (c *call) checkRoot(root int) error {
	if err := c.g.checkPeer("root", root); err != nil {
		return c.misuse("%w", err)
	}
	return nil
}

func (c *call) checkBuf(b Buf) error {
	if err := b.check(); err != nil {
		return c.misuse("%w", err)
	}
	return nil
}

func (c *call) start(kind string, b Buf, peer int) error {
	var r *Request
	if c.started < len(c.messages) {
		r = &c.messages[c.started]
	} else {
		r = new(Request)
	}
	c.started++
	r.g, r.kind, r.peer, r.call = c.g, kind, peer, c
	if err := r.start(b, c.tag); err != nil {
		return err
	}
	c.reqs = append(c.reqs, r)
	return nil
}

// isend and irecv start a message of the call. wait waits for all messages that were started.
func (c *call) isend(b Buf, to int) error   { return c.start("send", b, to) }
func (c *call) irecv(b Buf, from int) error { return c.start("receive", b, from) }

func (c *call) wait() error {
	err := WaitAll(c.reqs...)
	c.reqs = c.reqs[:0]
	return err
}

func (c *call) recv(b Buf, from int) error {
	if err := c.irecv(b, from); err != nil {
		return err
	}
	return c.wait()
}

// temp allocates temporary memory for n elements of type t. The call's method "end" frees the
// memory.
func (c *call) temp(n int64, t tensor.Type) (Buf, error) {
	b, err := c.g.core.t.Alloc(n * t.Size())
	if err != nil {
		return b, c.g.fail(c.String(), -1, -1, err)
	}
	c.temps = append(c.temps, b)
	b.Type, b.Len = t, n
	return b, nil
}

// end ends the call with err, which it returns. It frees the call's temporary memory if err is nil.
// Otherwise it releases the messages that have not finished, and leaves the memory allocated,
// because MPI may still use it.
func (c *call) end(err error) error {
	for _, r := range c.reqs {
		if err == nil {
			panic("BUG: " + c.String() + " ends with a message under way")
		}
		r.release(err)
	}
	if err == nil {
		for _, b := range c.temps {
			c.g.core.t.Free(b)
		}
	}
	c.reqs, c.temps = nil, nil
	return err
}

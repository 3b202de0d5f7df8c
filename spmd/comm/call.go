package comm

import "fmt"

// The kinds of collective. Each call's messages carry its kind and number in
// their tag, so that ranks in different collectives never exchange data by mistake.
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

// internalTag is the first tag that only collectives use: 1 bit, then 10 of the
// call's number, 4 of its kind. Numbers may come round again: messages of one
// tag keep their order.
const internalTag = MaxTag + 1

// TagLimit is the number of tags a Link must tell apart.
const TagLimit = 2 * internalTag

// call is one collective at one rank.
type call struct {
	g          *group
	name       string
	detail     string
	seq        uint32
	tag        int
	background bool
	reqs       []*Request
	temps      []Buf
}

func (g *group) begin(name string, kind int, detail string) *call {
	seq := g.seq.Add(1)
	return &call{g: g, name: name, detail: detail, seq: seq, tag: internalTag | int(seq&0x3ff)<<4 | kind}
}

func (c *call) String() string { return fmt.Sprintf("%s #%d on %s", c.name, c.seq, c.g.name) }

// wrong is a wrong use of the collective, found before any message.
func (c *call) wrong(format string, args ...any) error {
	return c.g.fail(c.String(), -1, -1, fmt.Errorf("wrong use: "+format, args...))
}

func (c *call) checkRoot(root int) error {
	if err := c.g.checkPeer("root", root); err != nil {
		return c.wrong("%w", err)
	}
	return nil
}

func (c *call) checkBuf(b Buf) error {
	if err := b.check(); err != nil {
		return c.wrong("%w", err)
	}
	return nil
}

func (c *call) start(kind string, b Buf, peer int) error {
	r := &Request{g: c.g, kind: kind, peer: peer, call: c}
	if err := r.start(b, c.tag); err != nil {
		return err
	}
	c.reqs = append(c.reqs, r)
	return nil
}

// isend and irecv start a message of the call; wait waits for all started.
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

// temp is memory for n elements of t, freed by end.
func (c *call) temp(n int64, t Type) (Buf, error) {
	b, err := c.g.t.Alloc(n * t.Size())
	if err != nil {
		return b, c.g.fail(c.String(), -1, -1, err)
	}
	c.temps = append(c.temps, b)
	b.Type, b.Len = t, n
	return b, nil
}

// end gives up what an error left under way and frees the call's memory.
func (c *call) end(err error) error {
	for _, r := range c.reqs {
		if err == nil {
			panic("BUG: " + c.String() + " ends with a message under way")
		}
		r.release(err)
	}
	c.reqs = nil
	for _, b := range c.temps {
		c.g.t.Free(b)
	}
	c.temps = nil
	return err
}

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

// call is one collective at one rank. What most have of messages and memory, it has room for.
type call struct {
	g      *group
	name   string
	detail detail
	seq    uint32
	tag    int
	reqs   []*Request
	temps  []Buf

	started  int // messages, of which the first are in messages
	messages [2]Request
	reqRoom  [2]*Request
	tempRoom [1]Buf
}

// detail is what is said of a collective behind its name; noDetail for nothing.
type detail struct{ op, root int } // -1 for none

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
	b, err := c.g.core.t.Alloc(n * t.Size())
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
		c.g.core.t.Free(b)
	}
	c.temps = nil
	return err
}

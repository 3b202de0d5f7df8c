package load

import (
	"encoding/binary"
	"io"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

// roundBytes is about how much a rank sends in a round of the exchange.
const roundBytes = 32 << 20

// exchange sends entries to the owners of their blocks, in rounds of bounded
// size. A record is the block, the coordinates and the value.
type exchange struct {
	c      comm.Comm
	g      *Target
	f      *finder
	size   int // of a value
	record int
	out    [][]byte // by destination
	inbox  []*inbox // by sender
	done   bool
	batch  coo.Batch
	part   text.Part // the input, where it is a part of a text file
}

func newExchange(c comm.Comm, g *Target, typ tcs.Type) *exchange {
	x := &exchange{c: c, g: g, f: g.finder(), size: typ.Size(), out: make([][]byte, c.Size())}
	x.record = 8*(1+len(g.Cuts)) + x.size
	own := g.blocks(c.Rank())
	for range c.Size() {
		x.inbox = append(x.inbox, newInbox(len(g.Cuts), typ, own))
	}
	return x
}

// round reads some entries and exchanges them; more is false once every rank
// has nothing left. A rank whose input fails says so to the others first.
func (x *exchange) round(in coo.Stream) (more bool, err error) {
	for r := range x.out {
		x.out[r] = x.out[r][:0]
	}
	fail := x.read(in)
	n := x.c.Size()
	counts, got := make([]int64, n), make([]int64, n)
	for r := range counts {
		counts[r] = int64(len(x.out[r]))
	}
	left := []int64{0, 0}
	if !x.done {
		left[0] = 1
	}
	if fail != nil {
		left[1] = 1
	}
	control := x.c.Uncounted()
	if err := control.Allreduce(comm.Of(left), comm.Sum); err != nil {
		return false, err
	}
	if left[1] > 0 {
		return false, settle(x.c, x.part, fail, func() error { return x.rest(in) })
	}
	if err := control.Alltoall(comm.Of(counts), comm.Of(got)); err != nil {
		return false, err
	}
	var send []byte
	for _, part := range x.out {
		send = append(send, part...)
	}
	var total int64
	for _, k := range got {
		total += k
	}
	recv := make([]byte, total)
	if err := x.c.Alltoallv(comm.Of(send), counts, comm.Of(recv), got); err != nil {
		return false, err
	}
	for r, k := range got {
		x.unpack(x.inbox[r], recv[:k])
		recv = recv[k:]
	}
	return left[0] > 0, nil
}

// rest reads what is left of the stream, for its mistakes.
func (x *exchange) rest(in coo.Stream) error {
	for !x.done {
		for r := range x.out {
			x.out[r] = x.out[r][:0]
		}
		if err := x.read(in); err != nil {
			return err
		}
	}
	return nil
}

func unlessEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// read fills out from the stream.
func (x *exchange) read(in coo.Stream) error {
	sent := 0
	for !x.done && sent < roundBytes {
		err := in.Next(&x.batch)
		if err == io.EOF {
			x.done = true
			break
		}
		if err != nil {
			return err
		}
		for k := range x.batch.N {
			block, owner, err := x.f.find(&x.batch, k)
			if err != nil {
				return err
			}
			if owner < 0 {
				continue
			}
			p := binary.NativeEndian.AppendUint64(x.out[owner], uint64(block))
			for _, col := range x.batch.Coords {
				p = binary.NativeEndian.AppendUint64(p, uint64(col[k]))
			}
			x.out[owner] = append(p, x.batch.Vals[k*x.size:(k+1)*x.size]...)
		}
		sent += x.batch.N * x.record
	}
	return nil
}

func (x *exchange) unpack(in *inbox, data []byte) {
	for len(data) > 0 {
		e := in.blocks[plan.Block(binary.NativeEndian.Uint64(data))]
		for m := range e.coords {
			e.coords[m] = append(e.coords[m], int64(binary.NativeEndian.Uint64(data[8+8*m:])))
		}
		e.vals = append(e.vals, data[x.record-x.size:x.record]...)
		data = data[x.record:]
	}
}

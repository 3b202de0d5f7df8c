package load

import (
	"encoding/binary"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

const (
	// sendBytes is about the number of bytes that a rank sends in a round of the exchange.
	sendBytes = 8 << 20
	// inboxRooms limits the bytes that a rank receives at a time to inboxRooms times the bytes that
	// a rank sends in a round. If some rank would receive more, at most inboxRooms ranks send at a
	// time.
	inboxRooms = 4
	// groupBytes is the maximum overhead of a group with one entry: the block, the number of
	// entries and the padding of the value.
	groupBytes = 8 + 8 + 8
)

// sink receives the entries of the blocks that this rank owns. lane is the rank that sent the n
// entries. In the input, the entries of lower lanes come before the entries of higher lanes.
type sink interface {
	add(b plan.Block, lane int, cols [][]int64, vals []byte, n int) error
}

// exchange sends entries to the owners of their blocks, in rounds of bounded size. A message
// consists of groups of entries. A group holds the block and the number of entries, in 8 bytes
// each, then a column of coordinates for each level, in 4 or 8 bytes each, and then the values.
// Each part of a group is padded to a multiple of 8 bytes.
type exchange struct {
	c      comm.Comm
	owners []int32
	to     sink
	wide   []bool // by level: coordinates occupy 8 bytes
	size   int    // bytes of a value
	out    [][]byte
	sent   int
	cols   [][]int64 // of the group that is being unpacked
	limit  *tcs.Limit
}

func newExchange(c comm.Comm, g *Target, owners []int32, to sink) *exchange {
	x := &exchange{c: c, owners: owners, to: to, size: int(g.Spec.Type.Size()),
		out: make([][]byte, c.Size()), limit: g.Cfg.Limit}
	for _, m := range g.Spec.Format.Order {
		x.wide = append(x.wide, wide(g.Spec.Dims[m]))
	}
	x.cols = make([][]int64, len(x.wide))
	return x
}

// pack appends a group of n entries of block b to the message for the owner of b. If this rank is
// the owner, pack passes the group to the sink instead.
func (x *exchange) pack(b plan.Block, cols [][]int64, vals []byte, n int) error {
	owner := x.owners[b]
	if int(owner) == x.c.Rank() {
		return x.to.add(b, x.c.Rank(), cols, vals, n)
	}
	p := x.out[owner]
	from := len(p)
	p = binary.NativeEndian.AppendUint64(p, uint64(b))
	p = binary.NativeEndian.AppendUint64(p, uint64(n))
	for l, col := range cols {
		at := len(p)
		p = append(p, make([]byte, x.colBytes(l, n))...)
		if x.wide[l] {
			copy(unsafe.Slice((*int64)(unsafe.Pointer(&p[at])), n), col[:n])
			continue
		}
		dst := unsafe.Slice((*int32)(unsafe.Pointer(&p[at])), n)
		for i, v := range col[:n] {
			dst[i] = int32(v)
		}
	}
	p = append(p, vals...)
	p = append(p, make([]byte, pad8(len(vals))-len(vals))...)
	x.out[owner] = p
	x.sent += len(p) - from
	return nil
}

// wide reports whether coordinates of a mode are sent in 8 bytes.
func wide(size int64) bool { return size > 1<<31 }

func pad8(n int) int { return (n + 7) &^ 7 }

func (x *exchange) colBytes(l, n int) int {
	if x.wide[l] {
		return 8 * n
	}
	return pad8(4 * n)
}

// unpack passes the groups of a message to the sink.
func (x *exchange) unpack(from int, p []byte) error {
	for len(p) > 0 {
		b, n := plan.Block(binary.NativeEndian.Uint64(p)), int(binary.NativeEndian.Uint64(p[8:]))
		p = p[16:]
		for l := range x.cols {
			if x.wide[l] {
				x.cols[l] = unsafe.Slice((*int64)(unsafe.Pointer(&p[0])), n)
			} else {
				if cap(x.cols[l]) < n {
					x.cols[l] = make([]int64, max(n, maxStaged))
				}
				x.cols[l] = x.cols[l][:n]
				for i, v := range unsafe.Slice((*int32)(unsafe.Pointer(&p[0])), n) {
					x.cols[l][i] = int64(v)
				}
			}
			p = p[x.colBytes(l, n):]
		}
		if err := x.to.add(b, from, x.cols, p[:n*x.size], n); err != nil {
			return err
		}
		p = p[pad8(n*x.size):]
	}
	return nil
}

// deliver exchanges the packed messages. Every rank must call it.
func (x *exchange) deliver() error {
	n := x.c.Size()
	control := x.c.Uncounted()
	counts, got := make([]int64, n), make([]int64, n)
	total := int64(0)
	for r, p := range x.out {
		counts[r] = int64(len(p))
		total += counts[r]
	}
	if err := control.Alltoall(comm.Of(counts), comm.Of(got)); err != nil {
		return err
	}
	in := int64(0)
	for _, k := range got {
		in += k
	}
	turns := min(in, 1)
	if in > inboxRooms*sendRoom(x.limit.Free()) { // only inboxRooms ranks may send at a time
		turns = (int64(n) + inboxRooms - 1) / inboxRooms
	}
	turns, err := comm.AllreduceValue(control, turns, comm.Max)
	if err != nil || turns == 0 {
		return err
	}
	send, err := tcs.Alloc(x.limit, total, "entries on their way")
	if err != nil {
		return err
	}
	defer send.Release()
	at := 0
	for r, p := range x.out {
		at += copy(send.Slice()[at:], p)
		x.out[r] = p[:0]
	}
	x.sent = 0
	for turn := range turns {
		if err := x.turn(send, total, counts, got, int(turn), int(turns)); err != nil {
			return err
		}
	}
	return nil
}

// turn exchanges the messages of one turn. An exchange is divided into turns if a rank would
// otherwise receive too many bytes at a time. In a turn, each rank r with r % turns == turn sends
// all its messages, and the other ranks send nothing.
//
// send holds the bytes that this rank sends, and total is their number. counts[r] is the number of
// bytes that this rank sends to rank r. got[r] is the number of bytes that it receives from rank r,
// in the turn of rank r.
func (x *exchange) turn(send *tcs.Memory, total int64, counts, got []int64, turn, turns int) error {
	sendCounts, recvCounts := make([]int64, len(counts)), make([]int64, len(got))
	if x.c.Rank()%turns == turn {
		copy(sendCounts, counts)
	} else {
		total = 0
	}
	in := int64(0)
	for r := turn; r < len(got); r += turns {
		recvCounts[r] = got[r]
		in += got[r]
	}
	recv, err := tcs.Alloc(x.limit, in, "entries on their way")
	if err != nil {
		return err
	}
	defer recv.Release()
	if err := x.c.Alltoallv(comm.Mem(send.Ptr, total, tensor.Byte), sendCounts,
		comm.Mem(recv.Ptr, in, tensor.Byte), recvCounts); err != nil {
		return err
	}
	p := recv.Slice()[:in]
	for r, k := range recvCounts {
		if err := x.unpack(r, p[:k]); err != nil {
			return err
		}
		p = p[k:]
	}
	return nil
}

// Package transfer sends blocks of tensors between ranks.
//
// A block is sent as a short control message, which has the lengths of the block's arrays and their
// first positions in the whole tensor, followed by the arrays. The receiver allocates memory after
// the control message and before the arrays arrive. Control messages are not payload, so counters
// do not count them.
//
// Between ranks of one process nothing is copied: the control message identifies the block, and
// both ranks hold a reference to its memory (shared.go). Counters count the arrays as if they had
// been sent. Ranks of one node can also share memory (common.go).
//
// # Files
//
//	transfer.go   sends a block to one rank, or to all ranks
//	multicast.go  sends a block to several ranks, along a tree
//	shared.go     the same between ranks of one process
//	common.go     memory that ranks of a node share
package transfer

import (
	"fmt"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// Like describes the properties that a receiver knows of the blocks of a tensor before the blocks
// arrive. Name is the tensor's name for error messages.
type Like struct {
	Name   string
	Layout tensor.Layout
}

// Alloc allocates the memory for a block that is received or copied: bytes of undefined contents,
// aligned to tcs.Align. The caller owns one reference.
type Alloc func(bytes int64, what string) (*tcs.Memory, error)

// Pages returns an Alloc of new pages that count against limit.
func Pages(limit *tcs.Limit) Alloc {
	return func(bytes int64, what string) (*tcs.Memory, error) {
		return tcs.Alloc(limit, bytes, what)
	}
}

// LikeOf returns the description of blocks of t.
func LikeOf(name string, t *tcs.Tensor) Like {
	return Like{Name: name, Layout: tensor.Layout{Dims: t.Header.Dims, Type: t.Header.Type,
		Format: t.Format()}}
}

// perLevel is the number of integers of a control message for each level. They are the level's
// size, offset and box, and the length, first position and width of pos and of crd.
const perLevel = 10

func (k Like) metaLen() int { return perLevel*len(k.Layout.Format.Levels) + 2 }

// meta returns the control message of t.
func meta(t *tcs.Tensor) []int64 {
	var m []int64
	for _, l := range t.Levels {
		r := t.Header.Range(l.Mode)
		m = append(m, l.Size, l.Offset, r[0], r[1],
			l.Pos.Len, l.Pos.First, int64(l.Pos.Width), l.Crd.Len, l.Crd.First, int64(l.Crd.Width))
	}
	return append(m, t.Vals.Len, t.Vals.First)
}

// arrays returns t's arrays in the order of sending.
func arrays(t *tcs.Tensor) []*tcs.Array {
	var list []*tcs.Array
	for k := range t.Levels {
		list = append(list, &t.Levels[k].Pos, &t.Levels[k].Crd)
	}
	return append(list, &t.Vals)
}

// buf returns the memory of an array of t as a message buffer. If t does not hold a reference to
// this memory, the memory may be on the Go heap, and buf sets Heap in the result.
func buf(t *tcs.Tensor, a *tcs.Array) comm.Buf {
	b := comm.Mem(a.Ptr, a.Len*int64(a.Width), tensor.Byte)
	b.Heap = !t.Holds(*a)
	return b
}

// Values returns a tensor's values as a buffer of bytes.
func Values(t *tcs.Tensor) comm.Buf { return buf(t, &t.Vals) }

// Sending is a block that is being sent. Its memory must not change until Wait returns.
type Sending struct {
	requests []*comm.Request
	meta     []int64
}

// Wait waits until the block is sent. The sender may then close the block. If ranks share memory,
// the sender must not change the block even then, because the receiver may still use the memory.
func (s *Sending) Wait() error { return comm.WaitAll(s.requests...) }

// Send starts to send t to the rank `to`.
func Send(c comm.Comm, t *tcs.Tensor, to, tag int) (*Sending, error) {
	if c.OneProcess() && to != c.Rank() {
		return share(c, t, to, tag)
	}
	s := &Sending{meta: meta(t)}
	r, err := c.Uncounted().Isend(comm.Of(s.meta), to, tag)
	if err != nil {
		return nil, err
	}
	s.requests = append(s.requests, r)
	for _, a := range arrays(t) {
		if a.Len == 0 {
			continue
		}
		r, err := c.Isend(buf(t, a), to, tag)
		if err != nil {
			comm.WaitAll(s.requests...)
			return nil, err
		}
		s.requests = append(s.requests, r)
	}
	return s, nil
}

// Recv receives a block that Send sent. The caller must close it and must not change it, because
// its memory may be the sender's.
func Recv(c comm.Comm, like Like, from, tag int, alloc Alloc) (*tcs.Tensor, error) {
	if c.OneProcess() && from != c.Rank() {
		return take(c, from, tag)
	}
	m := make([]int64, like.metaLen())
	r, err := c.Uncounted().Irecv(comm.Of(m), from, tag)
	if err == nil {
		err = r.Wait()
	}
	if err != nil {
		return nil, err
	}
	t, err := like.allocate(m, alloc)
	if err != nil {
		return nil, err
	}
	var requests []*comm.Request
	for _, a := range arrays(t) {
		if a.Len == 0 {
			continue
		}
		r, err = c.Irecv(buf(t, a), from, tag)
		if err != nil {
			break
		}
		requests = append(requests, r)
	}
	if werr := comm.WaitAll(requests...); err == nil {
		err = werr
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Bcast sends tensor t of rank root to every rank of the group. It returns t at rank root. At other
// ranks, it returns a block, which the caller must close and must not change (see Recv). Every rank
// must call it.
func Bcast(c comm.Comm, t *tcs.Tensor, like Like, root int, alloc Alloc) (*tcs.Tensor, error) {
	if c.OneProcess() {
		return shareAll(c, t, root)
	}
	m := make([]int64, like.metaLen())
	if c.Rank() == root {
		m = meta(t)
	}
	if err := c.Uncounted().Bcast(comm.Of(m), root); err != nil {
		return nil, err
	}
	var err error
	if c.Rank() != root {
		if t, err = like.allocate(m, alloc); err != nil {
			return nil, err
		}
	}
	for _, a := range arrays(t) {
		if a.Len == 0 {
			continue
		}
		if err := c.Bcast(buf(t, a), root); err != nil {
			if c.Rank() != root {
				t.Close()
			}
			return nil, err
		}
	}
	return t, nil
}

// allocate makes the block that control message m describes.
func (k Like) allocate(m []int64, alloc Alloc) (*tcs.Tensor, error) {
	t := &tcs.Tensor{Header: tcs.Header{Dims: k.Layout.Dims, Type: k.Layout.Type,
		Box: make([][2]int64, len(k.Layout.Dims))}}
	t.Levels = make([]tcs.Level, len(k.Layout.Format.Levels))
	for l := range t.Levels {
		v := m[l*perLevel:]
		t.Header.Box[k.Layout.Format.Order[l]] = [2]int64{v[2], v[3]}
		t.Levels[l] = tcs.Level{Kind: k.Layout.Format.Levels[l], Mode: k.Layout.Format.Order[l],
			Size:   v[0],
			Offset: v[1],
			Pos:    tcs.Array{Len: v[4], First: v[5], Width: uint8(v[6])},
			Crd:    tcs.Array{Len: v[7], First: v[8], Width: uint8(v[9])}}
	}
	v := m[len(k.Layout.Format.Levels)*perLevel:]
	t.Vals = tcs.Array{Len: v[0], First: v[1], Width: uint8(k.Layout.Type.Size())}
	var bytes int64
	offsets := []int64{}
	for _, a := range arrays(t) {
		offsets = append(offsets, bytes)
		bytes += (a.Len*int64(a.Width) + tcs.Align - 1) &^ (tcs.Align - 1)
	}
	mem, err := alloc(bytes, fmt.Sprintf("a block of %s", k.Name))
	if err != nil {
		return nil, err
	}
	for i, a := range arrays(t) {
		if a.Len == 0 {
			continue
		}
		first := a.First
		*a = mem.Array(offsets[i], a.Len, a.Width)
		a.First = first
	}
	t.Hold(mem)
	t.Trust()
	return t, mem.Release() // the tensor holds it
}

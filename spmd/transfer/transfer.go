// Package transfer moves blocks of tensors between ranks.
//
// A block travels as a short control message, which says how long its arrays
// are and where in the whole tensor they begin, and then array by array. The
// receiver's memory is allocated before the arrays come. A
// control message is no payload: counters leave it out.
//
// Between ranks of one process nothing is copied: the control message names the
// block, and both ranks hold its memory (shared.go). Counters count the arrays
// as if they had travelled. Ranks of one node can have memory in common too.
//
// # Files
//
//	transfer.go   a block from one rank to another, or to all
//	multicast.go  a block to some ranks, along a tree
//	shared.go     the same between ranks of one process
//	common.go     memory that ranks of a node have in common
package transfer

import (
	"fmt"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// Like is what the receiver knows of a block beforehand: the tensor's sizes,
// type and storage. Name is for messages.
type Like struct {
	Name  string
	Dims  []int64
	Type  tcs.Type
	Kinds string
	Modes []int
}

// Alloc is where a receiver gets the memory of a block: bytes of anything,
// aligned to tcs.Align, with the caller's one reference.
type Alloc func(bytes int64, what string) (*tcs.Memory, error)

// Pages allocates fresh pages that count against limit.
func Pages(limit *tcs.Limit) Alloc {
	return func(bytes int64, what string) (*tcs.Memory, error) { return tcs.Alloc(limit, bytes, what) }
}

// LikeOf describes blocks of t.
func LikeOf(name string, t *tcs.Tensor) Like {
	kinds, modes := t.Format()
	return Like{Name: name, Dims: t.Header.Dims, Type: t.Header.Type, Kinds: kinds, Modes: modes}
}

// perLevel counts the numbers of a control message for each level: size,
// offset, box, and length, first position and width of pos and of crd.
const perLevel = 10

func (k Like) metaLen() int { return perLevel*len(k.Kinds) + 2 }

// meta is the control message of t.
func meta(t *tcs.Tensor) []int64 {
	var m []int64
	for _, l := range t.Levels {
		r := t.Header.Range(l.Mode)
		m = append(m, l.Size, l.Offset, r[0], r[1],
			l.Pos.Len, l.Pos.First, int64(l.Pos.Width), l.Crd.Len, l.Crd.First, int64(l.Crd.Width))
	}
	return append(m, t.Vals.Len, t.Vals.First)
}

// arrays lists t's arrays in the order in which they travel.
func arrays(t *tcs.Tensor) []*tcs.Array {
	var list []*tcs.Array
	for k := range t.Levels {
		list = append(list, &t.Levels[k].Pos, &t.Levels[k].Crd)
	}
	return append(list, &t.Vals)
}

// buf is the memory of an array of t: the Go heap's, where the tensor shows slices of the
// program's.
func buf(t *tcs.Tensor, a *tcs.Array) comm.Buf {
	b := comm.Mem(a.Ptr, a.Len*int64(a.Width), comm.Byte)
	b.Heap = !t.Holds(*a)
	return b
}

// Values are a tensor's values as bytes to be sent or received.
func Values(t *tcs.Tensor) comm.Buf { return buf(t, &t.Vals) }

// Sending is a block under way; its memory must stay as it is until Wait.
type Sending struct {
	requests []*comm.Request
	meta     []int64
}

// Wait returns when the block has left. The sender may close it then, but where
// ranks share memory it must not change it: the receiver may have it still.
func (s *Sending) Wait() error { return comm.WaitAll(s.requests...) }

// Send starts to send t to rank `to`.
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

// Recv receives a block that Send sent. The caller closes it, and does not
// change it: its memory may be the sender's.
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

// Bcast sends rank root's t to every rank of the group: root gets t back, every
// other rank a block as Recv gives it. Collective.
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

// allocate makes the block that control message m announces.
func (k Like) allocate(m []int64, alloc Alloc) (*tcs.Tensor, error) {
	t := &tcs.Tensor{Header: tcs.Header{Dims: k.Dims, Type: k.Type,
		Box: make([][2]int64, len(k.Dims))}}
	t.Levels = make([]tcs.Level, len(k.Kinds))
	for l := range t.Levels {
		v := m[l*perLevel:]
		t.Header.Box[k.Modes[l]] = [2]int64{v[2], v[3]}
		t.Levels[l] = tcs.Level{Kind: k.Kinds[l], Mode: k.Modes[l], Size: v[0], Offset: v[1],
			Pos: tcs.Array{Len: v[4], First: v[5], Width: uint8(v[6])},
			Crd: tcs.Array{Len: v[7], First: v[8], Width: uint8(v[9])}}
	}
	v := m[len(k.Kinds)*perLevel:]
	t.Vals = tcs.Array{Len: v[0], First: v[1], Width: uint8(k.Type.Size())}
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

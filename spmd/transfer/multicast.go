package transfer

import (
	"fmt"
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// Multicast starts to send t from this rank, list[0], to the other ranks of list along a binomial
// tree over the list. The ranks must be distinct, and each of the other ranks must call
// RecvMulticast with the same list and tag. If there are receivers, the payload counts once as
// sent.
//
// Messages of this rank have the given tag, and messages that other ranks forward have tag+1. A
// rank may start some multicasts and forward others to the same receiver. The two tags keep both
// kinds of messages apart, so that the messages of each kind keep their order. Two ranks must
// handle the multicasts that they have in common in the same order.
//
// Between ranks of one process the tree is not needed: every receiver gets t itself.
func Multicast(c comm.Comm, t *tcs.Tensor, list []int, tag int) (*Sending, error) {
	if at := position(c, list); at != 0 {
		panic(fmt.Sprintf("BUG: transfer: rank %d starts a multicast as number %d of ranks %v",
			c.Rank(), at, list))
	}
	s := &Sending{}
	var err error
	if c.OneProcess() {
		err = s.share(c, t, list[1:], tag)
	} else {
		err = s.start(c, t, treeRanks(list, 0), tag)
	}
	if err != nil {
		s.Wait()
		return nil, err
	}
	if len(list) > 1 {
		countSent(c, t)
	}
	return s, nil
}

// Spread sends t from list[0] to the other ranks of list by Multicast, and waits. It returns the
// block at the receivers, which must close it. It returns nil at list[0] and at ranks that are not
// in list.
func Spread(c comm.Comm, t *tcs.Tensor, like Like, list []int, tag int,
	alloc Alloc) (came *tcs.Tensor, err error) {
	var s *Sending
	switch {
	case len(list) < 2 || !slices.Contains(list, c.Rank()):
		return nil, nil
	case list[0] == c.Rank():
		s, err = Multicast(c, t, list, tag)
	default:
		came, s, err = RecvMulticast(c, like, list, tag, alloc)
	}
	if err != nil {
		return nil, err
	}
	if err := s.Wait(); err != nil {
		tcs.CloseList(came)
		return nil, err
	}
	return came, nil
}

// RecvMulticast receives a block that list[0] sends by Multicast. It also starts to forward the
// block to the ranks below this rank in the tree. Unless there is an error, it returns the block
// and a Sending. The caller must wait for the Sending and then close the block. The caller must not
// change the block (see Recv). Forwarded messages do not count as sent by this rank.
//
// A rank starts to forward only during this call. Ranks that receive several multicasts must
// therefore receive them in the same order; otherwise two ranks could wait for each other.
func RecvMulticast(c comm.Comm, like Like, list []int, tag int, alloc Alloc) (*tcs.Tensor, *Sending,
	error) {
	at := position(c, list)
	if at <= 0 {
		panic(fmt.Sprintf("BUG: transfer: rank %d receives a multicast as number %d of ranks %v",
			c.Rank(), at, list))
	}
	if c.OneProcess() {
		t, err := take(c, list[0], tag)
		if err != nil {
			return nil, nil, err
		}
		return t, &Sending{}, nil
	}
	from := list[treeParent(at)]
	sendOn := tag + 1
	if treeParent(at) != 0 {
		tag = sendOn
	}
	m := make([]int64, like.metaLen())
	r, err := c.Uncounted().Irecv(comm.Of(m), from, tag)
	if err == nil {
		err = r.Wait()
	}
	if err != nil {
		return nil, nil, err
	}
	// Without memory nothing is forwarded, because the job fails and no message waits for a
	// receiver.
	t, err := like.allocate(m, alloc)
	if err != nil {
		return nil, nil, err
	}
	s := &Sending{meta: m}
	if err := s.relay(c, t, from, tag, treeRanks(list, at), sendOn); err != nil {
		s.Wait()
		t.Close()
		return nil, nil, err
	}
	return t, s, nil
}

// position returns the index of this rank in list, or -1 if it is not in list.
func position(c comm.Comm, list []int) int { return slices.Index(list, c.Rank()) }

// treeParent returns the index in the list of the rank that sends to the rank with index `at`. It
// is `at` without its lowest bit. at must not be 0.
func treeParent(at int) int { return at & (at - 1) }

// treeRanks returns the ranks of list that the rank with index `at` sends to, the rank with the
// largest index first.
func treeRanks(list []int, at int) []int {
	var to []int
	for d := 1; at+d < len(list) && at&d == 0; d *= 2 {
		to = append(to, list[at+d])
	}
	slices.Reverse(to)
	return to
}

// share passes t itself, without a copy, to each of the receivers. All of them must be in this
// process.
func (s *Sending) share(c comm.Comm, t *tcs.Tensor, receivers []int, tag int) error {
	for _, rank := range receivers {
		one, err := share(c.Uncounted(), t, rank, tag)
		if err != nil {
			return err
		}
		s.requests = append(s.requests, one.requests...)
	}
	return nil
}

// start starts to send tensor t to each of the receivers, and does not wait until the messages are
// sent.
func (s *Sending) start(c comm.Comm, t *tcs.Tensor, receivers []int, tag int) error {
	s.meta = meta(t)
	if err := s.forward(c, comm.Of(s.meta), receivers, tag); err != nil {
		return err
	}
	for _, a := range arrays(t) {
		if a.Len == 0 {
			continue
		}
		if err := s.forward(c, buf(t, a), receivers, tag); err != nil {
			return err
		}
	}
	return nil
}

// relay forwards block t to the receivers. It first forwards t's control message, which has already
// arrived. It then receives the arrays of t from the rank `from`, and forwards each array when the
// array has arrived. The arrays arrive with the given tag; forwarded messages have the tag sendOn.
func (s *Sending) relay(c comm.Comm, t *tcs.Tensor, from, tag int, receivers []int,
	sendOn int) error {
	err := s.forward(c, comm.Of(s.meta), receivers, sendOn)
	if err != nil {
		return err
	}
	var coming []*comm.Request
	var bufs []comm.Buf
	for _, a := range arrays(t) {
		if a.Len == 0 {
			continue
		}
		b := buf(t, a)
		r, rerr := c.Irecv(b, from, tag)
		if rerr != nil {
			err = rerr
			break
		}
		coming, bufs = append(coming, r), append(bufs, b)
	}
	for k := 0; k < len(coming) && err == nil; k++ {
		if err = coming[k].Wait(); err == nil {
			err = s.forward(c, bufs[k], receivers, sendOn)
		}
	}
	if werr := comm.WaitAll(coming...); err == nil {
		err = werr
	}
	return err
}

// forward starts to send b to each of the receivers. The counters of messages do not include these
// messages.
func (s *Sending) forward(c comm.Comm, b comm.Buf, receivers []int, tag int) error {
	for _, rank := range receivers {
		r, err := c.Uncounted().Isend(b, rank, tag)
		if err != nil {
			return err
		}
		s.requests = append(s.requests, r)
	}
	return nil
}

package store

import (
	"sync"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// parcels is the traffic of windows of a result: what each rank has of a window
// goes to the rank that puts it together, as one message. While a window is
// put together the next one's messages are on their way.
type parcels struct {
	c     comm.Comm
	limit *tcs.Limit
	first []int                   // a rank's first window, and their number
	size  func(w, rank int) int64 // bytes of a rank's message of window w, in whole words; 0 for none
	pack  func(mem []byte, w int) // fills in this rank's
	near  bool                    // nothing travels: this rank has all of its windows
}

// exchange runs receive, which takes this rank's windows (each), while its messages
// to the others leave. Collective.
func (p *parcels) exchange(receive func() error) error {
	var senders sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for to := range p.c.Size() {
		if to == p.c.Rank() || p.near {
			continue
		}
		senders.Go(func() {
			if err := p.send(to); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if failed == nil {
					failed = err
					p.c.Abort(comm.ExitCode(err), err.Error())
				}
			}
		})
	}
	done := p.c.Busy()
	err := receive()
	done()
	if err != nil {
		p.c.Abort(comm.ExitCode(err), err.Error())
	}
	senders.Wait()
	if err == nil {
		err = failed
	}
	return err
}

// send sends this rank's messages of rank `to`'s windows: one is put together
// while the one before it is on its way.
func (p *parcels) send(to int) error {
	most, me := int64(0), p.c.Rank()
	for w := p.first[to]; w < p.first[to+1]; w++ {
		most = max(most, p.size(w, me))
	}
	if most == 0 {
		return nil
	}
	mem, err := tcs.Alloc(p.limit, 2*most, "buffers to store the result")
	if err != nil {
		return err
	}
	defer mem.Release()
	bufs := [2][]byte{mem.Slice()[:most], mem.Slice()[most:]}
	var under *comm.Request
	for w := p.first[to]; w < p.first[to+1] && err == nil; w++ {
		n := p.size(w, me)
		if n == 0 {
			continue
		}
		p.pack(bufs[0][:n], w)
		if err = comm.WaitAll(under); err != nil {
			return err
		}
		under, err = p.c.Isend(comm.MemOf(bufs[0][:n]), to, tagValues)
		bufs[0], bufs[1] = bufs[1], bufs[0]
	}
	if e := comm.WaitAll(under); err == nil {
		err = e
	}
	return err
}

// most is the bytes of all messages of one of this rank's windows, at most, with
// room for its own.
func (p *parcels) most() int64 {
	most, me := int64(0), p.c.Rank()
	for w := p.first[me]; w < p.first[me+1]; w++ {
		n := int64(0)
		for rank := range p.c.Size() {
			n += p.size(w, rank)
		}
		most = max(most, n)
	}
	return most
}

// coming is a window's messages, by rank, on their way.
type coming struct {
	mem   [][]byte
	under []*comm.Request
}

// ask starts to receive the messages of window w.
func (p *parcels) ask(w int, mem []byte) (*coming, error) {
	v := &coming{mem: make([][]byte, p.c.Size())}
	for rank := range v.mem {
		n := p.size(w, rank)
		v.mem[rank], mem = mem[:n], mem[n:]
		if rank == p.c.Rank() || n == 0 {
			continue
		}
		q, err := p.c.Irecv(comm.MemOf(v.mem[rank]), rank, tagValues)
		if err != nil {
			comm.WaitAll(v.under...)
			return nil, err
		}
		v.under = append(v.under, q)
	}
	return v, nil
}

// each calls f with this rank's windows in order, and of each the ranks' messages;
// this rank's own is room for it, holding anything. The buffers have most bytes each.
func (p *parcels) each(bufs [2][]byte, f func(w int, in [][]byte) error) error {
	first, end := p.first[p.c.Rank()], p.first[p.c.Rank()+1]
	if first == end {
		return nil
	}
	next, err := p.ask(first, bufs[0])
	for w := first; err == nil && w < end; w++ {
		v := next
		if next = nil; w+1 < end {
			if next, err = p.ask(w+1, bufs[(w+1-first)%2]); err != nil {
				comm.WaitAll(v.under...)
				break
			}
		}
		if err = comm.WaitAll(v.under...); err == nil {
			err = f(w, v.mem)
		}
	}
	if next != nil {
		comm.WaitAll(next.under...)
	}
	return err
}

// rooms is memory for buffers of those sizes, which are of whole words.
func rooms(limit *tcs.Limit, sizes []int64) ([][]byte, *tcs.Memory, error) {
	total := int64(0)
	for _, n := range sizes {
		total += n
	}
	mem, err := tcs.Alloc(limit, total, "buffers to store the result")
	if err != nil {
		return nil, nil, err
	}
	bufs, rest := make([][]byte, len(sizes)), mem.Slice()
	for i, n := range sizes {
		bufs[i], rest = rest[:n], rest[n:]
	}
	return bufs, mem, nil
}

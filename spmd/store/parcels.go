package store

import (
	"sync"

	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// parcels exchanges the windows of a result. Each rank sends its part of a window, as one message,
// to the rank that assembles the window. While one window is assembled, the messages of the next
// one arrive.
type parcels struct {
	c     comm.Comm
	limit *tcs.Limit
	first []int // by rank, its first window; then the number of windows
	// bytes of a rank's message for window w, a multiple of the word size; 0 if there is none
	size func(w, rank int) int64
	pack func(mem []byte, w int) // writes this rank's message for window w
	near bool                    // this rank has all parts of its windows, so that nothing is sent
}

// exchange sends this rank's messages to the other ranks and runs the function receive at the same
// time. If this rank has windows, receive must call p.eachWindow to assemble them from the messages
// of the other ranks. Every rank must call exchange.
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
					p.c.Abort(err)
				}
			}
		})
	}
	done := p.c.Busy()
	err := receive()
	done()
	if err != nil {
		p.c.Abort(err)
	}
	senders.Wait()
	if err == nil {
		err = failed
	}
	return err
}

// send sends this rank's parts of the windows of the rank `to`. It packs one message while the
// previous one is being sent.
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

// largestWindow returns the size in bytes of the largest of this rank's windows. The size of a
// window is the total size of all messages for the window, including room for this rank's own part.
func (p *parcels) largestWindow() int64 {
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

// coming is the messages for a window, by rank, that are being received.
type coming struct {
	mem   [][]byte
	under []*comm.Request
}

// ask starts to receive the messages for window w into mem.
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

// eachWindow calls f for each window w of this rank, in order. messages[r] is the message of rank r
// for the window. For this rank itself, messages[r] has the right size but undefined contents, and
// f may use it as working memory. bufs holds two buffers with p.largestWindow() bytes each.
func (p *parcels) eachWindow(bufs [2][]byte, f func(w int, messages [][]byte) error) error {
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

// rooms allocates buffers of the given sizes, which must be multiples of the word size.
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

package store

import (
	"io"
	"sync"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/merge"
)

const (
	tagCommand = comm.MaxTag - 1 // from the rank of a piece to a rank that sends to it
	tagEntries = comm.MaxTag - 2 // entries, in the other direction
	tagValues  = comm.MaxTag - 3 // values of windows
	tagTurn    = comm.MaxTag - 4 // the turn in ordered writing

	commandEnd   = 0
	commandAgain = 1

	// maxBatch and minBatch bound the number of entries that a message has room for, unless the
	// stream is shorter.
	maxBatch = 1 << 15
	minBatch = 64
)

// exchange distributes the entries of sorted runs among the ranks: each rank receives the entries
// of its own piece of the result. Between each pair of ranks there is at most one sorted stream in
// each direction. The sender and the receiver of a stream have two buffers each.
//
// A sender is a goroutine that serves its stream until the receiver ends the stream. Ranks may
// therefore read their pieces at different times, and more than once.
type exchange struct {
	c      comm.Comm
	t      *Blocks
	modes  []int
	runs   []*run
	bounds [][]int64
	batch  int // entries of a message
	small  int // entries of a batch of one run's stream

	limit     *tcs.Limit
	stream    coo.Stream // the entries of this rank's piece
	receivers []*receiver
	senders   sync.WaitGroup
	mu        sync.Mutex
	err       error // first error of a sender
}

// newExchange starts an exchange that sends part k of each run to rank k. Part k of run i consists
// of the entries [bounds[i][k], bounds[i][k+1]). Every rank must call newExchange, and must later
// call close.
func newExchange(c comm.Comm, t *Blocks, modes []int, runs []*run, bounds [][]int64,
	limit *tcs.Limit) (*exchange, error) {
	x := &exchange{c: c, t: t, modes: modes, runs: runs, bounds: bounds, limit: limit}
	entry := int64(8*len(t.Layout.Dims) + int(t.Layout.Type.Size()))
	pairs := int64(4 * max(c.Size()-1, 1))
	bytes, err := bufferBytes(c, limit)
	if err != nil {
		return nil, err
	}
	// a multiple of 16, so that buffers stay aligned
	x.batch = int(min(max(bytes/2/(pairs*entry), minBatch), maxBatch)) &^ 15
	x.small = int(min(max(bytes/2/(int64(max(len(runs), 1)*c.Size())*entry), minBatch),
		coo.BatchSize))
	out := make([]int64, c.Size())
	for _, b := range bounds {
		for k := range out {
			out[k] += b[k+1] - b[k]
		}
	}
	in := make([]int64, c.Size())
	if err := c.Alltoall(comm.Of(out), comm.Of(in)); err != nil {
		return nil, err
	}
	var streams []coo.Stream
	fail := func(err error) (*exchange, error) {
		for _, s := range streams {
			s.Close()
		}
		x.free()
		return nil, err
	}
	for from, n := range in {
		if from == c.Rank() {
			s, err := x.local(from)
			if err != nil {
				return fail(err)
			}
			streams = append(streams, s)
		} else if n > 0 {
			r, err := x.newReceiver(from, n)
			if err != nil {
				return fail(err)
			}
			streams = append(streams, r)
		}
	}
	for to, n := range out {
		if to != c.Rank() && n > 0 {
			x.senders.Go(func() { x.note(x.send(to, n)) })
		}
	}
	x.stream = merge.Streams(streams, modes)
	return x, nil
}

// note stores the first error of a sender and aborts the job with it, because the receiver would
// wait forever. It ignores nil.
func (x *exchange) note(err error) {
	if err == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = err
		x.c.Abort(err)
	}
}

// pass runs f, which reads this rank's piece. While f runs, the watchdog counts the rank as
// computing. Without pass, the watchdog would see only the rank's senders, which wait for commands
// from other ranks.
func (x *exchange) pass(f func() error) error {
	defer x.c.Busy()()
	return f()
}

// close ends the exchange after this rank has read its piece. err is the error of reading the
// piece, or nil. If err is not nil, close aborts the job, so that other ranks do not wait for
// this rank. close then returns err. Otherwise it returns the first error of a receiver, of the
// stream or of a sender.
func (x *exchange) close(err error) error {
	if err != nil {
		x.c.Abort(err)
	}
	for _, r := range x.receivers {
		if e := r.end(); err == nil {
			err = e
		}
	}
	x.senders.Wait()
	if e := x.stream.Close(); err == nil {
		err = e
	}
	x.free()
	if err == nil {
		err = x.err
	}
	return err
}

func (x *exchange) free() {
	for _, r := range x.receivers {
		r.mem.Release()
	}
	x.receivers = nil
}

// local returns a stream of the entries of piece k in this rank's runs.
func (x *exchange) local(k int) (coo.Stream, error) {
	var list []coo.Stream
	for i, r := range x.runs {
		lo, hi := x.bounds[i][k], x.bounds[i][k+1]
		if lo == hi {
			continue
		}
		s, err := r.stream(lo, hi, x.small)
		if err != nil {
			for _, s := range list {
				s.Close()
			}
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return &none{x.t}, nil
	}
	return merge.Streams(list, x.modes), nil
}

// none is a stream without entries.
type none struct{ t *Blocks }

func (s *none) Dims() ([]int64, bool)   { return s.t.Layout.Dims, true }
func (s *none) Type() tensor.Type       { return s.t.Layout.Type }
func (s *none) Next(b *coo.Batch) error { return io.EOF }
func (s *none) Rewind() error           { return nil }
func (s *none) Close() error            { return nil }

// message is a buffer of n entries: first the coordinates, mode by mode, then the values.
type message struct {
	mem  []byte
	size int // of a value, in bytes
}

func (x *exchange) messages(entries int64) (*tcs.Memory, [2]message, error) {
	n := x.most(entries) * int64(8*len(x.t.Layout.Dims)+int(x.t.Layout.Type.Size()))
	mem, err := tcs.Alloc(x.limit, 2*n, "buffers to store the result")
	if err != nil {
		return nil, [2]message{}, err
	}
	size := int(x.t.Layout.Type.Size())
	return mem, [2]message{{mem.Slice()[:n], size}, {mem.Slice()[n : 2*n], size}}, nil
}

// most returns how many entries fit into one message between two ranks. entries is the number of
// entries that the two ranks exchange in total.
func (x *exchange) most(entries int64) int64 { return messageEntries(entries, int64(x.batch)) }

// messageEntries returns the number of entries that a message has room for: at most batch, and a
// multiple of 16 for alignment.
func messageEntries(entries, batch int64) int64 { return min(batch, (entries+15)&^15) }

func (m message) column(k, n int) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(&m.mem[8*k*n])), n)
}

// buf returns the buffer's first n bytes, which are outside the Go heap.
func (m message) buf(n int) comm.Buf { return comm.MemOf(m.mem[:n]) }

// send sends this rank's entries of piece number `to` to rank `to`. Whenever rank `to` asks again,
// send sends all of them again. It returns if rank `to` ends the stream. entries is the number of
// the entries.
func (x *exchange) send(to int, entries int64) error {
	mem, buffers, err := x.messages(entries)
	if err != nil {
		return err
	}
	defer mem.Release()
	s, err := x.local(to)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		if err := x.sendAll(s, buffers, to, int(x.most(entries))); err != nil {
			return err
		}
		command := make([]int64, 1)
		if err := wait(x.c.Irecv(comm.Of(command), to, tagCommand)); err != nil {
			return err
		}
		if command[0] == commandEnd {
			return nil
		}
		if err := s.Rewind(); err != nil {
			return err
		}
	}
}

// sendAll sends the stream, followed by two empty messages, because the receiver always waits for
// two messages.
func (x *exchange) sendAll(s coo.Stream, buffers [2]message, to, most int) error {
	var under [2]*comm.Request
	p := &packer{s: s, order: len(x.t.Layout.Dims)}
	ends := 0
	for k := 0; ends < 2; k = 1 - k {
		if under[k] != nil {
			err := under[k].Wait()
			under[k] = nil
			if err != nil {
				comm.WaitAll(live(under)...)
				return err
			}
		}
		n, err := p.pack(buffers[k], most)
		if err == nil {
			if n == 0 {
				ends++
			}
			under[k], err = x.c.Isend(buffers[k].buf(n*(8*p.order+buffers[k].size)), to, tagEntries)
		}
		if err != nil {
			comm.WaitAll(live(under)...)
			return err
		}
	}
	return comm.WaitAll(live(under)...)
}

func live(list [2]*comm.Request) (out []*comm.Request) {
	for _, r := range list {
		if r != nil {
			out = append(out, r)
		}
	}
	return out
}

func wait(r *comm.Request, err error) error {
	if err != nil {
		return err
	}
	return r.Wait()
}

// packer reads entries from a stream and packs them into messages.
type packer struct {
	s     coo.Stream
	order int
	b     coo.Batch
	at    int
	end   bool
}

// pack fills message m with the next entries of the stream, at most `most` of them, and returns
// their number.
func (p *packer) pack(m message, most int) (int, error) {
	// Columns are placed as for a full message. They are moved together if the message has fewer
	// entries.
	n := 0
	for n < most && !p.end {
		if p.at == p.b.N {
			err := p.s.Next(&p.b)
			p.at = 0
			if err == io.EOF {
				p.end, p.b.N = true, 0
				break
			}
			if err != nil {
				return 0, err
			}
		}
		k := min(most-n, p.b.N-p.at)
		for d := range p.order {
			copy(m.column(d, most)[n:n+k], p.b.Coords[d][p.at:p.at+k])
		}
		copy(m.mem[(8*p.order*most)+n*m.size:], p.b.Vals[p.at*m.size:(p.at+k)*m.size])
		n += k
		p.at += k
	}
	if n < most && n > 0 {
		for d := 1; d < p.order; d++ {
			copy(m.mem[8*d*n:], m.mem[8*d*most:8*(d*most+n)])
		}
		copy(m.mem[8*p.order*n:], m.mem[8*p.order*most:8*p.order*most+n*m.size])
	}
	return n, nil
}

// receiver is the stream of entries that another rank sends to this rank's piece.
type receiver struct {
	x       *exchange
	from    int
	mem     *tcs.Memory
	buffers [2]message
	under   [2]*comm.Request
	at      int   // the index of the next buffer
	started bool  // receives were started, or all messages have arrived
	ended   bool  // all messages have arrived
	err     error // the first error; no message follows it
}

func (x *exchange) newReceiver(from int, entries int64) (*receiver, error) {
	mem, buffers, err := x.messages(entries)
	if err != nil {
		return nil, err
	}
	r := &receiver{x: x, from: from, mem: mem, buffers: buffers}
	x.receivers = append(x.receivers, r)
	return r, nil
}

func (r *receiver) Dims() ([]int64, bool) { return r.x.t.Layout.Dims, true }
func (r *receiver) Type() tensor.Type     { return r.x.t.Layout.Type }
func (r *receiver) Close() error          { return nil }

// post starts to receive the next message into buffer k.
func (r *receiver) post(k int) (err error) {
	b := r.buffers[k]
	r.under[k], err = r.x.c.Irecv(b.buf(len(b.mem)), r.from, tagEntries)
	return err
}

// begin starts to receive the first messages.
func (r *receiver) begin() error {
	if r.started {
		return nil
	}
	r.started, r.at = true, 0
	if err := r.post(0); err != nil {
		return err
	}
	return r.post(1)
}

// Next returns the next message. Its buffer is reused at the next call. After an error Next always
// returns that error.
func (r *receiver) Next(b *coo.Batch) error {
	if r.err != nil {
		return r.err
	}
	err := r.take(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return err
}

// take implements Next. It stores the entries of the next message in b and starts to receive the
// following message.
func (r *receiver) take(b *coo.Batch) error {
	if r.ended {
		return io.EOF
	}
	if err := r.begin(); err != nil {
		return err
	}
	if prev := 1 - r.at; r.under[prev] == nil {
		if err := r.post(prev); err != nil {
			return err
		}
	}
	k := r.at
	q := r.under[k]
	r.under[k] = nil
	if err := q.Wait(); err != nil {
		return err
	}
	order, m := len(r.x.t.Layout.Dims), r.buffers[k]
	n := int(q.Bytes()) / (8*order + m.size)
	if n == 0 {
		r.ended = true
		last := r.under[1-k]
		r.under[1-k] = nil
		if err := last.Wait(); err != nil {
			return err
		}
		return io.EOF
	}
	r.at = 1 - k
	b.Coords, b.N = make([][]int64, order), n
	for d := range b.Coords {
		b.Coords[d] = m.column(d, n)
	}
	b.Vals = m.mem[8*order*n : (8*order+m.size)*n]
	return nil
}

// drain reads and discards all remaining messages.
func (r *receiver) drain() error {
	var b coo.Batch
	for {
		if err := r.Next(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (r *receiver) command(what int64) error {
	return wait(r.x.c.Isend(comm.Of([]int64{what}), r.from, tagCommand))
}

func (r *receiver) Rewind() error {
	if !r.started {
		return nil
	}
	if err := r.drain(); err != nil {
		return err
	}
	r.started, r.ended = false, false
	return r.command(commandAgain)
}

// end discards the remaining messages and tells the sender to stop.
func (r *receiver) end() error {
	err := r.drain()
	if err == nil {
		err = r.command(commandEnd)
	}
	for _, q := range live(r.under) {
		if e := q.Wait(); err == nil {
			err = e
		}
	}
	return err
}

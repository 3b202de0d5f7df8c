// Package commtest is the test suite that every communicator must pass. Cases succeed with any
// number of ranks and leave the communicator as it was, so that one launch can run all cases. Every
// job of Failures ends in a prescribed way. Tests of other packages use Apart to get ranks that
// share no memory.
//
// # Files
//
//	commtest.go    the cases, and the function that runs them
//	collective.go  collectives
//	group.go       groups
//	failure.go     jobs that must fail
//	apart.go       ranks of one process that share no memory
package commtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// Case is a test that every rank of the job runs.
type Case struct {
	Name string
	Run  func(c comm.Comm) error
}

// Cases returns the tests that must succeed.
func Cases() []Case {
	return []Case{
		{"sizes", sizes},
		{"order", order},
		{"tags", tags},
		{"short message", shortMessage},
		{"self", self},
		{"storm", storm},
		{"goroutines", goroutines},
		{"barrier", barrier},
		{"bcast", bcast},
		{"reduce", reduce},
		{"reduce bits", reduceBits},
		{"scan", scan},
		{"gather", gather},
		{"allgather", allgather},
		{"alltoall", alltoall},
		{"split", split},
		{"split many", splitMany},
		{"counters", counters},
		{"values", values},
		{"agree", agree},
		{"wrong use", wrongUse},
		{"truncation", truncation},
	}
}

// RunAll runs the cases one after another, with a barrier after each. done, if not nil, is called
// with the name and the duration of each case.
func RunAll(c comm.Comm, cases []Case, done func(name string, took time.Duration)) error {
	for _, k := range cases {
		start := time.Now()
		if err := k.Run(c); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		if err := c.Barrier(); err != nil {
			return fmt.Errorf("after %s: %w", k.Name, err)
		}
		if done != nil {
			done(k.Name, time.Since(start))
		}
	}
	return nil
}

// pattern fills b with bytes that depend on parts, which identify the message.
func pattern(b []byte, parts ...int) {
	x := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		x = (x ^ uint64(p+1)) * 0xbf58476d1ce4e5b9
	}
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
}

func wantPattern(b []byte, parts ...int) error {
	want := make([]byte, len(b))
	pattern(want, parts...)
	if !bytes.Equal(b, want) {
		for i := range b {
			if b[i] != want[i] {
				return fmt.Errorf("wrong message %v: byte %d of %d is %#x, want %#x",
					parts, i, len(b), b[i],
					want[i])
			}
		}
	}
	return nil
}

// mapped returns n bytes outside the Go heap, and a function that frees them.
func mapped(n int) ([]byte, func()) {
	if n == 0 {
		return nil, func() {}
	}
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	return b, func() { _ = unix.Munmap(b) }
}

// sizes sends messages of many sizes around a ring. The memory is Go memory or mapped memory, and
// the receive starts before or after the send.
func sizes(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	to, from := (me+1)%p, (me-1+p)%p
	for _, n := range []int{0, 1, 3, 7, 1023, 4096, 16 << 10, 16<<10 + 1, 65537, 1<<20 + 5} {
		for mode := range 4 {
			out, in := make([]byte, n), make([]byte, n)
			of := comm.Of[byte]
			if mode&1 != 0 {
				var freeOut, freeIn func()
				out, freeOut = mapped(n)
				in, freeIn = mapped(n)
				defer freeOut()
				defer freeIn()
				of = comm.MemOf[byte]
			}
			pattern(out, me, to, n)
			var s, r *comm.Request
			var err error
			post := []func() error{
				func() error { s, err = c.Isend(of(out), to, n%1000); return err },
				func() error { r, err = c.Irecv(of(in), from, n%1000); return err },
			}
			if mode&2 != 0 {
				post[0], post[1] = post[1], post[0]
			}
			for _, f := range post {
				if err := f(); err != nil {
					return err
				}
			}
			if err := comm.WaitAll(s, r); err != nil {
				return err
			}
			if r.Bytes() != int64(n) {
				return fmt.Errorf("got %d bytes, want %d", r.Bytes(), n)
			}
			if err := wantPattern(in, from, me, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// order checks that messages with the same tag are received in the order of their sends, whether
// they are short or long.
func order(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	to, from := (me+1)%p, (me-1+p)%p
	const n = 40
	size := func(i int) int { return []int{8, 100000, 0, 20000}[i%4] + i }
	var rs []*comm.Request
	var ins [][]byte
	for i := range n {
		b := make([]byte, size(i))
		pattern(b, me, i)
		s, err := c.Isend(comm.Of(b), to, 5)
		if err != nil {
			return err
		}
		rs = append(rs, s)
		if i%3 == 2 { // receives start late, in bursts
			for len(ins) <= i {
				in := make([]byte, size(len(ins)))
				r, err := c.Irecv(comm.Of(in), from, 5)
				if err != nil {
					return err
				}
				ins = append(ins, in)
				rs = append(rs, r)
			}
		}
	}
	for len(ins) < n {
		in := make([]byte, size(len(ins)))
		r, err := c.Irecv(comm.Of(in), from, 5)
		if err != nil {
			return err
		}
		ins = append(ins, in)
		rs = append(rs, r)
	}
	if err := comm.WaitAll(rs...); err != nil {
		return err
	}
	for i, in := range ins {
		if err := wantPattern(in, from, i); err != nil {
			return err
		}
	}
	return nil
}

// tags checks that a receive gets the message with its own tag, whatever the order of sends and
// receives.
func tags(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	to, from := (me+1)%p, (me-1+p)%p
	list := []int{0, 1, 77, comm.MaxTag - 1, comm.MaxTag}
	var rs []*comm.Request
	for _, tag := range list {
		r, err := c.Isend(comm.Of([]int64{int64(tag*10 + me)}), to, tag)
		if err != nil {
			return err
		}
		rs = append(rs, r)
	}
	for i := len(list) - 1; i >= 0; i-- {
		v := []int64{-1}
		if err := comm.Recv(c, v, from, list[i]); err != nil {
			return err
		}
		if v[0] != int64(list[i]*10+from) {
			return fmt.Errorf("tag %d brought %d", list[i], v[0])
		}
	}
	return comm.WaitAll(rs...)
}

func shortMessage(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	in := make([]float64, 100)
	r, err := c.Irecv(comm.Of(in), (me-1+p)%p, 1)
	if err != nil {
		return err
	}
	if err := comm.Send(c, []float64{1, 2, 3}, (me+1)%p, 1); err != nil {
		return err
	}
	if err := r.Wait(); err != nil {
		return err
	}
	if r.Bytes() != 24 || in[2] != 3 || in[3] != 0 {
		return fmt.Errorf("got %d bytes, %v", r.Bytes(), in[:4])
	}
	return nil
}

func self(c comm.Comm) error {
	before := c.Counters()
	for _, n := range []int{0, 10, 100000} {
		out, in := make([]byte, n), make([]byte, n)
		pattern(out, n)
		r, err := c.Irecv(comm.Of(in), c.Rank(), 9)
		if err != nil {
			return err
		}
		s, err := c.Isend(comm.Of(out), c.Rank(), 9)
		if err != nil {
			return err
		}
		if err := comm.WaitAll(s, r); err != nil {
			return err
		}
		if err := wantPattern(in, n); err != nil {
			return err
		}
	}
	if d := c.Counters().Sub(before); d != (comm.Counters{}) {
		return fmt.Errorf("messages of a rank to itself must not be counted: %+v", d)
	}
	return nil
}

// storm exchanges random messages. All ranks know the same list of messages, but each starts its
// messages and waits for them in an order of its own.
func storm(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	shared := rand.New(rand.NewPCG(42, uint64(p)))
	own := rand.New(rand.NewPCG(43, uint64(me)))
	for round := range 4 {
		type msg struct{ from, to, tag, size int }
		var list []msg
		for i := range 60 * p {
			m := msg{shared.IntN(p), shared.IntN(p), i, shared.IntN(300)}
			if shared.IntN(10) == 0 {
				m.size = shared.IntN(200000)
			}
			list = append(list, m)
		}
		own.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		var rs []*comm.Request
		check := map[int]func() error{}
		for _, m := range list {
			if m.from == me {
				b := make([]byte, m.size)
				pattern(b, round, m.tag)
				r, err := c.Isend(comm.Of(b), m.to, m.tag)
				if err != nil {
					return err
				}
				rs = append(rs, r)
			}
			if m.to == me {
				b := make([]byte, m.size)
				r, err := c.Irecv(comm.Of(b), m.from, m.tag)
				if err != nil {
					return err
				}
				check[len(rs)] = func() error { return wantPattern(b, round, m.tag) }
				rs = append(rs, r)
			}
		}
		for i, r := range rs {
			if err := r.Wait(); err != nil {
				return err
			}
			if f := check[i]; f != nil {
				if err := f(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// goroutines lets several goroutines of each rank exchange messages at the same time.
func goroutines(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	errs := make(chan error)
	const k = 4
	for g := range k {
		go func() {
			errs <- func() error {
				for i := range 20 {
					n := i * 2000
					in, out := make([]byte, n), make([]byte, n)
					pattern(out, me, g, i)
					s, err := c.Isend(comm.Of(out), (me+1)%p, g)
					if err != nil {
						return err
					}
					r, err := c.Irecv(comm.Of(in), (me-1+p)%p, g)
					if err != nil {
						return err
					}
					if err := comm.WaitAll(s, r); err != nil {
						return err
					}
					if err := wantPattern(in, (me-1+p)%p, g, i); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	var first error
	for range k {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Large sends one message of n bytes from each even rank to the next rank, and then broadcasts a
// buffer of n bytes. If n is a multiple of 8, it also sums buffers of n bytes. It needs at most
// about 3n bytes of memory at each rank.
func Large(c comm.Comm, n int64) error {
	b, free := mapped(int(n))
	defer free()
	me := c.Rank()
	mark := func(v byte) { b[0], b[n/2], b[n-1] = v, v+1, v+2 }
	marked := func(v byte) error {
		if b[0] != v || b[n/2] != v+1 || b[n-1] != v+2 {
			return fmt.Errorf("got the marks %d, %d and %d, want them from %d on",
				b[0], b[n/2], b[n-1], v)
		}
		return nil
	}
	buf := comm.MemOf(b)
	if me%2 == 0 && me+1 < c.Size() {
		mark(byte(10 + me))
		r, err := c.Isend(buf, me+1, 1)
		if err != nil {
			return err
		}
		if err := r.Wait(); err != nil {
			return err
		}
	}
	if me%2 == 1 {
		r, err := c.Irecv(buf, me-1, 1)
		if err != nil {
			return err
		}
		if err := r.Wait(); err != nil {
			return err
		}
		if r.Bytes() != n {
			return fmt.Errorf("got %d bytes, want %d", r.Bytes(), n)
		}
		if err := marked(byte(10 + me - 1)); err != nil {
			return err
		}
	}
	if me == 0 {
		mark(100)
	}
	if err := c.Bcast(buf, 0); err != nil {
		return err
	}
	if err := marked(100); err != nil {
		return err
	}
	if n%8 == 0 {
		clear(b)
		b[n-8] = 1
		if err := c.Allreduce(comm.Mem(unsafe.Pointer(&b[0]), n/8, tensor.Int64), comm.Sum); err != nil {
			return err
		}
		if int(b[n-8]) != c.Size() {
			return fmt.Errorf("sum is %d, want %d", b[n-8], c.Size())
		}
	}
	return nil
}

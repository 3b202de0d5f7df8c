package store

import (
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// dense writes the values of a tensor whose levels are all dense into one array of a file.
type dense struct {
	c     comm.Comm
	t     *Blocks
	f     *frame // order of the array
	own   []int
	size  int64 // size of a value in bytes
	limit *tcs.Limit
	w     io.WriterAt
	off   int64 // start of the array in the file
}

// writeDense writes the values in the order of modes, starting at offset off of the file. It
// returns the spans that this rank has written; their section number is 0. Every rank must call it.
func writeDense(s *sharedFile, t *Blocks, modes []int, off int64,
	limit *tcs.Limit) ([]coo.FileRange,
	error) {
	d := &dense{c: s.c, t: t, f: newFrame(t.Layout.Dims, modes), own: t.numbers(),
		size:  int64(t.Layout.Type.Size()),
		limit: limit, w: s, off: off}
	for _, k := range d.own {
		if !covers(t.Own[k]) {
			panic("BUG: store: a dense block lacks a part of its box")
		}
	}
	var spans []coo.FileRange
	if t.intervals(d.f) {
		err := s.write(func() (err error) { spans, err = d.writeRows(); return err })
		return spans, err
	}
	return d.exchange(s)
}

// covers reports whether a dense block stores all coordinates of its box. The block may also store
// other coordinates.
func covers(t *tcs.Tensor) bool {
	return !slices.ContainsFunc(t.Levels, func(l tcs.Level) bool {
		r := t.Header.Range(l.Mode)
		return r[0] < r[1] && (r[0] < l.Offset || r[1] > l.Offset+l.Size)
	})
}

// intervals reports whether no block is cut along a mode other than the outermost mode of f, the
// array of the whole tensor's values. The values of each block are then contiguous in this array.
func (t *Blocks) intervals(f *frame) bool {
	for _, box := range t.Boxes {
		if _, _, ok := f.rows(box); !ok {
			return false
		}
	}
	return true
}

// sameOrder reports whether blocks store their values in the order of the file's array.
func (d *dense) sameOrder() bool {
	for l, m := range d.f.modes {
		if d.t.Layout.Format.Order[l] != m {
			return false
		}
	}
	return true
}

// writeRows writes this rank's blocks. Each block fills an interval of the array.
func (d *dense) writeRows() ([]coo.FileRange, error) {
	var spans []coo.FileRange
	var window []byte
	ordered := d.sameOrder()
	for _, k := range d.own {
		lo, hi, _ := d.f.rows(d.t.Boxes[k])
		direct := ordered && d.t.Own[k].Vals.Len == hi-lo
		span := coo.FileRange{From: lo, N: hi - lo}
		step := int64(maxWindow) / d.size
		for a := lo; a < hi; a += step {
			b := min(a+step, hi)
			var bytes []byte
			if direct {
				bytes = d.t.Own[k].Vals.Bytes()[(a-lo)*d.size : (b-lo)*d.size]
			} else {
				if window == nil {
					window = make([]byte, maxWindow)
				}
				bytes = window[:(b-a)*d.size]
				d.read(k, a, b, func(p, n int64) []byte { return bytes[(p-a)*d.size:][:n*d.size] })
			}
			span.CRC = crc32.Update(span.CRC, crc32.IEEETable, bytes)
			if _, err := d.w.WriteAt(bytes, d.off+a*d.size); err != nil {
				return nil, err
			}
		}
		spans = append(spans, span)
	}
	return spans, nil
}

// read copies the values of block k that belong at positions [a, b) of the file's array. It copies
// them run by run, in the order of this array. The positions of a run are consecutive. For each
// run, read calls dst(p, n) and copies the values to the memory that dst returns. p is the first
// position of the run, and n is the number of its values.
func (d *dense) read(k int, a, b int64, dst func(p, n int64) []byte) {
	t := d.t.Own[k]
	levels := len(t.Levels)
	stride := make([]int64, levels) // strides of the block, by level of the array
	base := make([]int64, levels)
	n := int64(1)
	for l := levels - 1; l >= 0; l-- {
		for at, m := range d.f.modes {
			if m == t.Levels[l].Mode {
				stride[at], base[at] = n, t.Levels[l].Offset
			}
		}
		n *= t.Levels[l].Size
	}
	vals := t.Vals.Bytes()
	d.f.eachRun(d.t.Boxes[k], a, b, func(x []int64, p, n int64) {
		from, step := -t.Vals.First, int64(1)
		for l, c := range x {
			from += (c - base[l]) * stride[l]
			step = stride[l]
		}
		copyStrided(dst(p, n), vals[from*d.size:], step, d.size)
	})
}

// copyStrided fills dst with the values number 0, step, 2*step and so on of src. size is the size
// of a value in bytes.
func copyStrided(dst, src []byte, step, size int64) {
	if step == 1 {
		copy(dst, src)
		return
	}
	for at := int64(0); at < int64(len(dst)); at += size {
		copy(dst[at:at+size], src[at*step:])
	}
}

// windows divides an array of `total` values evenly among the ranks. It divides each rank's part
// into windows of at most `step` values.
type windows struct {
	total, step int64
	ranks       int
}

// newWindows divides an array into windows. The array has total values of size bytes each. bytes is
// the memory that each rank has for the buffers of its windows and messages.
func newWindows(total, size int64, ranks int, bytes int64) windows {
	part := total/int64(ranks) + 1
	return windows{total: total, step: min(max(window(bytes, ranks+3)/size, 1), part), ranks: ranks}
}

func (w windows) part(rank int) (lo, hi int64) {
	at := func(k int64) int64 {
		n := int64(w.ranks)
		return w.total/n*k + w.total%n*k/n
	}
	return at(int64(rank)), at(int64(rank) + 1)
}

// exchange writes the blocks if the values of a block need not be contiguous in the file's array
// (see intervals). Every rank assembles the windows of its part of the array, from messages of all
// ranks. If all ranks are in one process, a rank reads the blocks of all ranks directly instead.
func (d *dense) exchange(s *sharedFile) ([]coo.FileRange, error) {
	near, err := d.t.nearby(d.c)
	if err != nil {
		return nil, err
	}
	if near != nil {
		defer near.close(d.t)
		d.t, d.own = near, near.numbers()
	}
	bytes, err := bufferBytes(d.c, d.limit)
	if err != nil {
		return nil, err
	}
	ranks := d.c.Size()
	w := newWindows(d.f.total, d.size, ranks, bytes)
	var senders sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for to := range ranks {
		if to == d.c.Rank() || near != nil {
			continue
		}
		senders.Go(func() {
			if err := d.send(w, to); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if failed == nil {
					failed = err
					d.c.Abort(err)
				}
			}
		})
	}
	var span coo.FileRange
	done := d.c.Busy()
	err = s.write(func() (err error) { span, err = d.receive(w); return err })
	done()
	if err != nil {
		d.c.Abort(err)
	}
	senders.Wait()
	if err == nil {
		err = failed
	}
	return []coo.FileRange{span}, err
}

// shares returns the number of positions of [a, b) that each rank holds.
func (d *dense) shares(a, b int64) []int64 {
	n := make([]int64, d.c.Size())
	for k, owner := range d.t.Owners {
		n[owner] += d.f.before(d.t.Boxes[k], b) - d.f.before(d.t.Boxes[k], a)
	}
	return n
}

// send sends this rank's values of each window of the rank `to`.
func (d *dense) send(w windows, to int) error {
	lo, hi := w.part(to)
	var mem *tcs.Memory
	defer func() {
		if mem != nil {
			mem.Release()
		}
	}()
	for a := lo; a < hi; a += w.step {
		b := min(a+w.step, hi)
		n := d.shares(a, b)[d.c.Rank()] * d.size
		if n == 0 {
			continue
		}
		if mem == nil {
			var err error
			if mem, err = tcs.Alloc(d.limit, w.step*d.size, "buffers to store the result"); err != nil {
				return err
			}
		}
		at := int64(0)
		buf := mem.Slice()[:n]
		for _, k := range d.own {
			d.read(k, a, b, func(_, n int64) []byte {
				at += n * d.size
				return buf[at-n*d.size : at]
			})
		}
		if err := wait(d.c.Isend(comm.MemOf(buf), to, tagValues)); err != nil {
			return err
		}
	}
	return nil
}

// arriving holds the parts of window [a, b) while the rank receives them.
type arriving struct {
	a, b  int64
	parts map[int][]byte // by rank
	under []*comm.Request
}

// ask starts to receive the parts of window [a, b) into mem.
func (d *dense) ask(a, b int64, mem []byte) (*arriving, error) {
	v := &arriving{a: a, b: b, parts: map[int][]byte{}}
	for rank, n := range d.shares(a, b) {
		if rank == d.c.Rank() || n == 0 {
			continue
		}
		part := mem[:n*d.size]
		mem = mem[n*d.size:]
		q, err := d.c.Irecv(comm.MemOf(part), rank, tagValues)
		if err != nil {
			comm.WaitAll(v.under...)
			return nil, err
		}
		v.parts[rank], v.under = part, append(v.under, q)
	}
	return v, nil
}

// receive assembles and writes this rank's windows. Meanwhile the parts of the next window arrive.
func (d *dense) receive(w windows) (coo.FileRange, error) {
	lo, hi := w.part(d.c.Rank())
	span := coo.FileRange{From: lo, N: hi - lo}
	if lo == hi {
		return span, nil
	}
	bytes := w.step * d.size
	mem, err := tcs.Alloc(d.limit, 3*bytes, "buffers to store the result")
	if err != nil {
		return span, err
	}
	defer mem.Release()
	buf := func(k int64) []byte { return mem.Slice()[k*bytes : (k+1)*bytes] }
	next, err := d.ask(lo, min(lo+w.step, hi), buf(0))
	for k := int64(1); err == nil && next != nil; k++ {
		v := next
		next = nil
		if v.b < hi {
			if next, err = d.ask(v.b, min(v.b+w.step, hi), buf(k%2)); err != nil {
				comm.WaitAll(v.under...)
				return span, err
			}
		}
		if err = comm.WaitAll(v.under...); err != nil {
			break
		}
		window := buf(2)[:(v.b-v.a)*d.size]
		d.place(v, window)
		span.CRC = crc32.Update(span.CRC, crc32.IEEETable, window)
		_, err = d.w.WriteAt(window, d.off+v.a*d.size)
	}
	if next != nil {
		comm.WaitAll(next.under...)
	}
	return span, err
}

// place copies the parts of a window to their positions.
func (d *dense) place(v *arriving, window []byte) {
	filled := int64(0)
	at := func(p, n int64) []byte {
		filled += n
		return window[(p-v.a)*d.size:][:n*d.size]
	}
	for _, k := range d.own {
		d.read(k, v.a, v.b, at)
	}
	for k, owner := range d.t.Owners {
		if part := v.parts[owner]; len(part) > 0 {
			d.f.eachRun(d.t.Boxes[k], v.a, v.b, func(_ []int64, p, n int64) {
				part = part[copy(at(p, n), part):]
			})
			v.parts[owner] = part
		}
	}
	if filled != v.b-v.a {
		panic(fmt.Sprintf("BUG: store: %d of %d values in a window", filled, v.b-v.a))
	}
}

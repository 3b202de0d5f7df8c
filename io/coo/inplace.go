package coo

import (
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"distaff/io/tcs"
)

// The sort of a large store needs little memory in addition to the records. It cuts the records
// into buckets of keys, block by block, and reuses the memory of the records that were read. The
// chunks of the store are divided into slots of one size. Each thread reads its share of the slots
// in order. It writes every record to the current block of the record's bucket. When a block is
// full, the next one uses a slot that was already read. Each thread has one unfinished block for
// each bucket, and only these blocks need extra memory.
//
// Then the blocks are moved into the order of buckets and, within a bucket, of the input, so that
// equal records stay in order. Last, each bucket is sorted by itself. (The blocks are taken from
// the in-place distribution in IPS4o, Axtmann, Witt, Ferizovic and Sanders, 2017, whose sort is not
// stable.)

// inPlaceFrom is the smallest number of records of a store that is sorted in place.
const inPlaceFrom = 1 << 16

// sampled is the number of sampled records for each bucket that bucketsOf counts. At most this
// number of the sampled records fall into one bucket, unless their keys are equal.
const sampled = 128

// minBlock and maxBlock are the smallest and the largest size of a block in records.
const minBlock, maxBlock = 16, 256

// slot is room for one block.
type slot[R record] struct {
	mem  *tcs.Memory
	recs []R // all of the room
}

// filled is a block in a slot. Its n records belong to one bucket.
type filled struct {
	slot   int32
	bucket int32
	n      int32
}

// blockSort holds the state of the sort of a store.
type blockSort[R record] struct {
	s       *store
	split   *splitter
	threads int
	block   int // records that a slot has room for
	slots   []slot[R]
	used    []int // by slot, the number of records in it
	spare   *tcs.Memory
	scratch []*tcs.Memory // by thread, room for two buckets
	most    int           // records in the largest bucket that must be sorted
	blocks  [][]filled    // by thread, in the order of their start
	starts  []int         // by bucket, its first slot after the blocks were moved
	runs    [][]int32     // by bucket, the number of records in each of its slots
}

// bucketsOf returns the approximate number of buckets for n records if no key is frequent.
func bucketsOf(n int64) int64 { return min(max(n>>17, 128), 2048) }

// smallDivisor limits the sort in place: a store is not sorted in place if more than 1/smallDivisor
// of its records are in small chunks.
const smallDivisor = 16

// sortInPlace sorts the records of the store by bits [lo, keyBits) of their keys, in the memory of
// the store. If another sort is better, it sorts nothing, and done is false. Another sort is better
// if many records are in small chunks. It is also better if the partly filled blocks would need
// more memory than a copy of the records.
//
// sortInPlace returns an error if the memory limit has no room for the memory that it needs. The
// store then still has all records, and records with equal keys are still in their original order.
func sortInPlace[R record](s *store, lo, threads int) (done bool, err error) {
	hi := s.keyBits()
	if hi <= lo {
		return true, nil
	}
	if merged, err := s.mergeSmall(); !merged || err != nil {
		return false, err
	}
	b := &blockSort[R]{s: s, threads: threads}
	n := int(s.n)
	b.split = newSplitter(b.sample(sampled*int(bucketsOf(s.n))), s.pack.words, lo, hi, sampled)
	b.block = minBlock
	for b.block < maxBlock && b.block*2*b.split.buckets()*threads*32 <= n {
		b.block *= 2
	}
	if b.block*b.split.buckets()*threads > n {
		return false, nil
	}
	if err := b.allocate(); err != nil {
		return true, err
	}
	b.distribute()
	b.move()
	err = b.allocateScratch()
	if err == nil {
		b.sortBuckets(lo)
	}
	b.collect()
	for _, m := range b.scratch {
		m.Release()
	}
	return true, err
}

// mergeSmall prepares the store for the sort in place, which needs chunks that consist of whole
// blocks. Chunks that were cut from slabs are smaller, so mergeSmall moves their records into new
// chunks. If the chunks that were cut from slabs have too many records, it moves nothing and
// returns false.
func (s *store) mergeSmall() (bool, error) {
	words := 0
	for _, c := range s.chunks {
		if s.isSmall(c) {
			words += len(c.recs)
		}
	}
	if words == 0 || words/s.stride() > int(s.n)/smallDivisor {
		return words == 0, nil
	}
	old := s.chunks
	s.chunks = nil
	for k := 0; k < len(old); k++ {
		if !s.isSmall(old[k]) {
			s.chunks = append(s.chunks, old[k])
			continue
		}
		words, end := 0, k
		for ; end < len(old) && s.isSmall(old[end]); end++ {
			words += len(old[end].recs)
		}
		if err := s.grow((words/s.stride() + chunkUnit - 1) &^ (chunkUnit - 1)); err != nil {
			s.chunks = append(s.chunks, old[k:]...)
			return false, err
		}
		c := &s.chunks[len(s.chunks)-1]
		for ; k < end; k++ {
			c.recs = append(c.recs, old[k].recs...)
			old[k].mem.Release()
		}
		k--
	}
	return true, nil
}

// isSmall reports whether a chunk has only a part of its memory, because it was cut from a slab. A
// chunk that has a whole slab is not small.
func (s *store) isSmall(c chunk) bool { return cap(c.recs) != int(c.mem.Bytes)/8 }

// sample returns count of the store's records. The distances between the chosen records vary,
// because equal distances could coincide with a pattern of the input.
func (b *blockSort[R]) sample(count int) []R {
	out := make([]R, 0, count)
	step := int(b.s.n) / count
	x := uint64(1)
	before := 0 // number of records in the chunks before
	next := 0
	for _, c := range b.s.chunks {
		recs := unsafe.Slice((*R)(c.mem.Ptr), len(c.recs)/b.s.stride())
		for next < before+len(recs) && len(out) < count {
			out = append(out, recs[next-before])
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			next = int(float64(b.s.n)/float64(count)*float64(len(out))) + int(x%uint64(step))
		}
		before += len(recs)
	}
	return out
}

// allocate divides the memory of the chunks into slots, and allocates additional slots: one for
// each bucket and thread.
func (b *blockSort[R]) allocate() error {
	size := b.s.stride() * 8
	for _, c := range b.s.chunks {
		have := len(c.recs) / b.s.stride()
		capacity := cap(c.recs) / b.s.stride()
		if capacity%b.block != 0 {
			panic("BUG: coo: a chunk that is not whole blocks")
		}
		b.addSlots(c.mem, capacity, have)
	}
	spare, err := tcs.Alloc(b.s.limit, int64(b.split.buckets()*b.threads*b.block*size),
		"sorting entries")
	if err != nil {
		return err
	}
	b.spare = spare
	b.addSlots(spare, b.split.buckets()*b.threads*b.block, 0)
	return nil
}

// allocateScratch allocates the memory that sorting a bucket needs.
func (b *blockSort[R]) allocateScratch() error {
	for k, runs := range b.runs {
		n := 0
		for _, m := range runs {
			n += int(m)
		}
		if b.split.tops[k] > b.split.lo {
			b.most = max(b.most, n)
		}
	}
	for range b.threads {
		m, err := tcs.Alloc(b.s.limit, int64(2*b.most*b.s.stride()*8), "sorting entries")
		if err != nil {
			return err
		}
		b.scratch = append(b.scratch, m)
	}
	return nil
}

func (b *blockSort[R]) addSlots(m *tcs.Memory, capacity, have int) {
	recs := unsafe.Slice((*R)(m.Ptr), capacity)
	for at := 0; at < capacity; at += b.block {
		b.slots = append(b.slots, slot[R]{m, recs[at : at+b.block]})
		b.used = append(b.used, max(min(have-at, b.block), 0))
	}
}

// distribute moves all records into blocks. The records of a block belong to one bucket. Each
// thread distributes the records in its share of the slots, which are the memory of the store in
// units of one block.
func (b *blockSort[R]) distribute() {
	spare := b.split.buckets() * b.threads
	input := len(b.slots) - spare
	b.blocks = make([][]filled, b.threads)
	parallel(b.threads, func(t int) {
		free := make([]int32, 0, spare/b.threads)
		for i := range spare / b.threads {
			free = append(free, int32(input+t*(spare/b.threads)+i))
		}
		b.blocks[t] = b.distributePart(input*t/b.threads, input*(t+1)/b.threads, free)
	})
}

// distributePart puts the records in slots [from, to) into blocks by bucket. The blocks are stored
// in these slots and in the free ones. It returns the blocks.
func (b *blockSort[R]) distributePart(from, to int, free []int32) []filled {
	type open struct {
		recs []R // the block that is being filled
		n    int
		at   int // index in done
	}
	opens := make([]open, b.split.buckets())
	var done []filled
	head := 0 // first unused element of free
	for i := from; i < to; i++ {
		recs := b.slots[i].recs[:b.used[i]]
		for r := range recs {
			k := bucketOf(b.split, &recs[r])
			o := &opens[k]
			if o.n == len(o.recs) {
				if o.recs != nil {
					done[o.at].n = int32(o.n)
				}
				s := free[head]
				head++
				*o = open{recs: b.slots[s].recs, at: len(done)}
				done = append(done, filled{slot: s, bucket: int32(k)})
			}
			o.recs[o.n] = recs[r]
			o.n++
		}
		free = append(free, int32(i))
	}
	for k := range opens {
		if o := &opens[k]; o.recs != nil {
			done[o.at].n = int32(o.n)
		}
	}
	return done
}

// move moves the blocks to their final order: by bucket, then by thread, then by input.
func (b *blockSort[R]) move() {
	buckets := b.split.buckets()
	b.starts, b.runs = make([]int, buckets+1), make([][]int32, buckets)
	for _, done := range b.blocks {
		for _, f := range done {
			b.starts[f.bucket+1]++
		}
	}
	for k := range buckets {
		b.starts[k+1] += b.starts[k]
	}
	to := make([]int32, len(b.slots)) // by slot, the new slot of its block; -1 if it has no block
	for i := range to {
		to[i] = -1
	}
	for _, done := range b.blocks {
		for _, f := range done {
			to[f.slot] = int32(b.starts[f.bucket] + len(b.runs[f.bucket]))
			b.runs[f.bucket] = append(b.runs[f.bucket], f.n)
		}
	}
	b.blocks = nil
	hold := make([]R, b.block)
	for i := range to {
		for to[i] >= 0 && to[i] != int32(i) {
			j := to[i]
			x, y := b.slots[i].recs, b.slots[j].recs
			if to[j] < 0 {
				copy(y, x)
				to[i] = -1
			} else {
				copy(hold, y)
				copy(y, x)
				copy(x, hold)
				to[i] = to[j]
			}
			to[j] = j
		}
	}
}

// sortBuckets sorts each bucket. Threads take one bucket after another. A sorted bucket fills its
// slots from the first one on.
func (b *blockSort[R]) sortBuckets(lo int) {
	var next int
	var mu sync.Mutex
	parallel(b.threads, func(t int) {
		scratch := unsafe.Slice((*R)(b.scratch[t].Ptr), 2*b.most)
		for {
			mu.Lock()
			k := next
			next++
			mu.Unlock()
			if k >= len(b.runs) {
				return
			}
			if b.split.tops[k] > lo {
				b.sortBucket(k, lo, scratch[:b.most], scratch[b.most:])
			} else {
				b.pack(k)
			}
		}
	})
}

// sortBucket sorts the records of bucket k by the key bits from lo on. The sorted records replace
// the old ones in the slots of the bucket. x and y are scratch memory, each with room for all
// records of the bucket.
func (b *blockSort[R]) sortBucket(k, lo int, x, y []R) {
	n := 0
	for i, m := range b.runs[k] {
		n += copy(x[n:], b.slots[b.starts[k]+i].recs[:m])
	}
	if n == 0 {
		return
	}
	hi := topBit(x[:n], b.s.pack.words, b.split.tops[k])
	sortRecords(x[:n], y[:n], b.s.pack.words, lo, hi, false)
	at := 0
	for i := range b.runs[k] {
		m := copy(b.slots[b.starts[k]+i].recs, x[at:n])
		b.runs[k][i] = int32(m)
		at += m
	}
}

// topBit returns 1 plus the number of the highest bit in which the keys of a differ, but at most
// hi. It returns 0 if all keys are equal. words is the number of words in a key.
func topBit[R record](a []R, words, hi int) int {
	for w := words - 1 - (hi-1)/64; w < words; w++ {
		vary := uint64(0)
		for i := range a {
			vary |= a[i][w] ^ a[0][w]
		}
		if vary != 0 {
			return min(hi, (words-1-w)*64+bits.Len64(vary))
		}
	}
	return 0
}

// pack removes the gaps between the records in the slots of bucket k, whose keys agree in all bits
// that the sort compares.
func (b *blockSort[R]) pack(k int) {
	w, n := 0, 0 // the slot that is being filled, and the number of its records
	runs := b.runs[k]
	for i, m := range runs {
		from := b.slots[b.starts[k]+i].recs[:m]
		for len(from) > 0 {
			if n == b.block {
				w, n = w+1, 0
			}
			c := copy(b.slots[b.starts[k]+w].recs[n:], from)
			n, from = n+c, from[c:]
		}
	}
	left := 0
	for _, m := range runs {
		left += int(m)
	}
	for i := range runs {
		runs[i] = int32(min(left, b.block))
		left -= int(runs[i])
	}
}

// collect makes the chunks of the store from the slots that have records.
func (b *blockSort[R]) collect() {
	st := b.s.stride()
	old := b.s.chunks
	b.s.chunks = nil
	// the last chunk ends where the next slot starts, if both are in the same memory
	open := false
	for k, runs := range b.runs {
		for i, m := range runs {
			if m == 0 {
				open = false
				continue
			}
			at := b.slots[b.starts[k]+i]
			recs := unsafe.Slice((*uint64)(unsafe.Pointer(&at.recs[0])), int(m)*st)
			if last := len(b.s.chunks) - 1; open && b.s.chunks[last].mem == at.mem {
				c := &b.s.chunks[last]
				c.recs = unsafe.Slice(&c.recs[0], len(c.recs)+len(recs))
			} else {
				at.mem.Retain()
				b.s.chunks = append(b.s.chunks, chunk{at.mem, recs})
			}
			open = int(m) == b.block
		}
	}
	for _, c := range old {
		c.mem.Release()
	}
	b.spare.Release()
	b.s.chunks = slices.Clip(b.s.chunks)
}

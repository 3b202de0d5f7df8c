package coo

import "distaff/io/tcs"

// Collection is entries that are to be collected and sorted, before there are any.
type Collection struct {
	record  int64 // bytes of an entry, packed
	depths  int64 // of tables of a splitter of the keys, at most
	threads int64
}

// NewCollection is that of levels with coordinates below those sizes, which so many threads sort
// (0: GOMAXPROCS).
func NewCollection(sizes []int64, typ tcs.Type, threads int) Collection {
	width := make([]uint, len(sizes))
	for l, n := range sizes {
		width[l] = bitsFor(n)
	}
	p := newPacker(width)
	c := Collection{record: 8 * int64(p.words+(typ.Size()+7)/8),
		threads: int64(Config{Threads: threads}.threads())}
	for w := range p.words {
		bits := uint(0)
		for l, at := range p.word {
			if at == w {
				bits += width[l]
			}
		}
		c.depths += int64(bits+digitBits-1) / digitBits
	}
	return c
}

// Held is the most that so many entries take in so many builders together, of which lanes lanes
// have some.
func (c Collection) Held(entries, builders, lanes int64) int64 {
	if entries == 0 {
		return 0
	}
	builders, lanes = min(builders, entries), min(lanes, entries)
	// The last chunk of a lane may be nearly empty, and so may the last slab of a builder.
	n := entries + min(entries+leastChunk*lanes, entries/8+firstChunk*lanes)
	return c.record * (n + min(max(n, firstSlab*builders), n/8+firstChunk*builders))
}

// Sorting is the most that the sort of so many entries takes beside them, of which lanes lanes of a
// builder have some: as much as they where they are few, their records large, or many of them in
// small chunks.
func (c Collection) Sorting(entries, lanes int64) int64 {
	if entries < inPlaceFrom || c.record > 8*mostStride {
		return c.record * entries
	}
	// In place: unfinished blocks of each bucket, small ones or together a 32nd of all, and scratch
	// memory for the largest bucket. Neighbours among the buckets of a table, and a bucket of one key,
	// have more of the sample than its mean, and so has each table that is not the first: there are so
	// many at each depth at most. A table parts the buckets of another in two.
	buckets := bucketsOf(entries)
	unfinished := max(leastBlock*c.threads*(buckets*(4+2*c.depths)+2), entries/32)
	n := min(unfinished, entries) + 2*c.threads*min(entries, largestBucket*entries/buckets)
	if lanes > 0 {
		small := min(2*firstChunk*lanes, entries/mostSmall) + firstChunk // put together
		n += small
		if 2*firstChunk*lanes > entries/mostSmall {
			n = max(n, entries)
		}
	}
	return c.record * n
}

// largestBucket is how many times as large as the mean the largest bucket is at most. A range of so
// many records has as few of the sample as a bucket once in a billion, by Bernstein's inequality,
// with 2^12 buckets.
const largestBucket = 2

// Assembling is the most that Assemble takes beside a tensor of so many bytes, of so many entries,
// in a memory limit (0: none): what passes a quarter of that goes to disk.
func (c Collection) Assembling(entries, bytes, limit int64) int64 {
	if limit > 0 {
		entries = min(entries, max(limit/4, leastBudget)/c.record+BatchSize)
	}
	if entries == 0 {
		return 0
	}
	held := c.record * (entries + entries/8 + firstChunk)
	return max(held+c.Sorting(entries, 0)-bytes, 0)
}

// Building is the most that builders of blocks with so many entries and bytes take, together and
// with the blocks, where their entries come in lanes lanes each, in a memory limit (0: none). One
// block is finished after another.
func (c Collection) Building(blocks []Foretold, lanes, limit int64) int64 {
	sum, kept, most, all, n := int64(0), int64(0), int64(0), int64(0), int64(len(blocks))
	for _, b := range blocks {
		held := c.Held(b.Entries, 1, lanes)
		beside := c.Sorting(b.Entries, lanes)
		if b.Dense { // filled while its entries are there
			beside = min(held, b.Bytes)
		}
		sum, kept, most, all = sum+max(held, b.Bytes), kept+b.Bytes, max(most, beside), all+b.Entries
	}
	if limit <= 0 {
		return sum + most
	}
	fits := PoolBudget(limit)/c.record + BatchSize
	return min(sum+most, kept+c.Held(min(all, fits), n, n*lanes)+c.Sorting(min(all, fits), n*lanes))
}

// Foretold is a block of which so much is known before it is there.
type Foretold struct {
	Entries, Bytes int64
	Dense          bool
}

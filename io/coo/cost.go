package coo

import (
	"distaff/io/tensor"
)

// SortCost estimates how much memory it takes to collect and sort entries, before the entries
// exist.
type SortCost struct {
	record  int64 // bytes of a packed entry
	depths  int64 // maximum depth of the splitter's tables
	threads int64
}

// NewSortCost returns the estimator for entries with values of type typ. The coordinates of level l
// are below sizes[l]. threads is the number of threads that sort; 0 means GOMAXPROCS.
func NewSortCost(sizes []int64, typ tensor.Type, threads int) SortCost {
	width := make([]uint, len(sizes))
	for l, n := range sizes {
		width[l] = bitsFor(n)
	}
	p := newPacker(width)
	c := SortCost{record: 8 * int64(p.words+(int(typ.Size())+7)/8),
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

// StoredBytes returns the maximum number of bytes that entries occupy in Sorters. builders is the
// number of Sorters. lanes is the number of lanes that have entries, in all Sorters together.
func (c SortCost) StoredBytes(entries, builders, lanes int64) int64 {
	if entries == 0 {
		return 0
	}
	builders, lanes = min(builders, entries), min(lanes, entries)
	// The last chunk of a lane may be nearly empty, and so may the last slab of a builder.
	n := entries + min(entries+minChunk*lanes, entries/8+chunkUnit*lanes)
	return c.record * (n + min(max(n, firstSlab*builders), n/8+chunkUnit*builders))
}

// SortBytes returns the maximum number of extra bytes that the sort of entries needs. lanes is the
// number of lanes that have entries.
//
// The sort copies all entries in four cases: the entries are few, their records are large, many of
// them are in small chunks, or the partly filled blocks would need more memory than a copy.
// Otherwise it sorts in place.
func (c SortCost) SortBytes(entries, lanes int64) int64 {
	if entries < inPlaceFrom || c.record > 8*maxStride {
		return c.record * entries
	}
	// In place, the sort allocates one unfinished block for each bucket and thread, and scratch
	// memory for the largest bucket. The blocks are either of the minimum size or together a 32nd
	// of all records. The number of buckets is bounded because each of the following has more of
	// the sample than a mean bucket: two neighbouring buckets of a table together, a bucket of a
	// single key, and each table after the first. There is at most one of them for each mean bucket
	// at each depth. A table also splits a bucket of its parent table in two.
	buckets := bucketsOf(entries)
	unfinished := max(minBlock*c.threads*(buckets*(4+2*c.depths)+2), entries/32)
	n := min(unfinished, entries) + 2*c.threads*min(entries, largestBucket*entries/buckets)
	if lanes > 0 {
		// small chunks that are merged
		small := min(2*chunkUnit*lanes, entries/smallDivisor) + chunkUnit
		n += small
		if 2*chunkUnit*lanes > entries/smallDivisor {
			n = max(n, entries)
		}
	}
	return c.record * n
}

// largestBucket is the maximum size, in units of the mean size, of a bucket that must be sorted. By
// Bernstein's inequality with 2^12 buckets, the probability of a larger bucket is below one in a
// billion.
const largestBucket = 2

// AssembleBytes returns the maximum number of bytes that Assemble needs in addition to the tensor
// that it makes. The tensor has the given number of entries and occupies the given number of bytes.
// limit is the memory limit, or 0 if there is none. Assemble keeps entries in a quarter of the
// limit, but at least in minBudget bytes. Further entries go to disk.
func (c SortCost) AssembleBytes(entries, bytes, limit int64) int64 {
	if limit > 0 {
		entries = min(entries, max(limit/4, minBudget)/c.record+BatchSize)
	}
	if entries == 0 {
		return 0
	}
	held := c.record * (entries + entries/8 + chunkUnit)
	return max(held+c.SortBytes(entries, 0)-bytes, 0)
}

// BuildBytes returns the maximum number of bytes that Sorters need to build the given blocks,
// including the memory of the blocks. The entries of each block arrive in the given number of
// lanes. limit is the memory limit, or 0 if there is none. Blocks are finished one after another.
func (c SortCost) BuildBytes(blocks []BlockCost, lanes, limit int64) int64 {
	sum, kept, most, all, n := int64(0), int64(0), int64(0), int64(0), int64(len(blocks))
	for _, b := range blocks {
		held := c.StoredBytes(b.Entries, 1, lanes)
		extra := c.SortBytes(b.Entries, lanes)
		if b.Dense { // filled while its entries are still in memory
			extra = min(held, b.Bytes)
		}
		sum, kept, most, all = sum+max(held, b.Bytes), kept+b.Bytes, max(most, extra), all+b.Entries
	}
	if limit <= 0 {
		return sum + most
	}
	fits := PoolBudget(limit)/c.record + BatchSize
	all = min(all, fits)
	return min(sum+most, kept+c.StoredBytes(all, n, n*lanes)+c.SortBytes(all, n*lanes))
}

// BlockCost is the memory that a block is expected to take, before the block exists: its number of
// entries and its size in bytes.
type BlockCost struct {
	Entries, Bytes int64
	Dense          bool
}

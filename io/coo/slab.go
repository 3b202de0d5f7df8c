package coo

import (
	"unsafe"

	"distaff/io/tcs"
)

// chunk is a part of the records of a store.
type chunk struct {
	mem  *tcs.Memory
	recs []uint64 // the used part
}

// Sizes of chunks, in records. A chunk normally has room for a multiple of chunkUnit records. A
// chunk that is cut from a slab has room for as many records as its store already has, but for at
// least minChunk records. If less memory is left in the slab, the chunk gets what is left.
const (
	minChunk  = 4
	chunkUnit = 1 << 10
	maxChunk  = 1 << 18
	// firstSlab is the size of the first slab, in records. A new slab doubles the number of records
	// that were cut so far, but adds at most chunkUnit records. It adds an eighth of that number
	// instead if this is more than chunkUnit, and more if a store needs more.
	firstSlab = 1 << 8
)

// slab is memory for the first chunks of several stores, which have few records at first.
type slab struct {
	mem  *tcs.Memory
	rest []uint64
	cut  int // number of records that were cut from this slab and the ones before
}

// grow replaces the slab's memory by new memory for at least the given number of records.
func (b *slab) grow(s *store, records int) error {
	b.free()
	n := max(min(max(b.cut, firstSlab), chunkUnit), b.cut/8, records)
	m, err := tcs.Alloc(s.limit, int64(n*s.stride()*8), "sorting entries")
	if err != nil {
		return err
	}
	b.mem, b.rest = m, unsafe.Slice((*uint64)(m.Ptr), n*s.stride())
	return nil
}

func (b *slab) free() {
	if b == nil || b.mem == nil {
		return
	}
	b.mem.Release() // chunks retain it
	b.mem, b.rest = nil, nil
}

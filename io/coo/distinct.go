package coo

import (
	"math/bits"
	"slices"
)

// Distinct counts the different coordinates of a stream in bounded memory. Add takes the batches of
// the stream. If the entries come in order without repeated coordinates, Distinct counts any number
// of entries exactly. For other streams it counts hashes. It therefore stores a hash of each entry,
// unless there are more than maxHashes entries.
type Distinct struct {
	n          int64 // number of entries
	disorder   bool  // an entry did not come after the one before it (mode 0 first)
	prev       []int64
	hashes     []uint64
	overflowed bool // there are too many entries to store hashes
}

// maxHashes is the largest number of hashes that are stored. They occupy 32 MiB.
const maxHashes = 1 << 22

// Add counts the entries of a batch.
func (d *Distinct) Add(b *Batch) {
	order := len(b.Coords)
	for k := range b.N {
		if !d.disorder {
			if d.n+int64(k) > 0 && !d.isAfter(b, k) {
				d.disorder = true
			}
			d.prev = d.prev[:0]
			for m := range order {
				d.prev = append(d.prev, b.Coords[m][k])
			}
		}
		if !d.overflowed {
			d.hash(b, k)
		}
	}
	d.n += int64(b.N)
	if d.disorder && d.overflowed {
		d.prev = nil
	}
}

// isAfter reports whether entry k of b comes after the entry before it.
func (d *Distinct) isAfter(b *Batch, k int) bool {
	for m, x := range d.prev {
		if y := b.Coords[m][k]; y != x {
			return y > x
		}
	}
	return false
}

func (d *Distinct) hash(b *Batch, k int) {
	if len(d.hashes) == maxHashes {
		d.overflowed, d.hashes = true, nil
		return
	}
	h := uint64(1)
	for _, col := range b.Coords {
		hi, lo := bits.Mul64(h^uint64(col[k])*0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		h = hi ^ bits.RotateLeft64(lo, 32) + 1
	}
	d.hashes = append(d.hashes, h)
}

// Count returns the number of different coordinates. If exact is false, n is an estimate: the
// number of different hashes, or the number of all entries if there were too many to store their
// hashes.
func (d *Distinct) Count() (n int64, exact bool) {
	if !d.disorder {
		return d.n, true
	}
	if d.overflowed {
		return d.n, false
	}
	slices.Sort(d.hashes)
	d.hashes = slices.Compact(d.hashes)
	n = int64(len(d.hashes))
	return n, n == d.n
}

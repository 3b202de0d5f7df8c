package coo

import (
	"math/bits"
	"slices"
)

// Distinct counts the different coordinates of a stream, whose batches Add takes, in bounded
// memory. Of entries that come in order it counts any number; of others, as many as it keeps a
// hash of each.
type Distinct struct {
	n        int64 // entries
	disorder bool  // some did not come after the one before, mode 0 first
	prev     []int64
	hashes   []uint64
	given    bool // up: too many for hashes
}

// maxHashes is the most coordinates of which hashes are kept: 32 MiB.
const maxHashes = 1 << 22

// Add counts a batch.
func (d *Distinct) Add(b *Batch) {
	order := len(b.Coords)
	for k := range b.N {
		if !d.disorder {
			if d.n+int64(k) > 0 && !d.after(b, k) {
				d.disorder = true
			}
			d.prev = d.prev[:0]
			for m := range order {
				d.prev = append(d.prev, b.Coords[m][k])
			}
		}
		if !d.given {
			d.hash(b, k)
		}
	}
	d.n += int64(b.N)
	if d.disorder && d.given {
		d.prev = nil
	}
}

// after tells whether entry k of b comes after the one before it.
func (d *Distinct) after(b *Batch, k int) bool {
	for m, x := range d.prev {
		if y := b.Coords[m][k]; y != x {
			return y > x
		}
	}
	return false
}

func (d *Distinct) hash(b *Batch, k int) {
	if len(d.hashes) == maxHashes {
		d.given, d.hashes = true, nil
		return
	}
	h := uint64(1)
	for _, col := range b.Coords {
		hi, lo := bits.Mul64(h^uint64(col[k])*0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		h = hi ^ bits.RotateLeft64(lo, 32) + 1
	}
	d.hashes = append(d.hashes, h)
}

// Count is how many different coordinates there were. It is exact where no two were equal; else
// it is what is known: the hashes that differ, or all entries.
func (d *Distinct) Count() (n int64, exact bool) {
	if !d.disorder {
		return d.n, true
	}
	if d.given {
		return d.n, false
	}
	slices.Sort(d.hashes)
	d.hashes = slices.Compact(d.hashes)
	n = int64(len(d.hashes))
	return n, n == d.n
}

package arrays

import (
	"io"

	"distaff/io/coo"
)

// EachBatch calls f with all entries of in, starting at the first.
func EachBatch(in *coo.Ordered, f func(*coo.Batch) error) error {
	if err := in.Rewind(); err != nil {
		return err
	}
	var b coo.Batch
	for {
		err := in.Next(&b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(&b); err != nil {
			return err
		}
	}
}

// Coordinates calls put with the coordinate in mode m of each entry of in.
func Coordinates(in *coo.Ordered, m int, put func(int64) error) error {
	return EachBatch(in, func(b *coo.Batch) error {
		for _, c := range b.Coords[m][:b.N] {
			if err := put(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pointers calls put with the pointers of a CSR or CSC matrix: for each row or column, the number
// of entries before it, and at last the number of all entries. outer is the mode that is sorted
// first, and size is its size.
func Pointers(in *coo.Ordered, outer int, size int64, put func(int64) error) error {
	n, segment := int64(0), int64(-1)
	upTo := func(c int64) error {
		for ; segment < c; segment++ {
			if err := put(n); err != nil {
				return err
			}
		}
		return nil
	}
	err := Coordinates(in, outer, func(c int64) error {
		if err := upTo(c); err != nil {
			return err
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	return upTo(size)
}

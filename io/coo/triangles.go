package coo

import (
	"fmt"
	"io"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// pairMemory is the largest number of bytes of memory in which MirrorPair sorts entries.
const pairMemory = 256 << 20

// MirrorPair finds an entry off the diagonal of a matrix whose mirror image is stored too. For this
// search, the caller moves all entries off the diagonal to one triangle. It gives them complex64
// values: 1 to an entry from below the diagonal, and the imaginary unit to an entry from above. If
// the sum at a coordinate has two nonzero parts, both entries are stored, and MirrorPair returns
// this coordinate. If there is none, found is false.
//
// The entries are sorted in at most pairMemory bytes, and in at most an eighth of opt.Limit if it
// is set. If the entries do not fit, they are sorted on disk. file is the name of the file in
// errors.
func MirrorPair(in Stream, file string, opt Options) (i, j int64, found bool, err error) {
	limit := int64(pairMemory)
	if opt.Limit > 0 {
		limit = min(limit, opt.Limit/8)
	}
	o, err := Sort(in, Spec{Name: file},
		Config{Limit: tcs.NewLimit(limit), Tmp: opt.Tmp, Threads: opt.Threads})
	if err != nil {
		return 0, 0, false, err
	}
	defer o.Free()
	var b Batch
	for {
		if err := o.Next(&b); err == io.EOF {
			return 0, 0, false, nil
		} else if err != nil {
			return 0, 0, false, err
		}
		vals := unsafe.Slice((*complex64)(unsafe.Pointer(unsafe.SliceData(b.Vals))), b.N)
		for k, v := range vals {
			if real(v) != 0 && imag(v) != 0 {
				return b.Coords[0][k], b.Coords[1][k], true, nil
			}
		}
	}
}

// PairText returns the error message for a file that stores both entry (i,j) and entry (j,i) of a
// matrix, although the matrix has the given symmetry. line is the number of the line with (i,j). i
// and j count from 0.
func PairText(i, j int64, line int, symmetry string) string {
	return fmt.Sprintf(
		"got (%d,%d), but line %d has (%d,%d); want entries of only one triangle, because a "+
			"%s matrix includes the mirror image of each",
		j+1, i+1, line, i+1, j+1, symmetry)
}

// HasNegative reports whether the type of v can hold -v. The least integer of a signed type has no
// negative, and neither has a value of Bool or of an unsigned type, except 0.
func HasNegative[T tensor.Element](v T) bool {
	var zero T
	t := tensor.TypeOf[T]()
	return v == zero || v != -v && t != tensor.Bool && !t.IsUnsigned()
}

// NegativeText returns the error message for the entry v of a skew-symmetric matrix, if v's type
// cannot hold -v (see HasNegative).
func NegativeText[T tensor.Element](v T) string {
	return fmt.Sprintf(
		"got %v, which %s cannot negate; a skew-symmetric matrix needs the negative of each "+
			"value",
		v, tensor.TypeOf[T]())
}

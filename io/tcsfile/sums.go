package tcsfile

import (
	"hash/crc32"

	"distaff/io/tcs"
)

// Verify makes all checks of a file that Open did not make: it calls Validate, compares the
// checksums of the arrays, and checks that the bytes between the arrays are zero. A command that
// reads a whole .tcs file calls Verify before it uses the arrays, unless the file is trusted.
//
// Ranks that each read a part of a file make the same checks by other functions. They call
// CheckPart, SumPart and CheckSums, or CheckPart, SumChunk and CheckChunkSums for a compressed
// file.
func Verify(t *tcs.Tensor) error {
	src := of(t)
	if err := t.Validate(); err != nil || src == nil {
		return err
	}
	if !src.Compressed() { // otherwise Load has compared the checksums
		if err := src.checkSums(); err != nil {
			return err
		}
	}
	return src.checkGaps()
}

// checkSums checks the arrays of an uncompressed file against the checksums in the file.
func (src *source) checkSums() error {
	return src.Guard(func() error {
		for i := range src.header.sections {
			sec := &src.header.sections[i]
			if sum := crc32.ChecksumIEEE(src.stored(sec)); sum != sec.crc {
				return src.sumErr(i, sum)
			}
		}
		return nil
	})
}

// sumErr returns the error of section i, whose computed checksum is sum.
func (src *source) sumErr(i int, sum uint32) error {
	sec := &src.header.sections[i]
	if sec.section.Array == tcs.ValsArray {
		return src.dataErr("section %d (the values) is corrupt: checksum %08x, want %08x", i, sum,
			sec.crc)
	}
	return src.dataErr("section %d (%v of level %d) is corrupt: checksum %08x, want %08x", i,
		sec.section.Array, sec.section.Level, sum, sec.crc)
}

// checkGaps checks that the bytes between the header and the sections are zero.
func (src *source) checkGaps() error {
	return src.Guard(func() error {
		end := src.header.length
		for i, sec := range src.header.sections {
			for k, c := range src.mapped.Slice()[end:sec.section.Offset] {
				if c != 0 {
					return src.dataErr("byte %d, before section %d, is %#x, want 0", end+int64(k),
						i, c)
				}
			}
			end = sec.section.Offset + sec.stored
		}
		return nil
	})
}

// SumPart returns the checksum of elements [lo, hi) of section i. The tensor t must come from a
// file that is not compressed.
func SumPart(t *tcs.Tensor, i int, lo, hi int64) (sum uint32, err error) {
	src := of(t)
	sec := &src.header.sections[i]
	err = src.Guard(func() error {
		w := int64(sec.section.Width)
		sum = crc32.ChecksumIEEE(src.stored(sec)[lo*w : hi*w])
		return nil
	})
	return sum, err
}

// CheckSums returns an error if the combined checksums of parts differ from the checksums of the
// sections in t's file, or if a byte between sections is not zero. sums[k][i] is the checksum of
// elements [at[k][i], at[k+1][i]) of section i.
func CheckSums(t *tcs.Tensor, at [][]int64, sums [][]uint32) error {
	src := of(t)
	for i, sec := range src.header.sections {
		sum := uint32(0)
		for k := range sums {
			sum = CombineCRC(sum, sums[k][i], (at[k+1][i]-at[k][i])*int64(sec.section.Width))
		}
		if sum != sec.crc {
			return src.sumErr(i, sum)
		}
	}
	return src.checkGaps()
}

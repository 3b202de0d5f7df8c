package tcs

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// MaxSize is the largest size of a mode: sums of two sizes, and twice a
// position, stay in 63 bits.
const MaxSize = 1 << 61

// MaxCount is the largest number of positions, entries or bytes.
const MaxCount = 1<<62 - 1

// CheckSize refuses a size of a mode that no tensor has: the one bound of every
// file format and of -d. The caller adds the place.
func CheckSize(n int64) error {
	if n < 0 || n > MaxSize {
		return sizeError(strconv.FormatInt(n, 10))
	}
	return nil
}

// ParseSize reads the size of a mode, a whole number.
func ParseSize(s string) (int64, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > MaxSize {
		if digits := strings.TrimLeft(s, "0123456789"); digits != "" || s == "" || len(s) > 40 {
			s = strconv.Quote(Clip(s))
		}
		return 0, sizeError(s)
	}
	return n, nil
}

func sizeError(got string) error {
	return fmt.Errorf("got size %s, want a whole number from 0 to %d (2^61)", got, int64(MaxSize))
}

// CheckSpace refuses sizes of an array that lists every coordinate, in elements
// of width bytes, where its bytes are more than MaxCount. A size of 0 does not
// excuse the others: of an order in which it comes last, the levels above it
// would count past that too.
func CheckSpace(dims []int64, width int) error {
	n := uint64(width)
	for _, d := range dims {
		if err := CheckSize(d); err != nil {
			return err
		}
		hi, lo := bits.Mul64(n, uint64(max(d, 1)))
		if hi != 0 || lo > MaxCount {
			return fmt.Errorf("got an array of sizes %v, want one of less than 2^62 bytes: %d each", dims, width)
		}
		n = lo
	}
	return nil
}

// Times is the product of two numbers that are not negative, at most math.MaxInt64, which then stands
// for that many or more.
func Times(x, y int64) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// Plus is the sum of two numbers that are not negative, at most math.MaxInt64 as Times has it.
func Plus(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// Add adds a number to a sum, as Plus does.
func Add(sum *int64, n int64) { *sum = Plus(*sum, n) }

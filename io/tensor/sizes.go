package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// MaxSize is the largest size of a mode. It keeps the sum of two sizes below 2^63.
const MaxSize = 1 << 61

// MaxCount is the largest number of positions, entries or bytes that a tensor may have.
const MaxCount = 1<<62 - 1

// CheckSize returns an error unless 0 <= n <= MaxSize. All file formats and the -d option use
// this bound. The caller adds the place to the error.
func CheckSize(n int64) error {
	if n < 0 || n > MaxSize {
		return sizeError(strconv.FormatInt(n, 10))
	}
	return nil
}

// ParseSize parses the size of a mode, a whole number.
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

// ParseCount parses a count, which may have the form 1e6. It returns false if s is not a count.
func ParseCount(s string) (int64, bool) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, v >= 0
	}
	f, err := strconv.ParseFloat(s, 64)
	return int64(f), err == nil && f >= 0 && f < 1<<62 && f == math.Trunc(f)
}

// ParseSizes parses the argument of a flag: a list of sizes such as 1000,32. A size may have the
// form 1e6.
func ParseSizes(list string) ([]int64, error) {
	var sizes []int64
	for s := range strings.SplitSeq(list, ",") {
		if n, ok := ParseCount(strings.TrimSpace(s)); ok && strings.ContainsAny(s, "eE") {
			s = strconv.FormatInt(n, 10)
		}
		n, err := ParseSize(s)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// sizeError returns the error for a size that is not allowed. got is the size as text.
func sizeError(got string) error {
	return fmt.Errorf("got size %s, want a whole number from 0 to %d (2^61)", got, int64(MaxSize))
}

// CheckSpace returns an error if an array with an element for each coordinate of dims would exceed
// MaxCount bytes. width is the size of an element in bytes. A size of 0 counts as 1, because a mode
// of size 0 in the innermost level does not reduce the number of positions of the levels above.
func CheckSpace(dims []int64, width int64) error {
	n := uint64(width)
	for _, d := range dims {
		if err := CheckSize(d); err != nil {
			return err
		}
		hi, lo := bits.Mul64(n, uint64(max(d, 1)))
		if hi != 0 || lo > MaxCount {
			return fmt.Errorf(
				"got an array of sizes %v with %d bytes for each element, want less than 2^62 "+
					"bytes",
				dims, width)
		}
		n = lo
	}
	return nil
}

// Times returns the product of two non-negative numbers, or math.MaxInt64 if the product is larger.
// The value math.MaxInt64 means "this many or more", in the arguments as well as in the result.
func Times(x, y int64) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// Plus returns the sum of two non-negative numbers, or math.MaxInt64 if the sum is larger.
func Plus(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// Add adds n to *sum, as Plus does.
func Add(sum *int64, n int64) { *sum = Plus(*sum, n) }

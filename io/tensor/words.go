package tensor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// MaxQuoted is the largest number of characters of a text from a file or a user that a message
// contains.
const MaxQuoted = 300

// Clip shortens a text for a message. It returns s if s has at most MaxQuoted characters. Otherwise
// it returns the first MaxQuoted characters and a note with the number of bytes that follow.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > MaxQuoted {
			return fmt.Sprintf("%s... (and %d more bytes)", s[:i], len(s)-i)
		}
	}
	return s
}

// Printable returns s, clipped, with its control and unprintable characters escaped. Messages use
// it for text from users, files and folders, so that the text cannot send commands to a terminal.
func Printable(s string) string {
	s = Clip(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// Count formats a number of things for a message: "1 entry", "3 entries". noun is in the singular,
// and its plural must be regular.
func Count[T int | int64 | uint64](n T, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		noun = noun[:len(noun)-1] + "ie"
	}
	return Number(n) + " " + noun + "s"
}

// Number formats a count for a message. It prints math.MaxInt64 as "more than 9.2e18" (see
// Times).
func Number[T int | int64 | uint64](n T) string {
	if int64(n) == math.MaxInt64 {
		return "more than 9.2e18"
	}
	return fmt.Sprint(n)
}

// Bytes formats a number of bytes with a binary unit: 1.5 GiB. It prints math.MaxInt64 as "more
// than 8 EiB" (see Times).
func Bytes(n int64) string {
	if n == math.MaxInt64 {
		return "more than 8 EiB"
	}
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if n < 1024 {
		return Count(n, "byte")
	}
	f := float64(n) / 1024
	u := 0
	for ; f >= 1024 && u < len(units)-1; u++ {
		f /= 1024
	}
	return fmt.Sprintf("%.4g %s", f, units[u])
}

package c_test

import (
	"fmt"
	"strings"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/codegen/emit/c/program"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
)

// TestPackedProducts compares products of matrices of odd sizes, computed without a library, with
// the interpreter: in every layout and type, for the vectors of several processors, and with
// sanitizers for the simplest processor.
func TestPackedProducts(t *testing.T) {
	cases := []irtest.Case{
		packed("float64", "2.0", func(n int) any { return numbers[float64](n) }),
		packed("float32", "2.0f", func(n int) any { return numbers[float32](n) }),
		packed("complex128", "complex128(0.0, 1.0)",
			func(n int) any { return complexNumbers[complex128](n) }),
		packed("complex64", "complex64(0.0, 1.0)",
			func(n int) any { return complexNumbers[complex64](n) }),
	}
	var list []*ir.Func
	for _, x := range cases {
		list = append(list, x.Func())
	}
	src := program.Sources(list...)
	for name, flags := range map[string][]string{
		"sanitized": append(c.Flags(""), "-O0", "-g1", "-fsanitize=address,undefined",
			"-fno-sanitize-recover=all"),
		"native": c.Flags("native"),
	} {
		t.Run(name, func(t *testing.T) {
			exe := build(t, src, flags...)
			for _, x := range cases {
				compare(t, exe, x, 1)
				compare(t, exe, x, 3)
			}
		})
	}
}

// packed returns a leaf with several products of one type, which all add to the same array.
func packed(typ, alpha string, values func(n int) any) irtest.Case {
	var b strings.Builder
	fmt.Fprintf(&b,
		"func packed_%s\n param c %[1]s = t0.vals\n param a %[1]s const = t1.vals\n param b %[1]s const = t2.vals\n{\n", typ)
	places := 0
	for _, s := range [][3]int{{0, 5, 3}, {5, 0, 3}, {5, 3, 0}, {1, 1, 1}, {1, 53, 13}, {53, 1, 13},
		{13, 31, 1}, {7, 49, 257}, {61, 97, 31}, {241, 5, 11}} {
		m, n, k := s[0], s[1], s[2]
		for layout := range 8 {
			stored := func(bit, rows, cols int) string {
				places = max(places, (rows+1)*(cols+1)+2)
				if layout&bit != 0 {
					return fmt.Sprintf("1, %d", rows+1)
				}
				return fmt.Sprintf("%d, 1", cols+1)
			}
			fmt.Fprintf(&b, " gemm(%d, %d, %d) c[1, %s] += a[0, %s] * b[2, %s] * %s\n", m, n, k,
				stored(4, m, n), stored(1, m, k), stored(2, k, n), alpha)
		}
	}
	fmt.Fprintf(&b,
		" gemm({5, 7}, {3, 11}, {2, 13}) c[1, {7, 1}, {35, 105}] += a[0, {1, 10}, {5, 70}] * b[2, {13, 1}, {26, 78}] * %s\n}\n", alpha)
	return irtest.Case{Name: "packed " + typ, Text: b.String(), Args: func() []interp.Arg {
		var args []interp.Arg
		for range 3 {
			args = append(args, interp.Arg{Vals: interp.Array{Data: values(places)}})
		}
		return args
	}}
}

// numbers returns small whole numbers, whose sums are exact in any order.
func numbers[T float32 | float64](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(i*7%11 - 5)
	}
	return s
}

func complexNumbers[T complex64 | complex128](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(complex(float64(i*7%11-5), float64(i%5-2)))
	}
	return s
}

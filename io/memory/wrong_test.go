package memory

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// wrongCall is a call that is an error: its text, and what it does.
type wrongCall struct {
	text string
	do   func() error
}

// of is the error of a function with a result.
func of[T any](_ T, err error) error { return err }

// by is a call of a function that makes a tensor.
func by(text string, do func() (*tcs.Tensor, error)) wrongCall {
	return wrongCall{text, func() error { return of(do()) }}
}

type (
	i4 = []int32
	i8 = []int64
	f8 = []float64
	f4 = []float32
)

// wrongTensors are wrong arguments of the functions that make tensors of slices.
func wrongTensors() []wrongCall {
	const big = int64(1) << 40
	csr := func(text string, rows, cols int64, pos, crd i4, values f8, o ...Option) wrongCall {
		return by("CSR "+text, func() (*tcs.Tensor, error) {
			return CSR(rows, cols, pos, crd, values, o...)
		})
	}
	csc := func(text string, rows, cols int64, pos i8, crd []int, values f4,
		o ...Option) wrongCall {
		return by("CSC "+text, func() (*tcs.Tensor, error) {
			return CSC(rows, cols, pos, crd, values, o...)
		})
	}
	coo := func(text string, dims i8, coords []i8, values f8, o ...Option) wrongCall {
		return by("COO "+text, func() (*tcs.Tensor, error) {
			return COO(dims, coords, values, o...)
		})
	}
	csf := func(text string, dims i8, order []int, pos, crd []i4, values f8,
		o ...Option) wrongCall {
		return by("CSF "+text, func() (*tcs.Tensor, error) {
			return CSF(dims, order, pos, crd, values, o...)
		})
	}
	dense := func(text string, values f8, dims ...int64) wrongCall {
		return by("Dense "+text, func() (*tcs.Tensor, error) { return Dense(values, dims...) })
	}
	pos3, crd3, three := i4{0, 2, 2, 3}, i4{0, 3, 1}, f8{1, 2, 3}
	trusted := Trusted()
	return []wrongCall{
		dense("3 values of 9", three, 9),
		dense("3 values of 3x3", three, 3, 3),
		dense("3 values of a scalar", three),
		dense("no value of a scalar", nil),
		dense("a value of nothing", f8{1}, 4, 0),
		dense("a size of -1", nil, 3, -1),
		dense("a size past 2^61", nil, 1<<61+1),
		dense("sizes whose product passes 2^62", nil, big, big),
		dense("sizes whose product passes 2^64", three, 1<<33, 1<<33),
		dense("sizes whose product passes 2^62, and 0", nil, big, big, 0),
		dense("65 sizes", nil, make(i8, 65)...),

		csr("-1 rows", -1, 4, pos3, crd3, three),
		csr("-1 columns", 3, -1, pos3, crd3, three),
		csr("2^62 columns", 3, 1<<62, pos3, crd3, three),
		csr("the largest number of rows", math.MaxInt64, 1, pos3, crd3, three),
		csr("pos for 3 rows of 5", 5, 4, pos3, crd3, three),
		csr("pos for 3 rows of 5, trusted", 5, 4, pos3, crd3, three, trusted),
		csr("no pos", 3, 4, nil, nil, nil),
		csr("no pos of no rows, and entries", 0, 4, nil, crd3, three),
		csr("pos that begins at 1", 3, 4, i4{1, 2, 2, 3}, crd3, three),
		csr("pos that ends early", 3, 4, i4{0, 2, 2, 2}, crd3, three),
		csr("pos that ends late, trusted", 3, 4, i4{0, 2, 2, 4}, crd3, three, trusted),
		csr("pos that falls", 3, 4, i4{0, 5, 2, 3}, crd3, three),
		csr("pos that is negative", 3, 4, i4{0, -7, 2, 3}, crd3, three),
		csr("2 values of 3 entries", 3, 4, pos3, crd3, f8{1, 2}),
		csr("4 values of 3 entries, trusted", 3, 4, pos3, crd3, f8{1, 2, 3, 4}, trusted),
		csr("a column past the last", 3, 4, pos3, i4{0, 4, 1}, three),
		csr("a negative column", 3, 4, pos3, i4{0, 3, -1}, three),
		csr("a column of no columns", 3, 0, pos3, crd3, three),
		csr("columns that fall", 3, 4, pos3, i4{3, 0, 1}, three),
		csr("a column twice", 3, 4, pos3, i4{2, 2, 1}, three),
		csr("32-bit columns of 2^40", 3, big, pos3, crd3, three),

		csc("-1 columns", 3, -1, i8{0, 2, 2, 3}, []int{0, 3, 1}, f4{1, 2, 3}),
		csc("pos for the rows", 3, 4, i8{0, 2, 2, 3}, []int{0, 2, 1}, f4{1, 2, 3}),
		csc("a row past the last", 3, 3, i8{0, 2, 2, 3}, []int{0, 3, 1}, f4{1, 2, 3}),
		csc("rows that fall", 4, 3, i8{0, 2, 2, 3}, []int{3, 0, 1}, f4{1, 2, 3}),
		csc("a row twice", 4, 3, i8{0, 1, 1, 3}, []int{3, 0, 0}, f4{1, 2, 3}),
		csc("positions past 32 bits", 4, 3, i8{0, 1, 1, 1<<32 + 3}, []int{3, 0, 0}, f4{1, 2, 3}),

		coo("no sizes", nil, nil, three),
		coo("65 sizes", make(i8, 65), make([]i8, 65), nil),
		coo("coordinates of one mode of two", i8{4, 4}, []i8{{0, 1, 2}}, three),
		coo("2 coordinates of 3", i8{4, 4}, []i8{{0, 1, 2}, {0, 1}}, three),
		coo("2 values of 3 entries", i8{4, 4}, []i8{{0, 1, 2}, {0, 1, 2}}, f8{1, 2}),
		coo("a size of -4", i8{4, -4}, []i8{{0, 1, 2}, {0, 1, 2}}, three),
		coo("a coordinate past the last of mode 0", i8{2, 4}, []i8{{0, 1, 2}, {0, 1, 2}}, three),
		coo("a coordinate past the last of mode 1", i8{4, 2}, []i8{{0, 1, 2}, {0, 1, 2}}, three),
		coo("a negative coordinate", i8{4, 4}, []i8{{-1, 1, 2}, {0, 1, 2}}, three),
		coo("mode 0 unsorted", i8{4, 4}, []i8{{0, 2, 1}, {0, 1, 2}}, three),
		coo("mode 1 unsorted", i8{4, 4}, []i8{{0, 1, 1}, {0, 2, 1}}, three),
		coo("an entry twice", i8{4, 4}, []i8{{0, 1, 1}, {0, 2, 2}}, three),
		coo("an entry of three modes twice", i8{4, 4, 4}, []i8{{0, 1, 1}, {0, 2, 2}, {3, 3, 3}},
			three),
		coo("the middle mode unsorted", i8{4, 4, 4}, []i8{{0, 1, 1}, {0, 2, 1}, {3, 3, 3}}, three),
		coo("a vector unsorted", i8{4}, []i8{{0, 2, 1}}, three),
		coo("a vector's coordinate twice", i8{4}, []i8{{0, 2, 2}}, three),
		by("COO 32-bit coordinates of 2^31", func() (*tcs.Tensor, error) {
			return COO(i8{4, 1 << 31}, []i4{{0}, {0}}, f8{1})
		}),

		csf("no sizes", nil, nil, nil, nil, f8{1}),
		csf("65 sizes", make(i8, 65), nil, nil, nil, nil),
		csf("an order of one mode", i8{4, 4}, []int{0}, nil, nil, nil),
		csf("an order that repeats", i8{4, 4}, []int{1, 1}, nil, nil, nil),
		csf("an order past the last", i8{4, 4}, []int{0, 2}, nil, nil, nil),
		csf("pos of one level", i8{4, 4}, nil, []i4{{0, 2}}, []i4{{0, 2}, {1, 0, 3}}, three),
		csf("crd of one level", i8{4, 4}, nil, []i4{{0, 2}, {0, 1, 3}}, []i4{{0, 2}}, three),
		csf("two roots", i8{4, 4}, nil, []i4{{0, 1, 2}, {0, 1, 3}}, []i4{{0, 2}, {1, 0, 3}}, three),
		csf("no pos of the root", i8{4, 4}, nil, []i4{nil, {0, 1, 3}}, []i4{{0, 2}, {1, 0, 3}},
			three),
		csf("pos of one parent of two", i8{4, 4}, nil, []i4{{0, 2}, {0, 3}},
			[]i4{{0, 2}, {1, 0, 3}}, three),
		csf("pos that ends early", i8{4, 4}, nil, []i4{{0, 2}, {0, 1, 2}}, []i4{{0, 2}, {1, 0, 3}},
			three),
		csf("pos that falls", i8{4, 4}, nil, []i4{{0, 2}, {0, 4, 3}}, []i4{{0, 2}, {1, 0, 3}},
			three),
		csf("2 values of 3", i8{4, 4}, nil, []i4{{0, 2}, {0, 1, 3}}, []i4{{0, 2}, {1, 0, 3}},
			f8{1, 2}),
		csf("a coordinate past the last of mode 1", i8{3, 4}, []int{1, 0}, []i4{{0, 2}, {0, 1, 3}},
			[]i4{{0, 4}, {1, 0, 2}}, three),
		csf("a coordinate past the last of mode 0", i8{3, 4}, []int{1, 0}, []i4{{0, 2}, {0, 1, 3}},
			[]i4{{0, 3}, {1, 0, 3}}, three),
		csf("the outer level unsorted", i8{4, 4}, nil, []i4{{0, 2}, {0, 1, 3}},
			[]i4{{2, 0}, {1, 0, 3}}, three),
		csf("an outer coordinate twice", i8{4, 4}, nil, []i4{{0, 2}, {0, 1, 3}},
			[]i4{{2, 2}, {1, 0, 3}}, three),
		csf("the inner level unsorted", i8{4, 4}, nil, []i4{{0, 2}, {0, 1, 3}},
			[]i4{{0, 2}, {1, 3, 0}}, three),
	}
}

// handMade is a matrix that was made by hand: no constructor has checked it.
func handMade() *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Dims: i8{3, 3}, Type: tensor.Float64},
		Vals: tcs.Of(f8{1, 2, 1, 2, 1}),
		Levels: []tcs.Level{{Kind: 'd', Size: 3},
			{Kind: 's', Mode: 1, Size: 3, Pos: tcs.Of(i4{0, 2, 4, 5}),
				Crd: tcs.Of(i4{0, 1, 1, 2, 2})}}}
}

// wrongReads are wrong calls of the functions that give a tensor's memory.
func wrongReads() []wrongCall {
	m := handMade()
	closed := handMade()
	closed.Close()
	return []wrongCall{
		{"Values of nil", func() error { return of(Values[float64](nil)) }},
		{"Values of another type", func() error { return of(Values[float32](m)) }},
		{"Values of another type of the same size", func() error { return of(Values[int64](m)) }},
		{"Values of a closed tensor", func() error { return of(Values[float64](closed)) }},
		{"Pos of nil", func() error { return of(Pos[int32](nil, 0)) }},
		{"Pos of a dense level", func() error { return of(Pos[int32](m, 0)) }},
		{"Pos of another width", func() error { return of(Pos[int64](m, 1)) }},
		{"Pos of level 2 of 2", func() error { return of(Pos[int32](m, 2)) }},
		{"Crd of level -1", func() error { return of(Crd[int32](m, -1)) }},
		{"Crd of a dense level", func() error { return of(Crd[int32](m, 0)) }},
		{"Crd of another width", func() error { return of(Crd[int](m, 1)) }},
		{"Crd of a closed tensor", func() error { return of(Crd[int32](closed, 1)) }},
	}
}

// TestWrongArguments checks that the error for every wrong argument names the function and the
// argument.
func TestWrongArguments(t *testing.T) {
	var got strings.Builder
	for _, c := range append(wrongTensors(), wrongReads()...) {
		err := c.do()
		if err == nil {
			t.Errorf("%s: no error", c.text)
			continue
		}
		code := 0
		if e, ok := err.(interface{ ExitCode() int }); ok {
			code = e.ExitCode()
		}
		fmt.Fprintf(&got, "%s\n\t%d: %v\n", c.text, code, err)
	}
	const path = "testdata/wrong.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the errors are not those of %s (-update rewrites it):\n%s", path, got.String())
	}
}

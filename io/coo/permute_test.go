package coo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// TestPermuted copies tensors with dense levels, parts of them and views with their levels in
// another order, on several numbers of threads, and compares the copies with copies made entry by
// entry.
func TestPermuted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	copied := 0
	for n := range 150 {
		order := 1 + r.IntN(4)
		dims, box := make([]int64, order), make([][2]int64, order)
		for m := range dims {
			dims[m] = r.Int64N([]int64{2000, 700, 60, 16}[order-1])
			box[m] = [2]int64{0, dims[m]}
			if n%3 == 0 {
				box[m][0] = r.Int64N(dims[m] + 1)
				box[m][1] = box[m][0] + r.Int64N(dims[m]-box[m][0]+1)
			}
		}
		typ := []tensor.Type{tensor.Float64, tensor.Int32, tensor.Complex128}[r.IntN(3)]
		x,
			err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: dims, Box: box, Type: typ},
			Format: tensor.Format{Levels: tensor.DenseOf(order).Levels, Order: r.Perm(order)}}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		for k := range x.Vals.Bytes() {
			x.Vals.Bytes()[k] = byte(r.Uint32()) & 0x3f // no NaN
		}
		from := x
		if n%3 == 1 {
			part := slices.Clone(box)
			for m := range part {
				part[m][0] += r.Int64N(part[m][1] - part[m][0] + 1)
			}
			if from, err = x.View(tcs.Block{Box: part}); err != nil {
				t.Fatal(err)
			}
		}
		modes, threads := r.Perm(order), 1+r.IntN(3)
		name := fmt.Sprintf("case %d: %v of %s in %v to %v", n, from.Header.Box, x.Format().String(),
			dims,
			modes)
		got, err := permuted(from, modes, Config{Threads: threads})
		if err != nil {
			t.Fatal(name, err)
		}
		if got == nil {
			t.Fatalf("%s: not copied", name)
		}
		copied += int(got.Vals.Len)
		spec := Spec{Format: tensor.Format{Levels: tensor.DenseOf(order).Levels, Order: modes},
			Box: from.Header.Box}
		want, err := Assemble(FromTensor(from, KeepAll), spec, Config{Threads: 1})
		if err != nil {
			t.Fatal(name, err)
		}
		if !slices.Equal(got.Vals.Bytes(), want.Vals.Bytes()) ||
			fmt.Sprint(got.Levels[0].Size, got.Levels[0].Offset,
				got.Header.Box) != fmt.Sprint(want.Levels[0].Size, want.Levels[0].Offset, want.Header.Box) {
			t.Fatalf("%s: got %v of %v, want %v of %v", name, got.Vals.Bytes(), got.Header.Box,
				want.Vals.Bytes(), want.Header.Box)
		}
		tcs.CloseList(got, want, from)
	}
	if copied < 2e6 {
		t.Errorf("%d values were copied", copied)
	}
	// A view that lacks values of its box must be copied entry by entry.
	x,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{8, 8}, Type: tensor.Float64},
		Format: tensor.FormatOf("dd", []int{0, 1})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	v, err := x.View(tcs.Block{Cut: true, Level: -1, Lo: 3, Hi: 40})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := permuted(v, []int{1, 0}, Config{}); got != nil || err != nil {
		t.Errorf("got %v, %v of a view by positions", got, err)
	}
}

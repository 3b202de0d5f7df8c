package coo

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

func TestView(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 1200 {
		n := 1 + r.IntN(4)
		dims := randomDims(r, n)
		in := random(r, dims, r.IntN(40), tensor.Int64)
		kinds, modes := randomFormat(r, n)
		a, err := Assemble(in, Spec{Format: tensor.FormatOf(kinds, modes)}, Config{})
		if err != nil {
			continue
		}
		box := make([][2]int64, n)
		for m, d := range dims {
			lo := r.Int64N(d + 1)
			box[m] = [2]int64{lo, lo + r.Int64N(d-lo+1)}
			if r.IntN(2) == 0 {
				box[m] = [2]int64{0, d}
			}
		}
		v, err := a.View(tcs.Block{Box: box})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]complex128{}
		for i, c := range in.coords {
			inside := true
			for m, x := range c {
				inside = inside && x >= box[m][0] && x < box[m][1]
			}
			if inside {
				want[fmt.Sprint(c)] += in.vals[i].Complex()
			}
		}
		name := fmt.Sprintf("round %d: %s of %v, box %v", round, tensor.FormatOf(kinds, modes).String(),
			dims,
			box)
		if got := meaning(v); !maps.Equal(got, want) {
			t.Fatalf("%s: got %v\nwant %v", name, got, want)
		}
		if err := v.Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Assemble the block alone, with its dense levels cut to the box.
		own, err := Assemble(FromTensor(v, KeepAll),
			Spec{Format: tensor.FormatOf(kinds, modes), Box: box}, Config{})
		if err == nil {
			if err := own.Check(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := meaning(own); !maps.Equal(got, want) {
				t.Fatalf("%s: the block on its own: got %v\nwant %v", name, got, want)
			}
			var file bytes.Buffer
			if err := tcsfile.WriteTo(&file, own, tcsfile.WriteOptions{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			own.Close()
		} else if len(tensor.FormatOf(kinds, nil).Bound()) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		// The parts of a view by positions have every entry once.
		level := r.IntN(n)
		var all []string
		parts := int64(1 + r.IntN(4))
		total := a.Positions(level)
		for p := range parts {
			w,
				err := a.View(tcs.Block{Cut: true, Level: level, Lo: total * p / parts,
				Hi: total * (p + 1) / parts})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := w.Check(); err != nil {
				t.Fatalf("%s: level %d part %d of %d: %v", name, level, p, parts, err)
			}
			w.Entries(func(c []int64,
				i int64) bool {
				all = append(all, fmt.Sprint(c, w.Value(i)))
				return true
			})
			if err := w.OwnEdges(nil); err != nil {
				t.Fatal(err)
			}
			w.Close()
		}
		var each []string
		a.Entries(func(c []int64,
			i int64) bool {
			each = append(each, fmt.Sprint(c, a.Value(i)))
			return true
		})
		if !slices.Equal(all, each) {
			t.Fatalf("%s: level %d in %d parts: got %v\nwant %v", name, level, parts, all, each)
		}
		a.Close()
		if !maps.Equal(meaning(v), want) {
			t.Fatalf("%s: the view went with its tensor", name)
		}
		v.Close()
	}
}

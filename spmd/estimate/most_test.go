package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// TestMost checks with random entries that no block exceeds the upper bounds of entries and
// positions, and that the bounds are not far above the expected numbers.
func TestMost(t *testing.T) {
	const rows, columns = 400, 300
	for k := range uint64(400) {
		r := rand.New(rand.NewPCG(17, k))
		entries := 1 + r.IntN([]int{10, 300, 20000}[k%3])
		seen := map[[2]int]bool{}
		for len(seen) < entries {
			seen[[2]int{r.IntN(rows), r.IntN(columns)}] = true
		}
		part := cutInRows(0, 7, 100, rows)
		if k%2 == 0 {
			part.Axes[0].Modes, part.Axes[0].Cuts = []int{1}, []int64{0, 5, 150, columns}
		}
		x := &Tensor{Partition: part,
			Layout: tensor.Layout{Dims: []int64{rows, columns}, Type: tensor.Float64,
				Format: tensor.FormatOf("ss", []int{0, 1})}, Entries: float64(entries), Counted: true}
		for b := range plan.Block(3) {
			box := x.Box(b)
			n, first := int64(0), map[int]bool{}
			for at := range seen {
				if i, j := int64(at[0]),
					int64(at[1]); box[0][0] <= i && i < box[0][1] && box[1][0] <= j && j < box[1][1] {
					n++
					first[at[0]] = true
				}
			}
			z := x.Block(b)
			bytes := 4*2 + 4*int64(len(first)) + 4*int64(len(first)+1) + 12*n
			if n > z.Most() || bytes > z.Bytes+z.MoreBytes {
				t.Errorf("case %d, block %d: %d entries, %d bytes; want at most %d and %d", k, b, n, bytes,
					z.Most(), z.Bytes+z.MoreBytes)
			}
			if most := float64(z.Entries) + 20 + 7*math.Sqrt(float64(z.Entries)); float64(z.Most()) > most {
				t.Errorf("case %d, block %d: an upper bound of %d entries where %d are expected", k, b, z.Most(),
					z.Entries)
			}
		}
	}
}

// TestEmptyBox checks that a block in an empty box has no entries.
func TestEmptyBox(t *testing.T) {
	for _, kinds := range []string{"ss", "ds", "sd", "uq"} {
		x := &Tensor{Partition: cutInRows(0, 0, 5),
			Layout: tensor.Layout{Dims: []int64{5, 7}, Type: tensor.Float64,
				Format: tensor.FormatOf(kinds, []int{0, 1})}, Entries: 3, Counted: true}
		if z := x.Block(0); z.Most() != 0 {
			t.Errorf("%s: got %+v", kinds, z)
		}
		if n := x.Records(0, 3, true); n != 0 {
			t.Errorf("%s: got %d records", kinds, n)
		}
	}
}

// TestGuessedChunks checks that the rows of a chunk of random entries do not exceed the upper bound
// for a block of rows whose bounds are guessed.
func TestGuessedChunks(t *testing.T) {
	const rows, chunks = 900, 3
	for k := range uint64(600) {
		r := rand.New(rand.NewPCG(19, k))
		entries := 1 + r.IntN([]int{3, 40, 800}[k%3])
		at := r.Perm(rows)[:entries]
		slices.Sort(at)
		axis := partition.Axis{Modes: []int{0},
			Ordered: &place.Ordered{Modes: []int{0}, Cuts: []place.OrderedCut{{N: chunks, Level: 0}}}}
		axis.Guess([]int64{rows}, float64(entries))
		x := &Tensor{Partition: &partition.Partition{Order: 1, Axes: []partition.Axis{axis},
			Owner: func([]int64) int { return 0 }},
			Layout: tensor.Layout{Dims: []int64{rows}, Type: tensor.Float64,
				Format: tensor.FormatOf("d", []int{0})}, Entries: rows}
		first := func(n int) int { // the row that chunk n begins with
			switch place := entries * n / chunks; {
			case n == 0:
				return 0
			case n == chunks || place == entries:
				return rows
			default:
				return at[place]
			}
		}
		for b := range chunks {
			z, has := x.Block(plan.Block(b)), int64(first(b+1)-first(b))
			if bytes := 8 * has; bytes > z.Bytes+z.MoreBytes {
				t.Errorf("case %d, %d entries, block %d: %d bytes; want at most %d", k, entries, b, bytes,
					z.Bytes+z.MoreBytes)
			}
			if entries > 400 && z.MoreBytes > z.Bytes {
				t.Errorf("case %d, %d entries, block %d: an upper bound of %d bytes more than %d", k, entries, b,
					z.MoreBytes, z.Bytes)
			}
		}
	}
}

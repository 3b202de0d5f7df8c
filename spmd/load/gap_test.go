package load_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/load"
)

// TestPiecesTile checks that the pieces of a tensor have each entry once, for any number of ranks,
// even if pieces have only a few bytes, or if empty rows occupy more than a piece.
func TestPiecesTile(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 21))
		dims := []int64{1 + rng.Int64N(4), 1 + rng.Int64N(400), 1 + rng.Int64N(9), 1 + rng.Int64N(6)}
		s := &points{dims: dims}
		seen := map[string]bool{}
		for range rng.IntN(60) {
			at := []int64{rng.Int64N(dims[0]), rng.Int64N(dims[1]), rng.Int64N(dims[2]), rng.Int64N(dims[3])}
			if rng.IntN(2) == 0 {
				at[1] = []int64{0, dims[1] - 1}[rng.IntN(2)]
			}
			if key := fmt.Sprint(at); !seen[key] {
				seen[key] = true
				s.at = append(s.at, at...)
			}
		}
		kinds := []string{"ssds", "dsds", "ddds", "dsss", "sdss", "ssss", "ssqq", "sdsd"}[rng.IntN(8)]
		if kinds == "ssqq" {
			kinds = "uccq"
		}
		whole, err := coo.Assemble(s,
			coo.Spec{Format: tensor.FormatOf(kinds, rng.Perm(4)), Dims: dims, Type: tensor.Float64},
			coo.Config{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "t.tcs")
		if err := tcsfile.Write(file, whole, tcsfile.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		whole.Close()
		ranks := 1 + rng.IntN(9)
		what := fmt.Sprintf("seed %d, %s, sizes %v, %d entries, %d ranks", seed, kinds, dims, len(seen),
			ranks)
		tiles(t, what, file, ranks, len(seen))
	}
}

// tiles counts the entries of all pieces of a file. Every rank reads and checks its own piece.
func tiles(t *testing.T, what, file string, ranks, entries int) {
	t.Helper()
	f, err := tcsfile.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next := int64(0)
	for r := range ranks {
		p, err := load.Piece(f, r, ranks)
		if err != nil {
			t.Fatal(err)
		}
		if p.Vals.First != next {
			t.Fatalf("%s: piece %d begins at value %d, want %d", what, r, p.Vals.First, next)
		}
		n := int64(0)
		var b coo.Batch
		in := coo.FromTensor(p, coo.KeepAll)
		for {
			err := in.Next(&b)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n += int64(b.N)
		}
		if n != p.Vals.Len {
			t.Fatalf("%s: piece %d has %d entries, want %d", what, r, n, p.Vals.Len)
		}
		next += p.Vals.Len
		p.Close()
	}
	if next != f.Vals.Len {
		t.Fatalf("%s: pieces of %d values, want %d", what, next, f.Vals.Len)
	}
	dims := f.Header.Dims
	part := schedule(ranks, [][]int64{{0, dims[3] / 2, dims[3]}}, []int{-1, -1, -1, 0})
	blocks, _, err := blocksOf(file, part, ranks,
		coo.Spec{Format: tensor.FormatOf("ssss", tensor.Identity(4)), Dims: dims, Name: "T"}, true, false)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	n := 0
	for _, lines := range blocks {
		n += len(lines)
	}
	if n != entries {
		t.Fatalf("%s: blocks of %d entries, want %d", what, n, entries)
	}
}

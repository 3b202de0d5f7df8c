package coo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// TestSortInPlace sorts stores that are too large for the copying sort, and compares the result
// with a stable sort by comparison. The keys are spread, crowded at a few places, or nearly all
// equal.
func TestSortInPlace(t *testing.T) {
	const n = inPlaceFrom + 12345
	for _, c := range []struct {
		name  string
		width []uint
		size  int // bytes of a value
		draw  func(r *rand.Rand, i int) []int64
		lo    int // number of outer levels to sort by; 0 means all
	}{
		{"uniform", []uint{22, 22}, 8,
			func(r *rand.Rand, i int) []int64 { return []int64{r.Int64N(1 << 22), r.Int64N(1 << 22)} }, 0},
		{"many equal", []uint{10, 6}, 8,
			func(r *rand.Rand, i int) []int64 { return []int64{r.Int64N(40), r.Int64N(10)} }, 0},
		{"one row has half", []uint{30, 30}, 4, func(r *rand.Rand, i int) []int64 {
			return []int64{1e9 * r.Int64N(2) * r.Int64N(2) / 2, r.Int64N(1 << 30)}
		}, 0},
		{"one key has nearly all", []uint{20, 20}, 8, func(r *rand.Rand, i int) []int64 {
			if r.IntN(1000) > 0 {
				return []int64{7, 9}
			}
			return []int64{r.Int64N(1 << 20), r.Int64N(1 << 20)}
		}, 0},
		{"one key", []uint{20}, 16, func(r *rand.Rand, i int) []int64 { return []int64{1 << 19} }, 0},
		{"powers", []uint{62, 62, 62}, 16, func(r *rand.Rand, i int) []int64 {
			return []int64{1 << r.IntN(62), 1 << r.IntN(62), 1 << r.IntN(62)}
		}, 0},
		{"five words", []uint{60, 60, 60}, 16, func(r *rand.Rand, i int) []int64 {
			return []int64{r.Int64N(3), r.Int64N(1 << 60), r.Int64N(1 << 60)}
		}, 0},
		{"sorted below", []uint{16, 32}, 8,
			func(r *rand.Rand, i int) []int64 { return []int64{r.Int64N(1 << 16), int64(i)} }, 1},
		{"falling", []uint{32}, 8, func(r *rand.Rand, i int) []int64 { return []int64{int64(n - i)} }, 0},
	} {
		for threads := 1; threads <= 3; threads++ {
			t.Run(fmt.Sprint(c.name, " ", threads), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(threads), 8))
				limit := tcs.NewLimit(0)
				pack := newPacker(c.width)
				all := newStore(pack, c.size, limit)
				cols := make([][]int64, len(c.width))
				for l := range cols {
					cols[l] = make([]int64, 1)
				}
				val := make([]byte, c.size)
				var want [][]uint64
				// There are three lanes, so that chunks end before they are full.
				for lane := range 3 {
					s := newStore(pack, c.size, limit)
					for i := n * lane / 3; i < n*(lane+1)/3; i++ {
						for l, x := range c.draw(r, i) {
							cols[l][0] = x
						}
						*(*uint32)(unsafe.Pointer(&val[0])) = uint32(i)
						if _, err := s.add(cols, val, 0, 1); err != nil {
							t.Fatal(err)
						}
					}
					for _, k := range s.chunks {
						for at := 0; at < len(k.recs); at += s.stride() {
							want = append(want, slices.Clone(k.recs[at:at+s.stride()]))
						}
					}
					all.join(s)
				}
				slices.SortStableFunc(want,
					func(a, b []uint64) int { return slices.Compare(a[:pack.words], b[:pack.words]) })
				before := limit.Used()
				limit.ResetPeak()
				if err := all.sort(pack.lowBit(c.lo), threads); err != nil {
					t.Fatal(err)
				}
				if more := limit.Peak() - before; more > all.bytes()/2 {
					t.Errorf("took %d bytes beside %d", more, all.bytes())
				}
				i, dups := 0, false
				for _, k := range all.chunks {
					for at := 0; at < len(k.recs); at += all.stride() {
						if !slices.Equal(k.recs[at:at+all.stride()], want[i]) {
							t.Fatalf("record %d is %v, want %v", i, k.recs[at:at+all.stride()], want[i])
						}
						dups = dups || i > 0 && slices.Equal(want[i-1][:pack.words], want[i][:pack.words])
						i++
					}
				}
				if i != len(want) || all.dups != dups {
					t.Fatalf("%d records, repeats %v; want %d, %v", i, all.dups, len(want), dups)
				}
				all.drop()
				if limit.Used() != 0 {
					t.Errorf("%d bytes stay counted", limit.Used())
				}
			})
		}
	}
}

// TestMemoryOfAssembly compares the memory for assembling unsorted entries with the sizes of the
// packed entries and of the tensor.
func TestMemoryOfAssembly(t *testing.T) {
	const n = 600_000
	for _, c := range []struct {
		kinds string
		dims  []int64
	}{{"ds", []int64{100_000, 100_000}}, {"ss", []int64{100_000, 100_000}},
		{"uq", []int64{100_000, 100_000}}, {"sss", []int64{50_000, 20_000, 5_000}},
		{"ds", []int64{3_000_000, 100_000}}} {
		for _, threads := range []int{1, 2} {
			limit := tcs.NewLimit(0)
			x, err := Assemble(uniform(c.dims, n, false), Spec{Format: tensor.FormatOf(c.kinds, nil)},
				Config{Limit: limit, Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			most := max(n*16*6/5, x.Bytes()+512)
			if limit.Peak() > most || limit.Used() > x.Bytes()+4096 {
				t.Errorf("%s of %v, %d threads: %d bytes at most and %d at the end, want %d and %d", c.kinds,
					c.dims, threads, limit.Peak(), limit.Used(), most, x.Bytes())
			}
			x.Close()
			if limit.Used() != 0 {
				t.Errorf("%s: %d bytes stay counted", c.kinds, limit.Used())
			}
		}
	}
}

package spmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

func bound(t *testing.T, kind string, dims []int64, typ tcs.Type, seed int64) *generator {
	t.Helper()
	g, err := parseGenerator("A", kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.bind("A", dims, typ, seed); err != nil {
		t.Fatal(err)
	}
	return g
}

func collect(g *generator, lo, hi int64) [][]int64 {
	var out [][]int64
	for at := range g.entries(lo, hi) {
		out = append(out, slices.Clone(at))
	}
	return out
}

func TestGenerateCounts(t *testing.T) {
	for _, c := range []struct {
		kind string
		dims []int64
		want int
	}{
		{"dense", []int64{3, 4, 5}, 60},
		{"dense", []int64{}, 1},
		{"dense", []int64{3, 0}, 0},
		{"uniform:0", []int64{10, 10}, 0},
		{"uniform:100", []int64{10, 10}, 100},
		{"uniform:99", []int64{10, 10}, 99},
		{"uniform:1000", []int64{1000, 1000}, 1000},
		{"uniform:5000", []int64{100, 200, 300}, 5000},
		{"uniform:700", []int64{1, 1, 1000}, 700},
		{"uniform:300", []int64{1 << 40, 1 << 40, 1 << 40}, 300},
		{"uniform:1e3", []int64{1 << 20}, 1000},
		{"zipf:500:1.1", []int64{1000, 1000}, 500},
		{"zipf:5000:1.3", []int64{300, 200, 400}, 5000},
		{"zipf:100:2.5", []int64{10, 10}, 100},
		{"zipf:1000:0", []int64{5000, 100}, 1000},
		{"zipf:20000:4", []int64{100000, 100000}, 20000},
		{"zipf:200:1", []int64{1 << 40, 1 << 40, 1 << 40}, 200},
		{"banded:0", []int64{4, 6}, 4},
		{"banded:1", []int64{4, 4}, 10},
		{"banded:1", []int64{4, 6}, 11},
		{"banded:9", []int64{4, 4}, 16},
		{"banded:1", []int64{3, 3, 3}, 15},
	} {
		t.Run(fmt.Sprint(c.kind, c.dims), func(t *testing.T) {
			g := bound(t, c.kind, c.dims, tcs.Float64, 0)
			hi := int64(1)
			if len(c.dims) > 0 {
				hi = c.dims[0]
			}
			all := collect(g, 0, hi)
			if len(all) != c.want {
				t.Fatalf("got %d entries, want %d", len(all), c.want)
			}
			seen := map[string]bool{}
			for _, at := range all {
				if s := fmt.Sprint(at); seen[s] {
					t.Fatalf("coordinate %v twice", at)
				} else {
					seen[s] = true
				}
				for m, x := range at {
					if x < 0 || x >= c.dims[m] {
						t.Fatalf("coordinate %v out of %v", at, c.dims)
					}
				}
			}
			// Ranges give the same tensor in pieces.
			if hi > 1 {
				var pieces [][]int64
				for _, r := range [][2]int64{{0, hi / 3}, {hi / 3, hi/3 + 1}, {hi/3 + 1, hi}} {
					pieces = append(pieces, collect(g, r[0], r[1])...)
				}
				slices.SortFunc(pieces, slices.Compare)
				slices.SortFunc(all, slices.Compare)
				if !slices.EqualFunc(pieces, all, slices.Equal) {
					t.Errorf("the pieces of the range differ from the whole")
				}
			}
		})
	}
}

func TestGenerateValues(t *testing.T) {
	for _, typ := range []tcs.Type{tcs.Float64, tcs.Float32, tcs.Int64, tcs.Int32, tcs.Complex128, tcs.Complex64} {
		for _, kind := range []string{"uniform:2000", "uniform:2000:int"} {
			integer := kind == "uniform:2000:int"
			g, _ := parseGenerator("A", kind)
			err := g.bind("A", []int64{100, 100}, typ, 1)
			if typ.IsInt() && !integer {
				if err == nil {
					t.Errorf("%v %s: fractions for an integer type are not refused", typ, kind)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for at := range g.entries(0, 100) {
				v := g.at(at).Float()
				if integer && (v != math.Trunc(v) || v < 1 || v > 9) || !integer && !(v > 0 && v <= 1) {
					t.Fatalf("%v %s: got value %v", typ, kind, v)
				}
				sum += v
			}
			want := 0.5
			if integer {
				want = 5
			}
			if mean := sum / 2000; math.Abs(mean-want) > 0.1*want {
				t.Errorf("%v %s: got mean %g, want about %g", typ, kind, mean, want)
			}
		}
	}
}

func TestGenerateSeeds(t *testing.T) {
	dims := []int64{1000, 1000}
	same := func(a, b *generator) bool {
		return slices.EqualFunc(collect(a, 0, 1000), collect(b, 0, 1000), slices.Equal)
	}
	a := bound(t, "uniform:100", dims, tcs.Float64, 7)
	if !same(a, bound(t, "uniform:100", dims, tcs.Float32, 7)) {
		t.Error("the type changes the coordinates")
	}
	if same(a, bound(t, "uniform:100", dims, tcs.Float64, 8)) {
		t.Error("another seed gives the same coordinates")
	}
	b, _ := parseGenerator("B", "uniform:100")
	b.bind("B", dims, tcs.Float64, 7)
	if same(a, b) {
		t.Error("another name gives the same coordinates")
	}
}

// TestUniformSpread holds the counts of halves to five standard deviations.
func TestUniformSpread(t *testing.T) {
	g := bound(t, "uniform:20000", []int64{1000, 1000}, tcs.Float64, 3)
	var top, left int
	for at := range g.entries(0, 1000) {
		if at[0] < 500 {
			top++
		}
		if at[1] < 500 {
			left++
		}
	}
	for what, n := range map[string]int{"rows": top, "columns": left} {
		if math.Abs(float64(n)-10000) > 5*70 {
			t.Errorf("first half of the %s: got %d of 20000 entries", what, n)
		}
	}
}

// TestZipfSkew compares the most frequent row with the law's share.
func TestZipfSkew(t *testing.T) {
	const n, nnz = 1000, 20000
	g := bound(t, "zipf:20000:1", []int64{n, 1 << 40}, tcs.Float64, 3)
	rows := map[int64]int{}
	for at := range g.entries(0, n) {
		rows[at[0]]++
	}
	harmonic := 0.0
	for r := 1; r <= n; r++ {
		harmonic += 1 / float64(r)
	}
	most := 0
	for _, c := range rows {
		most = max(most, c)
	}
	if want := nnz / harmonic; math.Abs(float64(most)-want) > 0.1*want {
		t.Errorf("largest row: got %d entries, want about %.0f", most, want)
	}
}

func TestGeneratedStream(t *testing.T) {
	g, _ := parseGenerator("A", "uniform:10000:int")
	if err := g.bind("A", []int64{300, 300}, tcs.Int32, 0); err != nil {
		t.Fatal(err)
	}
	s := g.stream()
	defer s.Close()
	for range 2 {
		n := 0
		var b coo.Batch
		for {
			err := s.Next(&b)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n += b.N
			if len(b.Vals) != b.N*4 || len(b.Coords) != 2 || len(b.Coords[1]) != b.N {
				t.Fatalf("a batch of %d entries has %d bytes of values and %d coordinates", b.N, len(b.Vals), len(b.Coords[1]))
			}
		}
		if n != 10000 {
			t.Fatalf("got %d entries, want 10000", n)
		}
		if err := s.Rewind(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGenerateRefusals(t *testing.T) {
	for _, kind := range []string{"", "dens", "dense:3", "uniform", "uniform:-1", "uniform:1.5", "uniform:x:int", "zipf:10", "zipf:10:-1", "zipf:10:nan", "banded", "banded:x", "int"} {
		_, err := parseGenerator("A", kind)
		if err == nil {
			t.Errorf("%q is not refused", kind)
		} else if exitOf(err) != 2 {
			t.Errorf("%q: exit code %d, want 2", kind, exitOf(err))
		}
	}
	g, _ := parseGenerator("A", "uniform:101")
	if err := g.bind("A", []int64{10, 10}, tcs.Float64, 0); err == nil {
		t.Error("more entries than coordinates are not refused")
	}
}

func exitOf(err error) int {
	var c interface{ ExitCode() int }
	if errors.As(err, &c) {
		return c.ExitCode()
	}
	return 1
}

func BenchmarkUniform(b *testing.B) {
	g, _ := parseGenerator("A", "uniform:1000000")
	g.bind("A", []int64{1000000, 1000000}, tcs.Float64, 0)
	for b.Loop() {
		for range g.entries(0, 1000000) {
		}
	}
}

func BenchmarkZipf(b *testing.B) {
	g, _ := parseGenerator("A", "zipf:1000000:1.1")
	g.bind("A", []int64{1000000, 1000000}, tcs.Float64, 0)
	for b.Loop() {
		for range g.entries(0, 1000000) {
		}
	}
}

// Shares of a zipf tensor, which several processes draw together, are disjoint and make
// the tensor that one draws alone.
func TestZipfShares(t *testing.T) {
	for _, c := range []struct {
		kind string
		dims []int64
	}{
		{"zipf:500:1.1", []int64{1000, 1000}}, {"zipf:5000:1.3", []int64{300, 200, 400}}, {"zipf:99:2.5", []int64{10, 10}}, {"zipf:100:2.5", []int64{10, 10}},
		{"zipf:3000:4", []int64{100000, 100000}}, {"zipf:200:1", []int64{1 << 40, 1 << 40, 1 << 40}}, {"zipf:20000:0", []int64{manyWeights + 5}}, {"zipf:0:1", []int64{5, 5}},
	} {
		want := map[string]bool{}
		for _, at := range collect(bound(t, c.kind, c.dims, tcs.Float64, 1), 0, c.dims[0]) {
			want[fmt.Sprint(at)] = true
		}
		for _, n := range []int{2, 5} {
			got := map[string]int{}
			var mu sync.Mutex
			err := local.Run(context.Background(), n, func(k comm.Comm) error {
				limit := tcs.NewLimit(0)
				g := bound(t, c.kind, c.dims, tcs.Float64, 1)
				err := g.draw(share{k.Rank(), n, func(x []int64) error { return k.Allreduce(comm.Of(x), comm.Sum) }, limit})
				if err != nil {
					return err
				}
				s := g.part(k.Rank(), n)
				var b coo.Batch
				for s.Next(&b) == nil {
					mu.Lock()
					for i := range b.N {
						at := make([]int64, len(c.dims))
						for m := range at {
							at[m] = b.Coords[m][i]
						}
						got[fmt.Sprint(at)]++
					}
					mu.Unlock()
				}
				g.undraw()
				if limit.Used() != 0 {
					return fmt.Errorf("%d bytes stay counted", limit.Used())
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%s in %d shares: %d entries, want %d", c.kind, n, len(got), len(want))
			}
			for at := range want {
				if got[at] != 1 {
					t.Fatalf("%s in %d shares: entry %s is there %d times", c.kind, n, at, got[at])
				}
			}
		}
	}
}

func TestUnshuffle(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 10, 257, 1 << 20} {
		for x := int64(0); x < n; x += max(n/1000, 1) {
			if y := unshuffle(77, n, shuffle(77, n, x)); y != x {
				t.Fatalf("of %d: %d comes back as %d", n, x, y)
			}
		}
	}
}

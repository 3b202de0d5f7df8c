package gen

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

func bind(t testing.TB, kind string, dims []int64, typ tensor.Type, seed int64) *Generator {
	t.Helper()
	k, err := Parse("A", kind)
	if err != nil {
		t.Fatal(err)
	}
	g, err := k.Bind("A", dims, typ, seed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// collect reads a part's coordinates, sorted.
func collect(t testing.TB, g *Generator, p Share) [][]int64 {
	t.Helper()
	s, err := g.Stream(p)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	var out [][]int64
	var b coo.Batch
	for err = s.Next(&b); err == nil; err = s.Next(&b) {
		for i := range b.N {
			at := make([]int64, len(b.Coords))
			for m := range at {
				at[m] = b.Coords[m][i]
			}
			out = append(out, at)
		}
	}
	if err != io.EOF {
		t.Error(err)
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// adder adds numbers of n goroutines, as Part.Sum wants.
type adder struct {
	sync.Mutex
	*sync.Cond
	n, came, round int
	total, result  []int64
}

func newAdder(n int) *adder {
	a := &adder{n: n}
	a.Cond = sync.NewCond(&a.Mutex)
	return a
}

func (a *adder) sum(x []int64) error {
	a.Lock()
	defer a.Unlock()
	if a.came == 0 {
		a.total = make([]int64, len(x))
	}
	for i, v := range x {
		a.total[i] += v
	}
	if a.came++; a.came == a.n {
		a.came, a.result = 0, a.total
		a.round++
		a.Broadcast()
	} else {
		for round := a.round; a.round == round; {
			a.Wait()
		}
	}
	copy(x, a.result)
	return nil
}

// parts collects n parts that are made side by side, all of them sorted.
func parts(t *testing.T, g *Generator, n int) [][]int64 {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	var all [][]int64
	a, limit := newAdder(n), tcs.NewLimit(0)
	for k := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			own := collect(t, g, Share{k, n, a.sum, limit})
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		}()
	}
	wait.Wait()
	if limit.Used() != 0 {
		t.Errorf("%d bytes stay counted", limit.Used())
	}
	slices.SortFunc(all, slices.Compare)
	return all
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
		{"banded:1", []int64{5, 0, 3}, 0},
		{"banded:0", []int64{3, 1 << 61}, 3}, // passes through no coordinate without entries
		{"banded:1", []int64{1 << 61, 1 << 61, 2}, 11},
		{"banded:4611686018427387904", []int64{4, 4}, 16},
		{"banded:3", []int64{}, 1},
		{"uniform:1", []int64{}, 1},
		{"zipf:1:2", []int64{}, 1},
		{"zipf:99:2.5", []int64{10, 10}, 99},
		{"zipf:3000:4", []int64{100000, 100000}, 3000},
		{"zipf:3000:100", []int64{1 << 40, 1 << 40}, 3000},
		{"zipf:20000:0", []int64{manyWeights + 5}, 20000},
		{"zipf:0:1", []int64{5, 5}, 0},
	} {
		t.Run(fmt.Sprint(c.kind, c.dims), func(t *testing.T) {
			g := bind(t, c.kind, c.dims, tensor.Float64, 0)
			all := collect(t, g, Share{})
			if len(all) != c.want {
				t.Fatalf("got %d entries, want %d", len(all), c.want)
			}
			if n := g.Kind.Entries(c.dims); n != float64(c.want) {
				t.Errorf("got a count of %v beforehand, want %d", n, c.want)
			}
			for i, at := range all {
				if i > 0 && slices.Equal(at, all[i-1]) {
					t.Fatalf("coordinate %v twice", at)
				}
				for m, x := range at {
					if x < 0 || x >= c.dims[m] {
						t.Fatalf("coordinate %v out of %v", at, c.dims)
					}
				}
			}
			for _, n := range []int{2, 5} {
				if !slices.EqualFunc(parts(t, g, n), all, slices.Equal) {
					t.Errorf("%d parts differ from the whole", n)
				}
			}
		})
	}
}

func TestGenerateValues(t *testing.T) {
	for _, typ := range []tensor.Type{tensor.Float64, tensor.Float32, tensor.Int64, tensor.Int32,
		tensor.Complex128,
		tensor.Complex64} {
		for _, kind := range []string{"uniform:2000", "uniform:2000:int"} {
			integer := kind == "uniform:2000:int"
			k, _ := Parse("A", kind)
			g, err := k.Bind("A", []int64{100, 100}, typ, 1)
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
			for _, at := range collect(t, g, Share{}) {
				v := g.at(at).Float()
				if integer && (v != math.Trunc(v) || v < 1 || v > 9) || !integer &&
					!(v > 0 && v <= 1) {
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
	same := func(a, b *Generator) bool {
		return slices.EqualFunc(collect(t, a, Share{}), collect(t, b, Share{}), slices.Equal)
	}
	a := bind(t, "uniform:100", dims, tensor.Float64, 7)
	if !same(a, bind(t, "uniform:100", dims, tensor.Float32, 7)) {
		t.Error("the type changes the coordinates")
	}
	if same(a, bind(t, "uniform:100", dims, tensor.Float64, 8)) {
		t.Error("another seed gives the same coordinates")
	}
	b, err := a.Kind.Bind("B", dims, tensor.Float64, 7)
	if err != nil {
		t.Fatal(err)
	}
	if same(a, b) {
		t.Error("another name gives the same coordinates")
	}
}

// TestUniformSpread holds the counts of halves to five standard deviations.
func TestUniformSpread(t *testing.T) {
	g := bind(t, "uniform:20000", []int64{1000, 1000}, tensor.Float64, 3)
	var top, left int
	for _, at := range collect(t, g, Share{}) {
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
	g := bind(t, "zipf:20000:1", []int64{n, 1 << 40}, tensor.Float64, 3)
	rows := map[int64]int{}
	for _, at := range collect(t, g, Share{}) {
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
	g := bind(t, "uniform:10000:int", []int64{300, 300}, tensor.Int32, 0)
	s, err := g.Stream(Share{})
	if err != nil {
		t.Fatal(err)
	}
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
				t.Fatalf("a batch of %d entries has %d bytes of values and %d coordinates", b.N,
					len(b.Vals), len(b.Coords[1]))
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
	for _, kind := range []string{"", "dens", "dense:3", "uniform", "uniform:-1", "uniform:1.5",
		"uniform:x:int", "zipf:10", "zipf:10:-1", "zipf:10:nan", "banded", "banded:x", "int"} {
		_, err := Parse("A", kind)
		if err == nil {
			t.Errorf("%q is not refused", kind)
		} else if exitOf(err) != 2 {
			t.Errorf("%q: exit code %d, want 2", kind, exitOf(err))
		}
	}
	k, _ := Parse("A", "uniform:101")
	if _, err := k.Bind("A", []int64{10, 10}, tensor.Float64, 0); exitOf(err) != 2 {
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

func BenchmarkUniform(b *testing.B) { benchmark(b, "uniform:1000000") }
func BenchmarkZipf(b *testing.B)    { benchmark(b, "zipf:1000000:1.1") }

func benchmark(b *testing.B, kind string) {
	g := bind(b, kind, []int64{1000000, 1000000}, tensor.Float64, 0)
	for b.Loop() {
		s, err := g.Stream(Share{})
		if err != nil {
			b.Fatal(err)
		}
		var batch coo.Batch
		for err == nil {
			err = s.Next(&batch)
		}
		s.Close()
	}
}

// The computed number of entries of a band equals the number of coordinates in the band.
func TestBandEntries(t *testing.T) {
	for _, dims := range [][]int64{{7}, {5, 9}, {9, 5}, {6, 6, 6}, {3, 8, 5}, {1, 4, 2, 3},
		{12, 12, 11, 10}} {
		for width := range int64(13) {
			n := 0
			g := bind(t, fmt.Sprint("banded:", width), dims, tensor.Float64, 0)
			var count func(at []int64)
			count = func(at []int64) {
				if m := len(at); m < len(dims) {
					for c := range dims[m] {
						count(append(at, c))
					}
				} else if slices.Max(at)-slices.Min(at) <= width {
					n++
				}
			}
			count(nil)
			if got := g.Kind.Entries(dims); got != float64(n) {
				t.Errorf("sizes %v, width %d: got %v entries, want %d", dims, width, got, n)
			}
		}
	}
	const n = 1 << 61
	for _, c := range []struct {
		width int64
		dims  []int64
		want  float64
	}{
		{1, []int64{n, n}, 3*n - 2}, {n, []int64{n, n}, n * n}, {0, []int64{n, 1000, n}, 1000},
		{1 << 40, []int64{n, n}, (1<<41+1)*n - 1<<40*(1<<40+1)},
	} {
		if got := bind(t, fmt.Sprint("banded:", c.width), c.dims, tensor.Float64,
			0).Kind.Entries(c.dims); got != c.want {
			t.Errorf("sizes %v, width %d: got %v entries, want %v", c.dims, c.width, got, c.want)
		}
	}
}

// Fill makes what Stream makes, of the whole and of a block, in any order of modes.
func TestFill(t *testing.T) {
	dims := []int64{4, 5, 6}
	for _, box := range [][][2]int64{nil, {{1, 3}, {0, 5}, {2, 6}}, {{0, 4}, {3, 3}, {0, 6}}} {
		for _, modes := range [][]int{{0, 1, 2}, {2, 0, 1}} {
			g := bind(t, "dense", dims, tensor.Float64, 5)
			x, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: dims, Box: box,
				Type: tensor.Float64}, Format: tensor.FormatOf("ddd", modes), Counts: make([]int64, 3)}, nil,
				"A")
			if err != nil {
				t.Fatal(err)
			}
			g.Fill(x, 3)
			n := int64(0)
			x.Entries(func(at []int64, i int64) bool {
				n++
				if got, want := x.Value(i), g.at(at); got != want {
					t.Fatalf("box %v, modes %v: got %v at %v, want %v", box, modes, got, at, want)
				}
				return true
			})
			if n != x.Vals.Len {
				t.Errorf("box %v: %d entries of %d looked at", box, n, x.Vals.Len)
			}
			x.Close()
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

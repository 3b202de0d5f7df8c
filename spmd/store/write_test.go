package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// formats are all level kinds in all positions, by order.
var formats = [][]string{
	1: {"d", "s", "u"},
	2: {"dd", "ds", "sd", "ss", "uq", "uc", "dp"},
	3: {"ddd", "dds", "dsd", "dss", "sdd", "sds", "ssd", "sss", "ucq", "suq", "ucc", "dpd", "dps"},
	4: {"dddd", "ssss", "dsds", "ddss", "uccq", "sdsd", "ssdd"},
}

// entryList is a stream of unsorted entries, stored by mode.
type entryList struct {
	dims  []int64
	coord [][]int64
	vals  []float64
	done  bool
}

func (s *entryList) Dims() ([]int64, bool) { return s.dims, true }
func (s *entryList) Type() tensor.Type     { return tensor.Float64 }
func (s *entryList) Rewind() error         { s.done = false; return nil }
func (s *entryList) Close() error          { return nil }
func (s *entryList) Next(b *coo.Batch) error {
	if s.done || len(s.coord) == 0 {
		return errEOF
	}
	s.done = true
	b.Resize(len(s.dims), len(s.coord), 8)
	for k, c := range s.coord {
		for m := range c {
			b.Coords[m][k] = c[m]
		}
		tensor.Float64.Store(ptr(b.Vals[8*k:]),
			tensor.Value{Type: tensor.Float64, C: complex(s.vals[k], 0)})
	}
	return nil
}

// sample makes a tensor with random sizes and entries in the given format: skewed, empty, or with
// repeated entries if the format keeps them.
func sample(t *testing.T, rng *rand.Rand, kinds string) *tcs.Tensor {
	n := len(kinds)
	s := &entryList{}
	for range n {
		s.dims = append(s.dims, 1+rng.Int64N([]int64{60, 20, 9, 6}[n-1]))
	}
	modes := rng.Perm(n)
	count := rng.IntN(150)
	if rng.IntN(8) == 0 {
		count = 0
	}
	skew := rng.IntN(2) == 0
	seen := map[string]bool{}
	for range count {
		c := make([]int64, n)
		for m, d := range s.dims {
			if c[m] = rng.Int64N(d); skew {
				c[m] = c[m] * rng.Int64N(d+1) / d * rng.Int64N(d+1) / d
			}
		}
		key := fmt.Sprint(c)
		if p := strings.IndexByte(kinds, 'p'); p >= 0 { // one coordinate a slot
			key = ""
			for l := range p {
				key += fmt.Sprint(c[modes[l]], " ")
			}
		}
		if seen[key] && !tensor.FormatOf(kinds, nil).Repeats() {
			continue
		}
		seen[key] = true
		s.coord, s.vals = append(s.coord, c), append(s.vals, float64(1+rng.IntN(9)))
	}
	out, err := coo.Assemble(s, coo.Spec{Format: tensor.FormatOf(kinds, modes), Name: "T"},
		coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// cut is a tensor that is cut into blocks for a number of ranks.
type cut struct {
	part *partition.Partition
	way  int  // 0: blocks are assembled, 1: they are views
	wide bool // assembled blocks have 64-bit arrays
	far  bool // ranks share no memory
	// taken is how the last file was written that ranks write together.
	taken string
}

// own returns the blocks of a rank. Every rank must call it.
func (x *cut) own(t *tcs.Tensor, c comm.Comm) (*store.Blocks, func(), error) {
	g := &load.Target{Partition: x.part,
		Spec: coo.Spec{Format: t.Format(), Dims: t.Header.Dims, Name: "T", Wide: x.wide}}
	way := x.way
	if !g.Viewable(t) {
		way = 0
	}
	own, err := blocks(c, g, t, way)
	if err != nil {
		return nil, nil, err
	}
	b := &store.Blocks{Layout: tensor.Layout{Dims: t.Header.Dims, Type: t.Header.Type,
		Format: t.Format()},
		Own: map[int]*tcs.Tensor{}}
	for k := range plan.Block(x.part.Pieces()) {
		b.Owners = append(b.Owners, x.part.OwnerOf(k))
		b.Boxes = append(b.Boxes, x.part.Box(k, t.Header.Dims))
	}
	for k, t := range own {
		b.Own[int(k)] = t
	}
	return b, func() {
		for _, t := range own {
			t.Close()
		}
	}, nil
}

// write stores the tensor from its blocks at all ranks in a file next to path that gets no name,
// and returns its contents.
func (x *cut) write(t *tcs.Tensor, ranks int, path string, mode store.Mode,
	limit *tcs.Limit) ([]byte, error) {
	var file *outfile.File
	err := local.Run(context.Background(), ranks, func(c comm.Comm) (err error) {
		if x.far {
			c = commtest.Apart(c)
		}
		b, done, err := x.own(t, c)
		if err != nil {
			return err
		}
		defer done()
		var f *outfile.File
		if c.Rank() == 0 {
			if f, err = convert.Create(path); err != nil {
				return err
			}
			file = f
		}
		if !convert.Compressed(path) {
			way, err := store.WayOf(c, b, path)
			if err != nil {
				return err
			}
			if c.Rank() == 0 {
				x.taken = way
			}
		}
		cfg := coo.Config{Limit: limit, Tmp: filepath.Dir(path), Threads: 1}
		return store.Write(c, b, f, path, mode, cfg)
	})
	defer file.Abort()
	if err != nil {
		return nil, err
	}
	return contents(file)
}

// contents returns the contents of a file without a name.
func contents(file *outfile.File) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, err
	}
	got := make([]byte, st.Size)
	_, err := file.ReadAt(got, 0)
	return got, err
}

// forecast returns how many bytes all ranks together need at most to write the tensor.
func (x *cut) forecast(t *testing.T, whole *tcs.Tensor, ranks int, name string) (sum int64) {
	t.Helper()
	f := &store.Forecast{Ranks: ranks}
	sizes := map[plan.Block]plan.Size{}
	var mu sync.Mutex
	err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
		b, done, err := x.own(whole, c)
		if err != nil {
			return err
		}
		defer done()
		mu.Lock()
		defer mu.Unlock()
		f.Blocks = *b
		f.Blocks.Own = nil
		for k, own := range b.Own {
			f.BlockFormat = own.Format()
			sizes[plan.Block(k)] = plan.Size{Entries: own.Vals.Len, Bytes: own.Bytes(), Arrays: 1}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Sizes = func(b plan.Block) plan.Size { return sizes[b] }
	for _, n := range f.Cost(name, make([]int64, ranks)) {
		sum += n
	}
	return sum
}

// oneRank returns the file that one rank writes.
func oneRank(t *testing.T, whole *tcs.Tensor, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := convert.WriteTo(&b, name, whole, convert.WriteOptions{Threads: 1}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFilesAreThoseOfOneRank(t *testing.T) {
	dir := t.TempDir()
	ways := map[string]int{}
	seeds := uint64(6)
	if testing.Short() {
		seeds = 3
	}
	for order := 1; order <= 4; order++ {
		for _, kinds := range formats[order] {
			for seed := range seeds {
				rng := rand.New(rand.NewPCG(seed, uint64(order)))
				whole := sample(t, rng, kinds)
				ranks := 1 + int(seed+rng.Uint64N(3))%8
				x := &cut{way: rng.IntN(2), wide: rng.IntN(3) == 0, far: rng.IntN(2) == 0}
				outermost := -1
				if rng.IntN(2) == 0 {
					outermost = whole.Levels[0].Mode
				}
				x.part = problem(rng, whole.Header.Dims, ranks, outermost)
				names := []string{"t.tcs", "t.tns", "t.npy"}
				if order <= 2 {
					names = append(names, "t.mtx")
				}
				if seed%4 == 0 {
					names = append(names, "t.tcs.zst", "t.tns.gz", "t.npz")
				}
				for _, name := range names {
					mode := store.Mode(rng.IntN(3))
					what := fmt.Sprintf(
						"%s, seed %d, %d ranks, way %d, wide %v, far %v, axes %v, mode %d, sizes %v: %s",
						whole.Format().String(), seed, ranks, x.way, x.wide, x.far, x.part.Axes, mode,
						whole.Header.Dims,
						name)
					got, err := x.write(whole, ranks, filepath.Join(dir, name), mode, nil)
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					same(t, what, got, oneRank(t, whole, name))
					ways[x.taken]++
				}
				whole.Close()
			}
		}
	}
	for _, way := range store.Ways() {
		if ways[way] == 0 {
			t.Errorf("no file was written in the way %q: %v", way, ways)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left in the folder: %v", left)
	}
}

// same compares the written bytes with the expected ones.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Fatalf("%s: %d bytes, want %d; they differ from byte %d on", what, len(got), len(want), at)
}

// TestSizesPastOneWindow writes arrays of several windows and pieces in every way of writing.
func TestSizesPastOneWindow(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 5))
	for _, kinds := range []string{"dd", "ds", "ss", "uq"} {
		s := &entryList{dims: []int64{1200, 1500}}
		for range 300_000 {
			s.coord = append(s.coord, []int64{rng.Int64N(1200) * rng.Int64N(1200) / 1200, rng.Int64N(1500)})
			s.vals = append(s.vals, float64(1+rng.IntN(9)))
		}
		whole, err := coo.Assemble(s, coo.Spec{Format: tensor.FormatOf(kinds, []int{0, 1})}, coo.Config{})
		if err != nil {
			t.Fatal(err)
		}
		alone := map[string][]byte{} // what one rank writes, by ending
		for _, name := range []string{"t.tcs", "t.npy", "t.tns"} {
			alone[filepath.Ext(name)] = oneRank(t, whole, name)
		}
		for n, modes := range [][]bool{{true, false}, {false, true}, {true, true}, {true, false}} {
			ranks := 3 // of which the first has more than twice its share of the rows' entries
			if n == 3 {
				ranks = 2
			}
			x := &cut{}
			x.part = grid(whole.Header.Dims, modes, int64(ranks), ranks)
			for _, name := range []string{"t.tcs", "far.tcs", "t.npy", "t.tns"} {
				x.far = name == "far.tcs"
				limit := tcs.NewLimit(0)
				got, err := x.write(whole, ranks, filepath.Join(dir, name), store.Parallel, limit)
				if err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprint(kinds, modes, name), got, alone[filepath.Ext(name)])
				if most := x.forecast(t, whole, ranks, name); limit.Peak() > most {
					t.Errorf("%s %v %s: took %s, and %s are forecast", kinds, modes, name,
						tensor.Bytes(limit.Peak()),
						tensor.Bytes(most))
				}
				if limit.Used() != 0 {
					t.Errorf("%s %s: %d bytes are still counted", kinds, name, limit.Used())
				}
			}
		}
		whole.Close()
	}
}

// grid cuts the marked modes into n equal ranges.
func grid(dims []int64, marked []bool, n int64, ranks int) *partition.Partition {
	b := &blocking{}
	cuts := make([]int, len(dims))
	for m := range cuts {
		if cuts[m] = -1; marked[m] {
			cuts[m] = len(b.Vars)
			b.Vars = append(b.Vars, blockVar(m, dims[m], n))
			b.Map = append(b.Map, cuts[m])
		}
	}
	part, _ := (&plan.Problem{Blocking: b, Ranks: ranks}).Partition(cuts)
	return part
}

func TestFailuresLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	whole := sample(t, rng, "sss")
	defer whole.Close()
	old := []byte("what was there")
	path := filepath.Join(dir, "t.tcs")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, marked := range [][]bool{{true, true, true}, {true, false, false}} {
		x := &cut{}
		x.part = grid(whole.Header.Dims, marked, 3, 3)
		// One byte is too few for any buffer.
		if _, err := x.write(whole, 3, path, store.Parallel, tcs.NewLimit(1)); err == nil &&
			slices.Equal(marked, []bool{true, true, true}) {
			t.Errorf("cut in %v: a rank without memory gave no error", marked)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

package load_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// points is a stream of entries in the order of the list, in batches of 100.
type points struct {
	dims []int64
	at   []int64 // the coordinates of all entries, one entry after another
	next int
}

func (s *points) Dims() ([]int64, bool) { return s.dims, true }
func (s *points) Type() tensor.Type     { return tensor.Float64 }
func (s *points) Rewind() error         { s.next = 0; return nil }
func (s *points) Close() error          { return nil }
func (s *points) Next(b *coo.Batch) error {
	order := len(s.dims)
	n := min(len(s.at)/order-s.next, 100)
	if n == 0 {
		return io.EOF
	}
	b.Resize(len(s.dims), n, 8)
	for k := range n {
		for m := range order {
			b.Coords[m][k] = s.at[(s.next+k)*order+m]
		}
		v := float64(s.next+k+1) / 7
		tensor.Float64.Store(unsafe.Pointer(&b.Vals[8*k]),
			tensor.Value{Type: tensor.Float64, C: complex(v, 0)})
	}
	s.next += n
	return nil
}

// random draws distinct points. If single is set, j is a function of i. twice repeats some points.
func random(rng *rand.Rand, dims []int64, one int, single, twice bool) *points {
	s := &points{dims: dims}
	for i := range dims[0] {
		for j := range dims[1] {
			if single && j != (i*7+3)%dims[1] || i%5 == 4 {
				continue
			}
			for k := range dims[2] {
				if rng.IntN(one) == 0 {
					s.at = append(s.at, i, j, k)
					if twice && k%3 == 0 {
						s.at = append(s.at, i, j, k)
					}
				}
			}
		}
	}
	return s
}

// schedule cuts modes by variables. cuts[m] is the variable of mode m or -1, and points[v] holds
// the cuts of variable v. The first variable is mapped to ranks, the last rank first.
func schedule(ranks int, points [][]int64, cuts []int) *partition.Partition {
	b := &place.Blocking{}
	for v, p := range points {
		b.Vars = append(b.Vars, place.BlockVar{Name: fmt.Sprint("v", v), Cuts: p})
		b.Map = append(b.Map, v)
	}
	part, _ := (&plan.Problem{Blocking: b, Ranks: ranks}).Partition(cuts)
	return part
}

// blocksOf returns the blocks of a file at all ranks, as lists of entries if they are small, and
// the peaks of the ranks' memory.
func blocksOf(path string, part *partition.Partition, ranks int, spec coo.Spec, check,
	asIs bool) (map[plan.Block][]string, []int64, error) {
	var mu sync.Mutex
	out := map[plan.Block][]string{}
	peaks := make([]int64, ranks)
	err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
		t, err := tcsfile.Open(path)
		if err != nil {
			return err
		}
		defer t.Close()
		limit := tcs.NewLimit(0)
		g := &load.Target{Partition: part, Spec: spec, Cfg: coo.Config{Limit: limit, Threads: 1}}
		own, err := g.Tensor(c, load.Source{Tensor: t, Check: check, AsIs: asIs, Limit: limit})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		peaks[c.Rank()] = limit.Peak()
		for b, t := range own {
			if part.OwnerOf(b) != c.Rank() {
				return fmt.Errorf("block %d is at rank %d", b, c.Rank())
			}
			if err := t.Check(); err != nil {
				return err
			}
			if t.Vals.Len < 1<<16 {
				out[b] = list(t)
			}
			t.Close()
		}
		t.Close()
		if used := limit.Used(); used != 0 {
			return fmt.Errorf("%d bytes stay reserved", used)
		}
		return nil
	})
	return out, peaks, err
}

// TestBlocksOfEveryFormat loads tensors of every level kind in blocks, and compares each block with
// the assembly of the entries in its box.
func TestBlocksOfEveryFormat(t *testing.T) {
	dims := []int64{23, 11, 13}
	formats := []struct {
		kinds         string
		single, twice bool
	}{
		{"sss", false, false}, {"dss", false, false}, {"ddd", false, false}, {"sds", false, false},
		{"dds", false, false}, {"ssd", false, false},
		{"sdd", false, false}, {"ucq", false, false}, {"ucc", false, true}, {"dps", true, false},
		{"dpd", true, false}, {"sqs", true, false}, {"ddu", false, true},
	}
	schedules := []struct {
		name   string
		cuts   []int
		points [][]int64
	}{
		{"whole", []int{-1, -1, -1}, nil},
		{"rows", []int{0, -1, -1}, [][]int64{{0, 5, 5, 20, 23}}},
		{"middle", []int{-1, 0, -1}, [][]int64{{0, 0, 4, 11}}},
		{"two modes", []int{1, -1, 0}, [][]int64{{0, 6, 13}, {0, 1, 9, 23}}},
		{"three modes", []int{0, 1, 2}, [][]int64{{0, 11, 23}, {0, 4, 4, 11}, {0, 3, 8, 13, 13}}},
	}
	for f, format := range formats {
		t.Run(format.kinds, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(f), 9))
			modes := tensor.Identity(3)
			whole, err := coo.Assemble(random(rng, dims, 3, format.single, format.twice),
				coo.Spec{Format: tensor.FormatOf(format.kinds, modes), Name: "T"}, coo.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer whole.Close()
			path := filepath.Join(t.TempDir(), "t.tcs")
			if err := tcsfile.Write(path, whole, tcsfile.WriteOptions{Compress: f%4 == 3}); err != nil {
				t.Fatal(err)
			}
			targets := []coo.Spec{{Format: tensor.FormatOf(format.kinds, modes)},
				{Format: tensor.FormatOf("sss", []int{2, 0, 1})},
				{Format: tensor.FormatOf("ddd", []int{0, 2, 1})}}
			for _, s := range schedules {
				for n, spec := range targets {
					spec.Dims, spec.Type, spec.Name = dims, tensor.Float64, "T"
					want := map[plan.Block][]string{}
					part := schedule(1, s.points, s.cuts)
					for b := range plan.Block(part.Pieces()) {
						want[b] = boxed(t, whole, part.Box(b, dims), spec, n == 0)
					}
					for _, ranks := range []int{1, 2, 3, 5, 8} {
						got, _, err := blocksOf(path, schedule(ranks, s.points, s.cuts), ranks, spec, true, n == 0)
						if err != nil {
							t.Fatalf("%s to %s, %s, %d ranks: %v", format.kinds,
								spec.Format.String(), s.name, ranks, err)
						}
						for b, w := range want {
							if !slices.Equal(got[b], w) {
								t.Fatalf("%s to %s, %s, %d ranks, block %d: got %v\nwant %v", format.kinds,
									spec.Format.String(), s.name, ranks, b, got[b], w)
							}
						}
					}
				}
			}
		})
	}
}

// boxed assembles the entries in a box.
func boxed(t *testing.T, whole *tcs.Tensor, box [][2]int64, spec coo.Spec, asIs bool) []string {
	t.Helper()
	v, err := whole.View(tcs.Block{Box: box})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	zeros := coo.DropFill
	if asIs {
		zeros = coo.KeepAll
	}
	spec.Box = box
	b, err := coo.Assemble(coo.FromTensor(v, zeros), spec, coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	return list(b)
}

// large writes a matrix of rows with 0 to 40 entries. bytes is the size of its arrays.
func large(t *testing.T, rows int64, compress bool) (path string, bytes int64) {
	t.Helper()
	s := &points{dims: []int64{rows, 1000}}
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range rows {
		n := rng.Int64N(41)
		if i > rows/2 {
			n /= 4 // make the rows uneven
		}
		for j := range n {
			s.at = append(s.at, i, j*24)
		}
	}
	whole, err := coo.Assemble(s, coo.Spec{Format: tensor.FormatOf("ds", nil), Name: "T"},
		coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	path = filepath.Join(t.TempDir(), "large.tcs")
	if err := tcsfile.Write(path, whole, tcsfile.WriteOptions{Compress: compress}); err != nil {
		t.Fatal(err)
	}
	return path, whole.Bytes()
}

// TestMemoryOfARank checks that blocks with two cut modes need the rank's share of the memory, and
// buffers of known size.
func TestMemoryOfARank(t *testing.T) {
	path, bytes := large(t, 60000, false)
	spec := coo.Spec{Format: tensor.FormatOf("ds", []int{0, 1}), Dims: []int64{60000, 1000},
		Type: tensor.Float64,
		Name: "T"}
	for _, ranks := range []int{2, 4} {
		part := schedule(ranks, [][]int64{{0, 18000, 60000}, {0, 100, 500, 1000}}, []int{0, 1})
		_, peaks, err := blocksOf(path, part, ranks, spec, true, true)
		if err != nil {
			t.Fatal(err)
		}
		g := &load.Target{Partition: part, Spec: spec}
		buffers := g.Cost(load.Input{Entries: bytes / 12},
			func(plan.Block) plan.Size { return plan.Size{} }, ranks, 0).Buffers
		if buffers > 100<<20 {
			t.Errorf("%d ranks: %d bytes of buffers, want at most 100 MB", ranks, buffers)
		}
		for r, peak := range peaks {
			// Blocks are assigned row-major; none has more than a third of the rows' bytes.
			if most := bytes*3/2 + buffers; peak > most || peak == 0 {
				t.Errorf("%d ranks: rank %d took %d bytes, want at most %d", ranks, r, peak, most)
			}
		}
	}
}

// touched returns how many bytes of the arrays of t are in this process's page table, except the
// first and the last page of each array.
func touched(t *testing.T, x *tcs.Tensor) int64 {
	t.Helper()
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Skip("pages that were read cannot be counted: ", err)
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	n := int64(0)
	count := func(a tcs.Array) {
		first, last := int64(uintptr(a.Ptr))/page, (int64(uintptr(a.Ptr))+a.Len*int64(a.Width))/page
		buf := make([]byte, 8*(last-first+1))
		if _, err := f.ReadAt(buf, 8*first); err != nil {
			t.Skip("pages that were read cannot be counted: ", err)
		}
		for ; len(buf) > 0; buf = buf[8:] {
			if binary.NativeEndian.Uint64(buf)>>63 == 1 {
				n += page
			}
		}
	}
	for _, l := range x.Levels {
		if l.Kind != 'd' {
			count(l.Crd)
		}
		if l.Pos.Len > 0 {
			count(l.Pos)
		}
	}
	count(x.Vals)
	return n
}

// TestARankReadsItsPiece counts the pages of the mapped file that each of four ranks reads: its
// part, and the pages around the elements that a search reads.
func TestARankReadsItsPiece(t *testing.T) {
	path, bytes := large(t, 400000, false)
	spec := coo.Spec{Format: tensor.FormatOf("ds", []int{0, 1}), Dims: []int64{400000, 1000},
		Type: tensor.Float64,
		Name: "T"}
	const ranks = 4
	for _, test := range []struct {
		name   string
		cuts   []int
		points [][]int64
		shares []float64 // of the bytes; nil means equal shares
	}{
		{"pieces", []int{0, 1}, [][]int64{{0, 200000, 400000}, {0, 500, 1000}}, nil},
		{"row blocks", []int{0, -1}, [][]int64{{0, 100000, 200000, 300000, 400000}},
			[]float64{.41, .41, .12, .12}},
	} {
		err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
			x, err := tcsfile.Open(path)
			if err != nil {
				return err
			}
			defer x.Close()
			g := &load.Target{Partition: schedule(ranks, test.points, test.cuts), Spec: spec}
			own, err := g.Tensor(c, load.Source{Tensor: x, Check: true, AsIs: true})
			if err != nil {
				return err
			}
			for _, b := range own {
				defer b.Close()
			}
			share := 1.0 / ranks
			if test.shares != nil {
				share = test.shares[c.Rank()]
			}
			// At each end of three arrays the system may map a huge page.
			got, most := touched(t, x), int64(share*float64(bytes))+6*2<<20
			if got > most || got < 1<<20 {
				return fmt.Errorf("%s: rank %d read %d of %d bytes, want at most %d", test.name, c.Rank(), got,
					bytes, most)
			}
			return c.Barrier()
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestChunksOfAPiece checks that a rank decompresses only the chunks of its blocks in a compressed
// file, and the chunks that the search reads.
func TestChunksOfAPiece(t *testing.T) {
	const rows = 400000
	path, bytes := large(t, rows, true)
	spec := coo.Spec{Format: tensor.FormatOf("ds", []int{0, 1}), Dims: []int64{rows, 1000},
		Type: tensor.Float64,
		Name: "T"}
	for _, ranks := range []int{3, 8} {
		points := make([]int64, ranks+1)
		for k := range points {
			points[k] = rows / int64(ranks) * int64(k)
		}
		points[ranks] = rows
		_, peaks, err := blocksOf(path, schedule(ranks, [][]int64{points}, []int{0, -1}), ranks, spec,
			true, true)
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, peak := range peaks {
			total += peak
		}
		if most := bytes + int64(ranks)*8<<20; total > most || total < bytes {
			t.Errorf("%d ranks decompressed %d bytes, want %d to %d", ranks, total, bytes, most)
		}
	}
}

// TestDamagedFiles changes single bytes of a file. Whichever rank reads them, the message must
// equal the message of a single reader.
func TestDamagedFiles(t *testing.T) {
	for _, compress := range []bool{false, true} {
		path, _ := large(t, 20000, compress)
		damage(t, path)
	}
}

func damage(t *testing.T, path string) {
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spec := coo.Spec{Format: tensor.FormatOf("ds", []int{0, 1}), Dims: []int64{20000, 1000},
		Type: tensor.Float64,
		Name: "T"}
	bad := filepath.Join(t.TempDir(), "bad.tcs")
	rng := rand.New(rand.NewPCG(8, 8))
	for range 30 {
		b := slices.Clone(whole)
		at := 600 + rng.IntN(len(b)-600)
		b[at] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(bad, b, 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := tcsfile.Open(bad)
		if err != nil {
			t.Fatal(err)
		}
		want := tcsfile.Verify(x)
		x.Close()
		for _, s := range []struct {
			cuts   []int
			points [][]int64
		}{{[]int{0, -1}, [][]int64{{0, 100, 7000, 20000}}},
			{[]int{0, 1}, [][]int64{{0, 7000, 20000}, {0, 10, 1000}}}} {
			for _, ranks := range []int{1, 3} {
				_, _, err := blocksOf(bad, schedule(ranks, s.points, s.cuts), ranks, spec, true, true)
				if message(err) != message(want) {
					t.Errorf("byte %d, cuts %v, %d ranks: got %s\nwant %s", at, s.cuts, ranks, message(err),
						message(want))
				}
			}
		}
	}
}

// TestATruncatedFile truncates a file after it was opened. This must be an error for every number
// of ranks.
func TestATruncatedFile(t *testing.T) {
	path, bytes := large(t, 40000, false)
	spec := coo.Spec{Format: tensor.FormatOf("ds", []int{0, 1}), Dims: []int64{40000, 1000},
		Type: tensor.Float64,
		Name: "T"}
	err := local.Run(context.Background(), 3, func(c comm.Comm) error {
		x, err := tcsfile.Open(path)
		if err != nil {
			return err
		}
		defer x.Close()
		if err := c.Barrier(); err != nil {
			return err
		}
		if c.Rank() == 0 {
			if err := os.Truncate(path, bytes*2/3); err != nil {
				return err
			}
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		g := &load.Target{Partition: schedule(3, [][]int64{{0, 20000, 40000}, {0, 500, 1000}},
			[]int{0, 1}), Spec: spec}
		_, err = g.Tensor(c, load.Source{Tensor: x, Check: true, AsIs: true})
		return err
	})
	if got := message(err); got == "" || got[len(got)-8:] != "(exit 3)" {
		t.Errorf("got %q, want an error of the file's data", got)
	}
}

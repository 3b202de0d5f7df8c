package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// matrix assembles a matrix of ones in coordinate order.
func matrix(t testing.TB, dims []int64, kinds string, entries [][2]int64) *tcs.Tensor {
	s := &ones{dims: dims, entries: entries}
	m, err := coo.Assemble(s, coo.Spec{Format: tensor.FormatOf(kinds, []int{0, 1})}, coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type ones struct {
	none
	dims    []int64
	entries [][2]int64
	at      int
}

func (s *ones) Dims() ([]int64, bool) { return s.dims, true }
func (s *ones) Type() tensor.Type     { return tensor.Float64 }
func (s *ones) Rewind() error         { s.at = 0; return nil }
func (s *ones) Next(b *coo.Batch) error {
	n := min(len(s.entries)-s.at, coo.BatchSize)
	if n == 0 {
		return (&none{}).Next(b)
	}
	b.Resize(2, n, 8)
	for k := range n {
		b.Coords[0][k], b.Coords[1][k] = s.entries[s.at+k][0], s.entries[s.at+k][1]
		tensor.Float64.Store(ptrOf(b.Vals[8*k:]), tensor.Value{Type: tensor.Float64, C: 1})
	}
	s.at += n
	return nil
}

// TestPiecesHaveEqualCounts checks that pieces have about the mean count of entries, however skewed
// the coordinates are and however unevenly blocks hold them.
func TestPiecesHaveEqualCounts(t *testing.T) {
	for _, x := range []struct {
		name string
		row  func(*rand.Rand) int64
		n    int
	}{
		{"even", func(r *rand.Rand) int64 { return r.Int64N(5000) }, 40000},
		{"skewed",
			func(r *rand.Rand) int64 { f := r.Float64(); return int64(5000 * f * f * f * f * f * f) },
			40000},
		{"one row", func(r *rand.Rand) int64 { return 17 }, 30000},
		{"few", func(r *rand.Rand) int64 { return r.Int64N(5000) }, 11},
		{"none", func(r *rand.Rand) int64 { return 0 }, 0},
	} {
		for _, ranks := range []int{1, 2, 3, 5, 8} {
			rng := rand.New(rand.NewPCG(uint64(ranks), 7))
			all := map[[2]int64]bool{}
			for range x.n {
				all[[2]int64{x.row(rng), rng.Int64N(100000)}] = true
			}
			parts := make([][][2]int64, ranks) // the first rank holds half of all
			for e := range all {
				k := max(rng.IntN(2*ranks)-ranks, 0)
				parts[k] = append(parts[k], e)
			}
			counts := make([]int64, ranks)
			err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
				m := matrix(t, []int64{5000, 100000}, "ss", parts[c.Rank()])
				defer m.Close()
				runs := []*run{{t: m}}
				cuts, err := cutPoints(c, runs, 2, ranks, samples)
				if err != nil {
					return err
				}
				n := make([]int64, ranks)
				for k, b := range bounds(runs, cuts, ranks)[0] {
					if k > 0 {
						n[k-1] += b
					}
					if k < ranks {
						n[k] -= b
					}
				}
				err = c.Allreduce(comm.Of(n), comm.Sum)
				if c.Rank() == 0 {
					copy(counts, n)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			mean := float64(len(all)) / float64(ranks)
			sum := int64(0)
			for _, n := range counts {
				sum += n
			}
			if most := slices.Max(counts); sum != int64(len(all)) || float64(most) > 1.02*mean+2 {
				t.Errorf("%s, %d ranks: pieces of %v entries, want %.0f each", x.name, ranks, counts, mean)
			}
		}
	}
}

// TestFrame compares the arithmetic of boxes in a linear order with counting.
func TestFrame(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 1 + rng.IntN(4)
		var dims []int64
		var box [][2]int64
		for range n {
			d := 1 + rng.Int64N(5)
			a, b := rng.Int64N(d+1), rng.Int64N(d+1)
			dims, box = append(dims, d), append(box, [2]int64{min(a, b), max(a, b)})
		}
		f := newFrame(dims, rng.Perm(n))
		in := make([]bool, f.total)
		r := f.ranges(box)
		for p := range f.total {
			in[p] = true
			for l := range r {
				x := p / f.stride[l] % f.dims[l]
				in[p] = in[p] && x >= r[l][0] && x < r[l][1]
			}
		}
		a, b := rng.Int64N(f.total+1), rng.Int64N(f.total+1)
		a, b = min(a, b), max(a, b)
		count, got := int64(0), make([]bool, f.total)
		for p := range a {
			if in[p] {
				count++
			}
		}
		if n := f.before(box, a); n != count {
			t.Fatalf("seed %d: %d positions of %v in %v before %d, want %d", seed, n, box, dims, a, count)
		}
		f.eachRun(box, a, b, func(x []int64, p, n int64) {
			at := int64(0)
			for l := range x {
				at += x[l] * f.stride[l]
			}
			if at != p {
				t.Fatalf("seed %d: a run at %v is said to be at %d", seed, x, p)
			}
			for k := range n {
				got[p+k] = true
			}
		})
		for p := range f.total {
			if want := in[p] && p >= a && p < b; got[p] != want {
				t.Fatalf("seed %d: position %d in a run: %v, want %v", seed, p, got[p], want)
			}
		}
	}
}

// TestOrderedRanksTakeTurns checks that no rank writes before all lower ranks are done.
func TestOrderedRanksTakeTurns(t *testing.T) {
	const ranks = 5
	file, err := outfile.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Abort()
	var mu sync.Mutex
	var order []string
	note := func(s string) { mu.Lock(); order = append(order, s); mu.Unlock() }
	err = local.Run(context.Background(), ranks, func(c comm.Comm) error {
		var f *outfile.File
		if c.Rank() == 0 {
			f = file
		}
		s, ok, err := newSharedFile(c, f, true)
		if err != nil || !ok {
			return fmt.Errorf("rank %d cannot open the file: %v", c.Rank(), err)
		}
		return s.write(func() error {
			note(fmt.Sprint("+", c.Rank()))
			time.Sleep(time.Duration(ranks-c.Rank()) * time.Millisecond)
			_, err := s.WriteAt([]byte{byte('a' + c.Rank())}, int64(c.Rank()))
			note(fmt.Sprint("-", c.Rank()))
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"+0", "-0", "+1", "-1", "+2", "-2", "+3", "-3", "+4",
		"-4"}; !slices.Equal(order, want) {
		t.Errorf("ranks wrote in the order %v", order)
	}
	got := make([]byte, ranks)
	if _, err := file.ReadAt(got, 0); err != nil || string(got) != "abcde" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// TestFullDisk checks that an output that does not fit on the disk is an error at every rank and
// leaves no file behind, in every way of writing.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no full disk: mounting a tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	})
	var entries [][2]int64
	for i := range int64(40000) {
		entries = append(entries, [2]int64{i / 200, i % 200})
	}
	dims := []int64{200, 200}
	for _, x := range []struct {
		kinds, name string
		mode        int // that is cut in halves
	}{{"dd", "t.tcs", 0}, {"dd", "t.tcs", 1}, {"dd", "t.npy", 0}, {"ds", "t.tcs", 0},
		{"ds", "t.tcs", 1}, {"ss", "t.tcs", 1}, {"ds", "t.tns", 0}, {"ds", "t.mtx", 1},
		{"ds", "t.tns.gz", 0}} {
		var file *outfile.File
		err := local.Run(context.Background(), 2, func(c comm.Comm) (err error) {
			var f *outfile.File
			if c.Rank() == 0 {
				if f, err = outfile.Create(filepath.Join(dir, x.name)); err != nil {
					return err
				}
				file = f
			}
			b := &Blocks{Layout: tensor.Layout{Dims: dims, Type: tensor.Float64,
				Format: tensor.FormatOf(x.kinds, []int{0, 1})},
				Owners: []int{0, 1}, Own: map[int]*tcs.Tensor{}}
			for k := range 2 {
				box := [][2]int64{{0, 200}, {0, 200}}
				box[x.mode] = [2]int64{int64(100 * k), int64(100*k + 100)}
				b.Boxes = append(b.Boxes, box)
			}
			var own [][2]int64
			box := b.Boxes[c.Rank()]
			for _, e := range entries {
				if e[x.mode] >= box[x.mode][0] && e[x.mode] < box[x.mode][1] {
					own = append(own, e)
				}
			}
			m, err := coo.Assemble(&ones{dims: dims, entries: own},
				coo.Spec{Format: tensor.FormatOf(x.kinds, []int{0, 1}), Box: box}, coo.Config{})
			if err != nil {
				return err
			}
			defer m.Close()
			b.Own[c.Rank()] = m
			return Write(c, b, f, x.name, Auto, coo.Config{Tmp: t.TempDir(), Threads: 1})
		})
		if err == nil {
			if x.name != "t.tns.gz" { // which is small
				t.Errorf("%s from %s: no error", x.name, x.kinds)
			}
		} else if comm.ExitCode(err) != 1 {
			t.Errorf("%s from %s: exit code %d: %v", x.name, x.kinds, comm.ExitCode(err), err)
		}
		file.Abort()
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s from %s: left behind: %v", x.name, x.kinds, left)
		}
	}
}

func ptrOf(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

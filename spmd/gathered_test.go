package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"distaff/io/tcs"
	"distaff/spmd"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/exec"
)

// Ranks receive the rows of a dense operand that their entries read and that other ranks own,
// whether these rows are one range, several ranges, or single rows, at every run. They receive all
// rows if they read three quarters. The counts are the same if ranks share one array of rows.
func TestRanksGatherTheRowsThatTheyRead(t *testing.T) {
	t.Parallel()
	t.Run("apart", ranksGather)
	defer exec.MinCommon.Store(exec.MinCommon.Swap(0))
	t.Run("in common", ranksGather)
}

func ranksGather(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 60 {
		p, size, wide := 2+rng.IntN(5), 1+rng.Int64N(60), 1+rng.Int64N(3)
		entries := make([][2]int64, 0, 64)
		for i := range size {
			switch n % 3 {
			case 0: // anywhere
				for j := range size {
					if rng.Int64N(size) == 0 {
						entries = append(entries, [2]int64{i, j})
					}
				}
			case 1: // a band
				for j := max(i-2, 0); j < min(i+3, size); j++ {
					entries = append(entries, [2]int64{i, j})
				}
			case 2: // a range of columns, the same for all
				for j := size / 3; j < size/2; j++ {
					entries = append(entries, [2]int64{i, j})
				}
			}
		}
		job := spmd.Job{Statement: "A(i,k) = B(i,j) * C(j,k)", Sizes: map[string][]int64{"k": {wide}},
			Keep: true,
			Inputs: map[string]spmd.Input{"B": spmd.InMemory(matrixOf(t, size, entries)),
				"C": spmd.Generated("dense:int")}}
		job.Target, job.Threads = spmd.Interpreter, 1
		want, err := job.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		job.Ranks, job.Repeat = p, 2
		job.Placements = []string{"A(x,y) -> M(x)", "B(x,y) -> M(x)", "C(x,y) -> M(x)"}
		job.Schedule = []string{"divide(i,io,ii,M.x),distribute(io),communicate({A,B,C},io)"}
		if n%2 == 1 {
			job.Schedule = []string{
				"divide(i,io,ii,M.x),divide(ii,iio,iii,3),distribute(io),communicate({A,B,C},iio)"}
		}
		got, err := job.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%d: %d ranks, %d rows of %d, entries %v, %s", n, p, size, wide, entries,
			job.Schedule)
		if !slices.Equal(tcs.Slice[float64](got.Result.Vals), tcs.Slice[float64](want.Result.Vals)) {
			t.Errorf("%s: got %v, want %v", name, tcs.Slice[float64](got.Result.Vals),
				tcs.Slice[float64](want.Result.Vals))
		}
		if received := gatheredRows(p, size, entries); !slices.Equal(got.Stats.Comm.BytesReceived,
			times(received, 8*wide)) {
			t.Errorf("%s: ranks receive %v bytes, want %v rows", name, got.Stats.Comm.BytesReceived,
				received)
		}
		got.Result.Close()
		want.Result.Close()
	}
}

// matrixOf returns a square matrix of ones.
func matrixOf(t *testing.T, size int64, entries [][2]int64) *tcs.Tensor {
	var coords [2][]int64
	vals := make([]float64, len(entries))
	for k, e := range entries {
		coords[0], coords[1], vals[k] = append(coords[0], e[0]), append(coords[1], e[1]), 1
	}
	m, err := spmd.COO([]int64{size, size}, coords[:], vals)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// gatheredRows returns how many rows of other ranks each rank reads.
func gatheredRows(p int, size int64, entries [][2]int64) []int64 {
	out := make([]int64, p)
	cut := func(r int) int64 { return int64(r) * size / int64(p) }
	for r := range p {
		read := map[int64]bool{}
		for _, e := range entries {
			if e[0] >= cut(r) && e[0] < cut(r+1) {
				read[e[1]] = true
			}
		}
		for j := range size {
			if (read[j] || int64(len(read))*4 >= 3*size) && (j < cut(r) || j >= cut(r+1)) {
				out[r]++
			}
		}
	}
	return out
}

func times(list []int64, by int64) []int64 {
	out := slices.Clone(list)
	for k := range out {
		out[k] *= by
	}
	return out
}

// Ranks that have chunks of a matrix's entries receive the rows of an operand where they have
// entries. The rows are those along the operand's dense level.
func TestRanksGatherTheRowsOfTheirEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		p, size := 2+rng.IntN(5), 8+rng.Int64N(60)
		var entries [][2]int64
		for i := range size {
			for j := range size {
				if (n%2 == 0 || i%3 == 0) && rng.Int64N(size) < 2 {
					entries = append(entries, [2]int64{i, j})
				}
			}
		}
		job := spmd.Job{Statement: "a = B(i,j) * c(i)", Formats: map[string]string{"B": "ds"}, Keep: true,
			Inputs: map[string]spmd.Input{"B": spmd.InMemory(matrixOf(t, size, entries)),
				"c": spmd.Generated("dense:int")}}
		job.Target, job.Threads, job.Ranks, job.Check = spmd.Interpreter, 1, p, true
		job.Placements = []string{"c(x) -> M(x)"}
		job.Schedule = []string{"fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo)"}
		got, err := job.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got.Result.Close()
		want, received := int64(p-1), int64(0) // of the sum
		for rank := range p {
			rows := map[int64]bool{}
			for _, e := range entries[len(entries)*rank/p : len(entries)*(rank+1)/p] {
				rows[e[0]] = true
			}
			if 4*int64(len(rows)) >= 3*size {
				for i := range size {
					rows[i] = true
				}
			}
			for i := range rows {
				if i < size*int64(rank)/int64(p) || i >= size*int64(rank+1)/int64(p) {
					want++
				}
			}
		}
		for _, b := range got.Stats.Comm.BytesReceived {
			received += b / 8
		}
		if received != want {
			t.Errorf("%d: %d ranks, %d rows, entries %v: %d words are received, want %d", n, p, size,
				entries, received, want)
		}
	}
}

// halting is a rank that counts what it asks to receive from rank 0, or one that sends nothing to
// rank 1 until it is allowed to.
type halting struct {
	comm.Comm
	asked func()
	told  <-chan struct{}
}

func (h halting) OneProcess() bool { return false }

func (h halting) Irecv(b comm.Buf, from, tag int) (*comm.Request, error) {
	if h.asked != nil && from == 0 {
		h.asked()
	}
	return h.Comm.Irecv(b, from, tag)
}

func (h halting) Isend(b comm.Buf, to, tag int) (*comm.Request, error) {
	if h.told != nil && to == 1 {
		select {
		case <-h.told:
		case <-time.After(time.Minute):
			return nil,
				errors.New("rank 1 waits for rows that its last chunk reads before it computes others")
		}
	}
	return h.Comm.Isend(b, to, tag)
}

// TestChunksDoNotWaitForRowsOfLaterOnes checks that a rank that computes chunks of rows in order
// waits for a gathered row of another rank when a chunk reads it, and not before. The blocks of D
// that the rank requests show which chunk it computes.
func TestChunksDoNotWaitForRowsOfLaterOnes(t *testing.T) {
	run := func(asked func(), told <-chan struct{}) *spmd.Report {
		job := spmd.Job{Statement: "a(i) = B(i,j) * c(j) + D(i)",
			Sizes: map[string][]int64{"B": {30, 30}}, Formats: map[string]string{"B": "ds"},
			Inputs: map[string]spmd.Input{"B": spmd.Generated("banded:1:int"),
				"c": spmd.Generated("dense:int"), "D": spmd.Generated("dense:int")}}
		job.Placements = []string{"c(x) -> M(x)", "D(x) -> M(0)"}
		job.Schedule = []string{
			"divide(i,io,ii,M.x),divide(ii,iio,iii,3),distribute(io),communicate(D,iio)"}
		job.Ranks, job.Target, job.Threads, job.Check = 3, spmd.Interpreter, 1, true
		var out *spmd.Report
		err := local.Run(context.Background(), job.Ranks, func(c comm.Comm) error {
			h := halting{Comm: c}
			switch c.Rank() {
			case 1:
				h.asked = asked
			case 2:
				h.told = told
			}
			r, err := job.RunOn(h, job.Ranks, job.Ranks)
			if r != nil {
				out = r
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	all, n := int64(0), atomic.Int64{}
	r := run(func() { all++ }, nil)
	if want := []int64{8, 8 * (10 + 2), 8 * (10 + 1)}; !slices.Equal(r.Stats.Comm.BytesReceived,
		want) {
		t.Errorf("ranks receive %v bytes, want %v", r.Stats.Comm.BytesReceived, want)
	}
	told := make(chan struct{})
	run(func() {
		if n.Add(1) == all {
			close(told)
		}
	}, told)
}

package jobs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"distaff/spmd"
)

// denseProduct is a product of dense matrices on a machine: the machine's extents, the placements
// of B, C and A, and the commands.
const denseProduct = `param n = 64
param g = 2
machine M(%s)
tensor B(n, n): dd place (x,y) -> M(%s) from dense:int
tensor C(n, n): dd place (x,y) -> M(%s) from dense:int
tensor A(n, n): dd place (x,y) -> M(%s)
A(i,j) = B(i,k) * C(k,j)
%s`

// scaled lists the job files that are planned on many ranks, with the number of dimensions of their
// grids.
var scaled = []struct {
	name, text string
	dims       int
}{
	{"SUMMA", fmt.Sprintf(denseProduct, "g, g", "x,y", "x,y", "x,y", `  distribute({i,j}, {io,jo}, {ii,ji}, M)
  split(k, ko, ki, 16)
  reorder(io, jo, ko, ii, ji, ki)
  communicate(A, jo)
  communicate({B,C}, ko)
`), 2},
	{"Cannon", fmt.Sprintf(denseProduct, "g, g", "x,y", "x,y", "x,y", `  distribute({i,j}, {io,jo}, {ii,ji}, M)
  divide(k, ko, ki, M.x)
  reorder(io, jo, ko, ii, ji, ki)
  rotate(ko, {io,jo}, kos)
  communicate(A, jo)
  communicate({B,C}, kos)
`), 2},
	{"PUMMA", fmt.Sprintf(denseProduct, "g, g", "x,y", "x,y", "x,y", `  distribute({i,j}, {io,jo}, {ii,ji}, M)
  divide(k, ko, ki, M.x)
  reorder(io, jo, ko, ii, ji, ki)
  rotate(ko, {io}, kos)
  communicate(A, jo)
  communicate({B,C}, kos)
`), 2},
	{"Johnson", fmt.Sprintf(denseProduct, "g, g, g", "x,0,y", "0,y,x", "x,y,0", `  distribute({i,j,k}, {io,jo,ko}, {ii,ji,ki}, M)
  communicate({A,B,C}, ko)
`), 3},
	{"SpMV", `param n = 64
param g = 2
machine M(g)
tensor B(n, n): ds place (x,y) -> M(x) from uniform:1000000:int
tensor c(n): d place (x) -> M(x) from dense:int
tensor a(n): d place (x) -> M(x)
a(i) = B(i,j) * c(j)
  divide(i, io, ii, M.x)
  distribute(io)
  communicate({a, B, c}, io)
`, 1},
	{"blocks", `param n = 64
param g = 2
tensor B(n, n): ds from uniform:1000000:int
tensor c(n): d from dense:int
a(i) = B(i,j) * c(j)
  split i:g
`, 1},
}

// planOn plans a job file on a grid with g points in each of the given number of dimensions. The
// tensors have n coordinates in each mode.
func planOn(tb testing.TB, text string, dims, g, n int) (*spmd.PlannedFile, error) {
	tb.Helper()
	j, err := file(filepath.Join(tb.TempDir(), "job.dst"), text,
		map[string]string{"g": fmt.Sprint(g), "n": fmt.Sprint(n)})
	if err != nil {
		tb.Fatal(err)
	}
	j.Ranks = 1
	for range dims {
		j.Ranks *= g
	}
	return j.Plan(context.Background(), 4)
}

// sides maps a number of dimensions to the extent of a grid of 4096 points.
var sides = []int{0, 4096, 64, 16}

// TestPlanOfManyRanks checks that a plan for 4096 ranks takes at most about a second. The limit
// leaves room for a slow machine, but not for a step that visits all ranks for each rank.
func TestPlanOfManyRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("plans for thousands of ranks")
	}
	for _, x := range scaled {
		at := time.Now()
		p, err := planOn(t, x.text, x.dims, sides[x.dims], 8192)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if took := time.Since(at); took > 10*time.Second {
			t.Errorf("%s: a plan for 4096 ranks took %v", x.name, took)
		}
		if len(p.Comm.BytesSent) != 4096 {
			t.Errorf("%s: got a plan for %d ranks, want 4096", x.name, len(p.Comm.BytesSent))
		}
	}
}

// BenchmarkPlan plans on 4096 ranks.
func BenchmarkPlan(b *testing.B) {
	for _, x := range scaled {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := planOn(b, x.text, x.dims, sides[x.dims], 8192); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPlanMost plans on 65,536 ranks, or a cube of 64,000.
func BenchmarkPlanMost(b *testing.B) {
	for _, x := range scaled {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := planOn(b, x.text, x.dims, []int{0, 65536, 256, 40}[x.dims], 65536); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

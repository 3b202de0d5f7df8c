package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/place"
	"distaff/spmd/comm"
)

// computedGrid is cosma.dst with the grid and the steps that COSMA's model computes.
func computedGrid(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "cosma.dst"))
	if err != nil {
		t.Fatal(err)
	}
	out := string(text)
	for _, by := range [][2]string{{"machine M(gx, gy, gz)", "machine M = cosma"},
		{"divide(ki, kio, kii, steps)", "divide(ki, kio, kii, M.steps)"}} {
		if !strings.Contains(out, by[0]) {
			t.Fatalf("cosma.dst has no %s", by[0])
		}
		out = strings.Replace(out, by[0], by[1], 1)
	}
	return out
}

// TestComputedGrid checks that tensors placed over a machine of COSMA are on the faces of the grid
// that the model computes for the product. Plans and runs must send what the theory predicts for
// that grid.
func TestComputedGrid(t *testing.T) {
	text := computedGrid(t)
	for _, c := range []struct {
		ranks                int
		rows, columns, inner int
		room                 int64 // of values
	}{
		{1, 24, 48, 96, 0}, {4, 24, 48, 96, 0}, {8, 24, 24, 24, 0}, {6, 96, 12, 12, 0},
		{6, 12, 12, 96, 0}, {64, 64, 64, 64, 0},
		{8, 256, 256, 256, 80000}, {64, 1024, 1024, 1024, 400000},
	} {
		m, err := place.Cosma(int64(c.rows), int64(c.columns), int64(c.inner), int64(c.ranks), c.room)
		if err != nil {
			t.Fatal(err)
		}
		g := m.Grids[0].Extents
		if c.room > 0 && m.Steps < 2 {
			t.Errorf("%+v: got %d steps, want memory that asks for some", c, m.Steps)
		}
		j := job(t, t.TempDir(), text, with("rows", c.rows, "columns", c.columns, "inner", c.inner))
		j.Ranks, j.MemoryLimit = c.ranks, 8*c.room
		want := j.planned(t, 0).Comm
		v := figures{"ranks": float64(c.ranks), "rows": float64(c.rows), "columns": float64(c.columns),
			"inner": float64(c.inner), "gx": float64(g[0]), "gy": float64(g[1]), "gz": float64(g[2]),
			"steps": float64(m.Steps)}
		cosma(v).compare(t, want)
		if c.ranks > mostRun || c.room > 0 {
			continue
		}
		if got := j.checked(t); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: a run counts %+v, a plan %+v", c, got, want)
		}
	}
}

// TestComputedGrids checks that several products over one machine of COSMA each have their own
// grid, and that grids that differ are refused if tensors are placed over the machine. place must
// move a tensor to its place in the grid.
func TestComputedGrids(t *testing.T) {
	const commands = "\n  distribute({i,j,k},{io,jo,ko},{ii,ji,ki},M)\n  communicate({B,C},ko)\n"
	const operands = "machine M = cosma\ntensor B(8, 64): dd from dense:int\ntensor C(64, 8): dd from dense:int\n"
	const first, second = "A(i,j) = B(i,k) * C(k,j)" + commands, "D(i,j) = C(i,k) * B(k,j)" + commands
	for _, c := range []struct{ text, want string }{
		{operands + first + second + "print D\n", ""},
		{operands + first + "place A (x,y) -> M(x,y,0)\nplace B (x,y) -> M(x,0,y)\n" + first +
			"print A\n", ""},
		{operands + first + "repeat 2 {\n  place A (x,y) -> M(x,0,*)\n}\nprint A\n", ""},
		{operands + "tensor D(64, 64): dd place (x,y) -> M(x,y,0)\n" + first + second,
			":4:28: got a placement over M, but its grid would be 1x1x4 for the product of line 5 and 2x2x1 for the product of line 8; want a separate machine for each product"},
		{operands + "place B (x,y) -> M(x,y,7)\n" + first + "print A\n",
			"got coordinate 7 of M, want less than its extent, 4"},
		{
			operands +
				"tensor A(8, 8): dd from dense:int\ns = A(i,j)\n  distribute({i,j},{io,jo},{ii,ji},M)\nplace A (x,y) -> M(x,y,0)\n", "the grid of COSMA needs a product of two dense matrices"},
	} {
		j := job(t, t.TempDir(), c.text, nil)
		j.Ranks, j.Check = 4, c.want == ""
		_, err := j.Run(context.Background())
		_, planned := j.Plan(context.Background(), 0)
		for _, err := range []error{err, planned} {
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", c.text, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
				comm.ExitCode(err) != 2):
				t.Errorf("%s: got %v, want %q", c.text, err, c.want)
			}
		}
	}
}

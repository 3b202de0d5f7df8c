package spmd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"distaff/spmd"
)

// A schedule does not change the result of a statement over an empty space, even if other terms
// remain or if the schedule covers all terms. The schedule is checked nevertheless.
func TestEmptySpacesScheduled(t *testing.T) {
	const huge = 1 << 56
	for _, c := range []struct {
		stmt     string
		formats  map[string]string
		schedule string
		entries  int64 // number of entries of the result
		want     string
	}{
		{"a = T(i,j)", nil, "", 1, ""},
		{"a = T(i,j)", nil, "split(i,i0,i1,16)", 1, ""},
		{"a = T(i,j)", nil, "reorder(j,i),divide(i,i0,i1,4),parallelize(j,CPUThread,ParallelReduction)",
			1, ""},
		{"a = T(i,j)", nil, "bound(j,jb,4,MaxConstraint)", 1, ""},
		{"a = T(i,j)", nil, "bound(i,ib,1024,MaxExact)", 0, "bound(i,ib,1024,MaxExact)"},
		{"a = T(i,j)", nil, "split(i,i0,i1,16),unroll(i)", 0, "i no longer exists: it was replaced by split(i, i0, i1, 16)"},
		{"a(j) = T(i,j)", nil, "reorder(i,j)", 0, ""},
		{"a(k) = T(i,j)*b(k)", nil, "reorder(i,j,k)", 3, ""},
		{"a(k) = T(i,j)*b(k) + b(k)", nil, "temporaries(a),unroll(k,2)", 3, ""},
		{"a(i,j) = T(i,j)", nil, "split(i,i0,i1,16),parallelize(i0,CPUThread,NoRaces)", 0, ""},
		{"a(i) = T(i,j)", map[string]string{"a": "s"}, "assemble(a,Insert)", 0, ""},
		{"a(i) = T(i,j) + c(i)", map[string]string{"a": "s", "c": "s"}, "assemble(a,Insert)", 4, ""},
	} {
		for _, ranks := range []int{1, 2} {
			j := &spmd.Job{Statement: c.stmt, Formats: c.formats, Sizes: map[string][]int64{"T": {huge, 0}},
				Inputs: map[string]spmd.Input{"T": spmd.Generated("dense")}, Keep: true}
			for name, x := range map[string]string{"b": "dense", "c": "uniform:4"} {
				if strings.Contains(c.stmt, name+"(") {
					j.Inputs[name], j.Sizes[name] = spmd.Generated(x),
						map[string][]int64{"b": {3}, "c": {huge}}[name]
				}
			}
			j.Schedule, j.Target, j.Ranks, j.Check = []string{c.schedule}, spmd.Interpreter, ranks, true
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			rep, err := j.Run(ctx)
			cancel()
			what := fmt.Sprintf("%s, -s=%s, %d ranks", c.stmt, c.schedule, ranks)
			switch {
			case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)),
				err == nil && c.want != "":
				t.Errorf("%s: got %v, want %q", what, err, c.want)
			case err == nil:
				if got := rep.Result.Vals.Len; got != c.entries {
					t.Errorf("%s: got %d entries, want %d", what, got, c.entries)
				}
				rep.Result.Close()
			}
		}
	}
}

// A statement over an empty index space ends at once, however large its other sizes are.
func TestEmptySpaces(t *testing.T) {
	t.Parallel()
	const huge = 1 << 56
	for _, c := range []struct {
		stmt    string
		formats map[string]string
		inputs  map[string]string // other inputs than T, which is dense
		entries int64             // number of entries of the result
	}{
		{"a = T(i,j)", nil, nil, 1},
		{"a += T(i,j)", nil, nil, 1},
		{"a(j) = T(i,j)", nil, nil, 0},
		{"a(k) = T(i,j)*b(k)", nil, map[string]string{"b": "dense"}, 3},
		{"a(k) += T(i,j)*b(k)", nil, map[string]string{"b": "dense", "a": "dense"}, 3},
		{"a(i,j) = T(i,j)", nil, nil, 0},
		{"a(i,j) = T(i,j)", map[string]string{"a": "dd:1,0"}, nil, 0},
		{"a(j,i) = 2*T(i,j)", map[string]string{"a": "ss"}, nil, 0},
		{"a(i,j) += T(i,j)", map[string]string{"a": "ss"}, map[string]string{"a": "uniform:0"}, 0},
		{"a(i) = T(i,j)", map[string]string{"a": "s"}, nil, 0},
		{"a(i,k) = T(i,j)*b(k)", map[string]string{"a": "sd"}, map[string]string{"b": "dense"}, 0},
		{"a(k,i) = T(i,j)*b(k)", map[string]string{"a": "ds"}, map[string]string{"b": "dense"}, 0},
		{"a = T(i,j)*c(i)", map[string]string{"c": "s"}, map[string]string{"c": "uniform:4"}, 1},
		{"a(i) = T(i,j) + c(i)", map[string]string{"a": "s", "c": "s"},
			map[string]string{"c": "uniform:4"}, 4},
		{"a(i) = c(i) - T(i,j)*b(k)", map[string]string{"a": "s", "c": "s"},
			map[string]string{"c": "uniform:4", "b": "dense"}, 4},
		{"a(i) += T(i,j)", map[string]string{"a": "s"}, map[string]string{"a": "uniform:4"}, 4},
	} {
		for _, ranks := range []int{1, 2, 3} {
			j := &spmd.Job{Statement: c.stmt, Formats: c.formats,
				Sizes:  map[string][]int64{"T": {huge, 0}, "b": {3}, "c": {huge}},
				Inputs: map[string]spmd.Input{"T": spmd.Generated("dense")}, Keep: true}
			for name, kind := range c.inputs {
				j.Inputs[name] = spmd.Generated(kind)
				if name == "a" {
					j.Sizes["a"] = map[string][]int64{"s": {huge}, "ss": {huge, 0}, "": {3}}[c.formats["a"]]
				}
			}
			for _, name := range []string{"b", "c"} {
				if c.inputs[name] == "" {
					delete(j.Sizes, name)
				}
			}
			j.Target, j.Ranks, j.Check = spmd.Interpreter, ranks, true
			rep, err := j.Run(context.Background())
			what := fmt.Sprintf("%s, %v, %d ranks", c.stmt, c.formats, ranks)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if got := rep.Result.Vals.Len; got != c.entries {
				t.Errorf("%s: got %d entries, want %d", what, got, c.entries)
			}
			rep.Result.Close()
		}
	}
}

// A matrix whose file says that it has no entries is small at every rank: all ranks have the same
// plan.
func TestEmptyFile(t *testing.T) {
	dir := t.TempDir()
	empty, v := filepath.Join(dir, "a.mtx"), filepath.Join(dir, "v.tns")
	for file, text := range map[string]string{
		empty: "%%MatrixMarket matrix coordinate real general\n5 5 0\n", v: "4 2\n5 3\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, ranks := range []int{1, 2, 3} {
		j := &spmd.Job{Statement: "b(i,j) = A(i,j) + v(j)", Formats: map[string]string{"A": "dd"},
			Inputs: map[string]spmd.Input{"A": spmd.File(empty), "v": spmd.File(v)}, Keep: true}
		j.Target, j.Ranks = spmd.Interpreter, ranks
		rep, err := j.Run(context.Background())
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
			continue
		}
		if got, err := spmd.Values[float64](rep.Result); err != nil ||
			fmt.Sprint(got[15:]) != "[0 0 0 2 3 0 0 0 2 3]" {
			t.Errorf("%d ranks: got %v, %v", ranks, got, err)
		}
		rep.Result.Close()
	}
}

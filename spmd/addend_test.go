package spmd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"distaff/spmd"
)

// byEntries are the commands that give each rank equally many entries of B.
const byEntries = "fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo)"

// addends are statements that add to a result by the entries of B: in the rows of those entries, in
// other rows, and nowhere.
var addends = []struct{ statement, format, kind, place string }{
	{"a(i) += B(i,j) * c(j)", "d", "dense:int", ""},
	{"a(i) += B(i,j) * c(j)", "d", "dense:int", "a(x) -> M(x)"},
	{"a(i) += B(i,j) * c(j)", "d", "dense:int", "a(x) -> M(*)"},
	{"a(i) += B(i,j) * c(j)", "d", "dense:int", "a(x) -> M(0)"},
	{"a(i) += B(i,j) * c(j)", "s", "uniform:9:int", "a(x) -> M(~x)"},
	{"a(j) += B(i,j) * c(i)", "s", "uniform:9:int", ""},
	{"a(i) += B(i,j) * a(j)", "d", "dense:int", ""},
	{"a += B(i,j) * c(j)", "", "dense:int", ""},
	{"a(i,j) += B(i,j) * c(j)", "ds", "uniform:60:int", ""},
	{"a(i,j) += B(i,j) * c(j)", "uq", "uniform:60:int", ""},
	{"a(j,i) += B(i,j) * c(j)", "dd", "dense:int", "a(x,y) -> M(y)"},
	{"B(i,j) += B(i,j) * c(j)", "ds", "uniform:60:int", ""},
	{"B(i,j) = B(i,j) * c(j)", "ds", "uniform:60:int", ""},
}

// addendJob is a job of one of addends. typ, if not "", is the type of a result that has modes and
// is not B; the statement is computed in int64.
func addendJob(n, ranks int, typ string) *spmd.Job {
	x := addends[n]
	result := x.statement[:1]
	j := &spmd.Job{Statement: x.statement, Formats: map[string]string{"B": "ds"},
		Sizes: map[string][]int64{"B": {23, 23}}, Types: map[string]string{},
		Inputs: map[string]spmd.Input{"B": spmd.Generated("uniform:60:int"),
			"c": spmd.Generated("dense:int")}}
	j.Inputs[result] = spmd.Generated(x.kind)
	if j.Formats[result] = x.format; x.format == "" {
		j.Inputs[result] = spmd.Scalar(3)
		delete(j.Formats, result)
	} else if typ != "" && result == "a" {
		j.Types[result], j.Types["B"], j.Types["c"] = typ, "int64", "int64"
	}
	if x.statement == addends[6].statement {
		delete(j.Inputs, "c")
		delete(j.Types, "c")
	}
	if x.place != "" {
		j.Placements = []string{x.place}
	}
	j.Schedule, j.Ranks, j.Target, j.Check = []string{byEntries}, ranks, spmd.Interpreter, true
	return j
}

// TestAddsByEntries checks that the old value of the result is added exactly once, in every format
// of the result, and wherever the old value and the result are placed.
func TestAddsByEntries(t *testing.T) {
	t.Parallel()
	for n, x := range addends {
		for _, ranks := range []int{1, 2, 3, 8} {
			for _, typ := range []string{"", "int32"} {
				t.Run(fmt.Sprintf("%s/%s/%s/%d/%s", x.statement, x.format, x.place, ranks, typ),
					func(t *testing.T) {
						if _, err := addendJob(n, ranks, typ).Run(context.Background()); err != nil {
							t.Fatal(err)
						}
					})
			}
		}
	}
}

// TestAddsByEntriesAsPlanned checks that a run moves the planned number of bytes of a dense result
// if a file gives the coordinates of the entries.
func TestAddsByEntriesAsPlanned(t *testing.T) {
	file := filepath.Join(t.TempDir(), "B.tcs")
	j := &spmd.Job{Statement: "B(i,j) = A(i,j)", Formats: map[string]string{"A": "ds", "B": "ds"},
		Sizes:   map[string][]int64{"A": {23, 23}},
		Inputs:  map[string]spmd.Input{"A": spmd.Generated("zipf:90:1:int")},
		Outputs: []spmd.Output{{Tensor: "B", File: file}}}
	j.Target = spmd.Interpreter
	if _, err := j.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for n, x := range addends {
		if x.kind != "dense:int" || x.statement[:1] != "a" {
			continue
		}
		for _, ranks := range []int{2, 3, 8} {
			j := addendJob(n, ranks, "")
			j.Inputs["B"], j.Repeat = spmd.File(file), 2
			delete(j.Sizes, "B")
			r, err := j.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			p, err := j.Plan(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			got, want := r.Stats.Comm, p.Comm
			if p.Estimated || !slices.Equal(got.BytesReceived, want.BytesReceived) ||
				!slices.Equal(got.BytesSent, want.BytesSent) ||
				!slices.Equal(got.MessagesSent, want.MessagesSent) {
				t.Errorf("%s, %s on %d ranks: the run moved %+v, and the plan says %+v", x.statement, x.place,
					ranks, got, want)
			}
		}
	}
}

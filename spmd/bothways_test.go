package spmd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"distaff/spmd"
)

// blocksAndCommands are statements with a block schedule, and a machine and commands with the same
// meaning.
var blocksAndCommands = []struct {
	statement string
	sizes     map[string][]int64
	formats   map[string]string
	blocks    spmd.Options
	machine   string
	points    int // of the machine
	commands  string
}{
	// Rows, and columns of a vector one after another.
	{"y(i) = A(i,j)*x(j)", map[string][]int64{"A": {60, 40}}, map[string]string{"A": "ds"},
		spmd.Options{Splits: []string{"i:4", "j:3"}},
		"4", 4,
		"divide(i,io,ii,4), divide(j,jo,ji,3), reorder(io,jo,ii,ji), distribute(io), communicate({y,A,x},jo)"},
	// The loop over chunks of the sum is the outer loop, so all results are incomplete until its
	// end.
	{"C(i,k) = A(i,j)*B(j,k)", map[string][]int64{"A": {18, 19}, "B": {19, 7}},
		map[string]string{"A": "ds", "C": "ds"},
		spmd.Options{Splits: []string{"i:2", "j:5", "k:2"}, BlockOrder: "j,k,i", Map: "k,i"},
		"2x2", 4,
		"divide(i,io,ii,2), divide(j,jo,ji,5), divide(k,ko,ki,2), reorder(jo,ko,io,ii,ji,ki), distribute(ko), distribute(io), communicate({A,B,C},io)"},
	// Ranks have partial results.
	{"C(i,k) = A(i,j)*B(j,k)", map[string][]int64{"A": {18, 19}, "B": {19, 7}},
		map[string]string{"B": "ss"},
		spmd.Options{Splits: []string{"i:2", "j:3"}, Extend: []string{"j"}, Map: "j"},
		"3", 3,
		"divide(i,io,ii,2), divide(j,jo,ji,3), reorder(io,jo,ii,ji,k), distribute(jo), communicate({A,B,C},jo)"},
	// Ranges of seven coordinates each.
	{"y(i) = A(i,j)*x(j) + d(i)", map[string][]int64{"A": {30, 20}}, map[string]string{"A": "ds"},
		spmd.Options{Splits: []string{"i:7,14,21,28", "j:2"}, Map: "i,j"},
		"5x2", 10,
		"split(i,io,ii,7), divide(j,jo,ji,2), reorder(io,jo,ii,ji), distribute(io), distribute(jo), communicate({y,A,x,d},jo)"},
	{"A(i,l) = B(i,j,k)*C(j,l)*D(k,l)", map[string][]int64{"B": {12, 10, 9}, "C": {10, 4}},
		map[string]string{"B": "sss"},
		spmd.Options{Splits: []string{"i:3", "j:2"}, BlockOrder: "j,i"},
		"3", 3,
		"divide(i,io,ii,3), divide(j,jo,ji,2), reorder(jo,io,ii,ji,k,l), distribute(io), communicate({A,B,C,D},io)"},
}

// ran records what a job did.
type ran struct {
	file  []byte // its result
	stats spmd.Stats
	steps []int64
}

// ranWith plans and runs a statement over generated data, and compares the counts of the run with
// the plan.
func ranWith(t *testing.T, statement string, sizes map[string][]int64, formats map[string]string,
	o spmd.Options) ran {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.tns")
	o.Target, o.Threads = spmd.Interpreter, 1
	j := spmd.Job{Statement: statement, Sizes: sizes, Formats: formats,
		Inputs: map[string]spmd.Input{}, Outputs: []spmd.Output{{Tensor: statement[:1], File: file}},
		Options: o}
	for _, name := range []string{"A", "B", "C", "D", "x", "d"} {
		switch {
		case !containsTensor(statement[1:], name):
		case formats[name] != "":
			j.Inputs[name] = spmd.Generated("uniform:90:int")
		default:
			j.Inputs[name] = spmd.Generated("dense:int")
		}
	}
	p, err := j.Plan(context.Background(), 0)
	if err != nil {
		t.Fatalf("%s, %+v: %v", statement, o, err)
	}
	report, err := j.Run(context.Background())
	if err != nil {
		t.Fatalf("%s, %+v: %v", statement, o, err)
	}
	if !p.Estimated && !reflect.DeepEqual(report.Stats.Comm, p.Comm) {
		t.Errorf("%s, %+v: the run moved %+v, the plan says %+v", statement, o, report.Stats.Comm, p.Comm)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ran{text, report.Stats, p.Steps}
}

// TestBlockSchedulesRunAsCommands checks that a block schedule and the commands with the same
// meaning write the same file, run equally many steps over the same entries at each rank, and
// receive the same bytes. If several points of the machine share a rank, so that no rank forwards
// anything, they also send the same bytes.
func TestBlockSchedulesRunAsCommands(t *testing.T) {
	t.Parallel()
	for _, c := range blocksAndCommands {
		for ranks := 1; ranks <= 8; ranks++ {
			o := c.blocks
			o.Ranks = ranks
			want := ranWith(t, c.statement, c.sizes, c.formats, o)
			got := ranWith(t, c.statement, c.sizes, c.formats,
				spmd.Options{Ranks: ranks, Machine: c.machine, Schedule: []string{c.commands}})
			a, b := want.stats.Comm, got.stats.Comm
			if !bytes.Equal(want.file, got.file) || len(want.file) == 0 {
				t.Errorf("%s on %d ranks: the results differ", c.statement, ranks)
			}
			if !slices.Equal(want.steps, got.steps) ||
				!slices.Equal(want.stats.Balance.Nonzeros, got.stats.Balance.Nonzeros) ||
				!slices.Equal(a.BytesReceived, b.BytesReceived) {
				t.Errorf(
					"%s on %d ranks: blocks run %v steps over %v entries and receive %v bytes, commands %v, %v and %v", c.statement, ranks,
					want.steps, want.stats.Balance.Nonzeros, a.BytesReceived, got.steps,
					got.stats.Balance.Nonzeros, b.BytesReceived)
			}
			if ranks < c.points && !reflect.DeepEqual(a, b) {
				t.Errorf("%s on %d ranks, %d points: blocks move %+v, commands %+v", c.statement, ranks,
					c.points, a, b)
			}
		}
	}
}

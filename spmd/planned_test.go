package spmd_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"distaff/spmd"
	"distaff/spmd/comm"
)

// plannedJobs are statements with dense operands and block schedules.
var plannedJobs = []spmd.Job{
	{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {13, 11}}},
	{Statement: "y(j) = A(i,j)*x(i)", Sizes: map[string][]int64{"A": {13, 11}}},
	{Statement: "s = A(i,j)*B(i,j)", Sizes: map[string][]int64{"A": {9, 10}}},
	{Statement: "y(i) = d(i) + A(i,j)*x(j)", Sizes: map[string][]int64{"A": {13, 11}},
		Options: spmd.Options{Splits: []string{"i:3", "j:4"}, Extend: []string{"j"}, Map: "i,j"}},
	{Statement: "C(i,k) = A(i,j)*B(j,k)", Sizes: map[string][]int64{"A": {8, 9}, "B": {9, 7}},
		Options: spmd.Options{Splits: []string{"i:2", "j:5", "k:2"}, BlockOrder: "j,k,i", Map: "k,i"}},
	{Statement: "C(i,k) = A(i,j)*B(j,k)", Sizes: map[string][]int64{"A": {8, 9}, "B": {9, 7}},
		Options: spmd.Options{Splits: []string{"i:2", "j:3"}, Extend: []string{"j"}, Map: "j"}},
	{Statement: "a(i) = A(i,j)*x(j) + x(i)", Sizes: map[string][]int64{"A": {10, 10}},
		Options: spmd.Options{Splits: []string{"i:1,1,7", "j:2"}, BlockOrder: "j"}},
	// Placed tensors: where the default schedule runs their steps, elsewhere, at several ranks, and
	// not in its blocks.
	{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {13, 11}},
		Options: spmd.Options{Placements: []string{"A(i,j) -> M(0)", "x(j) -> M(0)", "y(i) -> M(*)"}}},
	{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {12, 11}},
		Options: spmd.Options{Machine: "2x2",
			Placements: []string{"A(i,j) -> M(1,i)", "x(j) -> M(*,1)", "y(i) -> M(i,*)"}}},
	{Statement: "y(j) = A(i,j)*x(i)", Sizes: map[string][]int64{"A": {13, 11}},
		Options: spmd.Options{Machine: "nodes=2;gpus=2",
			Placements: []string{"A(i,j) -> nodes(*); (i,j) -> gpus(0)",
				"y(j) -> nodes(j); (j) -> gpus(*)"}}},
	// Distributed schedules.
	{Statement: "C(i,k) = A(i,j)*B(j,k)", Sizes: map[string][]int64{"A": {8, 9}, "B": {9, 7}},
		Options: spmd.Options{Machine: "2x2",
			Placements: []string{"A(x,y) -> M(x,y)", "B(x,y) -> M(x,y)", "C(x,y) -> M(x,y)"},
			Schedule: []string{
				"distribute({i,k},{io,ko},{ii,ki},M), divide(j,jo,ji,M.x), reorder(io,ko,jo,ii,ki,ji), rotate(jo,{io,ko},jr), communicate({A,B},jr)"}}},
	{Statement: "C(i,k) = A(i,j)*B(j,k)", Sizes: map[string][]int64{"A": {8, 9}, "B": {9, 7}},
		Options: spmd.Options{Machine: "2x2x2",
			Placements: []string{"A(x,y) -> M(x,0,y)", "C(x,y) -> M(x,*,0)"},
			Schedule:   []string{"distribute({i,k,j},{io,ko,jo},{ii,ki,ji},M)"}}},
}

// A run of dense tensors sends and receives exactly the bytes and messages that the plan says.
func TestARunMovesWhatThePlanSays(t *testing.T) {
	for _, job := range plannedJobs {
		job.Inputs = map[string]spmd.Input{}
		for _, name := range []string{"A", "B", "x", "d"} {
			if containsTensor(job.Statement, name) {
				job.Inputs[name] = spmd.Generated("dense:int")
			}
		}
		job.Target, job.Threads = spmd.Interpreter, 1
		for ranks := 1; ranks <= 8; ranks++ {
			job.Ranks = ranks
			p, err := job.Plan(context.Background(), -1)
			if err != nil {
				t.Fatalf("%s: %v", job.Statement, err)
			}
			report, err := job.Run(context.Background())
			if err != nil {
				t.Fatalf("%s: %v", job.Statement, err)
			}
			got, want := report.Stats.Comm, p.Comm
			if !slices.Equal(got.BytesSent, want.BytesSent) ||
				!slices.Equal(got.BytesReceived, want.BytesReceived) ||
				!slices.Equal(got.MessagesSent, want.MessagesSent) {
				t.Errorf("%s on %d ranks, %v: the run moved %+v, the plan says %+v", job.Statement, ranks,
					job.Splits, got, want)
			}
			if !slices.Equal(report.Stats.Balance.Nonzeros, p.Balance.Nonzeros) {
				t.Errorf("%s on %d ranks: the run counts %v entries, the plan %v", job.Statement, ranks,
					report.Stats.Balance.Nonzeros, p.Balance.Nonzeros)
			}
			if err := agrees(p); err != nil {
				t.Errorf("%s on %d ranks: %v", job.Statement, ranks, err)
			}
			if p.Estimated {
				t.Errorf("%s: the plan of dense tensors has estimates", job.Statement)
			}
		}
	}
}

func containsTensor(statement, name string) bool {
	for k := range statement {
		if k+len(name) < len(statement) && statement[k:k+len(name)] == name &&
			statement[k+len(name)] == '(' {
			return true
		}
	}
	return false
}

// agrees compares a plan's list of moves with its totals.
func agrees(p *spmd.Planned) error {
	for _, r := range p.PerRank {
		var sent, received int64
		count := func(m spmd.PlannedMove) {
			if m.From != m.To && m.From == r.Rank && !m.Forwarded {
				sent += m.Bytes
			}
			if m.From != m.To && m.From != r.Rank {
				received += m.Bytes
			}
		}
		for _, m := range r.Sends {
			count(m)
		}
		for _, m := range r.Sums {
			count(m.PlannedMove)
		}
		for _, m := range r.Moves {
			count(m)
		}
		seen := map[string]bool{}
		for _, s := range r.Steps {
			for _, f := range s.Fetches {
				if f.From != r.Rank && !(f.All && seen[f.Tensor]) {
					count(f)
				}
				seen[f.Tensor] = true
			}
		}
		if sent != p.Comm.BytesSent[r.Rank] || received != p.Comm.BytesReceived[r.Rank] {
			return fmt.Errorf("rank %d's moves are %d and %d bytes, its totals %d and %d", r.Rank, sent,
				received, p.Comm.BytesSent[r.Rank], p.Comm.BytesReceived[r.Rank])
		}
		if int64(len(r.Steps)) != p.Steps[r.Rank] {
			return fmt.Errorf("rank %d lists %d steps of %d", r.Rank, len(r.Steps), p.Steps[r.Rank])
		}
	}
	return nil
}

// Estimates for evenly spread sparse blocks are close to the bytes that a run moves.
func TestEstimatesOfSparseBlocks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tcs")
	make := &spmd.Job{Statement: "B(i,j) = A(i,j)", Formats: map[string]string{"A": "ds", "B": "ds"},
		Sizes:   map[string][]int64{"A": {400, 300}},
		Inputs:  map[string]spmd.Input{"A": spmd.Generated("uniform:9000:int")},
		Outputs: []spmd.Output{{Tensor: "B", File: file}}}
	make.Target, make.Threads = spmd.Interpreter, 1
	if _, err := make.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"ds", "ss", "uq"} {
		job := spmd.Job{Statement: "y(j) = B(i,j)*x(i)", Formats: map[string]string{"B": format},
			Inputs: map[string]spmd.Input{"B": spmd.File(file), "x": spmd.Generated("dense:int")},
			Options: spmd.Options{Splits: []string{"i:4", "j:3"}, Extend: []string{"i"}, Map: "j", Ranks: 3,
				Target: spmd.Interpreter, Threads: 1}}
		p, err := job.Plan(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		report, err := job.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !p.Estimated {
			t.Errorf("B as %s: bytes are said to be exact", format)
		}
		for r := range 3 {
			got, want := report.Stats.Comm.BytesReceived[r], p.Comm.BytesReceived[r]
			if float64(got) > 1.1*float64(want) || float64(got) < 0.9*float64(want) {
				t.Errorf("B as %s, rank %d: the run received %d bytes, the estimate is %d", format, r, got,
					want)
			}
			if report.Stats.Comm.MessagesSent[r] != p.Comm.MessagesSent[r] {
				t.Errorf("B as %s, rank %d: the run sent %d messages, the plan says %d", format, r,
					report.Stats.Comm.MessagesSent[r], p.Comm.MessagesSent[r])
			}
		}
	}
}

func TestPlansOfManyRanksTakeSeconds(t *testing.T) {
	job := spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Formats: map[string]string{"A": "ds"},
		Sizes:  map[string][]int64{"A": {1 << 24, 1 << 24}},
		Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:1000000000")},
		Options: spmd.Options{Splits: []string{"i:256", "j:16"}, Extend: []string{"j"}, Map: "i,j",
			Ranks: 4096}}
	at := time.Now()
	p, err := job.Plan(context.Background(), 4)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(at); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	var sent, received int64
	for r := range p.Ranks {
		sent, received = sent+p.Comm.BytesSent[r], received+p.Comm.BytesReceived[r]
	}
	if sent != received || sent == 0 {
		t.Errorf("%d bytes sent, %d received", sent, received)
	}
	if len(p.PerRank) != 4 {
		t.Errorf("%d ranks listed, want 4", len(p.PerRank))
	}
}

// Numbers of ranks beyond the limit of a process or of a plan are refused before anything is made.
func TestTooManyRanks(t *testing.T) {
	job := spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {13, 11}},
		Inputs: map[string]spmd.Input{"A": spmd.Generated("dense"), "x": spmd.Generated("dense")}}
	job.Ranks = 1025
	if _, err := job.Run(context.Background()); comm.ExitCode(err) != 2 {
		t.Errorf("a run on %d ranks: got %v, want exit code 2", job.Ranks, err)
	}
	if _, err := job.Plan(context.Background(), 0); err != nil {
		t.Errorf("a plan for %d ranks: %v", job.Ranks, err)
	}
	job.Ranks = 1 << 30
	if _, err := job.Plan(context.Background(), 0); comm.ExitCode(err) != 2 {
		t.Errorf("a plan for %d ranks: got %v, want exit code 2", job.Ranks, err)
	}
}

// A rank allocates no more than the plan says: its blocks, blocks that arrive, partial results with
// their maps, workspaces, and the buffers that store the result.
func TestARunAllocatesNoMoreThanPlanned(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	files := map[string]string{}
	for name, in := range map[string]struct {
		format, kind string
		dims         []int64
	}{
		"A": {"ds", "uniform:200000:int", []int64{3000, 4000}},
		"B": {"ds", "uniform:60000:int", []int64{4000, 2500}},
		"T": {"sss", "uniform:150000:int", []int64{400, 300, 200}},
	} {
		files[name] = filepath.Join(dir, name+".tcs")
		vars := "i,j,k"[:2*len(in.dims)-1]
		j := &spmd.Job{Statement: "T(" + vars + ") = S(" + vars + ")",
			Formats: map[string]string{"S": in.format, "T": in.format},
			Sizes:   map[string][]int64{"S": in.dims},
			Inputs:  map[string]spmd.Input{"S": spmd.Generated(in.kind)},
			Outputs: []spmd.Output{{Tensor: "T", File: files[name]}}}
		j.Target, j.Threads = spmd.Interpreter, 1
		if _, err := j.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	rows := []string{"divide(i,io,ii,M.x),distribute(io)"}
	split := func(o spmd.Options, list ...string) spmd.Options { o.Splits = list; return o }
	for _, c := range []struct {
		stmt    string
		formats map[string]string
		sizes   map[string][]int64
		o       spmd.Options
	}{
		{"S(i,j) = A(j,i)", map[string]string{"S": "ds"}, nil, spmd.Options{}},
		{"S(i,j) = A(i,j)", map[string]string{"S": "ds:1,0"}, nil, spmd.Options{}},
		{"S(i,j) = A(j,i)", map[string]string{"S": "ss"}, nil, split(spmd.Options{}, "i:2", "j:3")},
		{"S(i,j) = A(j,i)", map[string]string{"S": "uq"}, nil, spmd.Options{}},
		{"y(i) = A(i,j)*x(j)", nil, nil, spmd.Options{}},
		{"y(i) = A(i,j)*x(j)", nil, nil, split(spmd.Options{}, "i:2", "j:20")},
		{"y(i) = A(i,j)*x(j)", nil, nil, split(spmd.Options{Extend: []string{"j"}, Map: "j"}, "j:4")},
		{"Y(i,k) = A(i,j)*B(j,k)", map[string]string{"Y": "ds"}, nil, spmd.Options{}},
		{"Y(i,k) = A(i,j)*B(j,k)", map[string]string{"Y": "ds"}, nil,
			split(spmd.Options{}, "i:2", "j:6")},
		{"Y(i,k) = A(i,j)*B(j,k)", map[string]string{"Y": "ds"}, nil,
			split(spmd.Options{Extend: []string{"j"}, Map: "j"}, "j:4")},
		// steps add to one dense block
		{"Y(i,k) = A(i,j)*B(j,k)", nil, nil, split(spmd.Options{}, "i:2", "j:6")},
		{"Y(i,j,r) = T(i,j,l)*C(r,l)", map[string]string{"Y": "ssd"}, map[string][]int64{"r": {16}},
			spmd.Options{}},
		{"Y(i,j,r) = T(i,j,l)*C(r,l)", map[string]string{"Y": "ssd"}, map[string][]int64{"r": {16}},
			split(spmd.Options{}, "i:2", "l:20")},
		{"Y(i,j) = T(i,j,l)*x(l)", map[string]string{"Y": "ss"}, nil,
			split(spmd.Options{}, "i:2", "l:10")},
		{"Y(i,l) = A(i,j)*B(j,k)*x(k,l)", nil, map[string][]int64{"l": {40}},
			spmd.Options{Network: "(A*B)*x"}},
		{"Y(i,l) = A(i,j)*B(j,k)*x(k,l)", nil, map[string][]int64{"l": {40}},
			spmd.Options{Network: "A*(B*x)"}},
		{"Y(i,r) = T(i,j,l)*C(r,l)*x(j)", nil, map[string][]int64{"r": {16}},
			spmd.Options{Network: "(T*C)*x"}},
		{"Y(i,r) = T(i,j,l)*C(r,l)*x(j)", nil, map[string][]int64{"r": {16}},
			spmd.Options{Network: "pairwise"}},
		{"y(k) = A(i,j)*B(j,k)*x(i)", nil, nil, spmd.Options{Network: "(A*B)*x"}},
		{"y(i) = A(i,j)*x(j)", nil, nil,
			spmd.Options{Schedule: rows, Placements: []string{"x(j) -> M(j)"}}},
		{"y(i) = A(i,j)*x(j)", nil, nil,
			spmd.Options{Schedule: rows, Placements: []string{"A(i,j) -> M(j)", "y(i) -> M(0)"}}},
		{"Y(i,k) = A(i,j)*B(j,k)", map[string]string{"Y": "ds"}, nil,
			spmd.Options{Schedule: rows, Placements: []string{"Y(i,k) -> M(k)"}}},
		{"Y(i,k) = A(i,j)*B(j,k)", map[string]string{"Y": "ss"}, nil,
			spmd.Options{Schedule: rows, Placements: []string{"Y(i,k) -> M(k)", "A(i,k) -> M(k)"}}},
		{"Y(i,k) = A(i,j)*B(j,k)", nil, nil,
			spmd.Options{Schedule: rows, Placements: []string{"Y(i,k) -> M(k)"}}},
	} {
		job := spmd.Job{Statement: c.stmt, Formats: c.formats, Sizes: c.sizes, Options: c.o,
			Inputs: map[string]spmd.Input{}}
		for _, name := range []string{"A", "B", "T"} {
			if containsTensor(c.stmt, name) {
				job.Inputs[name] = spmd.File(files[name])
			}
		}
		for _, name := range []string{"x", "C"} {
			if containsTensor(c.stmt, name) {
				job.Inputs[name] = spmd.Generated("dense:int")
			}
		}
		job.Threads, job.TrustInput, job.Repeat = 1, true, 2
		for ranks := 1; ranks <= 3; ranks++ {
			if ranks == 1 && len(job.Splits) == 0 {
				continue // no blocks
			}
			if job.Ranks, job.Outputs = ranks, nil; ranks >= 2 {
				ending := []string{"tcs", "tns"}[ranks-2]
				job.Outputs = []spmd.Output{{Tensor: c.stmt[:1], File: filepath.Join(dir, "out."+ending)}}
			}
			job.MemoryLimit = 0
			if ranks == 3 { // buffers are as large as the limit lets them be
				job.MemoryLimit = 128 << 20
			}
			p, err := job.Plan(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			report, err := job.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for r, got := range report.Allocated {
				if got > p.Memory[r] || got == 0 {
					t.Errorf("%s, split %v, placed %v, rank %d of %d: allocated %d bytes, planned %d", c.stmt,
						job.Splits, job.Placements, r, ranks, got, p.Memory[r])
				}
			}
		}
	}
}

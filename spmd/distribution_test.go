package spmd_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/schedule"
	"distaff/spmd"
)

// TestDistributionRefused checks the errors about machines and placements.
func TestDistributionRefused(t *testing.T) {
	for _, c := range []struct {
		options spmd.Options
		want    string
		code    diag.Code // "" for an error of the whole job
	}{
		{spmd.Options{Machine: "2x0"}, `got "0", want an extent of 1 or more`, "machine"},
		{spmd.Options{Machine: "cosma"},
			"the grid of COSMA needs a product of two dense matrices, as in A(i,j) = B(i,k) * C(k,j), but y is not a matrix", "machine"},
		{spmd.Options{Machine: "2", Splits: []string{"i:2"}}, "got both --split=i:2 and -m=2: each decides", ""},
		{spmd.Options{Placements: []string{"A(x,y) -> M(x)"}, Map: "i"},
			"got both --map=i and -p=A(x,y) -> M(x): each decides", ""},
		{spmd.Options{Schedule: []string{"rotate(i,{j},k)"}, BlockOrder: "i"},
			"got both --order=i and rotate(i,{j},k)", schedule.Refused},
		{spmd.Options{Schedule: []string{"distribute(i"}, Extend: []string{"j"}},
			"got the end of the schedule", schedule.BadCommand},
		{spmd.Options{Placements: []string{"A(x,y) -> M"}}, `got the end of the placement, want "("`,
			"placement"},
		{spmd.Options{Placements: []string{"B(x,y) -> M(x)"}}, "-p=B(x,y) -> M(x): got a placement for B",
			diag.NoTensor},
		{spmd.Options{Placements: []string{"x(i,j) -> M(i)"}}, "-p=x(i,j) -> M(i): got 2 modes, want 1",
			""},
		{spmd.Options{Placements: []string{"x(i) -> M(i)", "x(i) -> M(*)"}}, "want one placement for x",
			""},
		{spmd.Options{Placements: []string{"x(i) -> N(i)"}},
			"got the placement (i) -> N(i): the placement names machine N, want M", "placement"},
		{spmd.Options{Placements: []string{"A(i,j) -> M(~j)"}},
			"got the placement (i,j) -> M(~j): the placement partitions the stored entries of j but not i, which is stored outside it; want ~(i,j)", "placement"},
		{spmd.Options{Placements: []string{"x(i) -> M(2)"}}, "got coordinate 2 of M, want less than its extent, 2",
			"placement"},
		{spmd.Options{Schedule: []string{"divide(i,i0,i1,M.y), distribute(i0)"}}, "M.y",
			schedule.Refused},
		{spmd.Options{Schedule: []string{"divide(i,i0,i1,M.x), distribute(i0), communicate(B,i0)"}},
			"got B, want a tensor of the statement", schedule.Refused},
	} {
		j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)", Formats: map[string]string{"A": "ds"},
			Sizes: map[string][]int64{"A": {8, 6}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:9:int"),
				"x": spmd.Generated("dense:int")}, Options: c.options}
		j.Target, j.Ranks = spmd.Interpreter, 2
		run := func() error { _, err := j.Run(context.Background()); return err }
		plan := func() error { _, err := j.Plan(context.Background(), 0); return err }
		compile := func() error { _, err := j.Compile(context.Background(), ""); return err }
		for name, do := range map[string]func() error{"run": run, "plan": plan, "compile": compile} {
			err := do()
			var d *diag.Error
			var e interface{ ExitCode() int }
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) ||
				e.ExitCode() != 2 {
				t.Errorf("%s: got %v, want exit code 2 and %q", name, err, c.want)
			} else if errors.As(err, &d) != (c.code != "") || d != nil && d.Code != c.code {
				t.Errorf("%s: %q has another code than %q", name, err, c.code)
			}
		}
	}
}

// TestMachineNote checks that a note names ranks without a point of the machine, if anything is
// distributed over the machine.
func TestMachineNote(t *testing.T) {
	for _, c := range []struct {
		schedule, machine string
		want              string
	}{
		{"distribute(i)", "2x2",
			"machine M (2x2) has 4 points, but the job has 5 ranks: the last 1 get none"},
		{"distribute(i)", "nodes=2;gpus=3", ""},
		{"distribute(i)", "", ""},
		{"", "2x2", ""},
	} {
		var notes []string
		j := &spmd.Job{Statement: "s = x(i)", Sizes: map[string][]int64{"i": {8}},
			Inputs: map[string]spmd.Input{"x": spmd.Generated("dense:int")}}
		j.Ranks, j.Machine, j.Schedule = 5, c.machine, []string{c.schedule}
		j.Note = func(s string) { notes = append(notes, s) }
		_, err := j.Plan(context.Background(), 0)
		if err != nil || strings.Join(notes, "\n") != c.want {
			t.Errorf("%s over %q: got notes %q, %v, want %q", c.schedule, c.machine, notes, err, c.want)
		}
	}
}

// TestReorderAcross checks that a reorder which moves a loop over chunks to the outside does not
// change the order of the leaf's loops, which the storage of a sparse operand may forbid.
func TestReorderAcross(t *testing.T) {
	const cuts = "divide(k,ko,ki,3),divide(i,io,ii,M.x),distribute(io),"
	for _, levels := range []string{"dd", "ds", "ds:1,0", "uq"} {
		for _, reorders := range []string{"reorder(ko,ii)", "reorder(ko,j),reorder(ko,ii)",
			"reorder(io,ko,ii)"} {
			j := &spmd.Job{Statement: "A(i,j) = B(i,k) * C(k,j)", Formats: map[string]string{"B": levels},
				Sizes: map[string][]int64{"B": {12, 10}, "C": {10, 7}},
				Inputs: map[string]spmd.Input{"B": spmd.Generated("uniform:50:int"),
					"C": spmd.Generated("dense:int")}}
			j.Target, j.Ranks, j.Check = spmd.Interpreter, 2, true
			j.Schedule = []string{cuts + reorders + ",communicate({B,C},ko)"}
			report, err := j.Run(context.Background())
			if err != nil || !strings.Contains(strings.Join(report.Lines, "\n"),
				"all 84 coordinates of A agree") {
				t.Errorf("%s, B as %s: got %v", reorders, levels, err)
			}
		}
	}
}

// TestLeafRefusalsAtTheName checks that an error about an argument of a leaf, or about an element
// of an argument in braces, is reported at its place in the user's text.
func TestLeafRefusalsAtTheName(t *testing.T) {
	for command, at := range map[string]string{"substitute({ii,q},gemm)": "q", "unroll(q,2)": "q",
		"precompute(x(j),{j,q},{v,w})": "q"} {
		text := "divide(i,io,ii,M.x),distribute(io)," + command
		j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)", Formats: map[string]string{"A": "ds"},
			Sizes:  map[string][]int64{"A": {5, 5}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:9"), "x": spmd.Generated("dense")}}
		j.Schedule, j.Ranks, j.Target = []string{text}, 2, spmd.Interpreter
		_, err := j.Run(context.Background())
		var d *diag.Error
		if !errors.As(err, &d) || d.Src != text || text[d.Pos:d.End] != at {
			t.Errorf("%s: got %v, want it said of %s", command, err, at)
		}
	}
}

// TestNetworkBesideChunks checks ranks that have chunks of the entries of D and all entries of B.
// Intermediates of B alone contain only the entries in the ranges of the chunks.
func TestNetworkBesideChunks(t *testing.T) {
	for _, network := range []string{"", "auto", "direct", "pairwise", "(B*C)*D"} {
		j := &spmd.Job{Statement: "A(i,k) = B(l,i,j) * C(j) * D(i,l,k)",
			Formats: map[string]string{"B": "dss", "D": "ssd"},
			Sizes:   map[string][]int64{"B": {4, 9, 5}, "D": {9, 4, 3}},
			Inputs: map[string]spmd.Input{"B": spmd.Generated("uniform:60:int"),
				"C": spmd.Generated("dense:int"), "D": spmd.Generated("uniform:40:int")},
			Options: spmd.Options{Ranks: 3, Target: spmd.Interpreter, Check: true, Network: network,
				Schedule: []string{"fuse(i,l,f), pos(f,fp,D), divide(fp,fpo,fpi,M.x), distribute(fpo)"}}}
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("--network=%s: %v", network, err)
		}
	}
}

package forecast_test

import (
	"context"
	"slices"
	"testing"

	"distaff/spmd"
)

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}

// TestForecast compares the plan of a dense product with figures that follow from its shape: the
// certain memory, the steps, and the vector that rank 0 sends to all other ranks. It compares a run
// with the plan.
func TestForecast(t *testing.T) {
	const rows, columns = 1200, 500
	for _, ranks := range []int64{1, 2, 3, 4} {
		job := spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {rows, columns}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("dense"), "x": spmd.Generated("dense")}}
		job.Target, job.Threads, job.Ranks = spmd.Interpreter, 1, int(ranks)
		p, err := job.Plan(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		least := 8 * (rows*columns/ranks + rows/ranks + columns)
		if most := slices.Max(p.Memory); p.Least < least || p.Least > least+4096 || most < p.Least {
			t.Errorf("%d ranks: at least %d bytes and at most %d, want at least %d and little more", ranks,
				p.Least, most, least)
		}
		if want := slices.Repeat([]int64{1}, int(ranks)); !slices.Equal(p.Steps, want) {
			t.Errorf("%d ranks: got %d steps, want one a rank", ranks, p.Steps)
		}
		// A broadcast counts once where it begins.
		if sent, received := 8*columns*min(ranks-1, 1),
			8*columns*(ranks-1); sum(p.Comm.BytesSent) != sent || sum(p.Comm.BytesReceived) != received {
			t.Errorf("%d ranks: got %d bytes sent and %d received, want %d and %d", ranks, p.Comm.BytesSent,
				p.Comm.BytesReceived, sent, received)
		}
		report, err := job.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Max(report.Allocated); got < p.Least || got > slices.Max(p.Memory) {
			t.Errorf("%d ranks: a run took %d bytes, forecast %d to %d", ranks, got, p.Least,
				slices.Max(p.Memory))
		}
	}
}

// TestEntriesOfSum checks that the forecast counts the entries of the old value of a += statement.
func TestEntriesOfSum(t *testing.T) {
	job := spmd.Job{Statement: "A(i,j) += B(i,j)",
		Formats: map[string]string{"A": "ds", "B": "ds"},
		Sizes:   map[string][]int64{"A": {100, 100}},
		Inputs: map[string]spmd.Input{
			"A": spmd.Generated("uniform:1000"), "B": spmd.Generated("uniform:10")}}
	job.Target, job.Threads, job.Ranks = spmd.Interpreter, 1, 1
	p, err := job.Plan(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Tensors[len(p.Tensors)-1].Entries; got < 1000 || got > 1010 {
		t.Errorf("got %d entries of the result, want 1000 to 1010", got)
	}
}

package spmd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"distaff/spmd"
)

// These jobs move the amounts that theory requires. The test compares the bytes and messages that
// each of p ranks sends, and the bytes that it receives.
func TestJobsMoveWhatTheoryAsks(t *testing.T) {
	const rows, cols, wide = 60, 40, 5
	matrix := func(stmt string, sizes map[string][]int64, formats map[string]string,
		o spmd.Options) *spmd.Job {
		j := &spmd.Job{Statement: stmt, Sizes: sizes, Formats: formats, Inputs: map[string]spmd.Input{},
			Options: o}
		for _, name := range []string{"A", "B", "C", "x"} {
			if f := formats[name]; containsTensor(stmt[1:], name) && f != "" && f != "d" && f != "dd" {
				j.Inputs[name] = spmd.Generated("uniform:700:int")
			} else if containsTensor(stmt[1:], name) {
				j.Inputs[name] = spmd.Generated("dense:int")
			}
		}
		j.Target, j.Threads = spmd.Interpreter, 1
		return j
	}
	first := func(p int, v int64) []int64 { // rank 0 alone
		out := make([]int64, p)
		out[0] = v
		return out
	}
	rest := func(p int, v int64) []int64 { // every rank but 0
		out := slices.Repeat([]int64{v}, p)
		out[0] = 0
		return out
	}
	for _, c := range []struct {
		name                     string
		job                      func(p int) *spmd.Job
		sent, messages, received func(p int) []int64
	}{
		{"row-blocked SpMV moves the vector alone",
			func(p int) *spmd.Job {
				return matrix("y(i) = A(i,j)*x(j)", map[string][]int64{"A": {rows, cols}},
					map[string]string{"A": "ds"}, spmd.Options{})
			},
			func(p int) []int64 { return first(p, cols*8) },
			func(p int) []int64 { return first(p, 1) },
			func(p int) []int64 { return rest(p, cols*8) }},
		{"SpMM with j split moves each block of the dense matrix once to each rank",
			func(p int) *spmd.Job {
				return matrix("Y(i,k) = A(i,j)*C(j,k)",
					map[string][]int64{"A": {rows, cols}, "C": {cols, wide}}, map[string]string{"A": "ds"},
					spmd.Options{Splits: []string{fmt.Sprintf("i:%d", p), "j:4"}})
			},
			func(p int) []int64 { return first(p, int64(p-1)*cols*wide*8) },
			func(p int) []int64 { return first(p, int64(p-1)*4) },
			func(p int) []int64 { return rest(p, cols*wide*8) }},
		{"a tree sum moves one operand a step",
			func(p int) *spmd.Job {
				return matrix("y(i) = A(i,j)*x(j)", map[string][]int64{"A": {rows, cols}},
					map[string]string{"A": "ds"},
					spmd.Options{Splits: []string{fmt.Sprintf("j:%d", p)}, Extend: []string{"j"}, Map: "j"})
			},
			func(p int) []int64 { return rest(p, rows*8) },
			func(p int) []int64 { return rest(p, 1) },
			func(p int) []int64 { return tree(p, rows*8) }},
		{"TTM by rows moves the matrix alone",
			func(p int) *spmd.Job {
				return matrix("Y(i,j,k) = B(i,j,l)*C(k,l)",
					map[string][]int64{"B": {20, 10, 30}, "C": {wide, 30}},
					map[string]string{"B": "sss", "Y": "ssd"},
					spmd.Options{Splits: []string{fmt.Sprintf("i:%d", p)}})
			},
			func(p int) []int64 { return first(p, wide*30*8) },
			func(p int) []int64 { return first(p, 1) },
			func(p int) []int64 { return rest(p, wide*30*8) }},
		{"steps that share a rank move nothing",
			func(p int) *spmd.Job {
				return matrix("Y(i,j) = B(i,j,l)*x(l)", map[string][]int64{"B": {20, 10, 30}},
					map[string]string{"B": "sss", "Y": "ss"},
					spmd.Options{Splits: []string{"l:6"}, Map: ""})
			},
			func(p int) []int64 { return first(p, 0) },
			func(p int) []int64 { return first(p, 0) },
			func(p int) []int64 { return first(p, 0) }},
	} {
		for p := 2; p <= 8; p++ {
			j := c.job(p)
			j.Ranks = p
			report, err := j.Run(context.Background())
			if err != nil {
				t.Fatalf("%s, %d ranks: %v", c.name, p, err)
			}
			got, want := report.Stats.Comm,
				spmd.Comm{BytesSent: c.sent(p), MessagesSent: c.messages(p), BytesReceived: c.received(p)}
			if !slices.Equal(got.BytesSent, want.BytesSent) ||
				!slices.Equal(got.MessagesSent, want.MessagesSent) ||
				!slices.Equal(got.BytesReceived, want.BytesReceived) {
				t.Errorf("%s: on %d ranks the run moved %+v, want %+v", c.name, p, got, want)
			}
		}
	}
}

// tree returns the bytes that ranks receive in a tree sum of one block of size bytes at each rank.
func tree(p int, size int64) []int64 {
	out := make([]int64, p)
	for d := 1; d < p; d *= 2 {
		for k := 0; k+d < p; k += 2 * d {
			out[k] += size
		}
	}
	return out
}

// A plan that has read a sparse operand's header knows the bytes of its broadcast exactly, and a
// run moves the same.
func TestPlansOfSparseBroadcastsAreExact(t *testing.T) {
	dir := t.TempDir()
	job := spmd.Job{Statement: "Y(i,k) = A(i,j)*B(j,k)", Formats: map[string]string{"Y": "ds"},
		Inputs: map[string]spmd.Input{}}
	for name, in := range map[string]struct {
		kind string
		dims []int64
	}{"A": {"uniform:2000:int", []int64{90, 80}}, "B": {"uniform:300:int", []int64{80, 70}}} {
		file := filepath.Join(dir, name+".tcs")
		w := &spmd.Job{Statement: "T(i,j) = S(i,j)", Formats: map[string]string{"S": "ds", "T": "ds"},
			Sizes:   map[string][]int64{"S": in.dims},
			Inputs:  map[string]spmd.Input{"S": spmd.Generated(in.kind)},
			Outputs: []spmd.Output{{Tensor: "T", File: file}}}
		w.Target, w.Threads = spmd.Interpreter, 1
		if _, err := w.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		job.Inputs[name] = spmd.File(file)
	}
	job.Target, job.Threads = spmd.Interpreter, 1
	for p := 2; p <= 6; p++ {
		job.Ranks = p
		plan, err := job.Plan(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		report, err := job.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got, want := report.Stats.Comm, plan.Comm
		if !slices.Equal(got.BytesSent, want.BytesSent) ||
			!slices.Equal(got.MessagesSent, want.MessagesSent) ||
			!slices.Equal(got.BytesReceived, want.BytesReceived) {
			t.Errorf("%d ranks: the run moved %+v, the plan says %+v", p, got, want)
		}
		if want.BytesSent[0] == 0 {
			t.Errorf("%d ranks: nothing moves", p)
		}
	}
}

package forecast_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"distaff/codegen/forms"
	"distaff/kernels/tune"
	"distaff/spmd"
)

// known is a model of a machine of which every figure is known.
func known(messages ...tune.Message) *tune.Model {
	both := func(x float64) tune.Pair { return tune.Pair{One: x, All: 2 * x} }
	return &tune.Model{CPU: "a CPU", Threads: 2,
		Levels: []tune.Level{
			{Name: "memory", Read: both(1e6), Write: both(5e5), Dependent: 1e-6}},
		Gathers:        []tune.Gather{{Bytes: 1, Values: both(1e5), Rows: both(1e5)}},
		MultiplyAdds64: both(1e6), MultiplyAdds32: both(2e6), Branch: 1e-5, Segment: 1e-6, Call: 1e-3,
		Region: 1e-3, Compile: 0.5,
		Files: tune.Files{Load: 2e4, Parse: 1e4, Store: 4e4}, Messages: messages}
}

// TestTime checks that a plan predicts times with the cached model, and no times without one.
func TestTime(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("DISTAFF_CACHE", cache)
	text := filepath.Join(dir, "A.tns")
	var lines []byte
	for i := range 50 {
		for j := range 4 {
			lines = fmt.Appendf(lines, "%d %d 1\n", i+1, 2*j+1)
		}
	}
	if err := os.WriteFile(text, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	size := float64(len(lines))
	plan := func(ranks, threads int, x spmd.Input, out string) *spmd.Planned {
		t.Helper()
		job := spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {50, 8}},
			Inputs:  map[string]spmd.Input{"A": {File: text}, "x": x},
			Formats: map[string]string{"A": "ds"},
			Outputs: []spmd.Output{{Tensor: "y", File: filepath.Join(dir, out)}}}
		job.Threads, job.Ranks = threads, ranks
		p, err := job.Plan(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	dense := filepath.Join(dir, "x.npy")
	vector := spmd.Job{Statement: "x(i) = 2*g(i)", Sizes: map[string][]int64{"g": {8}},
		Inputs:  map[string]spmd.Input{"g": spmd.Generated("dense")},
		Outputs: []spmd.Output{{Tensor: "x", File: dense}}}
	vector.Target = spmd.Interpreter
	tcs := vector
	tcs.Outputs = []spmd.Output{{Tensor: "x", File: filepath.Join(dir, "x.tcs")}}
	for _, j := range []*spmd.Job{&vector, &tcs} {
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stored := spmd.Input{File: filepath.Join(dir, "x.tcs")}
	if p := plan(1, 1, stored, "y.tcs"); p.Time != nil {
		t.Errorf("a machine that was not measured: got %+v", p.Time)
	}
	if err := tune.Keep(cache, known()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(stored.File)
	if err != nil {
		t.Fatal(err)
	}
	// Of A positions, coordinates and values are read, 8 values of x, and 50 of y are written; 200
	// entries pick values of x, each of which is a gather, and takes longer than A. Values of A and
	// y are loaded and stored besides.
	compute := 50*8/5e5 + 200/1e5 + max(200/1e6, (200+50)*8/1e6) + 50*1e-5 + 1e-3
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-9*want {
			t.Errorf("%s: got %v, want %v", what, *cmp.Or(got, new(float64)), want)
		}
	}
	p := plan(1, 1, stored, "y.tcs")
	near("load", p.Time.Load, size/1e4+float64(info.Size())/2e4)
	near("compile", p.Time.Compile, 0.5)
	near("compute", p.Time.Compute, compute)
	near("store", p.Time.Store, 50*8/4e4)
	near("messages", p.Time.Messages, 0)
	// The 200 gathers take 200/1e5 seconds, at the same time as all reads.
	first := p.Time.Bounds[0]
	if first.Name != "random reads" || math.Abs(first.Seconds-200/1e5) > 1e-9 ||
		first.Share <= 0 || first.Saved > first.Seconds {
		t.Errorf("got the bound %+v, want random reads", first)
	}
	if err := p.Explain(); err != nil {
		t.Fatal(err)
	}
	if len(p.Leaves) != 1 || p.Leaves[0].Statement != p.Statement || len(p.Leaves[0].Commands) == 0 {
		t.Errorf("got the leaves %+v", p.Leaves)
	}
	told := p.Time.Text()
	if len(told) != 5 || told[1][1] != "500 ms" || told[0][0] != "load" {
		t.Errorf("got %v", told)
	}
	if p.Time.OtherWork != 0 {
		t.Errorf("a machine that was measured alone: got %v CPUs of other work", p.Time.OtherWork)
	}
	beside := known()
	beside.OtherWork = 0.75
	if err := tune.Keep(cache, beside); err != nil {
		t.Fatal(err)
	}
	if p := plan(1, 1, stored, "y.tcs"); p.Time.OtherWork != 0.75 {
		t.Errorf("a machine that was measured beside other work: got %v CPUs", p.Time.OtherWork)
	}
	if err := tune.Keep(cache, known()); err != nil {
		t.Fatal(err)
	}
	// Nothing was measured of .npy files, nor of messages.
	p = plan(2, 1, spmd.Input{File: dense}, "y.npy")
	if p.Time.Load != nil || p.Time.Store != nil || p.Time.Messages != nil {
		t.Errorf("got %+v", p.Time)
	}
	for _, l := range p.Time.Text() {
		if l[0] != "compile" && l[0] != "compute" && (l[1] != "?" || l[2] == "") {
			t.Errorf("got %v", l)
		}
	}
	// The farthest ranks that were measured count, by what the plan counts.
	for _, between := range []string{tune.BetweenThreads, tune.BetweenMachines} {
		m := known(tune.Message{Between: tune.BetweenThreads, Latency: 1e-3, Bandwidth: 1e6})
		if between == tune.BetweenMachines {
			m.Put(tune.Message{Between: between, Latency: 0.1, Bandwidth: 1e3})
		}
		if err := tune.Keep(cache, m); err != nil {
			t.Fatal(err)
		}
		p := plan(2, 1, stored, "y.tcs")
		msg, want := m.Between(between), 0.0
		for r := range 2 {
			want = max(want, float64(p.Comm.MessagesSent[r])*msg.Latency+float64(
				max(p.Comm.BytesSent[r], p.Comm.BytesReceived[r]))/msg.Bandwidth)
		}
		near("messages between "+between, p.Time.Messages, want)
		seconds := map[string]float64{}
		for _, b := range p.Time.Bounds {
			seconds[b.Name] = b.Seconds
		}
		if got := seconds["latency of messages"] + seconds["bytes of messages"]; math.Abs(got-want) > 1e-9 {
			t.Errorf("latency and bytes of messages between %s take %v, want %v", between, got, want)
		}
		if want == 0 || p.Time.Between != between {
			t.Errorf("messages of %v seconds between %s, want %s", want, p.Time.Between, between)
		}
		apart := 1.0
		if between == tune.BetweenMachines {
			apart = 2
		}
		near("load at two ranks, "+between, p.Time.Load, (size/1e4+float64(info.Size())/2e4)/apart)
		// Each rank has half of the entries.
		if c := *p.Time.Compute; c > 0.75*compute+2e-3 || c < compute/3 {
			t.Errorf("two ranks compute for %v s, one for %v", c, compute)
		}
	}
}

// TestForms checks that a plan predicts leaves in the forms in which they will run.
func TestForms(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("DISTAFF_CACHE", cache)
	predicted := func(counted int64) float64 {
		t.Helper()
		m := known()
		m.Levels[0].Dependent = 1
		m.Forms = forms.Set{forms.Merges: counted}
		if err := tune.Keep(cache, m); err != nil {
			t.Fatal(err)
		}
		job := spmd.Job{Statement: "Y(i,j) = A(i,j)+B(i,j)", Sizes: map[string][]int64{"A": {100, 1e6}},
			Formats: map[string]string{"A": "ds", "B": "ds", "Y": "ds"},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:1000"),
				"B": spmd.Generated("uniform:1000")}}
		p, err := job.Plan(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return *p.Time.Compute
	}
	// Of two operands each step takes two loads that wait for the one before, and two coordinates
	// of a window one.
	if stepped, counted := predicted(0), predicted(1); math.Abs(stepped/counted-4) > 0.02 {
		t.Errorf("steps take %v s, windows %v s", stepped, counted)
	}
}

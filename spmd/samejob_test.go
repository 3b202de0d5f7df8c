package spmd

import (
	"context"
	"strings"
	"testing"

	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// A rank that was told something else is named with both, in the words of the command line.
func TestRanksAreToldTheSame(t *testing.T) {
	base := Job{Statement: "y(i) = alpha*A(i,j)*x(j)",
		Inputs: map[string]Input{"A": {File: "a.tns"}, "x": {Generate: "dense"}, "alpha": {File: "2.5"}}}
	for _, c := range []struct {
		change func(j *Job)
		want   string // "" for the same job
	}{
		{func(j *Job) {}, ""},
		{func(j *Job) { j.Threads, j.MemoryLimit, j.Tmp = 3, 1<<30, "/tmp" }, ""},
		{func(j *Job) { j.Statement = "y(i) = A(i,j)*x(j)" },
			"statement y(i) = A(i,j)*x(j), and there y(i) = alpha*A(i,j)*x(j);"},
		{func(j *Job) { j.Inputs["A"] = Input{File: "b.tns"} },
			"-i A:b.tns alpha:2.5, and there A:a.tns alpha:2.5;"},
		{func(j *Job) { j.Inputs["alpha"] = Input{File: "2"} }, "-i A:a.tns alpha:2, and there"},
		{func(j *Job) { j.Inputs["alpha"] = Input{Scalar: 2} }, "alpha:2 of type int, and there"},
		{func(j *Job) { j.Inputs["x"] = Input{Generate: "dense:int"} },
			"-g x:dense:int, and there x:dense;"},
		{func(j *Job) { j.Inputs["A"] = Input{File: "a.tns", ZeroBased: true} },
			"--index-base or --duplicates A:0, and there nothing;"},
		{func(j *Job) { j.Inputs["A"] = Input{File: "a.tns", NoDuplicates: true} },
			"A:error, and there nothing;"},
		{func(j *Job) { j.Formats = map[string]string{"A": "ds"} }, "-f A:ds, and there nothing;"},
		{func(j *Job) { j.Sizes = map[string][]int64{"A": {3, 4}} }, "-d A:[3 4], and there nothing;"},
		{func(j *Job) { j.Outputs = []Output{{Tensor: "y", File: "y.tns"}} },
			"-o y:y.tns, and there nothing;"},
		{func(j *Job) { j.Splits = []string{"i:4", "j:2"} }, "--split i:4 j:2, and there nothing;"},
		{func(j *Job) { j.Seed = 4 }, "--seed 4, and there nothing;"},
		{func(j *Job) { j.TrustInput = true }, "--trust-input on, and there nothing;"},
		{func(j *Job) { j.Target = Interpreter }, "--target interpreter, and there nothing;"},
		{func(j *Job) { j.StatsFile = "s.json" }, "--stats s.json, and there nothing;"},
	} {
		other := base
		other.Inputs = map[string]Input{}
		for name, in := range base.Inputs {
			other.Inputs[name] = in
		}
		c.change(&other)
		err := local.Run(context.Background(), 3, func(w comm.Comm) error {
			if w.Rank() == 2 {
				return other.told().Same(w)
			}
			return base.told().Same(w)
		})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("got %v, want nothing", err)
		case c.want != "" && (err == nil || comm.ExitCode(err) != 2 ||
			!strings.Contains(err.Error(), "[2] ") || !strings.Contains(err.Error(), c.want)):
			t.Errorf("got %v, want %q from rank 2", err, c.want)
		}
	}
}

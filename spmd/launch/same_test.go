package launch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/comm/mpi"
)

// describe returns the description of a job with a statement and two flags.
func describe(statement string, ranks int64, formats map[string]string) Description {
	var t Description
	t.Add("the statement", statement)
	t.AddNumber("--repeat", ranks)
	t.AddSwitch("--check", ranks > 1)
	t.Add("-f", Named(formats)...)
	return t
}

// TestSame checks that ranks with the same job continue, and that all ranks end with an error that
// names the difference if one has another job.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		second Description
		want   string
	}{
		{describe("y = x(i)", 2, map[string]string{"x": "s", "A": "ds"}), ""},
		{describe("y = z(i)", 2, map[string]string{"x": "s", "A": "ds"}),
			"the statement is y = z(i) here, but y = x(i) at rank 0;"},
		{describe("y = x(i)", 0, map[string]string{"x": "s", "A": "ds"}), "--repeat is nothing here, but 2 at rank 0;"},
		{describe("y = x(i)", 2, map[string]string{"x": "s"}), "-f is x:s here, but A:ds x:s at rank 0;"},
		{append(describe("y = x(i)", 2, map[string]string{"x": "s", "A": "ds"}), [2]string{"--new", "on"}),
			"--new is on here, but nothing at rank 0;"},
	} {
		ended := make([]error, 3)
		local.Run(context.Background(), 3, func(r comm.Comm) error {
			mine := describe("y = x(i)", 2, map[string]string{"x": "s", "A": "ds"})
			if r.Rank() == 1 {
				mine = c.second
			}
			ended[r.Rank()] = mine.CheckSame(r)
			return nil
		})
		for rank, err := range ended {
			var exit interface{ ExitCode() int }
			if c.want == "" && err != nil ||
				c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
					!errors.As(err, &exit) || exit.ExitCode() != 2) {
				t.Errorf("rank %d: got %v, want %q", rank, err, c.want)
			}
		}
	}
}

// TestRanksTwice checks that a rank of a launcher cannot run several ranks.
func TestRanksTwice(t *testing.T) {
	err := Run(context.Background(), mpi.Launcher{Kind: "mpirun of Open MPI", Size: 4},
		Options{Ranks: 2}, func(comm.Comm, Rank) error {
			t.Error("it ran")
			return nil
		})
	if err == nil || !strings.Contains(err.Error(),
		"--ranks=2: mpirun of Open MPI has already started 4 ranks; leave the flag out") {
		t.Errorf("got %v", err)
	}
}

package jobs_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/spmd"
)

// chain returns a file with one statement. lines say how its product is contracted. The values are
// integers, so that sums in any order are equal.
func chain(lines ...string) string {
	return `tensor B(20, 15, 12): sss from uniform:300:int
tensor C(15, 6): dd from dense:int
tensor D(12, 5): dd from dense:int
tensor A(20, 6, 5) to "a.npy"
A(i,l,m) = B(i,j,k) * C(j,l) * D(k,m)
` + strings.Join(lines, "\n")
}

// TestNetworkLines checks that the result does not depend on how a file has its product contracted,
// or on the number of ranks, and that reports of the statement name the chosen contraction.
func TestNetworkLines(t *testing.T) {
	var want []float64
	for _, c := range []struct {
		lines []string
		told  string
	}{
		{[]string{"  network direct"}, "--network=direct"},
		{nil, "default"},
		{[]string{"  network pairwise"}, "--network=pairwise"},
		{[]string{"  network(B * D)*C", "  intermediate-order 1"},
			"--network=(B * D)*C --intermediate-order=1"},
		{[]string{"  intermediate-order 2"}, "--intermediate-order=2"},
		{[]string{"  network (B*C)*D", "  split i:3"}, "--split=i:3 --network=(B*C)*D"},
		{[]string{"  network (B*C)*D", "  distribute(i)"}, "-s=distribute(i) --network=(B*C)*D"},
	} {
		for _, ranks := range []int{1, 3} {
			dir := t.TempDir()
			j := job(t, dir, chain(c.lines...), nil)
			j.Ranks = ranks
			report := j.run(t)
			if got := report.Statements[0].Schedule; got != c.told {
				t.Errorf("%v: told of %q, want %q", c.lines, got, c.told)
			}
			if _, got := values(t, filepath.Join(dir, "a.npy")); want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%v, %d ranks: another result than one nest of loops", c.lines, ranks)
			}
		}
	}
}

// TestNetworkLinesMeant checks that compile and plan obey the lines of the file.
func TestNetworkLinesMeant(t *testing.T) {
	j, err := file("job.dst", chain("  network (B*D)*C", "  intermediate-order 1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := j.Jobs()
	if err != nil {
		t.Fatal(err)
	}
	if got := parts[0]; got.Network != "(B*D)*C" || got.IntermediateOrder != 1 {
		t.Errorf("the statement is a job with the network %q and the intermediate order %d", got.Network,
			got.IntermediateOrder)
	}
	if _, err := j.Plan(context.Background(), 0); err != nil {
		t.Error(err)
	}
}

// TestNetworkLinesRefused checks that an error in these lines is reported at the line or at the
// statement.
func TestNetworkLinesRefused(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"  network (B*E)*C", "job.dst:6:14: network: got E, which is not a factor of the product, or not as often"},
		{"  network (B*C)*D\n  reorder(i,k,j,l,m)",
			"job.dst:6:11: network: the loops are given by a schedule"},
		{"  network B*C", "job.dst:6:11: network: the tree must also have the factor D"},
	} {
		j, err := file("job.dst", chain(c.lines), nil)
		if err != nil {
			t.Fatal(err)
		}
		j.Target = spmd.Interpreter
		_, err = j.Run(context.Background())
		var d *diag.Error
		if !errors.As(err, &d) || d.Code != diag.NetworkRefused ||
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.lines, err, c.want)
		}
	}
}

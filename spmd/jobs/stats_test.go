package jobs_test

import (
	"slices"
	"testing"
)

// TestStatistics checks the times of the phases, and the balance of the largest operand of all
// statements. The balance must be the one before the statement ran, even if its result replaces the
// operand.
func TestStatistics(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		dir := t.TempDir()
		write(t, dir, "a.tns", "1 1 2\n1 3 5\n2 2 1\n4 1 1\n4 4 4\n")
		j := job(t, dir, `tensor A(n, n): ds from "a.tns"
tensor y(n): d to "y.npy"
x(i) = 1 + 0 * A(i,i)
repeat 2 { A(i,j) = A(j,i) }
y(i) = A(i,j) * x(j)
`, nil)
		j.Ranks, j.Repeat = ranks, 2
		s := j.stats(t)
		p := s.Phases
		if len(p.Compute) != 2 || p.Load <= 0 || p.Compile <= 0 || p.Compute[0] <= 0 ||
			p.Compute[1] <= 0 || p.Store <= 0 {
			t.Errorf("got the phases %+v, want all more than 0, and two runs", p)
		}
		if ranks == 1 && p.Load+p.Compile+p.Compute[0]+p.Compute[1]+p.Store > p.Total {
			t.Errorf("got the phases %+v, which are more than the total together", p)
		}
		want := map[int][]int64{1: {5}, 2: {3, 2}, 4: {2, 1, 0, 2}}[ranks]
		if !slices.Equal(s.Balance.Nonzeros, want) {
			t.Errorf("got the balance %v, want %v", s.Balance.Nonzeros, want)
		}
	}, 1, 2, 4)
}

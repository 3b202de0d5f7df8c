package jobs_test

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestPlacedWrittenOver checks a statement whose steps read the result's old value in parts from
// several ranks. It must not overwrite only a copy, because the next pass reads the result.
func TestPlacedWrittenOver(t *testing.T) {
	var want []float64
	for ranks := 1; ranks <= 3; ranks++ {
		dir := t.TempDir()
		j := job(t, dir, `machine M(1, 2)
tensor A(3): d from dense:int
tensor B(3): d place (x) -> M(*,x) from dense:int
tensor C(3): d to "c.npy"
B(j) = B(j) + A(j)
  split j:3
repeat 3 {
  B(j) = A(j) + 2 * B(j)
    divide(j,jo,ji,M.x)
    reorder(jo,ji)
    distribute(jo)
}
C(j) = B(j)
`, nil)
		j.Ranks = ranks
		j.run(t)
		switch _, got := values(t, filepath.Join(dir, "c.npy")); {
		case want == nil:
			want = got
		case !slices.Equal(got, want):
			t.Errorf("%d ranks: got %v, want %v", ranks, got, want)
		}
	}
}

package spmd

import (
	"errors"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// TestDiscard checks the error of a job that fails after rank 0's work: with a result, which is
// closed, without one, and without a report.
func TestDiscard(t *testing.T) {
	failure := errors.New("a rank failed")
	x := tcs.Scalar(tensor.Value{Type: tensor.Float64, C: 1.5})
	for _, r := range []*Report{nil, {}, {Result: x}} {
		if err := discard(r, failure); !errors.Is(err, failure) || err.Error() != failure.Error() {
			t.Errorf("got %v, want %v", err, failure)
		}
	}
}

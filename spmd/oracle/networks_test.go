package oracle

import (
	"context"
	"testing"

	"distaff/spmd"
)

// TestOracleNetworks holds products of several tensors, contracted in every way, to the reference.
func TestOracleNetworks(t *testing.T) {
	t.Parallel()
	sweep(t, Networks{}, Options{Networks: true, Denser: true}, 500)
}

// TestNetworkDraws holds draws to the reference that a compiler failed on: intermediates with marks
// to which nothing is added.
func TestNetworkDraws(t *testing.T) {
	for _, first := range []uint64{787, 4663} {
		rep := Sweep(context.Background(), Networks{}, Options{Networks: true}, 1795477564, first, 1, 1)
		for _, f := range rep.Failures {
			t.Error(f)
		}
	}
}

// TestOracleNetworkRanks holds jobs on 1 to 8 ranks, by random block schedules, to the reference,
// whose products are contracted in every way.
func TestOracleNetworkRanks(t *testing.T) {
	t.Parallel()
	sweep(t, Jobs{Blocks: true, Networks: true, Target: spmd.Interpreter},
		Options{Networks: true, Denser: true}, 120)
}

package oracle

import (
	"context"
	"testing"

	"distaff/spmd"
)

// TestOracleNetworks compares products of several tensors, contracted in all ways, with the
// reference.
func TestOracleNetworks(t *testing.T) {
	t.Parallel()
	sweep(t, Networks{}, Options{Networks: true, Denser: true}, 500)
}

// TestOracleManyFactors compares products of up to 12 tensors with the reference. In the first test
// all tensors are dense, so that package flat makes many of the leaves.
func TestOracleManyFactors(t *testing.T) {
	t.Parallel()
	sweep(t, Networks{}, Options{Networks: true, Factors: true, Kinds: "d", MaxPoints: 20_000}, 300)
	sweep(t, Networks{}, Options{Networks: true, Factors: true, Denser: true, MaxPoints: 20_000}, 150)
}

// TestNetworkDraws tests cases that the compiler once got wrong: nothing is added to an
// intermediate with marks.
func TestNetworkDraws(t *testing.T) {
	for _, first := range []uint64{787, 4663} {
		rep := Sweep(context.Background(), Networks{}, Options{Networks: true}, 1795477564, first, 1, 1)
		for _, f := range rep.Failures {
			t.Error(f)
		}
	}
}

// TestOracleNetworkRanks compares jobs on 1 to 8 ranks with the reference. They have random block
// schedules, and their products are contracted in all ways.
func TestOracleNetworkRanks(t *testing.T) {
	t.Parallel()
	sweep(t, Jobs{Blocks: true, Networks: true, Target: spmd.Interpreter},
		Options{Networks: true, Denser: true}, 120)
}

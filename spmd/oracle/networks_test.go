package oracle

import (
	"testing"

	"distaff/spmd"
)

// TestOracleNetworks holds products of several tensors, contracted in every way, to the reference.
func TestOracleNetworks(t *testing.T) {
	sweep(t, Networks{}, Options{Networks: true}, 500)
}

// TestOracleNetworkRanks holds jobs on 1 to 8 ranks, by random block schedules, to the reference, whose products are contracted
// in every way.
func TestOracleNetworkRanks(t *testing.T) {
	sweep(t, Jobs{Blocks: true, Networks: true, Target: spmd.Interpreter}, Options{Networks: true}, 120)
}

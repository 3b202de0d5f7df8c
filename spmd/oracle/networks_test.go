package oracle

import "testing"

// TestOracleNetworks holds products of several tensors, contracted in every way, to the reference.
func TestOracleNetworks(t *testing.T) {
	sweep(t, Networks{}, Options{Networks: true}, 500)
}

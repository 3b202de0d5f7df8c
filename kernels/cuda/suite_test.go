package cuda

import (
	"testing"

	"distaff/codegen"
	"distaff/kernels/backendtest"
)

// TestBackend runs the suite of all backends.
func TestBackend(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) { backendtest.RunOn(t, b, codegen.CUDA) })
}

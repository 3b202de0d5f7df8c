package interpret

import (
	"testing"

	"distaff/kernels/backendtest"
)

func TestBackend(t *testing.T) { backendtest.Run(t, Backend{}) }

package interpret

import (
	"testing"

	"distaff/kernels/backendtest"
	_ "distaff/kernels/verified"
)

func TestBackend(t *testing.T) { backendtest.Run(t, Backend{}) }

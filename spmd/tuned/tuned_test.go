package tuned

import (
	"context"
	"strings"
	"testing"

	_ "distaff/kernels/verified"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// A machine that was not measured has no model, and no rank measures messages for one.
func TestNotMeasured(t *testing.T) {
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	if m, err := MachineModel(); m != nil || err != nil {
		t.Errorf("got %v, %v, want no model", m, err)
	}
	err := local.Run(context.Background(), 2, func(c comm.Comm) error {
		m, err := Messages(c)
		if m != nil || err == nil {
			t.Errorf("rank %d: got %v, %v, want an error", c.Rank(), m, err)
		}
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "doctor --tune") {
		t.Errorf("got %v, want the command that measures", err)
	}
}

package kernels_test

import (
	"os"
	"testing"

	"distaff/kernels"
	"distaff/kernels/cc"
)

func TestTargets(t *testing.T) {
	for name, want := range map[string]bool{"": true, "cpu": true, "cuda": false, "CPU": false} {
		if got := kernels.HasTarget(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
		if !want {
			continue
		}
		b, err := kernels.ForTarget(name, cc.Config{Path: os.Getenv("PATH"), CPU: cc.NoCPU, Flags: quick})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := b.(*kernels.C); !ok {
			t.Errorf("%q: got a %T, want a *kernels.C", name, b)
		}
		if _, err := kernels.ForTarget(name, cc.Config{CPU: "abacus"}); err == nil {
			t.Errorf("%q: a CPU that is none is no error", name)
		}
	}
}

package launch

import (
	"os"
	"strings"
	"testing"

	"distaff/kernels"
	_ "distaff/kernels/verified"
	"distaff/spmd/comm"
)

// TestShareCores checks that ranks on one machine share its cores, unless each has its own cores,
// and that their threads sleep while they wait if there are more threads than cores.
func TestShareCores(t *testing.T) {
	cores := kernels.Cores()
	here := comm.CurrentPlace()
	if len(here.CPUs) == 0 {
		t.Skip("the affinity of this process is not known")
	}
	alone := here
	alone.CPUs = []int{1 << 20}
	for _, c := range []struct {
		what    string
		places  []comm.Place
		given   int
		threads int
		passive bool
	}{
		{"one rank, as many threads as cores", []comm.Place{here}, cores, cores, false},
		{"one rank with twice as many", []comm.Place{here}, 2 * cores, 2 * cores, true},
		{"two ranks that share cores", []comm.Place{here, here}, max(cores, 2), max(cores, 2), true},
		{"two ranks with cores of their own", []comm.Place{here, alone}, cores, cores, false},
		{"two ranks of a thread", []comm.Place{here, here}, 1, 1, false},
		{"two ranks by default", []comm.Place{here, here}, 0, max(cores/2, 1), false},
	} {
		t.Setenv("OMP_NUM_THREADS", "")
		t.Setenv("SLURM_CPUS_PER_TASK", "")
		t.Setenv("SRUN_CPUS_PER_TASK", "")
		t.Setenv("GOMP_SPINCOUNT", "")
		t.Setenv("OMP_WAIT_POLICY", "")
		r, told := Rank{Threads: c.given}, ""
		r.shareCores(c.places, 0, func(s string) { told = s })
		if passive := os.Getenv("OMP_WAIT_POLICY") == "passive"; r.Threads != c.threads ||
			passive != c.passive {
			t.Errorf("%s: got %d threads, asleep as they wait %v; want %d, %v", c.what, r.Threads, passive,
				c.threads, c.passive)
		}
		if strings.Contains(told, "a rank") != (c.given == 0) {
			t.Errorf("%s: was told %q", c.what, told)
		}
	}
}

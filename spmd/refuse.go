package spmd

import (
	"fmt"
	"os"
	"strings"

	"distaff/codegen/schedule"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/target"
	"distaff/spmd/fault"
)

// refuse says which part of what is asked for is not built: a job must not
// silently run as another one.
func (o *Options) refuse() error {
	no := func(flag, why string) error {
		return fault.Commandf("%s: %s", flag, why)
	}
	const noGrid = "machine grids and placements are not built in this version; --ranks, --split, --order, --extend and --map distribute a job"
	if len(o.Schedule) > 0 {
		if _, err := schedule.Parse(o.Schedule); err != nil {
			return err
		}
	}
	if err := o.tooManyThreads(); err != nil {
		return err
	}
	switch {
	case !target.Has(o.Target):
		return no("--target="+tcs.Printable(o.Target), "want one of "+strings.Join(target.Names(), ", "))
	case o.Target == target.CUDA && o.CPU != "" && o.CPU != "native":
		return no("--cpu="+tcs.Printable(o.CPU), "with --target=cuda leaves are compiled for the GPU that the rank has; leave the flag out")
	case o.Machine != "":
		return no("-m="+o.Machine, noGrid)
	case len(o.Placements) > 0:
		return no("-p="+o.Placements[0], noGrid)
	case o.Network != "" && o.Network != "auto" && o.Network != "direct":
		return no("--network="+o.Network, "contraction sequences are not built in this version; a product runs as one loop nest (direct)")
	}
	return nil
}

// tooManyThreads refuses more threads a rank than the machine can be meant to run.
func (o *Options) tooManyThreads() error {
	n, from := o.Threads, fmt.Sprintf("--threads=%d", o.Threads)
	if n == 0 {
		if n, from = kernels.DefaultThreads(1, 1); from != "OMP_NUM_THREADS" {
			return nil
		}
		from = "OMP_NUM_THREADS=" + tcs.Printable(os.Getenv(from))
	}
	if most := kernels.MostThreads(); n > most {
		return fault.Commandf("%s: a rank has %d threads at most, 8 times the %d that this machine's hardware runs at once, and 64 at least", from, most, kernels.HardwareThreads())
	}
	return nil
}

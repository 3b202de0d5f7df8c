package spmd

import (
	"fmt"
	"os"
	"strings"

	"distaff/codegen"
	"distaff/codegen/network"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/target"
	"distaff/spmd/fault"
	"distaff/spmd/usercode"
)

// refuse returns an error for the first wrong option that it finds, or nil. Without this check, a
// job could silently ignore a wrong option.
func (o *Options) refuse() error {
	list, err := schedule.Parse(o.Schedule)
	if err == nil {
		err = o.userCode().Check(list, false)
	}
	if err != nil {
		return err
	}
	if err := o.checkThreads(); err != nil {
		return err
	}
	for _, x := range []struct {
		n    int64
		what string
	}{{int64(o.Ranks), "ranks"}, {int64(o.Threads), "threads a rank"},
		{o.MemoryLimit, "bytes as the memory limit"}, {int64(o.Repeat), "runs"},
		{int64(o.Warmup), "runs that are not timed"}} {
		if x.n < 0 {
			return fault.Commandf("got %d %s, want 0 for the default, or more", x.n, x.what)
		}
	}
	switch {
	case !target.Has(o.Target):
		return fault.Commandf("got the target %q, want one of %s", tensor.Printable(o.Target),
			strings.Join(target.Names(), ", "))
	case target.Code(o.Target) == codegen.CUDA && o.CPU != "" && o.CPU != "native":
		return fault.Commandf(
			"--cpu=%s: leave the flag out with --target=%s, which compiles leaves for the "+
				"rank's GPU", tensor.Printable(o.CPU), o.Target)
	}
	if o.Tune != "" && o.Tune != "auto" && o.Tune != tuneOff {
		return fault.Commandf("got the tuning %q, want auto or off",
			tensor.Printable(o.Tune))
	}
	return network.CheckWay(o.Network)
}

// tuneOff is the value of Options.Tune that turns tuning off. Leaves then have the default variants
// of code, and not the variants that were measured to be fastest on this model of CPU.
const tuneOff = "off"

// userCode returns the C files that schedules may name.
func (o *Options) userCode() *usercode.Files { return usercode.New(o.folder, o.AllowUserCode) }

// checkUserCode refuses a schedule that calls C functions if the job may not run them, or if the
// target cannot.
func (o *Options) checkUserCode(list []*schedule.Command) error {
	if o.leafUnits != nil { // nothing is compiled and run
		return nil
	}
	if o.Target == target.Interpreter {
		for _, c := range list {
			if _, _, at, ok := c.Function(); ok {
				return at.Refuse(
					"substitute: the interpreter cannot run C functions; want another target")
			}
		}
	}
	return o.userCode().Check(list, true)
}

// checkThreads refuses a number of threads for each rank that is far beyond what the machine's
// hardware can run at once.
func (o *Options) checkThreads() error {
	n, from := o.Threads, fmt.Sprintf("--threads=%d", o.Threads)
	if n == 0 {
		if n, from = kernels.DefaultThreads(1, 1); from != "OMP_NUM_THREADS" {
			return nil
		}
		from = "OMP_NUM_THREADS=" + tensor.Printable(os.Getenv(from))
	}
	if most := kernels.MostThreads(); n > most {
		return fault.Commandf(
			"%s: want at most %d, which is either 8 times the %d hardware threads of this "+
				"machine or 64", from, most, kernels.HardwareThreads())
	}
	return nil
}

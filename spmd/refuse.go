package spmd

import (
	"fmt"
	"os"
	"strings"

	"distaff/codegen/network"
	"distaff/codegen/schedule"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/target"
	"distaff/spmd/fault"
	"distaff/spmd/usercode"
)

// refuse says which part of what is asked for is not built: a job must not
// silently run as another one.
func (o *Options) refuse() error {
	no := func(flag, why string) error {
		return fault.Commandf("%s: %s", flag, why)
	}
	list, err := schedule.Parse(o.Schedule)
	if err == nil {
		err = o.userCode().Check(list, false)
	}
	if err != nil {
		return err
	}
	if err := o.tooManyThreads(); err != nil {
		return err
	}
	switch {
	case !target.Has(o.Target):
		return no("--target="+tcs.Printable(o.Target), "want one of "+strings.Join(target.Names(), ", "))
	case o.Target == target.CUDA && o.CPU != "" && o.CPU != "native":
		return no("--cpu="+tcs.Printable(o.CPU), "with --target=cuda leaves are compiled for the GPU that the rank has; leave the flag out")
	}
	if o.Tune != "" && o.Tune != "auto" && o.Tune != tuneOff {
		return no("--tune="+tcs.Printable(o.Tune), "want auto or off")
	}
	return network.CheckWay(o.Network)
}

// tuneOff is what Options.Tune says for the default forms.
const tuneOff = "off"

// userCode has the C files that schedules name.
func (o *Options) userCode() *usercode.Files { return usercode.New(o.folder, o.AllowUserCode) }

// allowed refuses a schedule of functions that the job may not run, or that what leaves run on does not.
func (o *Options) allowed(list []*schedule.Command) error {
	if o.made != nil { // nothing is compiled and run
		return nil
	}
	if o.Target == target.Interpreter {
		for _, c := range list {
			if _, _, at, ok := c.Function(); ok {
				return at.Refuse("substitute: the interpreter runs no C; want another target")
			}
		}
	}
	return o.userCode().Check(list, true)
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

package cuda

import (
	"fmt"

	"distaff/io/tcs"
)

// SetupError says what a machine lacks for leaves on a GPU. It ends a run with code 1.
type SetupError struct{ Msg string }

func (e *SetupError) Error() string { return e.Msg }

// ExitCode is 1.
func (e *SetupError) ExitCode() int { return 1 }

// insteadCPU is what always helps where there is no GPU to be used.
const insteadCPU = ", or use --target=cpu"

// MemoryError says that a device has not the memory for something. It ends a run with code 5.
type MemoryError struct {
	What        string // what the memory was for
	Want        int64  // bytes; 0 where they are unknown
	Free, Total int64  // of the device; Total 0 where they are unknown
	Device      string
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("%s takes %s of GPU memory", e.What, tcs.Size(e.Want))
	if e.Want == 0 {
		s = e.What + " takes more GPU memory than it gets"
	}
	if e.Total > 0 {
		s += fmt.Sprintf(", and %s has %s free of %s", e.Device, tcs.Size(e.Free), tcs.Size(e.Total))
	}
	return s + "; more ranks, each with a GPU of its own, take less each"
}

// ExitCode is 5, as that of a tcs.MemoryError.
func (e *MemoryError) ExitCode() int { return 5 }

// FaultError says that a kernel did what it must not, such as an access to memory that is not its
// own. The device's context is lost then: every later call in this process fails alike. It ends a
// run with code 1.
type FaultError struct {
	What   string // the statement, or the leaf
	Reason string // the driver's words
	Later  bool   // the call did not run, since an earlier one faulted
}

func (e *FaultError) Error() string {
	if e.Later {
		return fmt.Sprintf(
			"the GPU cannot be used any more in this process: a kernel of %s faulted before (%s)", e.What,
			e.Reason)
	}
	return fmt.Sprintf("a kernel of %s faulted on the GPU: %s", e.What, e.Reason)
}

// ExitCode is 1.
func (e *FaultError) ExitCode() int { return 1 }

// DriverError is a refusal of the driver that has no words of its own here. It ends a run with
// code 1.
type DriverError struct {
	Call string // cuMemcpyHtoDAsync
	Code int
	Text string
}

func (e *DriverError) Error() string {
	return fmt.Sprintf("the NVIDIA driver refused %s: %s (%d)", e.Call, e.Text, e.Code)
}

// ExitCode is 1.
func (e *DriverError) ExitCode() int { return 1 }

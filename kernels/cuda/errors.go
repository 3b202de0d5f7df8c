package cuda

import (
	"errors"
	"fmt"
	"strings"

	"distaff/io/tensor"
)

// SetupError reports why a leaf cannot run on a GPU, for example what the machine lacks. It ends a
// run with code 1.
type SetupError struct{ Msg string }

func (e *SetupError) Error() string { return e.Msg }

// ExitCode is 1.
func (e *SetupError) ExitCode() int { return 1 }

// insteadCPU is advice that helps whenever no GPU can be used.
const insteadCPU = ", or use --target=cpu"

// WithoutAdvice returns err without the advice to use the target cpu.
func WithoutAdvice(err error) error {
	if e := (*SetupError)(nil); errors.As(err, &e) {
		return &SetupError{strings.TrimSuffix(e.Msg, insteadCPU)}
	}
	return err
}

// MemoryError reports that a device does not have enough memory. It ends a run with code 5.
type MemoryError struct {
	What        string // the purpose of the memory
	Want        int64  // bytes; 0 if unknown
	Free, Total int64  // the device's bytes; Total is 0 if they are unknown
	Device      string
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("%s needs %s of GPU memory", e.What, tensor.Bytes(e.Want))
	if e.Want == 0 {
		s = e.What + " needs more GPU memory than is free"
	}
	if e.Total > 0 {
		s += fmt.Sprintf(", but %s has %s free of %s", e.Device, tensor.Bytes(e.Free),
			tensor.Bytes(e.Total))
	}
	return s + "; with more ranks, each on its own GPU, each needs less"
}

// ExitCode returns 5, as for a tcs.MemoryError.
func (e *MemoryError) ExitCode() int { return 5 }

// FaultError reports that a device is lost, mostly because of an illegal operation of a kernel, for
// example an access outside of its memory. Every later call on this device in this process fails
// too. It ends a run with code 1.
type FaultError struct {
	What   string // the statement, or "a leaf"
	Reason string // the driver's message
	Later  bool   // the call did not run because an earlier call faulted
}

func (e *FaultError) Error() string {
	if e.Later {
		return fmt.Sprintf(
			"the GPU cannot be used any more in this process, because a kernel of %s faulted "+
				"before (%s)",
			e.What, e.Reason)
	}
	return fmt.Sprintf("a kernel of %s faulted on the GPU: %s", e.What, e.Reason)
}

// ExitCode is 1.
func (e *FaultError) ExitCode() int { return 1 }

// DriverError reports a failed driver call for which this package has no more specific error. It
// ends a run with code 1.
type DriverError struct {
	Call string // name of the driver's function, for example cuMemcpyHtoDAsync
	Code int
	Text string
}

func (e *DriverError) Error() string {
	return fmt.Sprintf("the NVIDIA driver refused %s: %s (%d)", e.Call, e.Text, e.Code)
}

// ExitCode is 1.
func (e *DriverError) ExitCode() int { return 1 }

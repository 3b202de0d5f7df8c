package cc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Native is the CPU of this machine. NoCPU leaves the choice to the compiler's default.
const (
	Native = "native"
	NoCPU  = "none"
)

// Levels are the architecture levels that --cpu accepts besides native, best first.
var Levels = []string{"x86-64-v4", "x86-64-v3", "x86-64-v2"}

// CPUError reports that a --cpu is unknown, or does not exist on this machine. It ends a run with
// code 2.
type CPUError struct{ CPU, Reason string }

func (e *CPUError) Error() string { return fmt.Sprintf("--cpu=%s: %s", e.CPU, e.Reason) }

func (e *CPUError) ExitCode() int { return 2 }

// checkCPU returns an error unless cpu is a kind of CPU that this machine's compiler can make code
// for. "" means native.
func checkCPU(cpu string) error {
	switch {
	case cpu == "" || cpu == Native || cpu == NoCPU:
		return nil
	case !slices.Contains(Levels, cpu):
		return &CPUError{cpu, "want native, x86-64-v2, x86-64-v3 or x86-64-v4"}
	case runtime.GOARCH != "amd64":
		return &CPUError{cpu, "this machine is " + runtime.GOARCH + "; want native"}
	}
	return nil
}

// Runs reports whether code for cpu runs on this machine.
func Runs(cpu string) bool {
	switch cpu {
	case "", Native, NoCPU:
		return true
	}
	return slices.Contains(levels(), cpu)
}

// CPUKind returns a short name for the kind of CPU that cpu describes. cpu is "" or Native for this
// machine's CPU, NoCPU for any CPU of this architecture, or a name. Names of objects in the cache
// contain the result, so that CPUs of different kinds do not share objects.
func CPUKind(cpu string) string {
	switch cpu {
	case "", Native:
		return nativeKind()
	case NoCPU:
		return runtime.GOARCH
	}
	return cpu
}

// nativeKind returns the name of this machine's CPU. It computes the name once, because under a
// hypervisor each CPUID instruction takes tens of microseconds.
var nativeKind = sync.OnceValue(func() string {
	h := sha256.Sum256([]byte(runtime.GOARCH + "\x00" + cpuIdentity()))
	return Native + "-" + hex.EncodeToString(h[:6])
})

// marchFlags returns the compiler's arguments for cpu.
func marchFlags(cpu string) []string {
	switch cpu {
	case "", Native:
		return []string{"-march=native"}
	case NoCPU:
		return nil
	}
	return []string{"-march=" + cpu}
}

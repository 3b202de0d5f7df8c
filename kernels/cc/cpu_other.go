//go:build !amd64

package cc

import (
	"os"
	"strings"
)

// cpuIdentity is what the kernel tells of the first CPU's model and features.
func cpuIdentity() string {
	midr, _ := os.ReadFile("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1")
	info, _ := os.ReadFile("/proc/cpuinfo")
	var features string
	for line := range strings.Lines(string(info)) {
		if strings.HasPrefix(line, "Features") || strings.HasPrefix(line, "CPU part") {
			features += line
			if strings.HasPrefix(line, "CPU part") {
				break
			}
		}
	}
	return string(midr) + features
}

// levels are those of x86-64, which this CPU is not.
func levels() []string { return nil }

// CPUModel is "": models of other CPUs than those of x86-64 are not told apart.
func CPUModel() string { return "" }

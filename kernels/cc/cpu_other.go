//go:build !amd64

package cc

import (
	"os"
	"strings"
)

// cpuIdentity returns the model and the features of the first CPU as the kernel reports them.
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

// levels returns nil, because the levels belong to x86-64.
func levels() []string { return nil }

// CPUModel returns "", because models are distinguished only for x86-64.
func CPUModel() string { return "" }

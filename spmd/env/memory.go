package env

import (
	"bufio"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"distaff/spmd/fault"
)

// ParseSize reads a number of bytes: 1000, 512M, 1.5G. K, M, G and T are powers of 1024; they may
// be lower case and may be followed by B or iB.
func ParseSize(s string) (int64, error) {
	t := strings.ToUpper(strings.TrimSpace(s))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "B"), "I")
	unit := 1.0
	if n := len(t); n > 0 {
		if k := strings.IndexByte("KMGT", t[n-1]); k >= 0 {
			unit = math.Pow(1024, float64(k+1))
			t = t[:n-1]
		}
	}
	v, err := strconv.ParseFloat(t, 64)
	if err != nil || !(v*unit >= 1 && v*unit < 1<<62) {
		return 0, fault.Commandf(
			"got the size %q, want bytes, or a number with K, M, G or T, as in 512M", s)
	}
	return int64(v * unit), nil
}

// DefaultMemory returns a rank's share, in bytes, of 90% of the memory that a job may use on this
// machine: the machine's memory, the cgroup's limit or Slurm's limit, whichever is least. It also
// returns the name of that limit.
func DefaultMemory(ranksOnNode int) (int64, string) {
	bytes, why := machineMemory(), "the machine's memory"
	if b := cgroupMemory(); b > 0 && b < bytes {
		bytes, why = b, "the cgroup's limit"
	}
	if b := slurmMemory(os.Getenv); b > 0 && b < bytes {
		bytes, why = b, "Slurm's limit"
	}
	return bytes / 10 * 9 / int64(max(ranksOnNode, 1)), why
}

func machineMemory() int64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return math.MaxInt64
	}
	return int64(s.Totalram) * int64(s.Unit)
}

// cgroupMemory returns the smallest limit of this process's cgroup and its ancestors, in bytes, or
// 0 if there is none.
func cgroupMemory() int64 {
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	defer f.Close()
	best := int64(0)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, file := "", ""
		switch {
		case parts[0] == "0" && parts[1] == "":
			base, file = "/sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			base, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			if b, err := os.ReadFile(path.Join(base, dir, file)); err == nil {
				v, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
				if err == nil && v > 0 && (best == 0 || v < best) {
					best = v
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return best
}

// slurmMemory returns the bytes that Slurm's environment variables grant on this node, or 0.
func slurmMemory(getenv func(string) string) int64 {
	number := func(name string) int64 {
		v, err := strconv.ParseInt(getenv(name), 10, 64)
		if err != nil || v <= 0 || v > 1<<40 {
			return 0
		}
		return v << 20 // MiB
	}
	if v := number("SLURM_MEM_PER_NODE"); v > 0 {
		return v
	}
	per := number("SLURM_MEM_PER_CPU")
	cpus, err := strconv.ParseInt(getenv("SLURM_CPUS_ON_NODE"), 10, 64)
	if per == 0 || err != nil || cpus < 1 {
		return 0
	}
	return per * cpus
}

// PeakRSS returns the largest resident set of this process so far, in bytes.
func PeakRSS() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss << 10
}

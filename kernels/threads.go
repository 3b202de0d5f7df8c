package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// cores holds the facts that determine a rank's number of threads.
type cores struct {
	affinity int     // number of CPUs in the affinity mask
	quota    float64 // number of CPUs that the cgroup's quota allows; 0 means no quota
	getenv   func(string) string
}

func findCores() cores {
	c := cores{getenv: os.Getenv, affinity: 1}
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		c.affinity = max(set.Count(), 1)
	}
	if group, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		c.quota = cgroupQuota(string(group), os.ReadFile)
	}
	return c
}

// Cores returns the number of CPUs that the affinity mask and the cgroup's quota allow this
// process.
func Cores() int { return findCores().count() }

func (c cores) count() int {
	n := c.affinity
	// A quota of 1.5 CPUs keeps two threads busy for three quarters of the time.
	if c.quota > 0 {
		n = min(n, max(int(c.quota+0.5), 1))
	}
	return n
}

// MostThreads returns the largest number of threads that a rank may be given: 8 times the number of
// hardware threads of the machine, and at least 64. OpenMP's library crashes or hangs if it gets
// far more threads than a process can have.
func MostThreads() int { return mostThreads(HardwareThreads()) }

func mostThreads(hardware int) int { return max(64, 8*hardware) }

// HardwareThreads returns the number of online CPUs of the machine, including CPUs that this
// process may not use. If the system does not list them, it returns the number of CPUs in the
// affinity mask.
func HardwareThreads() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	n := 0
	for _, part := range strings.Split(string(bytes.TrimSpace(b)), ",") {
		from, to, list := strings.Cut(part, "-")
		if !list {
			to = from
		}
		lo, err1 := strconv.Atoi(from)
		hi, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || hi < lo {
			err = strconv.ErrSyntax
			break
		}
		n += hi - lo + 1
	}
	if err != nil {
		return findCores().affinity
	}
	return n
}

// DefaultThreads returns the number of threads of a rank if the user gives none, and the reason in
// words. ranksOnNode is the number of ranks on this node that share CPUs with this process.
// ranksInProcess is the number of ranks in this process.
//
// If OMP_NUM_THREADS starts with a positive number, the result is this number. Otherwise a rank
// gets an even share of the CPUs that the affinity mask and the cgroup's quota allow, and at most
// its share of Slurm's CPUs per task.
func DefaultThreads(ranksOnNode, ranksInProcess int) (n int, why string) {
	return findCores().threads(max(ranksOnNode, 1), max(ranksInProcess, 1))
}

func (c cores) threads(ranksOnNode, ranksInProcess int) (int, string) {
	// A list has one number for each level of nesting.
	first, _, _ := strings.Cut(c.getenv("OMP_NUM_THREADS"), ",")
	v, err := strconv.Atoi(strings.TrimSpace(first))
	// Atoi returns the largest int if the number is out of range
	if (err == nil || errors.Is(err, strconv.ErrRange)) && v > 0 {
		return v, "OMP_NUM_THREADS"
	}
	total := c.count()
	n := max(total/ranksOnNode, 1)
	why := fmt.Sprintf("%d CPUs", total)
	if total == 1 {
		why = "1 CPU"
	}
	if total < c.affinity {
		why += " by the cgroup's quota"
	}
	if ranksOnNode > 1 {
		why += fmt.Sprintf(" for %d ranks", ranksOnNode)
	}
	for _, name := range []string{"SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK"} {
		v, err := strconv.Atoi(c.getenv(name))
		if err != nil || v < 1 {
			continue
		}
		if share := max(v/ranksInProcess, 1); share < n {
			n, why = share, name
			if ranksInProcess > 1 {
				why += fmt.Sprintf(" for %d ranks in a process", ranksInProcess)
			}
		}
		break // srun's number overrides the job's
	}
	return n, why
}

// cgroupQuota returns the smallest CPU quota of this process's cgroup and the cgroups above it, as
// a number of CPUs, or 0 without a quota. group is the text of /proc/self/cgroup.
func cgroupQuota(group string, read func(string) ([]byte, error)) float64 {
	quota := 0.0
	take := func(q float64) {
		if q > 0 && (quota == 0 || q < quota) {
			quota = q
		}
	}
	number := func(file string) float64 {
		b, err := read(file)
		if err != nil {
			return 0
		}
		v, err := strconv.ParseFloat(string(bytes.TrimSpace(b)), 64)
		if err != nil {
			return 0
		}
		return v
	}
	for line := range strings.Lines(group) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		version2 := parts[0] == "0" && parts[1] == ""
		if !version2 && !strings.Contains(","+parts[1]+",", ",cpu,") {
			continue
		}
		// A container may mount only its own part of the path as the root.
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			if version2 {
				// "MAX PERIOD" in microseconds; MAX may be the word "max".
				b, err := read("/sys/fs/cgroup" + path.Join(dir, "cpu.max"))
				if err == nil {
					var limit, period float64
					if n, _ := fmt.Sscan(string(b), &limit, &period); n == 2 && period > 0 {
						take(limit / period)
					}
				}
			} else {
				base := "/sys/fs/cgroup/cpu" + dir
				if period := number(path.Join(base, "cpu.cfs_period_us")); period > 0 {
					take(number(path.Join(base, "cpu.cfs_quota_us")) / period)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return quota
}

// libraries counts the objects loaded so far.
var libraries atomic.Int64

// WaitPassively makes OpenMP's threads sleep between parallel regions instead of spinning. A
// process should call it if the ranks that share its cores together have more threads than there
// are cores. It works only before the first leaf is loaded, and returns false if it is called too
// late. If the user set OMP_WAIT_POLICY or GOMP_SPINCOUNT, it changes nothing and returns true.
func WaitPassively() bool {
	if os.Getenv("OMP_WAIT_POLICY") != "" || os.Getenv("GOMP_SPINCOUNT") != "" {
		return true
	}
	if libraries.Load() > 0 {
		return false
	}
	// With cgo, os.Setenv also changes the C library's environment.
	return os.Setenv("OMP_WAIT_POLICY", "passive") == nil
}

package tune

import (
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// minOtherWork is the smallest average number of CPUs, kept busy by other processes, that disturbs
// a measurement.
const minOtherWork = 0.1

// Disturbed reports whether other processes ran during the measurement, which makes the machine
// look slower than it is.
func (m *Model) Disturbed() bool { return m.OtherWork >= minOtherWork }

// usage is a reading of two processor times, in seconds. busy is the time of all CPUs since the
// machine started, and own is the time of this process.
type usage struct {
	at        time.Time
	busy, own float64 // time of all CPUs, and of this process
	known     bool    // busy is known, because the kernel reports it
}

// readUsage reads how much processor time this process and the whole machine have used up to now.
// root is the root of the file system, which contains proc/stat.
func readUsage(root fs.FS) usage {
	u := usage{at: time.Now()}
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return u
	}
	u.own = seconds(r.Utime) + seconds(r.Stime)
	u.busy, u.known = busySeconds(root)
	return u
}

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// tick is the unit of the kernel's CPU times, in seconds. USER_HZ is 100 everywhere.
const tick = 0.01

// busySeconds returns how long all CPUs together have not been idle. The time that a hypervisor
// gave to other machines (stolen time) counts as busy. ok is false if the kernel does not report
// the times.
func busySeconds(root fs.FS) (seconds float64, ok bool) {
	text, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	words := strings.Fields(line)
	if len(words) < 9 || words[0] != "cpu" {
		return 0, false
	}
	// user, nice, system; interrupts, soft interrupts; stolen
	for _, n := range []int{1, 2, 3, 6, 7, 8} {
		x, err := strconv.ParseUint(words[n], 10, 64)
		if err != nil {
			return 0, false
		}
		seconds += tick * float64(x)
	}
	return seconds, true
}

// otherCPUs returns the average number of CPUs that other processes kept busy between two readings:
// earlier and u. It returns 0 if the number is not known.
func (u usage) otherCPUs(earlier usage) float64 {
	wall := u.at.Sub(earlier.at).Seconds()
	if !u.known || !earlier.known || wall <= 0 {
		return 0
	}
	return max(u.busy-earlier.busy-(u.own-earlier.own), 0) / wall
}

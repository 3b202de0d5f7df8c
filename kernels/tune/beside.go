package tune

import (
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// disturbing is how many CPUs other work keeps busy at least, on average, for a model to be one
// that was measured beside it.
const disturbing = 0.1

// Disturbed tells whether the machine was measured beside other work, which makes it look slower
// than it is.
func (m *Model) Disturbed() bool { return m.OtherWork >= disturbing }

// usage is what CPUs have done up to some moment, in seconds.
type usage struct {
	at        time.Time
	busy, own float64 // of all CPUs, and of this process
	known     bool    // busy, as the kernel tells it
}

// used is the usage up to now; root is the file system's.
func used(root fs.FS) usage {
	u := usage{at: time.Now()}
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return u
	}
	u.own = seconds(r.Utime) + seconds(r.Stime)
	u.busy, u.known = busy(root)
	return u
}

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// tick is the unit of the kernel's times of CPUs, in seconds: USER_HZ is 100 everywhere.
const tick = 0.01

// busy is how long all CPUs have not been idle, or what a hypervisor had them do for others.
func busy(root fs.FS) (seconds float64, ok bool) {
	text, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	words := strings.Fields(line)
	if len(words) < 9 || words[0] != "cpu" {
		return 0, false
	}
	for _, n := range []int{1, 2, 3, 6, 7, 8} { // user, nice, system; interrupts, soft ones; stolen
		x, err := strconv.ParseUint(words[n], 10, 64)
		if err != nil {
			return 0, false
		}
		seconds += tick * float64(x)
	}
	return seconds, true
}

// others is how many CPUs others have kept busy on average since before; 0 where that is not known.
func (u usage) others(before usage) float64 {
	wall := u.at.Sub(before.at).Seconds()
	if !u.known || !before.known || wall <= 0 {
		return 0
	}
	return max(u.busy-before.busy-(u.own-before.own), 0) / wall
}

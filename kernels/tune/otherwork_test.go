package tune

import (
	"fmt"
	"math"
	"os"
	"testing"
	"testing/fstest"
	"time"
)

// TestOtherWork checks the CPUs that other processes kept busy: the busy time that the kernel
// reports without the time of this process.
func TestOtherWork(t *testing.T) {
	root := func(user, system, idle, stolen int) fstest.MapFS {
		return fstest.MapFS{"proc/stat": &fstest.MapFile{
			Data: fmt.Appendf(nil, "cpu  %d 5 %d %d 70 1 2 %d 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
				user, system, idle, stolen)}}
	}
	begun := time.Now()
	for _, c := range []struct {
		user, system, stolen int     // increases in hundredths of a second
		own                  float64 // processor time of this process in seconds
		want                 float64 // CPUs that other processes kept busy for two seconds
	}{
		{200, 0, 0, 2, 0},
		{200, 0, 0, 1, 0.5},
		{150, 150, 0, 2, 0.5},
		{200, 0, 100, 2, 0.5},
		{100, 0, 0, 2, 0}, // the kernel's count is less exact than the process's
	} {
		before, after := usage{at: begun}, usage{at: begun.Add(2 * time.Second), own: c.own}
		before.busy, before.known = busySeconds(root(1000, 500, 9000, 3))
		after.busy, after.known = busySeconds(root(1000+c.user, 500+c.system, 9999, 3+c.stolen))
		got := after.otherCPUs(before)
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %v CPUs", c, got)
		}
		if m := (Model{OtherWork: got}); m.Disturbed() != (c.want > 0) {
			t.Errorf("%+v: disturbed is %v", c, m.Disturbed())
		}
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpux 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 x 6 -7 8"} {
		if n, ok := busySeconds(fstest.MapFS{
			"proc/stat": &fstest.MapFile{Data: []byte(text)}}); ok {
			t.Errorf("%q: got %v", text, n)
		}
	}
	if got := (usage{at: begun.Add(time.Second), busy: 9, known: true}).otherCPUs(
		usage{at: begun}); got != 0 {
		t.Errorf("where the kernel told nothing before: got %v", got)
	}
}

// TestOwnWork checks that this process's work does not count as work of other processes.
func TestOwnWork(t *testing.T) {
	root := os.DirFS("/")
	before := readUsage(root)
	if !before.known {
		t.Skip("the kernel tells nothing of CPUs")
	}
	for n, until := 0, time.Now().Add(50*time.Millisecond); time.Now().Before(until); n++ {
		_ = math.Sqrt(float64(n))
	}
	after := readUsage(root)
	if spent := after.own - before.own; spent <= 0 || after.busy < before.busy {
		t.Errorf("got %v seconds of its own, and %v to %v of all", spent, before.busy, after.busy)
	}
}

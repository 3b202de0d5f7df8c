package jobs_test

import (
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"distaff/io/tensor"
)

var planRanks = flag.Int("plan.ranks", 1024, "for how many ranks TestPlanOfEveryJob plans")

// bytesPerRank is the largest number of live bytes for each of a plan's ranks while it is made. It
// is half of 1 GB for 65,536 ranks, because a process takes twice its live memory before it
// collects garbage.
const bytesPerRank = 0.5e9 / 65536

// mostTaken is the largest processor time of a plan for up to 65,536 ranks, including the time that
// this test needs to watch the memory.
const mostTaken = 15 * time.Second

// leastPlanned is the number of bytes that a plan may take for any number of ranks.
const leastPlanned = 2 << 20

// largest returns the largest number of points, and at most ranks, that the algorithm's machine can
// have.
func (g growth) largest(ranks int) int {
	least, next := g.ranks[0], g.ranks[1]
	switch next / least {
	case 4: // c layers of squares
		c := side(least, 3)
		s := int(math.Sqrt(float64(ranks/c) + 0.5))
		s -= s % c
		return s * s * c
	case 8:
		s := int(math.Cbrt(float64(ranks) + 0.5))
		return s * s * s
	}
	return ranks
}

// TestPlanOfEveryJob plans every example for many ranks, with weakly scaled sizes if the example
// has params for them, and limits the memory and the time of each plan.
func TestPlanOfEveryJob(t *testing.T) {
	if testing.Short() {
		t.Skip("plans for thousands of ranks")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.dst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no job files: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".dst")
		any := true
		for _, g := range growths {
			if g.algorithm == name {
				any = false
				ranks := g.largest(*planRanks)
				t.Run(g.title, func(t *testing.T) { planWithin(t, g.title, path, ranks, g.params(ranks)) })
			}
		}
		if any {
			t.Run(name, func(t *testing.T) { planWithin(t, name, path, *planRanks, lined(*planRanks)) })
		}
	}
}

// planWithin plans a job file for the given number of ranks, in limited memory.
func planWithin(t *testing.T, title, path string, ranks int, params map[string]string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{}
	for name, value := range params {
		if strings.Contains(string(text), "\nparam "+name+" ") {
			own[name] = value
		}
	}
	j, err := file(path, string(text), own)
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	j.Ranks = ranks
	before := processorTime(t)
	peak := peakOf(func() {
		p, err := j.Plan(context.Background(), 4)
		if err != nil {
			t.Fatalf("%s on %d ranks: %v", title, ranks, err)
		}
		if len(p.Comm.BytesSent) != ranks {
			t.Errorf("%s: got a plan for %d ranks, want %d", title, len(p.Comm.BytesSent), ranks)
		}
	})
	took := processorTime(t) - before
	t.Logf("%s: %d ranks in %v of processor time and %s", title, ranks,
		took.Round(10*time.Millisecond), tensor.Bytes(peak))
	if took > mostTaken {
		t.Errorf("%s: a plan for %d ranks takes %v of processor time, want at most %v", title, ranks,
			took, mostTaken)
	}
	if most := leastPlanned + int64(float64(ranks)*bytesPerRank); peak > most {
		t.Errorf("%s: a plan for %d ranks takes %s, want at most %s", title, ranks, tensor.Bytes(peak),
			tensor.Bytes(most))
	}
}

// processorTime returns the processor time that this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakOf returns the largest additional memory that is live at once while f runs. It runs the
// garbage collector often and takes the largest result.
func peakOf(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	var found []int64
	live := func() {
		s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(s)
		found = append(found, int64(s[0].Value.Uint64()))
	}
	live()
	ended := make(chan struct{})
	done := make(chan struct{})
	cycles := make(chan struct{}, 1)
	var watch func(*[16]byte)
	watch = func(*[16]byte) {
		select {
		case cycles <- struct{}{}:
		default:
		}
		select {
		case <-ended:
		default:
			runtime.SetFinalizer(new([16]byte), watch)
		}
	}
	runtime.SetFinalizer(new([16]byte), watch)
	go func() {
		defer close(done)
		for {
			select {
			case <-cycles:
				live()
			case <-ended:
				return
			}
		}
	}()
	f()
	close(ended)
	<-done
	return slices.Max(found) - found[0]
}

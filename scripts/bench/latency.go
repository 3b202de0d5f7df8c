package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// command builds the distaff command in dir and returns its path.
func (b *bench) command(dir string) (string, error) {
	exe := filepath.Join(dir, "distaff")
	out, err := exec.CommandContext(b.ctx, "go", "build", "-o", exe,
		"distaff/cmd/distaff").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return exe, nil
}

// timed runs a command and returns the time from start to exit.
func timed(argv ...string) (float64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	at := time.Now()
	out, err := cmd.CombinedOutput()
	seconds := time.Since(at).Seconds()
	if err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", argv, err, out)
	}
	return seconds, nil
}

// latency prints the section of a tiny statement, timed from process start to exit: with its leaf
// in the cache, and with an empty cache.
func latency(b *bench) error {
	dir, err := os.MkdirTemp("", "bench-latency-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	exe, err := b.command(dir)
	if err != nil {
		return err
	}
	if old, had := os.LookupEnv("DISTAFF_CACHE"); had {
		defer os.Setenv("DISTAFF_CACHE", old)
	} else {
		defer os.Unsetenv("DISTAFF_CACHE")
	}
	input := filepath.Join(dir, "a.tns")
	if err := os.WriteFile(input, []byte("1 1 2.5\n2 3 -1\n3 2 4\n"), 0o600); err != nil {
		return err
	}
	argv := []string{exe, "run", "y(i) = A(i,j)*x(j)", "-i", "A:" + input, "-f", "A:ds", "-g",
		"x:dense", "-o", "y:" + filepath.Join(dir, "y.tns")}
	b.printf("%-28s %12s %12s %12s %9s\n", "tiny SpMV, start to exit", "median ms", "least ms",
		"most ms", "limit ms")
	for _, x := range []struct {
		name  string
		fresh bool // an empty cache for each run
		runs  int
		limit float64
	}{{"leaf in the cache", false, 20, 20}, {"first compile of the leaf", true, 5, 400}} {
		if !b.wants(x.name) {
			continue
		}
		var times []float64
		for k := -1; k < x.runs; k++ {
			cache := "cache"
			if x.fresh {
				cache = fmt.Sprintf("cache%d", k)
			}
			os.Setenv("DISTAFF_CACHE", filepath.Join(dir, cache))
			t, err := timed(argv...)
			if err != nil {
				return err
			}
			if k >= 0 { // the first run fills the cache
				times = append(times, t*1e3)
			}
		}
		least, most := times[0], times[0]
		for _, t := range times {
			least, most = min(least, t), max(most, t)
		}
		b.printf("%-28s %12.1f %12.1f %12.1f %9.0f%s\n", x.name, median(times), least, most,
			x.limit, b.over(median(times) > x.limit))
	}
	return nil
}

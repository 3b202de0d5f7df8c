package env

import (
	"context"
	"errors"
	"strings"
	"testing"

	_ "distaff/kernels/verified"
	"distaff/spmd/comm/local"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "1000": 1000, "512M": 512 << 20, "1.5G": 3 << 29,
		"2kib": 2048, " 3 KB ": 0, "3T": 3 << 40, "7B": 7,
		"": 0, "0": 0, "0.5": 0, "-1": 0, "M": 0, "1E": 0, "nan": 0, "inf": 0, "8388608T": 0} {
		got, err := ParseSize(text)
		var exit interface{ ExitCode() int }
		if got != want || (want == 0) != (err != nil) ||
			err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestSlurmMemory(t *testing.T) {
	for _, c := range []struct {
		node, cpu, cpus string
		want            int64
	}{{"", "", "", 0}, {"2048", "", "", 2 << 30}, {"", "100", "4", 400 << 20},
		{"2048", "100", "4", 2 << 30}, {"", "100", "", 0}, {"0", "", "", 0},
		{"x", "100", "2", 200 << 20}} {
		set := map[string]string{"SLURM_MEM_PER_NODE": c.node, "SLURM_MEM_PER_CPU": c.cpu,
			"SLURM_CPUS_ON_NODE": c.cpus}
		if got := slurmMemory(func(name string) string { return set[name] }); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}

// TestLimit checks that each rank of a machine gets an equal share of the memory if the user gives
// no limit.
func TestLimit(t *testing.T) {
	t.Setenv("SLURM_MEM_PER_NODE", "10")
	one, why := DefaultMemory(1)
	if one != 10<<20/10*9 || why != "Slurm's limit" {
		t.Errorf("got %d bytes by %s, want 90%% of 10 MiB by Slurm's limit", one, why)
	}
	if four, _ := DefaultMemory(4); four != one/4 {
		t.Errorf("got %d bytes for each of 4 ranks, want a quarter of %d", four, one)
	}
	c, end := local.Alone(context.Background())
	defer end()
	var told []string
	e := New(c, Settings{Threads: 2, Detail: func(s string) { told = append(told, s) }}, 1, 1)
	defer e.Close()
	if e.Limit.Max() != one || e.LimitWhy != "90% of Slurm's limit" || e.Threads != 2 || !e.OneNode ||
		len(told) > 0 {
		t.Errorf("got a limit of %d (%s), %d threads, one node %v, and was told %q", e.Limit.Max(),
			e.LimitWhy, e.Threads, e.OneNode, told)
	}
	given := New(c, Settings{MemoryLimit: 5000, Detail: func(s string) { told = append(told, s) }}, 1,
		1)
	defer given.Close()
	if given.Limit.Max() != 5000 || given.LimitWhy != "--memory-limit" || given.Threads < 1 ||
		len(told) != 1 || !strings.Contains(told[0], "thread") {
		t.Errorf("got a limit of %d (%s), %d threads, and was told %q", given.Limit.Max(), given.LimitWhy,
			given.Threads, told)
	}
}

// fixedProgress always reports the same progress.
type fixedProgress struct{}

func (fixedProgress) Progress() (done, total int64) { return 1, 4 }

// TestWatchWork checks that Working is called with the progress of work and finally with its end.
func TestWatchWork(t *testing.T) {
	c, end := local.Alone(context.Background())
	defer end()
	New(c, Settings{Threads: 1}, 1, 1).WatchWork("work", fixedProgress{})() // nobody listens
	heard := make(chan string, 100)
	e := New(c, Settings{Threads: 1, Working: func(what string, done, total int64) {
		if what != "" && (done != 1 || total != 4) {
			t.Errorf("got %d of %d", done, total)
		}
		heard <- what
	}}, 1, 1)
	stop := e.WatchWork("work", fixedProgress{})
	if what := <-heard; what != "work" {
		t.Errorf("got %q first", what)
	}
	stop()
	last := ""
	for len(heard) > 0 {
		last = <-heard
	}
	if last != "" {
		t.Errorf("got %q last", last)
	}
}

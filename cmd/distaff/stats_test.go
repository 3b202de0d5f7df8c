package main

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"distaff/kernels/tune"
)

// TestStatsOfWork checks that --stats contains the bytes and operations of a leaf whose traffic is
// known, and the share of the machine's limit that the leaf reached. It tests a limit by the memory
// and a limit by multiply-adds. Without a machine model, --stats must contain no share.
func TestStatsOfWork(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler")
	}
	cache := t.TempDir()
	t.Setenv("DISTAFF_CACHE", cache)
	type stats struct {
		Phases struct{ Compute []float64 }
		Work   map[string]any
	}
	// The matrix has 1500 rows and 2000 columns. The leaf moves the matrix, the vector and the
	// result.
	const bytes, read, written, multiplyAdds = 8 * (1500*2000 + 2000 + 1500),
		8 * (1500*2000 + 2000), 8 * 1500, 1500 * 2000
	run := func() (s stats) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "s.json")
		if code, _, words := inProcess("run", "y(i) = A(i,j)*x(j)", "-g=A:dense", "-g=x:dense",
			"-d=A:1500,2000", "--threads=1", "--repeat=3", "--warmup=1", "--stats="+file); code != 0 {
			t.Fatal(words)
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.Work["bytes"] != float64(bytes) || s.Work["flops"] != float64(2*multiplyAdds) {
			t.Errorf("got the work %v, want %d bytes and %d flops", s.Work, bytes, 2*multiplyAdds)
		}
		return s
	}
	if s := run(); s.Work["share_of_limit"] != nil {
		t.Errorf("a machine that was not measured: got the work %v", s.Work)
	}
	pair := func(x float64) tune.Pair { return tune.Pair{One: x, All: x} }
	for _, c := range []struct {
		name                     string
		reads, writes, operation float64 // per second
		least                    float64 // seconds
	}{
		{"a slow memory", 1e4, 1e3, 1e9, read/1e4 + written/1e3},
		{"slow operations", 1e9, 1e9, 1e3, multiplyAdds / 1e3},
	} {
		m := &tune.Model{Threads: 1, Levels: []tune.Level{{Name: "memory", Read: pair(c.reads),
			Write: pair(c.writes)}}, Gathers: []tune.Gather{{Bytes: 1, Values: pair(1),
			Rows: pair(1)}},
			MultiplyAdds64: pair(c.operation), MultiplyAdds32: pair(1), Branch: 1, Segment: 1,
			Compile: 1, Files: tune.Files{Load: 1, Parse: 1, Store: 1}}
		if err := tune.Keep(cache, m); err != nil {
			t.Fatal(err)
		}
		s := run()
		share, ok := s.Work["share_of_limit"].(float64)
		if !ok || len(s.Phases.Compute) != 3 {
			t.Fatalf("%s: got %+v", c.name, s)
		}
		// The leaf runs for nearly all of the last repeat.
		if took, last := c.least/share, s.Phases.Compute[2]; took > last*(1+1e-9) ||
			took < last/10 || math.IsNaN(took) {
			t.Errorf("%s: a share of %v of %v seconds, so that the leaf took %v; the last repeat "+
				"took %v", c.name, share, c.least, took, last)
		}
	}
}

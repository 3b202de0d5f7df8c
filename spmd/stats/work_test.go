package stats

import (
	"math"
	"strings"
	"testing"
	"time"

	"distaff/kernels/tune"
	_ "distaff/kernels/verified"
	"distaff/spmd/exec"
)

// TestWorkOf checks that the ranks of a machine share its memory, that ranks of other machines do
// not, and that the slowest rank counts.
func TestWorkOf(t *testing.T) {
	m := &tune.Model{Threads: 2,
		Levels: []tune.Level{
			{Name: "memory", Read: tune.Pair{One: 100, All: 150}, Write: tune.Pair{One: 100, All: 150}}},
		MultiplyAdds64: tune.Pair{One: 10, All: 20}, MultiplyAdds32: tune.Pair{One: 20, All: 40}}
	rank := func(host string, read, written int64, flops float64, took time.Duration) Rank {
		return Rank{Host: host, Threads: 1, Work: tune.Work{Read: read, Written: written, Flops: flops},
			Spent: exec.Spent{Leaf: took}}
	}
	for _, c := range []struct {
		name  string
		ranks []Rank
		least float64
		took  float64
	}{
		{"one", []Rank{rank("a", 200, 100, 10, 6*time.Second)}, 3, 6},
		{"two of a machine", []Rank{rank("a", 200, 100, 10, 6*time.Second),
			rank("a", 300, 0, 10, 5*time.Second)}, 4, 6},
		{"two machines", []Rank{rank("a", 200, 100, 10, 6*time.Second),
			rank("b", 300, 0, 10, 5*time.Second)}, 3, 6},
		{"one rank has most", []Rank{rank("a", 3000, 0, 0, 6*time.Second),
			rank("a", 0, 0, 0, time.Second)}, 30, 6},
		{"operations", []Rank{rank("a", 1, 0, 1000, 100*time.Second)}, 50, 100},
	} {
		w := WorkOf(c.ranks, m)
		if w.Share == nil || math.Abs(*w.Share-c.least/c.took) > 1e-12 {
			t.Errorf("%s: got a share of %v, want %v of %v", c.name, w.Share, c.least, c.took)
		}
		var bytes int64
		for _, r := range c.ranks {
			bytes += r.Work.Read + r.Work.Written
		}
		if w.Bytes != bytes {
			t.Errorf("%s: got %d bytes, want %d", c.name, w.Bytes, bytes)
		}
		if w := WorkOf(c.ranks, nil); w.Share != nil || w.Bytes != bytes ||
			!strings.Contains(w.String(), "no model") {
			t.Errorf("%s, no model: got %v", c.name, w)
		}
	}
	one := rank("a", 200, 100, 10, 6*time.Second)
	one.Estimated = true
	if got := WorkOf([]Rank{one}, m).String(); !strings.Contains(got,
		"at least 300 bytes and do about 10 mult") ||
		!strings.Contains(got,
			"3e+03 ms by the machine model, but they took 6e+03 ms, which is 50% of its limit") {
		t.Errorf("got %s", got)
	}
}

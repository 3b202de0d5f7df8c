package spmd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"

	"distaff/kernels/cc"
)

// TestLeafProgress checks that Working is called with the growing progress of a leaf's loop while
// the leaf runs, on one and two threads, and at one and two ranks.
func TestLeafProgress(t *testing.T) {
	for _, c := range []struct{ ranks, threads int }{{1, 1}, {1, 2}, {2, 1}} {
		t.Run(fmt.Sprintf("%d ranks %d threads", c.ranks, c.threads), func(t *testing.T) {
			j := &Job{
				Statement: "C(i,j) = A(i,k) * B(k,j)",
				Sizes:     map[string][]int64{"A": {4000, 1000}, "B": {1000, 500}},
				Formats:   map[string]string{"A": "ds"},
				Inputs:    map[string]Input{"A": Generated("uniform:1e6"), "B": Generated("dense")},
			}
			j.Ranks, j.Threads, j.Repeat = c.ranks, c.threads, 40 // many ticks of 0.2 s
			var mu sync.Mutex
			inside := 0 // how often a leaf had done some of its loop, and not all
			var last struct {
				what string
				done int64
			}
			named := regexp.MustCompile(`^computing C(, run \d+ of 40)?(, step \d+)?(, loop \d+)?$`)
			j.Working = func(what string, done, total int64) {
				mu.Lock()
				defer mu.Unlock()
				if what != "" && !named.MatchString(what) || done < 0 || done > total {
					t.Errorf("%q: %d of %d done", what, done, total)
				}
				if what == last.what && what != "" && what != "computing C" && done < last.done {
					t.Errorf("%q: %d of %d done after %d", what, done, total, last.done)
				}
				last.what, last.done = what, done
				if total > 8 && done > 0 && done < total {
					inside++
				}
			}
			_, err := j.Run(context.Background())
			if errors.Is(err, cc.ErrNoCompiler) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if inside == 0 {
				t.Error("no leaf was told to have done some of its loop")
			}
			if last.what != "" {
				t.Errorf("got %q last, want nothing", last.what)
			}
		})
	}
}

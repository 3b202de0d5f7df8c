package spmd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"distaff/io/tcs"
	"distaff/kernels/cc"
)

// TestCheckThreads checks that the check finds the same with any number of threads.
func TestCheckThreads(t *testing.T) {
	for k, c := range []struct {
		statement, format string
		sizes             map[string][]int64
		inputs            map[string]Input
	}{
		{"C(i,j) = A(i,k) * B(k,j)", "ss", map[string][]int64{"A": {200, 90}, "j": {110}},
			map[string]Input{"A": Generated("uniform:1500"), "B": Generated("uniform:900")}},
		{"C(i,j) = A(k,i) * B(k,j)", "ds", map[string][]int64{"A": {90, 30}, "j": {110}},
			map[string]Input{"A": Generated("uniform:1500"), "B": Generated("uniform:900")}},
		{"C(i,j) = A(i,j) + B(j,i)", "ss:1,0", map[string][]int64{"A": {150, 80}},
			map[string]Input{"A": Generated("uniform:1500"), "B": Generated("uniform:900")}},
		{"C(i,j) = A(i,j) * b(j)", "dd", map[string][]int64{"A": {150, 80}},
			map[string]Input{"A": Generated("uniform:1500"), "b": Generated("dense")}},
		{"C(i,j) = A(i,j) * 3", "ss", map[string][]int64{"A": {1 << 21, 1 << 20}},
			map[string]Input{"A": Generated("uniform:3000")}},
		{"c = A(i,j) * B(j,i)", "", map[string][]int64{"A": {100, 80}},
			map[string]Input{"A": Generated("uniform:4000"), "B": Generated("uniform:3000")}},
	} {
		for _, wrong := range []float64{0, 0.02, 1} {
			var want string
			for _, threads := range []int{1, 2, 3, 8} {
				formats := map[string]string{}
				if c.format != "" {
					formats["C"] = c.format
				}
				j := &Job{Statement: c.statement, Sizes: c.sizes, Inputs: c.inputs, Formats: formats}
				j.Threads = threads
				lines, d := checkedBy(t, j, "", func(x *tcs.Tensor) {
					r := rand.New(rand.NewPCG(uint64(k), 1))
					for i := range x.Vals.Len {
						if v := x.Value(i); r.Float64() < wrong || wrong > 0 && x.Vals.Len == 1 {
							v.C += 1
							x.SetValue(i, v)
						}
					}
				})
				got := lines
				if d != nil {
					got += fmt.Sprintf("%+v", *d)
				}
				if (wrong == 0) != (d == nil) {
					t.Fatalf("%s, %g wrong, %d threads: got %q", c.statement, wrong, threads, got)
				}
				if threads == 1 {
					want = got
				} else if got != want {
					t.Errorf("%s, %g wrong, %d threads: got\n%s\nwant, as with one,\n%s", c.statement, wrong,
						threads, got, want)
				}
			}
		}
	}
}

// TestWorking checks that a long check reports its progress and its end, and that cancelling the
// context ends it.
func TestWorking(t *testing.T) {
	j := &Job{
		Statement: "C(i,l) = A(i,j) * B(j,k) * D(k,l)",
		Sizes:     map[string][]int64{"A": {1500, 1500}, "B": {1500, 1500}, "D": {1500, 1500}},
		Inputs: map[string]Input{"A": Generated("uniform:150000"), "B": Generated("uniform:150000"),
			"D": Generated("uniform:150000")},
	}
	j.Check = true
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var told []string
	j.Working = func(what string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if done < 0 || done > total {
			t.Errorf("%s: %d of %d done", what, done, total)
		}
		if len(told) == 0 || told[len(told)-1] != what {
			told = append(told, what)
		}
		if what == "check of C" {
			cancel()
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := j.Run(ctx)
		ended <- err
	}()
	select {
	case err := <-ended:
		if errors.Is(err, cc.ErrNoCompiler) {
			t.Skip(err)
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want that the context ended", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("the check goes on after its context's end")
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(told, "|"); !strings.HasSuffix(all, "check of C|") {
		t.Errorf("told %q, want that of the check, and its end", all)
	}
}

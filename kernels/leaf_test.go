package kernels

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
)

// dst.h here, which cgo compiles, must be the text that leaves start with.
func TestHeader(t *testing.T) {
	b, err := os.ReadFile("dst.h")
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != c.Header() {
		t.Error("dst.h is not that of codegen/emit/c: go generate ./kernels")
	}
}

// leafSource holds handwritten leaves of the forms that the compiler makes.
const leafSource = `
#include <stddef.h>
#include <string.h>

// y(i) = A(i,j) * x(j), A in CSR; t = y, A, x
int spmv(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    double *restrict y = t[0]->vals.ptr;
    const int32_t *pos = t[1]->levels[1].pos.ptr, *crd = t[1]->levels[1].crd.ptr;
    const double *a = t[1]->vals.ptr, *x = t[2]->vals.ptr;
    const int64_t p0 = t[1]->levels[1].pos.first, c0 = t[1]->levels[1].crd.first, a0 = t[1]->vals.first;
    #pragma omp parallel for num_threads(env->threads) if (env->threads > 1)
    for (int64_t i = bounds[0][0]; i < bounds[0][1]; i++) {
        double sum = 0;
        for (int64_t p = pos[i - p0]; p < pos[i + 1 - p0]; p++)
            sum += a[p - a0] * x[crd[p - c0] - t[2]->levels[0].offset];
        y[i - t[0]->levels[0].offset] = sum;
    }
    return 0;
}

// Tells four steps in a loop of three, each when the caller has seen the one before. With
// bounds[0][1] of 0 there must be no progress to tell.
int stepwise(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int64_t *flags = t[0]->vals.ptr;
    if (bounds[0][1] == 0 || !env->has_progress)
        return bounds[0][1] != 0 || env->has_progress || env->progress ? 1 : 0;
    env->progress->loop++;
    env->progress->total = 3;
    for (int64_t step = 1; step <= 4; step++) {
        __atomic_fetch_add(&env->progress->done, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&flags[0], step, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&flags[1], __ATOMIC_SEQ_CST) != step) {}
    }
    return 0;
}

// The multiples of 3 below bounds[0][1] as a sparse vector, grown one by one.
int threes(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int64_t cap = 1, n = 0;
    int32_t *crd = env->alloc(env, cap * 4, 0);
    double *vals = env->alloc(env, cap * 8, 0);
    int32_t *pos = env->alloc(env, 8, 1);
    if (!crd || !vals || !pos) return 1;
    for (int64_t i = bounds[0][0]; i < bounds[0][1]; i++) {
        if (i % 3) continue;
        if (n == cap) {
            void *c = env->grow(env, crd, cap * 4, cap * 8);
            if (!c) return 1;
            crd = c;
            void *v = env->grow(env, vals, cap * 8, cap * 16);
            if (!v) return 1;
            vals = v;
            cap *= 2;
        }
        crd[n] = (int32_t)i;
        vals[n] = 2.0 * i;
        n++;
    }
    pos[1] = (int32_t)n;
    t[0]->levels[0].pos.ptr = pos;
    t[0]->levels[0].pos.len = 2;
    t[0]->levels[0].crd.ptr = crd;
    t[0]->levels[0].crd.len = n;
    t[0]->vals.ptr = vals;
    t[0]->vals.len = n;
    return 0;
}

// A workspace for every thread, bounds[0][1] bytes each; the sum of all is the result.
int workspaces(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int64_t bytes = bounds[0][1], sum = 0;
    int failed = 0;
    #pragma omp parallel for num_threads(env->threads) if (env->threads > 1) reduction(+:sum)
    for (int64_t i = 0; i < 200; i++) {
        unsigned char *w = env->alloc(env, bytes, 1);
        if (!w) {
            __atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
            continue;
        }
        for (int64_t k = 0; k < bytes; k++) sum += w[k];
        memset(w, 1, bytes);
        for (int64_t k = 0; k < bytes; k++) sum += w[k];
        env->release(env, w, bytes);
    }
    if (failed) return 1;
    *(int64_t *)t[0]->vals.ptr = sum;
    return 0;
}

int leaky(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    return !env->alloc(env, bounds[0][0], 0);
}

// t[0] has the pattern of t[1].
int shares(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    t[0]->levels[0] = t[1]->levels[0];
    t[0]->vals.len = t[1]->vals.len;
    t[0]->vals.ptr = env->alloc(env, 8 * t[1]->vals.len, 0);
    if (!t[0]->vals.ptr) return 1;
    memcpy(t[0]->vals.ptr, t[1]->vals.ptr, 8 * t[1]->vals.len);
    return 0;
}

int fails(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    void *p = env->alloc(env, 1 << 20, 0);
    if (!p) return 1;
    if (t) t[0]->vals.ptr = p; // published, then failed
    env->fail_ncoord = 2;
    env->fail_coord[0] = 3;
    env->fail_coord[1] = (int64_t)5 << 40;
    return (int)bounds[0][0];
}

int thread_id(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    static __thread int here;
    *(int64_t *)t[0]->vals.ptr = (int64_t)(long)&here;
    return 0;
}
`

var library struct {
	sync.Once
	lib *Library
	err error
}

// testLeaf compiles leafSource once for all tests.
func testLeaf(t *testing.T, name string) Leaf {
	t.Helper()
	library.Do(func() {
		cfg := cc.Config{Path: os.Getenv("PATH"), Flags: []string{"-O1", "-fopenmp", "-Wall"},
			CPU: cc.NoCPU}
		var b *cc.Builder
		if b, library.err = cc.New(cfg); library.err != nil {
			return
		}
		var o *cc.Object
		if o, library.err = b.Build(context.Background(),
			cc.Source{Text: c.Header() + leafSource, Label: "by hand"}); library.err != nil {
			return
		}
		library.lib, library.err = Open(o)
	})
	if errors.Is(library.err, cc.ErrNoCompiler) {
		t.Skip(library.err)
	}
	if library.err != nil {
		t.Fatal(library.err)
	}
	l, err := library.lib.Leaf(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func vector(v []float64) *tcs.Tensor {
	n := int64(len(v))
	return &tcs.Tensor{Header: tcs.Header{Dims: []int64{n}, Type: tensor.Float64}, Vals: tcs.Of(v),
		Levels: []tcs.Level{{Kind: 'd', Size: n}}}
}

func scalarInt(v []int64) *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Type: tensor.Int64}, Vals: tcs.Of(v)}
}

// sparseResult returns an empty sparse vector that a leaf fills.
func sparseResult() *tcs.Tensor {
	w4, w8 := tcs.Array{Width: 4}, tcs.Array{Width: 8}
	return &tcs.Tensor{Header: tcs.Header{Dims: []int64{1 << 30}, Type: tensor.Float64}, Vals: w8,
		Levels: []tcs.Level{{Kind: 's', Size: 1 << 30, Pos: w4, Crd: w4}}}
}

func TestSpMV(t *testing.T) {
	leaf := testLeaf(t, "spmv")
	// Rows {0: 1 at 1}, {}, {2 at 0, 3 at 2}, and the same rows as a block from row 2 on.
	pos, crd, vals := []int32{0, 1, 1, 3}, []int32{1, 0, 2}, []float64{1, 2, 3}
	csr := &tcs.Tensor{Header: tcs.Header{Dims: []int64{3, 3}, Type: tensor.Float64},
		Vals: tcs.Of(vals),
		Levels: []tcs.Level{{Kind: 'd', Size: 3},
			{Kind: 's', Mode: 1, Size: 3, Pos: tcs.Of(pos), Crd: tcs.Of(crd)}}}
	block := &tcs.Tensor{Header: csr.Header, Vals: csr.Vals.Sub(1, 3),
		Levels: []tcs.Level{{Kind: 'd', Size: 1, Offset: 2},
			{Kind: 's', Mode: 1, Size: 3, Pos: csr.Levels[1].Pos.Sub(2, 4),
				Crd: csr.Levels[1].Crd.Sub(1, 3)}}}
	x := vector([]float64{10, 20, 30})
	for _, c := range []struct {
		a       *tcs.Tensor
		bounds  [2]int64
		threads int
		want    string
	}{
		{csr, [2]int64{0, 3}, 1, "[20 0 110]"},
		{csr, [2]int64{0, 3}, 3, "[20 0 110]"},
		{csr, [2]int64{0, 1}, 2, "[20 -1 -1]"},
		{block, [2]int64{2, 3}, 1, "[-1 -1 110]"},
	} {
		y := []float64{-1, -1, -1}
		if err := leaf.Call(context.Background(), []*tcs.Tensor{vector(y), c.a, x},
			[][2]int64{c.bounds}, Env{Threads: c.threads}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(y); got != c.want {
			t.Errorf("rows %v, %d threads: %s, want %s", c.bounds, c.threads, got, c.want)
		}
	}
}

// TestProgress checks that the progress of a leaf is visible while it runs. The leaf gets a place
// for its progress only if the caller asks for progress.
func TestProgress(t *testing.T) {
	leaf := testLeaf(t, "stepwise")
	flags := make([]int64, 2)
	call := func(p *Progress, asks int64) error {
		return leaf.Call(context.Background(), []*tcs.Tensor{{Header: tcs.Header{Dims: []int64{2}},
			Vals: tcs.Of(flags)}}, [][2]int64{{0, asks}}, Env{Threads: 1, Progress: p})
	}
	if err := call(nil, 0); err != nil {
		t.Fatalf("without a progress: %v", err)
	}
	p := new(Progress)
	if _, _, total := p.Loop(); total != 0 || p.Running() || p.Calls() != 0 {
		t.Errorf("before a call: got %d in total, running %v, %d calls", total, p.Running(), p.Calls())
	}
	for round := range int64(2) {
		flags[0], flags[1] = 0, 0
		ended := make(chan error)
		go func() { ended <- call(p, 1) }()
		for step := int64(1); step <= 4; step++ {
			for atomic.LoadInt64(&flags[0]) != step { // the leaf has reported this step
				runtime.Gosched()
			}
			loop, done, total := p.Loop()
			if loop != 1 || done != min(step, 3) || total != 3 || !p.Running() || p.Calls() != round+1 {
				t.Errorf("step %d: got %d of %d of loop %d, running %v, %d calls", step, done, total, loop,
					p.Running(), p.Calls())
			}
			atomic.StoreInt64(&flags[1], step) // lets the leaf continue
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if p.Running() {
			t.Error("the leaf has ended, and is said to run")
		}
	}
}

func TestPublishedResult(t *testing.T) {
	leaf := testLeaf(t, "threes")
	for _, reuse := range []bool{false, true} {
		limit := tcs.NewLimit(0)
		arena := NewArena(limit)
		arena.Reuse(reuse)
		for round := range 3 {
			for _, n := range []int64{0, 1, 4, 1000, 300000, 3 << 20} {
				r := sparseResult()
				if err := leaf.Call(context.Background(), []*tcs.Tensor{r}, [][2]int64{{0, n}},
					Env{Threads: 1, Arena: arena}); err != nil {
					t.Fatal(err)
				}
				want := (n + 2) / 3
				crd, vals := tcs.Slice[int32](r.Levels[0].Crd), tcs.Slice[float64](r.Vals)
				if int64(len(crd)) != want || int64(len(vals)) != want ||
					fmt.Sprint(tcs.Slice[int32](r.Levels[0].Pos)) != fmt.Sprintf("[0 %d]", want) {
					t.Fatalf("below %d: %d coordinates, %d values, want %d", n, len(crd), len(vals),
						want)
				}
				for i, c := range crd {
					if int64(c) != 3*int64(i) || vals[i] != 6*float64(i) {
						t.Fatalf("entry %d is %d: %v", i, c, vals[i])
					}
				}
				if live := arena.Live(); live != 3 {
					t.Errorf("%d blocks live, want 3", live)
				}
				if used := limit.Used(); !reuse && (used < 12*want || used > 12*want+3*8192+128) {
					t.Errorf("%d entries: %d bytes in use", want, used)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				if arena.Live() != 0 || limit.Used() != 0 {
					t.Errorf("round %d: after Close: %d blocks, %d bytes", round, arena.Live(),
						limit.Used())
				}
			}
		}
		if pooled := arena.Pooled(); (pooled > 0) != reuse {
			t.Errorf("reuse %v: %d bytes pooled", reuse, pooled)
		}
		arena.Reuse(false)
		if arena.Pooled() != 0 || arena.Leaks() != 0 || limit.Peak() < 12<<20 {
			t.Errorf("%d bytes pooled, %d leaks, peak %d", arena.Pooled(), arena.Leaks(),
				limit.Peak())
		}
	}
}

// TestGrownResultsAreReused checks that arrays that grow reuse the pages of the previous repeat, so
// the pool does not grow with each repeat.
func TestGrownResultsAreReused(t *testing.T) {
	leaf, arena := testLeaf(t, "threes"), NewArena(nil)
	arena.Reuse(true)
	defer arena.Reuse(false)
	const n = 3 << 20 // 12 MiB of values and coordinates
	for range 12 {
		r := sparseResult()
		if err := leaf.Call(context.Background(), []*tcs.Tensor{r}, [][2]int64{{0, n}},
			Env{Threads: 1, Arena: arena}); err != nil {
			t.Fatal(err)
		}
		for i, v := range tcs.Slice[float64](r.Vals) {
			if v != 6*float64(i) {
				t.Fatalf("value %d is %v", i, v)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if pooled := arena.Pooled(); pooled > 36<<20 {
		t.Errorf("%d bytes pooled, of results of 12 MiB", pooled)
	}
}

func TestWorkspaces(t *testing.T) {
	leaf := testLeaf(t, "workspaces")
	for _, bytes := range []int64{0, 1, 1000, 300 << 10} {
		for _, threads := range []int{1, 4} {
			limit := tcs.NewLimit(64 << 20)
			arena := NewArena(limit)
			sum := []int64{-1}
			if err := leaf.Call(context.Background(), []*tcs.Tensor{scalarInt(sum)},
				[][2]int64{{0, bytes}}, Env{Threads: threads, Arena: arena}); err != nil {
				t.Fatal(err)
			}
			if sum[0] != 200*bytes {
				t.Errorf("%d bytes, %d threads: sum %d, want %d", bytes, threads, sum[0], 200*bytes)
			}
			if limit.Used() != 0 || arena.Live() != 0 || arena.Leaks() != 0 ||
				arena.Pooled() != 0 || limit.Peak() == 0 {
				t.Errorf("%d bytes in use, %d blocks, %d leaks, %d pooled, peak %d", limit.Used(),
					arena.Live(), arena.Leaks(), arena.Pooled(), limit.Peak())
			}
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	leaf := testLeaf(t, "threes")
	for _, n := range []int64{100, 100000, 3 << 20} {
		for _, reuse := range []bool{false, true} {
			limit := tcs.NewLimit(3 * n)
			arena := NewArena(limit)
			arena.Reuse(reuse)
			r := sparseResult()
			err := leaf.Call(context.Background(), []*tcs.Tensor{r}, [][2]int64{{0, n}},
				Env{Threads: 1, Arena: arena, What: "a(i) = threes(i)"})
			var me *tcs.MemoryError
			if !errors.As(err, &me) || me.ExitCode() != 5 || me.Max != 3*n || me.Want <= 0 ||
				!strings.Contains(err.Error(), "threes") {
				t.Errorf("%d: got %v, want a MemoryError", n, err)
			}
			if r.Vals.Ptr != nil || limit.Used() != 0 || arena.Live() != 0 || arena.Leaks() != 0 {
				t.Errorf("%d: after a failure: %v, %d bytes, %d blocks, %d leaks", n, r.Vals,
					limit.Used(), arena.Live(), arena.Leaks())
			}
			if limit.Peak() > 3*n {
				t.Errorf("peak %d, limit %d", limit.Peak(), 3*n)
			}
		}
	}
	// Sizes that cannot be mapped at all.
	err := testLeaf(t, "leaky").Call(context.Background(), nil, [][2]int64{{1 << 55, 0}},
		Env{Threads: 1, Arena: NewArena(nil)})
	if err == nil || !strings.Contains(err.Error(), "the system has no more memory") {
		t.Errorf("got %v", err)
	}
	err = testLeaf(t, "leaky").Call(context.Background(), nil, [][2]int64{{-1, 0}}, Env{Threads: 1})
	if err == nil || !strings.Contains(err.Error(), "more memory than there are addresses") {
		t.Errorf("got %v", err)
	}
}

func TestArenaAlloc(t *testing.T) {
	limit := tcs.NewLimit(16 << 20)
	arena := NewArena(limit)
	arena.Reuse(true)
	for _, n := range []int64{0, 1, 1 << 20, 8 << 20} {
		m, err := arena.Alloc(n, "the result")
		if err != nil {
			t.Fatal(err)
		}
		if m.Bytes < n || uintptr(m.Ptr)%64 != 0 || limit.Used() != m.Bytes || arena.Live() != 1 {
			t.Errorf("%d bytes: %d at %p, %d in use, %d blocks", n, m.Bytes, m.Ptr, limit.Used(),
				arena.Live())
		}
		for i := range m.Slice() {
			m.Slice()[i] = 7
		}
		if m.Release() != nil || limit.Used() != 0 || arena.Live() != 0 {
			t.Errorf("after release: %d bytes, %d blocks", limit.Used(), arena.Live())
		}
		if n == 8<<20 {
			again, err := arena.Alloc(n, "the result")
			if err != nil || again.Ptr != m.Ptr {
				t.Errorf("the second block is another one: %v", err)
			}
			again.Release()
		}
	}
	var me *tcs.MemoryError
	if _, err := arena.Alloc(17<<20, "the result"); !errors.As(err, &me) || me.Want != 17<<20 ||
		me.What != "the result" {
		t.Errorf("got %v", err)
	}
	// The pool frees its blocks for a request that needs them.
	if m, err := arena.Alloc(15<<20, "the result"); err != nil || arena.Pooled() > 1<<20 {
		t.Errorf("%v, %d pooled", err, arena.Pooled())
	} else {
		m.Release()
	}
	arena.Reuse(false)
}

func TestLeakIsFreedAndCounted(t *testing.T) {
	leaf := testLeaf(t, "leaky")
	limit := tcs.NewLimit(0)
	arena := NewArena(limit)
	for i, n := range []int64{1, 1 << 20, 5 << 20} {
		if err := leaf.Call(context.Background(), nil, [][2]int64{{n, 0}},
			Env{Threads: 1, Arena: arena}); err != nil {
			t.Fatal(err)
		}
		if arena.Leaks() != int64(i+1) || limit.Used() != 0 || arena.Live() != 0 {
			t.Errorf("%d leaks, %d bytes, %d blocks", arena.Leaks(), limit.Used(), arena.Live())
		}
	}
}

func TestSharedPattern(t *testing.T) {
	arena := NewArena(nil)
	b := sparseResult()
	if err := testLeaf(t, "threes").Call(context.Background(), []*tcs.Tensor{b},
		[][2]int64{{0, 10}}, Env{Threads: 1, Arena: arena}); err != nil {
		t.Fatal(err)
	}
	a := sparseResult()
	if err := testLeaf(t, "shares").Call(context.Background(), []*tcs.Tensor{a, b}, nil,
		Env{Threads: 1, Arena: arena}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tcs.Slice[int32](a.Levels[0].Crd),
		tcs.Slice[float64](a.Vals)); got != "[0 3 6 9] [0 6 12 18]" {
		t.Errorf("the sharer holds %s", got)
	}
	if err := a.Close(); err != nil || arena.Live() != 0 || arena.Leaks() != 0 {
		t.Errorf("%v, %d blocks live, %d leaks", err, arena.Live(), arena.Leaks())
	}
}

func TestFailures(t *testing.T) {
	leaf := testLeaf(t, "fails")
	for _, c := range []struct {
		code int64
		exit int
		want string
	}{
		{2, 3, "integer division by zero at i = 3, coordinate 5497558138880 (counted from 0; " +
			"from 1: 4,5497558138881) in a(i) = b(i) / c(i)"},
		{3, 2, "a bound() in the schedule does not match the range at i = 3"},
		{5, 3, "the given level arrays of the result have another pattern than the operands produce at i = 3"},
	} {
		arena := NewArena(nil)
		r := scalarInt([]int64{7})
		err := leaf.Call(context.Background(), []*tcs.Tensor{r}, [][2]int64{{c.code, 0}},
			Env{Threads: 1, Arena: arena, Vars: []string{"i"}, What: "a(i) = b(i) / c(i)"})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("code %d: %v, want %q", c.code, err, c.want)
		}
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) || coded.ExitCode() != c.exit {
			t.Errorf("code %d: %v has the wrong exit code", c.code, err)
		}
		if tcs.Slice[int64](r.Vals)[0] != 7 || arena.Live() != 0 {
			t.Errorf("code %d: the result changed, or %d blocks live", c.code, arena.Live())
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := testLeaf(t, "leaky").Call(ctx, nil, [][2]int64{{1, 0}},
		Env{Threads: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRunnerKeepsItsThread(t *testing.T) {
	leaf := testLeaf(t, "thread_id")
	a, b := NewRunner(), NewRunner()
	defer a.Close()
	defer b.Close()
	seen := map[*Runner]int64{}
	for i := range 20 {
		for _, r := range []*Runner{a, b} {
			id := []int64{0}
			if err := leaf.Call(context.Background(), []*tcs.Tensor{scalarInt(id)}, nil,
				Env{Threads: 1, Runner: r}); err != nil {
				t.Fatal(err)
			}
			if i > 0 && seen[r] != id[0] {
				t.Fatalf("call %d ran on another thread", i)
			}
			seen[r] = id[0]
			runtime.Gosched()
		}
	}
	if seen[a] == seen[b] {
		t.Error("two runners on one thread")
	}
}

// The test makes many concurrent calls, with garbage collections between them.
func TestConcurrentCalls(t *testing.T) {
	leaf := testLeaf(t, "threes")
	arena := NewArena(tcs.NewLimit(1 << 30))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range int64(30) {
				r := sparseResult()
				n := 1000*int64(g) + 40000*(i%7)
				if err := leaf.Call(context.Background(), []*tcs.Tensor{r}, [][2]int64{{0, n}},
					Env{Threads: 1, Arena: arena}); err != nil {
					t.Error(err)
					return
				}
				if crd := tcs.Slice[int32](r.Levels[0].Crd); int64(len(crd)) != (n+2)/3 {
					t.Errorf("below %d: %d", n, len(crd))
				}
				if i%10 == 0 {
					runtime.GC()
				}
				r.Close()
			}
		})
	}
	wg.Wait()
	if arena.Live() != 0 || arena.Limit().Used() != 0 || arena.Leaks() != 0 {
		t.Errorf("%d blocks, %d bytes, %d leaks", arena.Live(), arena.Limit().Used(), arena.Leaks())
	}
}

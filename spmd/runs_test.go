package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/kernels/cc"
	"distaff/spmd"
)

// holding is the memory and other resources that a process holds.
type holding struct {
	heap, resident int64 // bytes
	goroutines     int
	peak           []int64 // of each rank's limit
}

// measured returns what the process holds, at rank 0. Every rank must call it.
func measured(p *spmd.Program) (*holding, error) {
	ranks, err := p.Statistics()
	if err != nil || p.Rank() > 0 {
		return nil, err
	}
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := &holding{heap: int64(m.HeapAlloc), goroutines: runtime.NumGoroutine()}
	for _, r := range ranks {
		h.peak = append(h.peak, r.Allocated)
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	h.resident = pages * int64(os.Getpagesize())
	return h, err
}

// repeated are statements that run many times, with the storage of their results. Some overwrite
// results, make new results, add to results, or share patterns. Others convert, narrow, sum over
// ranks, or add up steps.
var repeated = []struct {
	text, format, typ, split string
}{
	{text: "y(i) = A(i,j) * b(j)"},
	{text: "s = y(i) * b(i)"},
	{text: "z(i) += y(i)"},
	{text: "b(i) = 0.5 * b(i) + 0.125 * y(i)"},
	{text: "C(i,j) = A(i,k) * A(k,j)", format: "ds"},
	{text: "D(i,j) = A(i,j) * b(i) * y(j)", format: "ds"},
	{text: "E(i,j) = A(j,i)", format: "ds"},
	{text: "f(i) = C(i,j) * v(j)", typ: "float32"},
	{text: "G(i,j) = A(i,k) * A(k,j)", format: "ss", split: "k:3"},
	{text: "h(j) = D(i,j) + v(j)", split: "i:2"},
}

// overAndOver is one rank of a program that runs the first statement n times, and every tenth time
// the other statements, on another vector. It returns what the process held after a tenth of the
// runs, and at the end.
func overAndOver(p *spmd.Program, n int) (early, late *holding, err error) {
	size, pos, crd, values, b := poisson(8)
	for k := range values {
		values[k] /= 8
	}
	A, err := spmd.CSR(size, size, pos, crd, values)
	if err != nil {
		return nil, nil, err
	}
	defer A.Close()
	var vectors []*tcs.Tensor
	for range 2 {
		v, err := spmd.Dense(slices.Clone(b), size)
		if err != nil {
			return nil, nil, err
		}
		defer v.Close()
		vectors = append(vectors, v)
	}
	for name, x := range map[string]*tcs.Tensor{"A": A, "b": vectors[0], "v": vectors[1]} {
		if err := p.Set(name, spmd.InMemory(x), spmd.Storage{}); err != nil {
			return nil, nil, err
		}
	}
	var statements []*spmd.ProgramStatement
	for _, s := range repeated {
		if name, _, _ := strings.Cut(s.text, "("); s.format+s.typ != "" {
			if err := p.Declare(name, spmd.Storage{Format: s.format, Type: s.typ}); err != nil {
				return nil, nil, err
			}
		}
		how := spmd.How{}
		if s.split != "" {
			split, err := place.ParseSplit(s.split)
			if err != nil {
				return nil, nil, err
			}
			how.Blocks = &place.BlockSpec{Splits: []place.SplitSpec{split}}
		}
		k, err := p.Prepare(s.text, how)
		if err == nil {
			err = k.Run()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.text, err)
		}
		statements = append(statements, k)
	}
	for k := range n / 10 {
		if k == n/100 {
			if early, err = measured(p); err != nil {
				return nil, nil, err
			}
		}
		if err := p.Set("v", spmd.InMemory(vectors[k%2]), spmd.Storage{}); err != nil {
			return nil, nil, err
		}
		for range 9 {
			if err := statements[0].Run(); err != nil {
				return nil, nil, err
			}
		}
		for _, s := range statements {
			if err := s.Run(); err != nil {
				return nil, nil, fmt.Errorf("%s, run %d: %w", s.Text(), k, err)
			}
		}
		if _, err := p.Value("s"); err != nil {
			return nil, nil, err
		}
	}
	late, err = measured(p)
	return early, late, err
}

// TestRuns runs prepared statements many times, and checks that the process holds no more at the
// end than early on. DISTAFF_RUNS is the number of runs of the first statement.
func TestRuns(t *testing.T) {
	n := 1000
	if text := os.Getenv("DISTAFF_RUNS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("LD_PRELOAD", "") // the compiler has no room for the sanitizer's memory
	if os.Getenv("DISTAFF_CFLAGS") == "" {
		t.Setenv("DISTAFF_CFLAGS", "-O0")
	}
	for _, ranks := range []int{1, 2} {
		at := time.Now()
		var early, late *holding
		err := spmd.Start(context.Background(), spmd.Options{Ranks: ranks, Threads: 1},
			func(p *spmd.Program) error {
				e, l, err := overAndOver(p, n)
				if p.Rank() == 0 {
					early, late = e, l
				}
				return err
			})
		if errors.Is(err, cc.ErrNoCompiler) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatalf("%d ranks: %v", ranks, err)
		}
		t.Logf("%d ranks: %d runs of a statement, and %d of %d more, in %.1f s: held %+v, then %+v",
			ranks, n, n/10, len(repeated)-1, time.Since(at).Seconds(), *early, *late)
		room := int64(3 << 20) // the garbage collector and the C library keep some
		if detected {
			room = 16 << 20
		}
		if late.heap > early.heap+512<<10 || late.resident > early.resident+room ||
			late.goroutines > early.goroutines || !slices.Equal(late.peak, early.peak) {
			t.Errorf("%d ranks: after %d runs the process holds %+v, want no more than after %d: %+v", ranks,
				n, *late, n/10, *early)
		}
	}
}

// TestRunsSanitized is TestRuns in a process with the address sanitizer's allocator, whose leaves
// are compiled with that sanitizer.
func TestRunsSanitized(t *testing.T) {
	t.Parallel()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc in PATH, whose sanitizers this test uses")
	}
	out, err := exec.Command(gcc, "-print-file-name=libasan.so").Output()
	library := strings.TrimSpace(string(out))
	if err != nil || !filepath.IsAbs(library) {
		t.Skip("gcc's sanitizers are not installed: ", err, library)
	}
	n := os.Getenv("DISTAFF_RUNS")
	if n == "" {
		n = "1000"
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRuns$", "-test.v", "-test.timeout=60m")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library,
		"ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=2",
		"DISTAFF_CFLAGS=-O0 -g1 -fsanitize=address", "DISTAFF_CC="+gcc, "DISTAFF_RUNS="+n)
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: TestRuns") {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
}

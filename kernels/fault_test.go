package kernels

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels/cc"

	"golang.org/x/sys/unix"
)

// faultSource is a leaf that does the fault that its bound selects. With several threads, every
// thread except the first does it.
const faultSource = `
#include <stdlib.h>
#include <omp.h>
int broken(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    volatile int64_t *p = (volatile int64_t *)t[0]->vals.ptr;
    #pragma omp parallel num_threads(env->threads) if (env->threads > 1)
    if (env->threads == 1 || omp_get_thread_num() > 0)
        switch (bounds[0][0]) {
        case 1: *(volatile int64_t *)64 = 1; break;
        case 2: abort();
        case 3: for (;;) p[0]++;
        case 4: p[0] = 1; for (;;) { void *b = env->alloc(env, 1000, 0); env->release(env, b, 1000); }
        case 5: p[(int64_t)1 << 44] = 1; break;
        }
    return 0;
}
`

var faultKinds = map[string]int64{"store": 1, "abort": 2, "endless": 3, "allocates": 4, "wild": 5}

// TestFaults checks that a leaf that faults or is stopped returns an error, on its own thread and
// on OpenMP's, and that faults in Go code are still Go's. Each case is a process of its own,
// because no leaf runs afterwards.
func TestFaults(t *testing.T) {
	if kind := os.Getenv("KERNELS_FAULT"); kind != "" {
		faultChild(t, kind)
		return
	}
	testLeaf(t, "spmv") // skips without a compiler
	for kind := range faultKinds {
		for _, threads := range []string{"1", "3"} {
			t.Run(kind+" "+threads, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestFaults$")
				cmd.Env = append(os.Environ(), "KERNELS_FAULT="+kind, "KERNELS_THREADS="+threads)
				if out, err := cmd.CombinedOutput(); err != nil ||
					!strings.Contains(string(out), "PASS") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// faultChild calls the leaf in this process.
func faultChild(t *testing.T, kind string) {
	threads := 1
	if os.Getenv("KERNELS_THREADS") == "3" {
		threads = 3
	}
	b, err := cc.New(cc.Config{Path: os.Getenv("PATH"), Flags: []string{"-O1", "-fopenmp"},
		CPU: cc.NoCPU})
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.Build(context.Background(), cc.Source{Text: c.Header() + faultSource, Label: kind})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := Load(o, "broken")
	if err != nil {
		t.Fatal(err)
	}
	begun := []int64{0}
	call := func(what int64) error {
		return leaf.Call(context.Background(), []*tcs.Tensor{scalarInt(begun)},
			[][2]int64{{what, 0}}, Env{Threads: threads, What: "a = b"})
	}
	if err := call(0); err != nil {
		t.Fatal(err)
	}
	want := map[string]unix.Signal{"store": unix.SIGSEGV, "wild": unix.SIGSEGV,
		"abort": unix.SIGABRT}[kind]
	done := make(chan error, 1)
	go func() { done <- call(faultKinds[kind]) }()
	if want == 0 {
		for atomic.LoadInt64(&begun[0]) == 0 { // the leaf stores to it before its endless loop
			time.Sleep(time.Millisecond)
		}
		for Stop() > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	var fault *FaultError
	if err := <-done; !errors.As(err, &fault) || fault.Signal != want ||
		!strings.Contains(err.Error(), "a = b") {
		t.Fatalf("got %v, want a fault by signal %d", err, want)
	}
	if kind == "store" && fault.Address != 64 {
		t.Errorf("at address %#x, want 0x40", fault.Address)
	}
	if err := call(0); !errors.As(err, &fault) {
		t.Errorf("a later call: got %v, want a fault", err)
	}
	if got := nilDereference(); !strings.Contains(got, "nil pointer dereference") {
		t.Errorf("a fault of Go's: %s", got)
	}
	if err := leaf.Close(); err != nil {
		t.Error(err)
	}
}

// nilDereference is the message of Go's panic after a fault.
func nilDereference() (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	var p *[4]int
	return fmt.Sprint(p[len(os.Args)%4])
}

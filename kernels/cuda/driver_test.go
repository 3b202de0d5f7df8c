package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
)

// standIn compiles the stand-in for the driver's library to a file of its own, so that each test
// has its own state.
func standIn(t *testing.T) []string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc, which compiles the stand-in for the driver")
	}
	made := filepath.Join(cache, "libcuda.so.1")
	if _, err := os.Stat(made); err != nil {
		text, err := testdata.ReadFile("testdata/libcuda.c")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(gcc, "-O1", "-fPIC", "-shared", "-o", made, "-x", "c", "-", "-ldl")
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	bytes, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(lib, bytes, 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{lib}
}

// onStandIn returns a backend for a device of the stand-in. A C++ compiler makes its kernels.
func onStandIn(t *testing.T) *Backend {
	t.Helper()
	lib, err := openDriver(standIn(t))
	if err != nil {
		t.Fatal(err)
	}
	dev, err := openDevice(lib, 1)
	if err != nil {
		t.Fatal(err)
	}
	e := emulation(t, 0)
	return newBackend(dev, e.compiler)
}

// TestNoDriver checks the messages about a missing driver or GPU.
func TestNoDriver(t *testing.T) {
	set := func(names ...string) {
		before := driverNames
		driverNames = names
		t.Cleanup(func() { driverNames = before })
	}
	old := filepath.Join(t.TempDir(), "libold.so")
	for _, c := range []struct{ name, env, value, want string }{
		{"none", "", "", "no NVIDIA driver: /nowhere/libcuda.so.1 cannot be opened (cannot open shared " +
			"object file: No such file or directory); install the driver, or use " +
			"--target=cpu"},
		{"old", "", "", "the NVIDIA driver is too old: " + old +
			" must have the function cuInit; install a later driver, or use --target=cpu"},
		{"hidden", "FAKE_FAIL", "cuInit 100",
			"finds none (CUDA_VISIBLE_DEVICES hides GPUs that it does not list); run on a machine with a GPU"},
		{"no device", "FAKE_DEVICES", "0", "no GPU: the NVIDIA driver "},
		{"mismatch", "FAKE_FAIL", "cuInit 803", "has another version than the kernel's module; restart the machine after an update of the driver"},
		{"context", "FAKE_FAIL", "cuDevicePrimaryCtxRetain 2",
			"GPU 0 (Stand-in 0) cannot be used: out of memory (CUDA_ERROR_2), or use --target=cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.env != "" {
				t.Setenv(c.env, c.value)
			}
			switch c.name {
			case "none":
				set("/nowhere/libcuda.so.1")
			case "old":
				text := filepath.Join(t.TempDir(), "old.c")
				if err := os.WriteFile(text, []byte("int nothing;\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.Command("gcc", "-fPIC", "-shared", "-o", old,
					text).CombinedOutput(); err != nil {
					t.Skipf("%v: %s", err, out)
				}
				set("/nowhere/libcuda.so.1", old)
			default:
				set(standIn(t)...)
			}
			_, err := New(Config{})
			var missing *SetupError
			if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			r := Probe()
			if (r.DriverErr == nil) != (c.name == "context") {
				t.Errorf("the probe says %v", r.DriverErr)
			}
			if c.name == "context" && (len(r.Devices) != 2 ||
				r.Devices[1] != Device{Index: 1, Name: "Stand-in 1", Memory: 1 << 30,
					Capability: "9.0"} || r.DriverVersion != "12.4") {
				t.Errorf("the probe says %+v", r)
			}
		})
	}
}

// TestNames checks the GPU and the compiler in the name of a rank's backend.
func TestNames(t *testing.T) {
	before := driverNames
	driverNames = standIn(t)
	defer func() { driverNames = before }()
	for local, want := range map[int]string{0: "Stand-in 0", 1: "Stand-in 1", 5: "Stand-in 1"} {
		b, err := New(Config{Device: local, Cache: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Name(); !strings.HasSuffix(got, " for "+want+" (sm_90)") {
			t.Errorf("local rank %d: got %s, want %s", local, got, want)
		}
	}
}

// TestCopies copies data of all sizes up and down, through the same buffers again and again.
func TestCopies(t *testing.T) { copies(t, onStandIn(t)) }

// TestDriverCopies is TestCopies on a GPU.
func TestDriverCopies(t *testing.T) { copies(t, onGPU(t)) }

func copies(t *testing.T, b *Backend) {
	rng := rand.New(rand.NewPCG(1, 2))
	var sent [][]byte
	var to []pointer
	err := b.dev.do(func() error {
		for _, n := range []int{1, 100, halfBytes - 164, 5, halfBytes, 3*halfBytes + 17, 64,
			2 * halfBytes} {
			data := make([]byte, n)
			for k := range data {
				data[k] = byte(rng.Uint32())
			}
			p, err := b.dev.alloc(int64(n), "a test")
			if err != nil {
				return err
			}
			up := append([]byte(nil), data...)
			if err := b.dev.upload(p, unsafe.Pointer(&up[0]), int64(n)); err != nil {
				return err
			}
			clear(up) // upload has returned, so its source may change
			sent, to = append(sent, data), append(to, p)
			back := make([]byte, n)
			if rng.IntN(2) == 0 {
				if err := b.dev.download(unsafe.Pointer(&back[0]), p, int64(n)); err != nil {
					return err
				}
				if string(back) != string(data) {
					t.Errorf("%d bytes come back changed", n)
				}
			}
		}
		for k, data := range sent {
			back := make([]byte, len(data))
			if err := b.dev.download(unsafe.Pointer(&back[0]), to[k],
				int64(len(back))); err != nil {
				return err
			}
			if string(back) != string(data) {
				t.Errorf("%d bytes come back changed in the end", len(data))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecycled checks that an upload into memory that was freed and allocated again waits for the
// kernels that used the memory.
func TestRecycled(t *testing.T) { recycled(t, onStandIn(t)) }

// TestDriverRecycled is TestRecycled on a GPU.
func TestDriverRecycled(t *testing.T) { recycled(t, onGPU(t)) }

func recycled(t *testing.T, b *Backend) {
	err := b.dev.do(func() error {
		d := b.dev
		first, err := d.alloc(1<<20, "a test")
		if err != nil {
			return err
		}
		kept, err := d.alloc(1<<20, "a test")
		if err != nil {
			return err
		}
		if err := errors.Join(d.set(first, 1, 1<<20), d.copy(kept, first, 1<<20),
			d.free(first)); err != nil {
			return err
		}
		second, err := d.alloc(1<<20, "a test")
		if err != nil || second != first {
			t.Errorf("got %#x of a pool that holds %#x, %v", second, first, err)
		}
		data, back := make([]byte, 1<<20), make([]byte, 1<<20)
		data[5] = 77
		if err := errors.Join(d.upload(second, unsafe.Pointer(&data[0]), 1<<20),
			d.download(unsafe.Pointer(&back[0]), second, 1<<20)); err != nil {
			return err
		}
		if string(back) != string(data) {
			t.Error("what went up was overwritten by what ran before")
		}
		if err := d.download(unsafe.Pointer(&back[0]), kept, 1<<20); err != nil {
			return err
		}
		if back[0] != 1 || back[5] != 1 {
			t.Error("what ran before saw what went up")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOverlap checks that data for a later kernel are uploaded through pinned memory in a separate
// stream while the previous kernel runs. The later kernel waits for the upload, and nothing else
// waits.
func TestOverlap(t *testing.T) {
	b := onStandIn(t)
	leaf := build(t, b, handmade(t, "later", "y(i) = a(i) + b(i)", codegen.Result{Shares: -1}))
	y := vector(make([]float64, 300)...)
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("FAKE_LOG", log)
	if err := leaf.Call(t.Context(), []*tcs.Tensor{y, iota(300), iota(300)}, nil,
		kernels.Env{Threads: 1}); err != nil {
		t.Fatal(err)
	}
	for i, got := range tcs.Slice[float64](y.Vals) {
		if want := 2 * (float64(i%7) - 3); got != want {
			t.Fatalf("y[%d] is %v, want %v", i, got, want)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	stream, calls := map[string]string{}, ""
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		if f[2] == "pageable" {
			t.Errorf("%s is a copy of memory that is not pinned", line)
		}
		if _, seen := stream[f[1]]; !seen {
			stream[f[1]] = string(rune('A' + len(stream)))
		}
		calls += f[0] + " " + stream[f[1]] + "\n"
	}
	// Stream A has uploads, stream B has kernels and downloads.
	if want := "up A\nwait B\nlaunch B\nup A\nwait B\nlaunch B\nsync B\n"; !strings.HasPrefix(calls,
		want) || !strings.Contains(calls, "down B\n") {
		t.Errorf("got\n%swant first\n%s", calls, want)
	}
}

// TestFaults checks that a kernel's fault is reported with its leaf, and that all later calls
// report it.
func TestFaults(t *testing.T) {
	b := onStandIn(t)
	leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
	a, x := matrix(5, 9), iota(9)
	call := func() error {
		return leaf.Call(t.Context(), []*tcs.Tensor{vector(make([]float64, 5)...), a, x}, nil,
			kernels.Env{Threads: 1, What: spmv})
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	b.Resident(a)
	t.Setenv("FAKE_FAIL", "cuStreamSynchronize 700")
	err := call()
	var fault *FaultError
	if !errors.As(err, &fault) || fault.Later ||
		!strings.HasPrefix(err.Error(),
			"a kernel of "+spmv+" faulted on the GPU: an illegal memory access was encountered") {
		t.Errorf("got %v", err)
	}
	t.Setenv("FAKE_FAIL", "")
	if err := call(); !errors.As(err, &fault) || !fault.Later ||
		!strings.Contains(err.Error(),
			"cannot be used any more in this process, because a kernel of "+spmv) {
		t.Errorf("a later call: got %v", err)
	}
	b.Forget(a)
}

// TestDriverFault runs a kernel that writes outside of memory on a GPU. It uses a process of its
// own, because no leaf can run afterwards.
func TestDriverFault(t *testing.T) {
	b := onGPU(t)
	if os.Getenv("CUDA_TEST_FAULT") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDriverFault$")
		cmd.Env = append(os.Environ(), "CUDA_TEST_FAULT=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	leaf := build(t, b, handmade(t, "wild", "y(i) = 1", codegen.Result{Shares: -1}))
	for _, later := range []bool{false, true} {
		err := leaf.Call(t.Context(), []*tcs.Tensor{vector[float64](1, 2)}, nil,
			kernels.Env{Threads: 1, What: "wild"})
		var fault *FaultError
		if !errors.As(err, &fault) || fault.Later != later || fault.What != "wild" {
			t.Errorf("got %v", err)
		}
	}
}

// TestRefusals checks that a refusal of the driver is an error that names the call.
func TestRefusals(t *testing.T) {
	b := onStandIn(t)
	leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
	call := func() error {
		return leaf.Call(t.Context(), []*tcs.Tensor{vector(make([]float64, 5)...), matrix(5, 9),
			iota(9)}, nil, kernels.Env{Threads: 1, What: spmv})
	}
	for _, name := range []string{"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
		"cuMemAlloc_v2", "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize",
		"cuEventSynchronize"} {
		for after := range 3 {
			t.Setenv("FAKE_FAIL", fmt.Sprintf("%s 1 %d", name, after))
			err := call()
			var refused *DriverError
			if err != nil && (!errors.As(err, &refused) || !strings.HasPrefix(name, refused.Call)) {
				t.Errorf("%s: got %v", name, err)
			}
			if err == nil && after == 0 && name != "cuMemAlloc_v2" && name != "cuEventSynchronize" {
				t.Errorf("%s: its refusal is not told", name)
			}
		}
	}
	t.Setenv("FAKE_FAIL", "")
	if err := call(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	t.Setenv("FAKE_FAIL", "cuModuleLoadDataEx 222")
	_, err := b.Build(t.Context(), handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
	var load *kernels.LoadError
	if !errors.As(err, &load) || !strings.Contains(err.Error(),
		"install either a later driver or an NVRTC of the driver's version (scripts/install-nvrtc.sh)") {
		t.Errorf("got %v of an old driver", err)
	}
}

// TestMemory checks that too little device memory is an error with figures, and that resident
// arrays are evicted first.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name string
		on   func(t *testing.T, memory int64) *Backend
	}{
		{"emulated", emulation},
		{"driver", func(t *testing.T, memory int64) *Backend {
			t.Setenv("FAKE_MEMORY", fmt.Sprint(memory))
			return onStandIn(t)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.on(t, 600<<10)
			leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
			call := func(n int64) error {
				a, x := matrix(10, n), iota(n)
				y := vector(make([]float64, 10)...)
				b.Resident(x)
				t.Cleanup(func() { b.Forget(x) })
				err := leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, nil,
					kernels.Env{Threads: 1, What: spmv})
				if err == nil && fmt.Sprint(tcs.Slice[float64](y.Vals)) != fmt.Sprint(
					product(a, x)) {
					t.Errorf("%d columns: got %v", n, tcs.Slice[float64](y.Vals))
				}
				return err
			}
			// Each x is 8 KB and resident. Each matrix has about 50 KB.
			for range 80 {
				if err := call(1000); err != nil {
					t.Fatal(err)
				}
			}
			var full *MemoryError
			if err := call(1 << 20); !errors.As(err, &full) || full.ExitCode() != 5 ||
				full.Total != 600<<10 || !strings.Contains(err.Error(),
				"an argument, a result or a workspace of "+spmv+" needs ") ||
				!strings.Contains(err.Error(), "free of 600 KiB") {
				t.Errorf("got %v", err)
			}
			if err := call(1000); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestCached checks that a compiled leaf is found in the cache, also without NVRTC, and that a
// damaged one is compiled again.
func TestCached(t *testing.T) {
	dir := t.TempDir()
	var notes []string
	dev := &emulated{}
	n := newNVRTC(Config{Cache: dir, Log: func(s string) { notes = append(notes, s) }}, dev)
	n.dev.arch = 80
	if n.lib == nil {
		t.Skip(n.missing)
	}
	u := handmade(t, "evens", "C(i,j) = A(i,j)", codegen.Result{Shares: -1})
	src := source{text: n.text(u.Func), label: "C(i,j) = A(i,j)"}
	object, err := n.build(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	code, err := n.payload(object)
	if err != nil || string(code[1:4]) != "ELF" {
		t.Fatalf("got %.4q, %v, want a cubin", code, err)
	}
	list, err := cc.List(dir)
	if err != nil || len(list) != 1 || list[0].Kind != "cuda" || list[0].Name != n.key(src) ||
		list[0].Meta.CPU != "sm_80" {
		t.Errorf("the cache holds %+v, %v", list, err)
	}
	if again, err := n.build(t.Context(), src); err != nil || string(again) != string(object) {
		t.Errorf("made again, %v", err)
	}
	without := *n
	without.lib, without.missing = nil, errors.New("no NVRTC here")
	if again, err := without.build(t.Context(), src); err != nil ||
		string(again) != string(object) {
		t.Errorf("without NVRTC: %v", err)
	}
	if _, err := without.build(t.Context(), source{text: "other"}); err == nil ||
		err.Error() != "no NVRTC here" {
		t.Errorf("without NVRTC, and not in the cache: %v", err)
	}
	if _, err := n.build(t.Context(), source{text: "no kernel", label: "x"}); err == nil ||
		!strings.Contains(err.Error(), "the kernels of x: NVRTC cannot compile for sm_80") {
		t.Errorf("got %v", err)
	}
	other := *n
	other.dev.arch = 90
	if _, err := other.payload(object); err == nil ||
		!strings.Contains(err.Error(), "compiled for sm_80") {
		t.Errorf("code of another GPU: got %v", err)
	}
	path := filepath.Join(dir, "cuda", n.key(src))
	if err := os.WriteFile(path, object[:len(object)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := n.build(t.Context(), src); err != nil || len(again) < 100 || len(notes) != 1 ||
		!strings.Contains(notes[0], "a leaf in the cache cannot be used and is compiled again") {
		t.Errorf("a damaged entry: %v, notes %q", err, notes)
	}
}

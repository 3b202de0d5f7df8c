package cc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const add = `int add(int a, int b) { return a + b; }`

// privateDir returns a folder that passes Trusted wherever tests run.
func privateDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Trusted(dir); err != nil {
		t.Skipf("the tests' temporary folder is not private: %v", err)
	}
	return dir
}

// notes collects the notes of a Builder.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

// testConfig returns a configuration that compiles quickly, with a cache of its own.
func testConfig(t *testing.T) Config {
	t.Helper()
	if _, err := Find("", os.Getenv("PATH")); err != nil {
		t.Skip(err)
	}
	return Config{Path: os.Getenv("PATH"), Flags: []string{"-O0"},
		Cache: filepath.Join(privateDir(t), "cache"), Tmp: t.TempDir(), CPU: NoCPU}
}

func newBuilder(t *testing.T, cfg Config) (*Builder, *notes) {
	t.Helper()
	n := &notes{}
	cfg.Note = n.add
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b, n
}

func TestSplitFlags(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
		err  string
	}{
		{"", nil, ""},
		{" -O2\t-g\n", []string{"-O2", "-g"}, ""},
		{`-DX='a b' -I"c d"`, []string{"-DX=a b", "-Ic d"}, ""},
		{`a\ b \"`, []string{"a b", `"`}, ""},
		{`'' x`, []string{"", "x"}, ""},
		{`'a\b'`, []string{`a\b`}, ""},
		{`-DX=$(rm)`, []string{"-DX=$(rm)"}, ""},
		{`'a`, nil, "not closed"},
		{`a\`, nil, "backslash"},
	} {
		got, err := splitFlags(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("splitFlags(%q): error %v, want one about %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("splitFlags(%q) = %q, %v, want %q", c.in, got, err, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode fs.FileMode) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	gcc := write("g/x86_64-linux-gnu-gcc-12", 0o755)
	clang := write("c/clang-14", 0o755)
	write("c/notexec", 0o644)
	for link, to := range map[string]string{"g/gcc": gcc, "c/cc": clang, "c/clang": clang} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "c") + ":relative:" + filepath.Join(dir, "g")
	for _, c := range []struct{ command, path, want, err string }{
		{"", path, "g/gcc", ""},
		{"", filepath.Join(dir, "c"), "c/cc", ""},
		{"", "", "", "DISTAFF_CC"},
		{"", dir, "", "compile --cache"},
		{"clang", path, "c/clang", ""},
		{"clang -m64", path, "c/clang", ""},
		{filepath.Join(dir, "g/gcc"), "", "g/gcc", ""},
		{"icc", path, "", "icc is not on PATH"},
		{filepath.Join(dir, "c/notexec"), path, "", "not executable"},
		{filepath.Join(dir, "none"), path, "", "does not exist"},
		{dir, path, "", "is a folder"},
		{"'gcc", path, "", "not closed"},
		{" ", path, "", "got an empty name, want a compiler"},
	} {
		got, err := Find(c.command, c.path)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Find(%q): error %v, want one about %q", c.command, err, c.err)
			}
			var coded interface{ ExitCode() int }
			if !errors.As(err, &coded) || coded.ExitCode() != 1 {
				t.Errorf("Find(%q): error %v has no exit code 1", c.command, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("Find(%q): %v", c.command, err)
		} else if want := filepath.Join(dir, c.want); got.Path != want {
			t.Errorf("Find(%q) = %s, want %s", c.command, got.Path, want)
		}
	}
}

func TestCPU(t *testing.T) {
	for _, cpu := range []string{"", Native, NoCPU} {
		if err := checkCPU(cpu); err != nil || !Runs(cpu) {
			t.Errorf("%q: checkCPU %v, Runs %v", cpu, err, Runs(cpu))
		}
	}
	if err := checkCPU("pentium"); err == nil || !strings.Contains(err.Error(), "want native") {
		t.Errorf("checkCPU(pentium) = %v", err)
	}
	if cpuIdentity() == "" || CPUKind(Native) != CPUKind("") {
		t.Errorf("native is %q and %q of %q", CPUKind(Native), CPUKind(""), cpuIdentity())
	}
	// Levels include the lower ones.
	if l := levels(); !reflect.DeepEqual(l, Levels[len(Levels)-len(l):]) {
		t.Errorf("levels %v", l)
	}
	if err := checkCPU("x86-64-v3"); (err == nil) != (runtime.GOARCH == "amd64") {
		t.Errorf("checkCPU(x86-64-v3) on %s: %v", runtime.GOARCH, err)
	}
	// The kernel's own list of features agrees with ours.
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil && runtime.GOARCH == "amd64" {
		for flag, level := range map[string]string{" avx512vl ": "x86-64-v4", " avx2 ": "x86-64-v3",
			" sse4_2 ": "x86-64-v2"} {
			if Runs(level) && !strings.Contains(strings.ReplaceAll(string(info), "\n", " "), flag) {
				t.Errorf("%s runs, but /proc/cpuinfo has no %s", level, flag)
			}
		}
	}
}

func TestBuildAndCache(t *testing.T) {
	cfg := testConfig(t)
	b, n := newBuilder(t, cfg)
	ctx := context.Background()
	src := Source{Text: add, Label: "a + b"}
	o, err := b.Build(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	if o.Cached || o.Meta.Label != "a + b" || o.Meta.Compiler == "" ||
		o.Meta.Path != b.Compiler().Real {
		t.Errorf("first build: cached %v, meta %+v", o.Cached, o.Meta)
	}
	if !bytes.HasPrefix(o.Bytes, []byte("\x7fELF")) {
		t.Errorf("object begins with %q", o.Bytes[:4])
	}
	st, err := os.Stat(cfg.Cache)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the cache's mode is %v, %v", st.Mode(), err)
	}
	again, err := b.Build(ctx, src)
	if err != nil || !again.Cached || !bytes.Equal(again.Bytes, o.Bytes) ||
		!reflect.DeepEqual(again.Meta, o.Meta) {
		t.Errorf("second build: %v, cached %v, equal %v", err, again.Cached,
			bytes.Equal(again.Bytes, o.Bytes))
	}
	// Another source, flags, CPU or compiler makes another object.
	names := map[string]bool{b.name(src): true}
	other := func(what string, cfg Config, src Source) {
		b, _ := newBuilder(t, cfg)
		if name := b.name(src); names[name] {
			t.Errorf("%s: the same name %s", what, name)
		} else {
			names[name] = true
		}
	}
	other("source", cfg, Source{Text: add + " "})
	for what, change := range map[string]func(*Config){
		"flags":      func(c *Config) { c.Flags = []string{"-O1"} },
		"user flags": func(c *Config) { c.UserFlags = []string{"-g"} },
		"cpu":        func(c *Config) { c.CPU = Native },
		"compiler":   func(c *Config) { c.Compiler = b.Compiler().Path + " -w" },
	} {
		changed := cfg
		change(&changed)
		other(what, changed, src)
	}
	if left, _ := os.ReadDir(cfg.Tmp); len(left) != 0 {
		t.Errorf("left in the temporary folder: %v", left)
	}
	if len(n.list) != 0 {
		t.Errorf("notes: %q", n.list)
	}
}

func TestCompilerMessage(t *testing.T) {
	b, _ := newBuilder(t, testConfig(t))
	_, err := b.Build(context.Background(), Source{Text: "int f(void) { return undeclared; }"})
	var ce *CompileError
	if !errors.As(err, &ce) {
		t.Fatalf("got %v, want a CompileError", err)
	}
	if ce.ExitCode() != 1 || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("exit %d: %v", ce.ExitCode(), err)
	}
	if text, err := os.ReadFile(ce.Source); err != nil ||
		!strings.Contains(string(text), "return undeclared") {
		t.Errorf("the kept source: %q, %v", text, err)
	}
}

// script makes a compiler that is a shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gcc")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCancelKillsCompiler(t *testing.T) {
	cfg := testConfig(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	cfg.Compiler = script(t, fmt.Sprintf("sleep 1000000 &\necho $! > %s\nwait\n", pidFile))
	b, _ := newBuilder(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	go cancelOnce(cancel, pidFile)
	if _, err := b.Build(ctx, Source{Text: add}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	wantGone(t, pidFile)
	if left, _ := os.ReadDir(cfg.Tmp); len(left) != 0 {
		t.Errorf("left in the temporary folder: %v", left)
	}
}

func TestTwoBuildersCompileOnce(t *testing.T) {
	cfg := testConfig(t)
	if lockDir() == "" {
		t.Skip("no folder for locks")
	}
	real, err := Find("", cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	count := filepath.Join(t.TempDir(), "count")
	cfg.Compiler = script(t, fmt.Sprintf("echo x >> %s\nsleep 0.1\nexec %s \"$@\"\n", count,
		real.Path))
	var wg sync.WaitGroup
	for range 4 {
		b, _ := newBuilder(t, cfg)
		wg.Go(func() {
			if _, err := b.Build(context.Background(), Source{Text: add}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if b, _ := os.ReadFile(count); string(b) != "x\n" {
		t.Errorf("the compiler ran %d times", len(b)/2)
	}
}

// TestStoppedBuilder checks that a stopped process that holds the lock delays others only for a
// while.
func TestStoppedBuilder(t *testing.T) {
	cfg := testConfig(t)
	if lockDir() == "" {
		t.Skip("no folder for locks")
	}
	defer func(d time.Duration) { lockWait = d }(lockWait)
	lockWait = 50 * time.Millisecond
	b, _ := newBuilder(t, cfg)
	src := Source{Text: add}
	defer lock(context.Background(), b.name(src))()
	start := time.Now()
	if _, err := b.Build(context.Background(), src); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < lockWait {
		t.Errorf("did not wait for the lock: %v", d)
	}
}

func TestWithoutOpenMP(t *testing.T) {
	cfg := testConfig(t)
	real, err := Find("", cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Flags = []string{"-O0", "-fopenmp"}
	cfg.Compiler = script(t, `for a; do if [ "$a" = -fopenmp ]; then echo "unsupported option '-fopenmp'" >&2; exit 1; fi; done
exec `+real.Path+` "$@"`)
	b, n := newBuilder(t, cfg)
	for _, cached := range []bool{false, true} {
		n.list = nil
		o, err := b.Build(context.Background(), Source{Text: add})
		if err != nil || o.Cached != cached {
			t.Fatalf("%v, cached %v, want %v", err, o != nil && o.Cached, cached)
		}
		if len(n.list) != 1 || !strings.Contains(n.list[0], "one thread") {
			t.Errorf("notes %q", n.list)
		}
	}
}

func TestNoCompilerUsesAnyObject(t *testing.T) {
	cfg := testConfig(t)
	src := Source{Text: add}
	bare := cfg
	bare.Path, bare.CPU = "", Native
	b, _ := newBuilder(t, bare)
	if _, err := b.Build(context.Background(), src); err != ErrNoCompiler {
		t.Fatalf("got %v, want ErrNoCompiler", err)
	}
	for _, cpu := range append([]string{Native}, levels()...) {
		filled := cfg
		filled.CPU = cpu
		bare.Cache, filled.Cache = filepath.Join(cfg.Cache, cpu), filepath.Join(cfg.Cache, cpu)
		fb, _ := newBuilder(t, filled)
		if _, err := fb.Build(context.Background(), src); err != nil {
			t.Fatal(err)
		}
		b, _ := newBuilder(t, bare)
		o, err := b.Build(context.Background(), src)
		if err != nil || !o.Cached || o.Meta.CPU != CPUKind(cpu) {
			t.Errorf("%s: %v, %+v", cpu, err, o)
		}
		if _, err := b.Build(context.Background(), Source{Text: add + "\n"}); err != ErrNoCompiler {
			t.Errorf("another source: got %v, want ErrNoCompiler", err)
		}
	}
}

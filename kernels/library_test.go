package kernels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels/cc"
)

func buildObject(t *testing.T, text string, cpu string, flags ...string) *cc.Object {
	t.Helper()
	b, err := cc.New(cc.Config{Path: os.Getenv("PATH"), Flags: append(flags, "-O0"), CPU: cpu})
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.Build(context.Background(), cc.Source{Text: c.Header() + text, Label: "test"})
	if errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func constant(n string) string {
	return "int leaf(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)" +
		"{ *(int64_t *)t[0]->vals.ptr = " + n + "; (void)bounds; (void)env; return 0; }"
}

func run(t *testing.T, l Leaf) int64 {
	t.Helper()
	v := []int64{0}
	if err := l.Call(context.Background(), []*tcs.Tensor{scalarInt(v)}, nil,
		Env{Threads: 1}); err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// Objects that are loaded and unloaded must never be confused, although the loader identifies each
// one by the number of a descriptor.
func TestLoadUnloadLoad(t *testing.T) {
	one, two := buildObject(t, constant("1"), cc.NoCPU), buildObject(t, constant("2"), cc.NoCPU)
	for range 20 {
		a, err := Load(one, "leaf")
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(one, "leaf")
		if err != nil {
			t.Fatal(err)
		}
		if run(t, a) != 1 || a.Close() != nil {
			t.Fatal("the first object's leaf is not 1")
		}
		b, err := Load(two, "leaf")
		if err != nil {
			t.Fatal(err)
		}
		if run(t, b) != 2 || run(t, again) != 1 {
			t.Fatal("leaves are mistaken for one another")
		}
		if b.Close() != nil || again.Close() != nil || again.Close() != nil {
			t.Fatal("Close failed")
		}
	}
}

func TestLibraryOutlivedByItsLeaf(t *testing.T) {
	lib, err := Open(buildObject(t, constant("5"), cc.NoCPU))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := lib.Leaf("leaf", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lib.Leaf("none", nil); err == nil ||
		!strings.Contains(err.Error(), "the compiled object does not contain the function of the leaf") {
		t.Errorf("a function that is not there: %v", err)
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	if run(t, leaf) != 5 {
		t.Error("the leaf is not 5")
	}
	if _, err := lib.Leaf("leaf", nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a leaf of a closed library: %v", err)
	}
	if err := leaf.Close(); err != nil || lib.handle != nil {
		t.Errorf("after the last Close: %v, loaded %v", err, lib.handle != nil)
	}
}

func TestOpenRefuses(t *testing.T) {
	o := buildObject(t, constant("1"), cc.NoCPU)
	changed := bytes.Clone(o.Bytes)
	changed[len(changed)/2] ^= 1
	for what, c := range map[string]struct {
		o    *cc.Object
		want string
	}{
		"changed bytes":   {&cc.Object{Bytes: changed}, "hash"},
		"truncated bytes": {&cc.Object{Bytes: o.Bytes[:len(o.Bytes)-1]}, "damaged or incomplete"},
		"no bytes":        {&cc.Object{}, "damaged or incomplete"},
		"missing symbol": {
			buildObject(t, "int nowhere(void); int leaf(void) { return nowhere(); }", cc.NoCPU),
			"nowhere"},
	} {
		_, err := Open(c.o)
		var coded interface{ ExitCode() int }
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &coded) ||
			coded.ExitCode() != 1 {
			t.Errorf("%s: %v, want one about %q with exit code 1", what, err, c.want)
		}
	}
}

// TestOpenMPStays checks that the OpenMP library of a leaf stays loaded when the leaf is closed.
// The loader may search the disk for an OpenMP library only because a leaf needs it. The test runs
// itself as a process whose loader writes a log.
func TestOpenMPStays(t *testing.T) {
	if os.Getenv("LD_DEBUG_OUTPUT") != "" {
		o := buildObject(t, "void omp_set_num_threads(int);\n"+
			strings.Replace(constant("3"), "{", "{ omp_set_num_threads(1);", 1), cc.NoCPU, "-fopenmp")
		l, err := Load(o, "leaf")
		if err != nil {
			t.Skip(err)
		}
		if run(t, l) != 3 || l.Close() != nil {
			t.Error("the leaf is not 3")
		}
		if maps, err := os.ReadFile("/proc/self/maps"); err != nil || !openMP.Match(maps) {
			t.Errorf("no OpenMP library is loaded any more: %v", err)
		}
		return
	}
	log := filepath.Join(t.TempDir(), "ld")
	cmd := exec.Command(os.Args[0], "-test.run=^TestOpenMPStays$", "-test.v")
	cmd.Env = append(os.Environ(), "LD_DEBUG=libs", "LD_DEBUG_OUTPUT="+log)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip(string(out))
	}
	lines, err := os.ReadFile(fmt.Sprintf("%s.%d", log, cmd.Process.Pid))
	if err != nil {
		t.Skip("the loader keeps no log: ", err)
	}
	var searches []string
	for line := range strings.Lines(string(lines)) {
		if strings.Contains(line, "find library=") && openMP.MatchString(line) {
			searches = append(searches, line)
		}
	}
	if len(searches) != 1 {
		t.Errorf("got %d searches of the disk, want the leaf's alone:\n%s", len(searches),
			strings.Join(searches, ""))
	}
}

// openMP matches the file names of OpenMP libraries.
var openMP = regexp.MustCompile(`lib(g|i)?omp5?\.so`)

func TestOpenFromFile(t *testing.T) {
	o := buildObject(t, constant("3"), cc.NoCPU)
	l := &Library{}
	t.Setenv("TMPDIR", t.TempDir())
	if err := l.openTemp(o.Bytes); err != nil {
		t.Fatal(err)
	}
	leaf, err := l.Leaf("leaf", nil)
	if err != nil {
		t.Fatal(err)
	}
	if run(t, leaf) != 3 {
		t.Error("the leaf is not 3")
	}
	if leaf.Close() != nil || l.Close() != nil {
		t.Error("Close failed")
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Leaves of equal objects share a library, which is unloaded when the last leaf is closed.
func TestLoadShared(t *testing.T) {
	o := buildObject(t, constant("7"), cc.NoCPU)
	for range 2 {
		before := libraries.Load()
		var leaves []Leaf
		for range 3 {
			l, err := LoadShared(o, "leaf", nil)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, l)
		}
		if n := libraries.Load() - before; n != 1 {
			t.Errorf("three leaves of one object loaded %d libraries, want 1", n)
		}
		other, err := LoadShared(buildObject(t, constant("8"), cc.NoCPU), "leaf", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = LoadShared(o, "none", nil)
		if err == nil || !strings.Contains(err.Error(), "the compiled object does not contain the function of the leaf") {
			t.Errorf("a function that is not there: %v", err)
		}
		for _, l := range leaves {
			if run(t, l) != 7 || run(t, other) != 8 {
				t.Fatal("leaves are mistaken for one another")
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		shared.Range(func(hash, l any) bool {
			t.Errorf("a library without leaves is still shared: %x", hash)
			return true
		})
	}
}

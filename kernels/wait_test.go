package kernels

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels/cc"
)

// TestWaitPassively runs itself as a process without a loaded OpenMP library, and reads the C
// environment of the process.
func TestWaitPassively(t *testing.T) {
	if os.Getenv("DISTAFF_TEST_WAIT") == "" {
		for _, set := range []string{"", "OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=7"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestWaitPassively$", "-test.v")
			cmd.Env = append(os.Environ(), "DISTAFF_TEST_WAIT=1", "OMP_WAIT_POLICY=",
				"GOMP_SPINCOUNT=", set)
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "SKIP") {
				t.Skip(string(out))
			}
			want := "policy 1"
			if set != "" {
				want = "policy 0"
			}
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("with %q: %v, want %q in\n%s", set, err, want, out)
			}
		}
		return
	}
	if !WaitPassively() {
		t.Error("too late before anything was loaded")
	}
	o := buildObject(t, `
#include <stdlib.h>
#include <string.h>
int leaf(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    const char *policy = getenv("OMP_WAIT_POLICY");
    *(int64_t *)t[0]->vals.ptr = policy && !strcmp(policy, "passive");
    (void)bounds;
    (void)env;
    return 0;
}`, cc.NoCPU)
	l, err := Load(o, "leaf")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("policy %d", run(t, l))
	os.Unsetenv("OMP_WAIT_POLICY")
	os.Unsetenv("GOMP_SPINCOUNT")
	if WaitPassively() {
		t.Error("not too late after a leaf was loaded")
	}
}

func TestBuiltIn(t *testing.T) {
	text := c.Header() + constant("11")
	none, err := cc.New(cc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Build(context.Background(), cc.Source{Text: text}); err != ErrNoCompiler {
		t.Errorf("got %v, want ErrNoCompiler", err)
	}
	some, err := cc.New(cc.Config{Path: os.Getenv("PATH"), Flags: []string{"-O0"}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := some.Build(context.Background(), cc.Source{Text: text})
	if err == ErrNoCompiler {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := Load(o, "leaf")
	if err != nil {
		t.Fatal(err)
	}
	defer leaf.Close()
	Register(SourceKey(text), leaf.(*cLeaf).fn)
	defer builtins.Delete(SourceKey(text))
	if built := BuiltIn(text); built == nil || run(t, built) != 11 || built.Close() != nil {
		t.Error("the built-in leaf is not the compiled one")
	}
	// One more space is another source.
	if BuiltIn(text+" ") != nil {
		t.Error("a leaf of another source")
	}
	v := []int64{0}
	if err := leaf.Call(context.Background(), []*tcs.Tensor{scalarInt(v)}, nil,
		Env{Threads: 1}); err != nil || v[0] != 11 {
		t.Errorf("the compiled leaf: %v, %d", err, v[0])
	}
}

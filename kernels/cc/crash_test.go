package cc

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestCompilerThatCrashes checks that a source that crashes the compiler is compiled with less
// optimization.
func TestCompilerThatCrashes(t *testing.T) {
	base := testConfig(t)
	real, err := Find("", base.Path)
	if err != nil {
		t.Fatal(err)
	}
	base.Flags, base.UserFlags = []string{"-O3"}, []string{"-O3"}
	ice := `echo "leaf.c:1:5: internal compiler error: in some_pass, at pass.cc:12" >&2; exit 1`
	for _, c := range []struct {
		name, crash string
		until       string // a flag that avoids the crash
		words, how  string
	}{
		{"internal error", ice, "-fno-tree-vectorize",
			"internal compiler error: in some_pass, at pass.cc:12", "without vectorization"},
		{"internal error of scalar code", ice, "-O1",
			"internal compiler error: in some_pass, at pass.cc:12",
			"with -O1, without vectorization"},
		{"signal", "kill -SEGV $$", "-fno-tree-vectorize", "signal: segmentation fault",
			"without vectorization"},
		{"signal of a part",
			`echo "gcc: fatal error: Killed signal terminated program cc1" >&2; exit 1`, "-O1",
			"Killed signal terminated program cc1", "with -O1, without vectorization"},
	} {
		cfg := base
		cfg.Compiler = script(t, `for a; do if [ "$a" = `+c.until+` ]; then exec `+real.Path+` "$@"; fi; done
`+c.crash)
		var details []string
		cfg.Detail = func(s string) { details = append(details, s) }
		b, n := newBuilder(t, cfg)
		for _, cached := range []bool{false, true} {
			n.list = nil
			o, err := b.Build(context.Background(), Source{Text: add, Label: "a + b"})
			if err != nil || o.Cached != cached || !slices.Contains(o.Meta.Flags, c.until) {
				t.Fatalf("%s: %v, %+v", c.name, err, o)
			}
			want := "the C compiler " + cfg.Compiler + " crashes on the leaf of a + b (" + c.words +
				"), which is therefore compiled " + c.how
			if len(n.list) != 1 || strings.Replace(n.list[0], " (core dumped)", "", 1) != want {
				t.Errorf("%s: notes %q\nwant %q", c.name, n.list, want)
			}
		}
		if len(details) != 2 || !strings.Contains(details[0], "crashed: "+cfg.Compiler+" -O3") ||
			!strings.Contains(details[1], c.until+" -o ") {
			t.Errorf("%s: details %q", c.name, details)
		}
	}

	// If the compiler always crashes, the error is the first crash. If it refuses the source, it
	// runs only once.
	for crash, times := range map[string]int{ice: 3,
		`echo "leaf.c:1:5: error: expected ;" >&2; exit 1`: 1} {
		cfg, count := base, t.TempDir()+"/count"
		cfg.Compiler = script(t, "echo x >> "+count+"\n"+crash)
		b, _ := newBuilder(t, cfg)
		_, err := b.Build(context.Background(), Source{Text: add})
		var failed *CompileError
		if !errors.As(err, &failed) || slices.Contains(failed.Args, "-O1") ||
			!strings.Contains(failed.Output, "leaf.c:1:5") {
			t.Errorf("got %v", err)
		}
		if b, _ := os.ReadFile(count); len(b) != 2*times {
			t.Errorf("%s: the compiler ran %d times, want %d", crash, len(b)/2, times)
		}
	}
}

package cc

import (
	"context"
	"slices"
	"testing"
)

// TestHasty checks that hasty sources are compiled with less optimization, unless a fully optimized
// object is in the cache, or the compiler's optimization could change the bits of results.
func TestHasty(t *testing.T) {
	cfg := testConfig(t)
	cfg.Flags = []string{"-std=gnu99", "-O3", "-ffp-contract=off"}
	b, _ := newBuilder(t, cfg)
	build := func(b *Builder, text string, hasty bool) *Object {
		t.Helper()
		o, err := b.Build(context.Background(), Source{Text: text, ShortLived: hasty})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, x := range []struct{ text, level string }{
		{add, "-Og"},
		{"// omp simd reduction(+ : s)\n" + add, "-O1"},
		{"#define DST_FUSED\n" + add, "-O3"},
		{"#pragma GCC visibility push(hidden)\n#pragma GCC visibility pop\n" + add, "-O3"},
	} {
		first := build(b, x.text, true)
		if !slices.Contains(first.Meta.Flags, x.level) || first.Cached {
			t.Errorf("%s: compiled with %q, want %s", x.text, first.Meta.Flags, x.level)
		}
		if again := build(b, x.text, true); !again.Cached {
			t.Errorf("%s: compiled twice", x.text)
		}
		full := build(b, x.text, false)
		if !slices.Contains(full.Meta.Flags, "-O3") || full.Cached != (x.level == "-O3") {
			t.Errorf("%s: for speed: compiled with %q, cached %v", x.text, full.Meta.Flags,
				full.Cached)
		}
		if o := build(b, x.text, true); !o.Cached || !slices.Contains(o.Meta.Flags, "-O3") {
			t.Errorf("%s: got %q beside one for speed", x.text, o.Meta.Flags)
		}
	}
	// A machine without a compiler accepts both objects.
	text := add + "\n"
	hasty := build(b, text, true)
	cfg.Path = t.TempDir()
	none, _ := newBuilder(t, cfg)
	if o := build(none, text, false); !slices.Equal(o.Meta.Flags, hasty.Meta.Flags) {
		t.Errorf("without a compiler: got %q, want %q", o.Meta.Flags, hasty.Meta.Flags)
	}
}

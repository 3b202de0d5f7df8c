package tune

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"distaff/kernels/cc"
)

// TestProbes checks that the probes' loops do the work that is timed.
func TestProbes(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler")
	}
	m := blank(2)
	m.Levels[1].Bytes = 256 << 10
	l, err := newLeaves(t.Context(), cc.Config{Path: os.Getenv("PATH"), Tmp: t.TempDir()}, m, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
		if n := l.arena.Leaks() + l.arena.Live(); n != 0 {
			t.Errorf("%d blocks are left", n)
		}
	}()
	if !(l.touched.One > 0 && l.touched.All > 0) {
		t.Errorf("first touch: %v", l.touched)
	}
	for level, s := range l.sets {
		for _, threads := range []int{1, 2} {
			n := float64(s.one)
			if threads == 2 {
				n = float64(s.all)
			}
			// write leaves the number of its passes in each element, which read then adds.
			for _, c := range []struct {
				kind         kind
				units, check float64 // of 3 repetitions
			}{{write, 24 * n, 3}, {read, 24 * n, 9 * n}} {
				got, err := l.run(probe{c.kind, level, threads}, 3)
				if err != nil {
					t.Fatal(err)
				}
				if got.units != c.units || l.found[2] != c.check {
					t.Errorf("%s of level %d at %d threads: got %v units and %v, want %v and %v",
						c.kind, level, threads, got.units, l.found[2], c.units, c.check)
				}
			}
		}
		// The links are one cycle through all lines.
		links := l.links.Vals
		next := func(at int64) int64 { return int64Of(links.Ptr, s.from+at) }
		lines, at := int64(0), int64(0)
		for done := false; !done && lines <= s.one; lines++ {
			at = next(at)
			done = at == 0
		}
		if lines != s.one/8 {
			t.Errorf("level %d: a cycle of %d lines, want %d", level, lines, s.one/8)
		}
		if got, err := l.run(probe{dependent, level, 1}, 2); err != nil || got.units != 2048 {
			t.Errorf("dependent loads: got %v units, %v, want 2048", got.units, err)
		}
	}
	for _, threads := range []int{1, 2} {
		for _, c := range []struct {
			kind         kind
			units, check float64 // of 4 repetitions; units of 0 depend on the lanes
		}{{multiply64, 0, 2}, {multiply32, 0, 2},
			{atomic, 4000 * float64(threads), 4000 * float64(threads)}, {region, 4, 4}} {
			got, err := l.run(probe{c.kind, 0, threads}, 4)
			if err != nil {
				t.Fatal(err)
			}
			if l.found[2] != c.check || c.units > 0 && got.units != c.units || !(got.units > 0) {
				t.Errorf("%s at %d threads: got %v units and %v, want %v and %v", c.kind, threads,
					got.units, l.found[2], c.units, c.check)
			}
		}
	}
	if _, err := l.run(probe{write, 2, 1}, 3); err != nil { // all elements are 3
		t.Fatal(err)
	}
	for n := range m.Gathers {
		for _, threads := range []int{1, 2} {
			g := float64(l.random.Vals.Len)
			for _, c := range []struct {
				kind         kind
				units, check float64 // of 2 repetitions
			}{{gather, 2 * g, 6 * g}, {rows, g / 2, 32 * 3 * g / 2}} {
				got, err := l.run(probe{c.kind, n, threads}, 2)
				if err != nil {
					t.Fatal(err)
				}
				if got.units != c.units || l.found[2] != c.check {
					t.Errorf("%s from %d bytes at %d threads: got %v units and %v, want %v and %v",
						c.kind, m.Gathers[n].Bytes, threads, got.units, l.found[2], c.units,
						c.check)
				}
			}
		}
	}
	if got, err := l.run(probe{segment, 0, 1}, 2); err != nil || got.units != 2048 ||
		l.found[2] != 3*1024 {
		t.Errorf("segments: got %v units, %v, and %v, want 2048 and 3072", got.units, err,
			l.found[2])
	}
	if got, err := l.run(probe{branch, 0, 1}, 3); err != nil || got.units != 1.5*(1<<17) ||
		l.found[2] != 3*(1<<17) {
		t.Errorf("branches: got %v units, %v, and %v additions, want %v and %v", got.units, err,
			l.found[2], 1.5*(1<<17), 3*(1<<17))
	}
	if !(l.compiling > 0) {
		t.Errorf("compiling took %v seconds", l.compiling)
	}
	l.found[2] = 0
	if got, err := l.run(probe{call, 0, 1}, 5); err != nil || got.units != 5 || l.found[2] != 5 {
		t.Errorf("5 calls: got %v, %v, %v", got, l.found[2], err)
	}
}

// int64Of is element n of an array.
func int64Of(p unsafe.Pointer, n int64) int64 { return *(*int64)(unsafe.Add(p, 8*n)) }

// TestLevels checks how the kernel's descriptions of caches are read.
func TestLevels(t *testing.T) {
	root := fstest.MapFS{}
	cache := func(n, level, typ, size, shared string) {
		dir := "sys/devices/system/cpu/cpu0/cache/index" + n + "/"
		for name, text := range map[string]string{"level": level, "type": typ, "size": size,
			"shared_cpu_list": shared} {
			root[dir+name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
	}
	if got := levels(root); !slices.Equal(got, []Level{{Name: "memory"}}) {
		t.Errorf("of nothing: got %+v", got)
	}
	cache("0", "1", "Data", "48K", "0,64")
	cache("1", "1", "Instruction", "32K", "0,64")
	cache("3", "3", "Unified", "1G", "0-31,64-95")
	cache("2", "2", "Unified", "2M", "0")
	cache("4", "4", "Unified", "", "0")
	want := []Level{{Name: "L1", Bytes: 48 << 10, Shared: 2},
		{Name: "L2", Bytes: 2 << 20, Shared: 1}, {Name: "L3", Bytes: 1 << 30, Shared: 64},
		{Name: "memory"}}
	if got := levels(root); !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := cpuName(root); got == "" {
		t.Error("no name where the kernel tells none")
	}
	root["proc/cpuinfo"] = &fstest.MapFile{Data: []byte(
		"processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n")}
	if got := cpuName(root); got != "Some CPU @ 2 GHz" {
		t.Errorf("got the name %q", got)
	}
}

// The data of a level must not fit the level inside of it. The data of memory must not fit the
// caches.
func TestSets(t *testing.T) {
	for _, threads := range []int{1, 2, 7, 64} {
		m := blank(threads)
		bytes, err := dataBytes(m, 0)
		if err != nil {
			t.Fatal(err)
		}
		if bytes < 2*m.lastCache() {
			t.Errorf("%d threads: %d bytes for memory, caches hold %d", threads, bytes,
				m.lastCache())
		}
		sets := makeSets(m, bytes/8)
		for n, s := range sets {
			for _, x := range []struct {
				bytes   int64
				threads int
			}{{8 * s.one, 1}, {8 * s.all, threads}} {
				if n+1 < len(sets) && m.Levels[n].missShare(x.bytes, x.threads) > 0.125 ||
					n > 0 && m.Levels[n-1].missShare(x.bytes, x.threads) < 0.75 {
					t.Errorf("%d threads, level %d: %d bytes of %d are not the level's alone",
						threads, n, x.bytes, x.threads)
				}
			}
			if n > 0 && s.from != sets[n-1].upTo || s.upTo-s.from != s.one {
				t.Errorf("links %d: %+v behind %+v", n, s, sets[max(n-1, 0)])
			}
		}
	}
	if _, err := dataBytes(blank(1), 100<<20); err == nil ||
		!strings.Contains(err.Error(), "of memory, but this process may use only") {
		t.Errorf("of too little memory: got %v", err)
	}
}

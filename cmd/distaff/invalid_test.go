package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inProcess runs a command line in this process.
func inProcess(args ...string) (code int, stdout, stderr string) {
	var out, words bytes.Buffer
	code = mainExit(append([]string{"distaff"}, args...), &out, &words)
	return code, out.String(), words.String()
}

// readings returns the command lines that read a whole file with order modes. All of them must make
// the same checks.
func readings(path, out string, order int, more ...string) [][]string {
	vars := strings.Split("i,j,k,l,m,n", ",")[:order]
	statement := "a = T(" + strings.Join(vars, ",") + ")"
	run := append([]string{"run", statement, "-i=T:" + path, "--threads=1"}, more...)
	return [][]string{
		append([]string{"info", path, "--verify"}, more...),
		append([]string{"show", path}, more...),
		append([]string{"spy", path}, more...),
		append([]string{"convert", path, out}, more...),
		run,
		append(slices.Clone(run), "--ranks=3"),
	}
}

// validTCS contains valid .tcs files with many kinds of levels.
var validTCS = map[string]tcsFile{
	"d": {[]int64{3}, "d", []int{0}, nil, []float64{1, 2, 3}},
	"ds": {[]int64{3, 4}, "ds", []int{0, 1}, [][]int64{{0, 2, 2, 4}, {1, 3, 0, 2}},
		[]float64{1, 2.5, 0, -4}},
	"ss": {[]int64{3, 4}, "ss", []int{1, 0}, [][]int64{{0, 2}, {1, 3}, {0, 1, 3}, {2, 0, 1}},
		[]float64{1, 2, 3}},
	"uq": {[]int64{3, 4}, "uq", []int{0, 1}, [][]int64{{0, 3}, {0, 0, 2}, {1, 3, 0}},
		[]float64{1, 2, 3}},
	"uc": {[]int64{3, 4}, "uc", []int{0, 1}, [][]int64{{0, 3}, {0, 0, 2}, {1, 1, 0}},
		[]float64{1, 2, 3}},
	"u": {[]int64{5}, "u", []int{0}, [][]int64{{0, 3}, {1, 1, 4}}, []float64{1, 2, 3}},
	"ucq": {[]int64{3, 4, 2}, "ucq", []int{0, 1, 2},
		[][]int64{{0, 3}, {0, 0, 2}, {1, 1, 0}, {0, 1, 0}}, []float64{1, 2, 3}},
	"us": {[]int64{3, 4}, "us", []int{0, 1}, [][]int64{{0, 2}, {0, 2}, {0, 1, 3}, {2, 0, 1}},
		[]float64{1, 2, 3}},
	"dp": {[]int64{3, 4}, "dp", []int{0, 1}, [][]int64{{1, -1, 3}}, []float64{1, 0, 3}},
	"dpd": {[]int64{3, 4, 2}, "dpd", []int{0, 1, 2}, [][]int64{{1, -1, 3}},
		[]float64{1, 5, 0, 0, 3, 0}},
	"dpq": {[]int64{3, 4, 2}, "dpq", []int{0, 1, 2}, [][]int64{{1, -1, 3}, {0, -1, 1}},
		[]float64{1, 0, 3}},
	"dps": {[]int64{3, 4, 2}, "dps", []int{0, 1, 2},
		[][]int64{{1, -1, 3}, {0, 2, 2, 3}, {0, 1, 1}}, []float64{1, 2, 3}},
	"dpdp": {[]int64{2, 2, 2, 3}, "dpdp", []int{0, 1, 2, 3}, [][]int64{{1, -1}, {0, -1, -1, -1}},
		[]float64{1, 0, 0, 0}},
}

// TestInvalidFiles breaks each rule of docs/tcs.md in a file of its own, with correct checksums.
// Every command must refuse the file with exit code 3 and the same message.
func TestInvalidFiles(t *testing.T) {
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	dir := t.TempDir()
	path, out := filepath.Join(dir, "t.tcs"), filepath.Join(dir, "out.tns")
	for name, f := range validTCS {
		b, _ := f.bytes()
		if wrong, _ := strictTCS(b); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
		agreed(t, name, path, out, b, len(f.dims), 0)
	}
	for name, b := range brokenTCS() {
		if wrong, _ := strictTCS(b); wrong == "" {
			t.Errorf("%s: the strict reader takes it", name)
		}
		order := min(int(binary.LittleEndian.Uint32(b[24:])), 4)
		agreed(t, name, path, out, b, order, 3)
	}
}

// agreed runs all readings of a file. They must end with the exit code want and the same message.
func agreed(t *testing.T, name, path, out string, b []byte, order, want int) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, args := range readings(path, out, order) {
		os.Remove(out)
		code, _, words := inProcess(args...)
		if code != want {
			t.Errorf("%s: %s ends with code %d, want %d\n%s", name, strings.Join(args, " "), code,
				want, words)
		}
		words = strings.TrimPrefix(strings.TrimPrefix(words, "distaff: "), "[0] ")
		if said == "" {
			said = words
		}
		if want != 0 && words != said {
			t.Errorf("%s: %s says %q, want %q", name, strings.Join(args, " "), words, said)
		}
		if _, err := os.Stat(out); want != 0 && err == nil {
			t.Errorf("%s: %s leaves an output", name, strings.Join(args, " "))
		}
	}
}

// brokenTCS returns files that each break one rule, by the name of the rule.
func brokenTCS() map[string][]byte {
	list := map[string][]byte{}
	// arrays adds a valid file whose arrays change has modified.
	arrays := func(base, name string, change func(f *tcsFile)) {
		f := validTCS[base]
		f.vals = slices.Clone(f.vals)
		f.arrays = slices.Clone(f.arrays)
		for k := range f.arrays {
			f.arrays[k] = slices.Clone(f.arrays[k])
		}
		change(&f)
		list[base+": "+name], _ = f.bytes()
	}
	set := func(array, at int, v int64) func(*tcsFile) {
		return func(f *tcsFile) { f.arrays[array][at] = v }
	}
	arrays("ds", "pos that starts with 1", set(0, 0, 1))
	arrays("ds", "pos that falls", set(0, 1, 3))
	arrays("ds", "pos that ends early", set(0, 3, 3))
	arrays("ds", "pos that ends late", set(0, 3, 5))
	arrays("ds", "a negative pos", set(0, 1, -1))
	arrays("ds", "a coordinate at the size", set(1, 1, 4))
	arrays("ds", "a coordinate of -1", set(1, 0, -1))
	arrays("ds", "a coordinate twice", set(1, 0, 3))
	arrays("ds", "coordinates that fall", set(1, 2, 3))
	arrays("ss", "an outer coordinate twice", set(1, 0, 3))
	arrays("ss", "outer coordinates that fall", set(1, 1, 0))
	arrays("us", "a coordinate above s twice", set(1, 1, 0))
	arrays("uq", "outer coordinates that fall", set(1, 2, -0))
	arrays("uq", "inner coordinates that fall", set(2, 1, 0))
	arrays("uq", "a tuple twice", set(2, 1, 1))
	arrays("uq", "a coordinate of -1 in q", set(2, 0, -1))
	arrays("uc", "tuples that fall", func(f *tcsFile) { f.arrays[2] = []int64{2, 1, 0} })
	arrays("u", "coordinates that fall", set(1, 2, 0))
	arrays("ucq", "tuples that fall in c", set(2, 1, 0))
	arrays("ucq", "tuples that fall in q", set(3, 1, 0))
	arrays("dp", "a coordinate of -2", set(0, 1, -2))
	arrays("dp", "a value in an empty slot", func(f *tcsFile) { f.vals[1] = 7 })
	arrays("dpd", "a value below an empty slot", func(f *tcsFile) { f.vals[3] = 7 })
	arrays("dpq", "a coordinate below an empty slot", set(1, 1, 0))
	arrays("dpq", "a -1 that is not below an empty slot", set(1, 0, -1))
	arrays("dpq", "a value in an empty slot", func(f *tcsFile) { f.vals[1] = 7 })
	arrays("dps", "coordinates below an empty slot", set(1, 2, 3))
	arrays("dpdp", "a coordinate below an empty slot two levels up", set(1, 2, 0))

	// bytes modifies the bytes of a file with two modes, two levels, and sections pos, crd and
	// vals.
	ds := validTCS["ds"]
	good, sections := ds.bytes()
	le := binary.LittleEndian
	change := func(name string, f func(b []byte) []byte) {
		list["ds: "+name] = fixHeader(f(slices.Clone(good)))
	}
	at := func(name string, at int, v byte) {
		change(name, func(b []byte) []byte { b[at] = v; return b })
	}
	word := func(name string, at int, v uint64) {
		change(name, func(b []byte) []byte { le.PutUint64(b[at:], v); return b })
	}
	at("the first byte", 0, 'x')
	at("another version", 8, 2)
	at("a type that is not there", 28, 7)
	at("another alignment", 29, 5)
	at("a compression that is not there", 30, 2)
	for _, k := range []int{31, 64, 123, 128 + 40, 128 + 127, 256 + 1, 256 + 48, 256 + 127, 384 + 6,
		384 + 36, 384 + 191} {
		at(fmt.Sprintf("reserved byte %d", k), k, 1)
	}
	word("a longer file", 16, uint64(len(good)+1))
	word("more entries than values", 40, 5)
	word("a statistic of 2^62", 48, 1<<62)
	word("a chunk without compression", 32, 1024|3<<32)
	word("a size of 2^61 and 1", 128, 1<<61+1)
	word("a box that ends before it begins", 128+8, 4)
	word("a box past the size", 128+64+16, 5)
	word("a box that ends before a coordinate", 128+64+16, 3)
	word("a block that is not there", 128+24, 1)
	at("a level of no kind", 256, 'x')
	at("a mode twice", 256+4, 1)
	word("a dense size", 256+8, 2)
	word("a dense offset", 256+16, 1)
	word("a size of a compressed level", 256+64+8, 4)
	word("positions of a dense level", 256+24, 4)
	word("positions of a compressed level", 256+64+24, 3)
	at("a section of another level", 384, 0)
	at("a section of another part", 384+4, 1)
	at("elements of 2 bytes", 384+5, 2)
	word("a section at an odd place", 384+8, uint64(sections[0].at+1))
	word("a section over the one before", 384+64+8, uint64(sections[0].at))
	word("a section past the end", 384+64+8, 1<<40)
	word("bytes of a section", 384+16, 12)
	word("elements of a section", 384+24, 3)
	at("the checksum of a section", 384+32, good[384+32]^1)
	at("a byte between two sections", sections[0].at+sections[0].bytes, 1)
	change("a byte after the last section", func(b []byte) []byte { return fixTCS(append(b, 0)) })
	change("the last byte missing", func(b []byte) []byte { return b[:len(b)-1] })
	change("half of it", func(b []byte) []byte { return b[:len(b)/2] })
	header := slices.Clone(good)
	header[124] ^= 1
	list["ds: the checksum of the header"] = header
	return list
}

// TestTwoPlacesOfASize checks that the message names both sources if two sources give different
// sizes, in all formats and whichever source is read first.
func TestTwoPlacesOfASize(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "B.tns"), []byte("1 1 2\n5 2 3\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	three := filepath.Join(dir, "D.tns")
	if err := os.WriteFile(three, []byte("1 1 1\n3 4 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"convert", "B.tns", "B.mtx"}, {"convert", "B.tns", "B.tcs"},
		{"convert", "B.tns", "B.npz"}, {"convert", "D.tns", "D.mtx"}, {"convert", "D.tns", "D.tcs"},
		{"convert", "D.tns", "D.npy"}} {
		if out, err := distaffCommand(t, dir, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	check := func(first, second string, args ...string) {
		t.Helper()
		out, _ := distaffCommand(t, dir, append([]string{"run", "A(i,l) = B(i,k)*D(i,l)"},
			args...)...).CombinedOutput()
		if !strings.Contains(string(out), first) || !strings.Contains(string(out), second) {
			t.Errorf("%q: got %s, want %q and %q", args, out, first, second)
		}
	}
	for _, d := range []string{"D.mtx", "D.tcs", "D.npy"} {
		for _, ranks := range []string{"--ranks=1", "--ranks=2"} {
			check("B.tns:2:1: got coordinate 5", "its size is 3, by mode 0 of D ("+d+")",
				"-i=B:B.tns", "-i=D:"+d, ranks)
			check("B.tns:2:1: got coordinate 5", "its size is 3, by mode 0 of D ("+d+")",
				"-i=B:B.tns", "-i=D:"+d, "-d=k:2", ranks)
		}
		for _, b := range []string{"B.mtx", "B.tcs", "B.npz"} {
			check("mode 0 of B ("+b+")", "mode 0 of D ("+d+")", "-i=B:"+b, "-i=D:"+d)
		}
	}
	for _, d := range []string{"D.mtx", "D.tcs", "D.npy"} {
		text := "tensor B(m,k): ss from \"B.tns\"\ntensor D(m,l) from \"" + d +
			"\"\nA(i,l) = B(i,k)*D(i,l)\nprint A\n"
		if err := os.WriteFile(filepath.Join(dir, "j.dst"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		want := "j.dst:3:1: B.tns:2:1: got coordinate 5 in mode 0, want at most 3: " +
			"its size is 3, by mode 0 of D (" + d + ")"
		for _, ranks := range []string{"--ranks=1", "--ranks=2"} {
			out, _ := distaffCommand(t, dir, "run", "j.dst", ranks).CombinedOutput()
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: got %s, want %q", ranks, out, want)
			}
		}
	}
	check("B.tns:2:1: got coordinate 5", "its size is 3, by -d", "-i=B:B.tns", "-g=D:dense",
		"-d=D:3,4")
	check("B.tns:2:1: got coordinate 5", "its size is 3, by -d", "-i=B:B.tns", "-g=D:dense",
		"-d=i:3", "-d=l:4")
	check("B.tns:2:1: got coordinate 5", "its size is 3, by -d", "-i=B:B.tns", "-i=D:D.tns",
		"-d=B:3,2")
}

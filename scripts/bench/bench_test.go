package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "distaff/kernels/verified"
)

func newBench(out *bytes.Buffer, scale float64) *bench {
	return &bench{ctx: context.Background(), out: out, dry: true, scale: scale, rounds: 1, repeat: 1}
}

// Every generated input has coordinates that increase within each row, and the expected number of
// entries within 3%.
func TestInputs(t *testing.T) {
	b := newBench(nil, 0.002)
	for _, x := range []struct {
		name      string
		nnz, most int // entries, and entries of the longest row
	}{
		{"uniform1M", 20000, 10}, {"power1M", 20000, 2000}, {"band1M", 30000, 20},
		{"huge", 200000, 100000}, {"geometric1.1", 200000, 18182}, {"geometric1", 200000, 500},
		{"wide", 320, 20}, {"skewed", 39980, 1800}, {"balanced", 40000, 10}, {"b", 10000, 896},
		{"even", 8000 * 12, 20}, {"half", 8000 * 12, 4000},
	} {
		m := b.make(x.name)
		if err := m.Validate(); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if n := int(m.Vals.Len); math.Abs(float64(n-x.nnz)) > 0.03*float64(x.nnz) {
			t.Errorf("%s has %d entries, want about %d", x.name, n, x.nnz)
		}
		if n := int(longest(pos(m, 1))); math.Abs(float64(n-x.most)) > 0.03*float64(x.most) {
			t.Errorf("the longest row of %s has %d entries, want about %d", x.name, n, x.most)
		}
	}
	if _, err := shaped("many", "ss", []int64{1, 1}, 1<<20, 1<<40); err == nil {
		t.Error("10^12 entries are counted in 32 bits")
	}
}

// The entries of a sorted text file are in lexicographic order, also where the number of entries is
// no multiple of a hundred, or larger than a hundred for each coordinate.
func TestSortedText(t *testing.T) {
	for _, n := range []int{1, 99, 100, 101, 16000, 5000000, 5000001, 7000000} {
		f := textFile{n: n, dims: []int{50000, 20000, 5000}}
		last := []int{-1, 0}
		for k := range n {
			at := []int{0, k * 7919 % f.dims[1]}
			f.sort(k, at)
			if at[0] >= f.dims[0] || at[1] >= f.dims[1] || slices.Compare(last, at) >= 0 {
				t.Fatalf("of %d entries, %d is at %v, after %v", n, k, at, last)
			}
			last = at
		}
	}
}

func TestSameSum(t *testing.T) {
	for _, x := range []struct {
		mine, other float64
		same        bool
	}{{5, 5, true}, {-5, -5, true}, {-5, -5.0000001, true}, {0, 0, true}, {-5, -5.1, false},
		{5, 5.1, false}, {-5, 5, false}, {0, 1, false}, {math.NaN(), 1, false},
		{1, math.NaN(), false}} {
		if same := sameSum(x.mine, x.other) == nil; same != x.same {
			t.Errorf("sums of %v and %v: %t", x.mine, x.other, same)
		}
	}
}

// Each group has lines, of kernels whose operands are known, and each table has a column for each
// value of its lines.
func TestGroups(t *testing.T) {
	var out bytes.Buffer
	b := newBench(&out, 0.01)
	b.threads, b.ways = []int{1}, []way{{name: "local"}}
	for _, g := range groups() {
		lines := map[string]bool{}
		for _, r := range g.rows(b) {
			lines[r.name] = true
			if r.measure == nil && r.line == nil && r.jobs == nil {
				t.Errorf("%s: %q measures nothing", g.name, r.name)
			}
		}
		if len(lines) < 2 {
			t.Errorf("group %s has the lines %v", g.name, lines)
		}
		for _, c := range strings.Split(g.columns, "|") {
			if !regexp.MustCompile(`^[^%]+ %-?[0-9]*(\.[0-9]+)?[dfs]$`).MatchString(c) {
				t.Errorf("group %s has the column %q", g.name, c)
			}
		}
	}
	kernels := slices.Concat(leafKernels(), contractions, products())
	for _, c := range contests() {
		kernels = append(kernels, c.kernel)
	}
	for _, r := range gpuRows() {
		kernels = append(kernels, r.kernel)
	}
	for _, k := range kernels {
		for _, o := range k.list() {
			parts := strings.Split(o.input, ":")
			if known(parts[min(len(parts), 2)-1]).kind == "" && parts[0] != "full" &&
				parts[0] != "electrons" {
				t.Errorf("%s: the operand %s has the unknown input %q", k.name, o.name, o.input)
			}
		}
	}
}

// The names of lines are printed also if this machine cannot measure them, and nothing is measured.
func TestList(t *testing.T) {
	var out bytes.Buffer
	b := newBench(&out, 1)
	b.list, b.dry = true, false
	b.run("1", "gpu", "^skew", "")
	for _, r := range gpuRows() {
		want := strings.HasPrefix(r.name, "skew")
		if got := strings.Contains(out.String(), "gpu\t"+r.name+"\t1\n"); got != want {
			t.Errorf("%s is listed: %t, want %t\n%s", r.name, got, want, &out)
		}
	}
}

func TestLine(t *testing.T) {
	var out bytes.Buffer
	b := newBench(&out, 1)
	b.head("job %-6s|threads %8d|ms %7.2f|other %-5s|ratio %6.2f")
	b.line(" over", "SpMV", 2, 1.239, nil, nil)
	b.line("", "TTM", 16, "-", "by hand", 0.5)
	want := "job     threads      ms other  ratio\n" +
		"SpMV          2    1.24 -          - over\n" +
		"TTM          16       - by hand   0.50\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

// The sides of a comparison take turns, and results with different sums are noticed.
func TestTurns(t *testing.T) {
	order := ""
	of := func(name string, seconds float64) side {
		return func() outcome {
			order += name
			return outcome{times: times{seconds, 2 * seconds}, sum: 3, summed: true}
		}
	}
	got := turns(2, of("a", 1), of("b", 5))
	if order != "abab" || fmt.Sprint(got) != "[[1 2 1 2] [5 10 5 10]]" {
		t.Errorf("turns %s, times %v", order, got)
	}
}

// Compiles the statements of the group gpu under every schedule, and checks the results with the
// interpreter.
func TestGPU(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	var out bytes.Buffer
	b := newBench(&out, 0.0002)
	b.run("1", "gpu", `uniform (1M|400k|100k)|c = 1\.1|wide|slice|2M x 10, K 32|dense`, "")
	if b.wrong > 0 {
		t.Errorf("%d lines failed or are wrong:\n%s", b.wrong, &out)
	}
	for _, name := range []string{"spmv", "skew", "shortwide", "unroll", "spmm", "mttkrp", "hugeslice",
		"sddmm", "dense"} {
		if !strings.Contains(out.String(), "\n"+name) {
			t.Errorf("no line of %s was measured:\n%s", name, &out)
		}
	}
}

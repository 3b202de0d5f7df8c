package oracle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"distaff/codegen/reference"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd"
)

var (
	seedFlag  = flag.Uint64("oracle.seed", 1, "seed of the random cases")
	firstFlag = flag.Uint64("oracle.first", 0, "number of the first random case")
	nFlag     = flag.Uint64("oracle.n", 0, "how many random cases (0: the tests' own number)")
)

// sweep runs random cases on an engine: the cases that the flags select, or n cases.
func sweep(t *testing.T, e Engine, o Options, n uint64) {
	t.Helper()
	if *nFlag > 0 {
		n = *nFlag
	}
	if b, ok := e.(batcher); ok && *traceFlag {
		e = traced{b}
	}
	rep := Sweep(context.Background(), e, o, *seedFlag, *firstFlag, n, runtime.GOMAXPROCS(0))
	t.Logf("%s, seed %d: %v", e.Name(), *seedFlag, &rep)
	for _, f := range rep.Failures {
		t.Errorf("%s: %v", e.Name(), f)
	}
}

// caseFiles runs the numbered case files. Each was once a failure of some engine.
func caseFiles(t *testing.T, e Engine) {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.case")
	if err != nil {
		t.Fatal(err)
	}
	var cases []*Case
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCase(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, c)
	}
	for k, err := range checkAll(t, e, cases) {
		if err != nil {
			t.Errorf("%s: %s: %v", files[k], e.Name(), err)
		}
	}
}

// checkAll compares an engine with the reference, and returns the error of each case. If the engine
// is a batcher, it compiles all cases at once.
func checkAll(t *testing.T, e Engine, cases []*Case) []error {
	t.Helper()
	ctx := context.Background()
	errs := make([]error, len(cases))
	b, ok := e.(batcher)
	if !ok {
		for k, c := range cases {
			errs[k] = Check(ctx, e, c)
		}
		return errs
	}
	all := make([]*Prepared, len(cases))
	for k, c := range cases {
		var err error
		if all[k], err = c.Prepare(); err != nil {
			t.Fatalf("%v\n%s", err, c.Text())
		}
	}
	for k, run := range b.batch(ctx, all) {
		_, errs[k] = check(ctx, all[k], run)
	}
	return errs
}

// TestOracleInterp compares interpreted leaves with the reference.
func TestOracleInterp(t *testing.T) {
	t.Parallel()
	caseFiles(t, Interp{})
	sweep(t, Interp{}, Options{}, 2000)
}

// TestOracleC compares compiled leaves with the reference. Only a few of the cases are compiled
// with the optimization of leaves, because without optimization the compiler takes a quarter of the
// time.
func TestOracleC(t *testing.T) {
	t.Parallel()
	for _, l := range []struct {
		level string
		n     uint64
	}{{"-O0", 250}, {"-O1", 30}, {"-O3", 10}} {
		t.Run(l.level[1:], func(t *testing.T) {
			e, err := NewC(os.Getenv, l.level)
			if errors.Is(err, cc.ErrNoCompiler) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			e.people = l.level == "-O1"
			if l.level == "-O0" || *nFlag > 0 { // with -oracle.n, test all levels
				caseFiles(t, e)
			}
			sweep(t, e, Options{}, l.n)
		})
	}
}

// TestOracleJobs compares jobs with compiled leaves with the reference.
func TestOracleJobs(t *testing.T) {
	if _, err := NewC(os.Getenv, "-O0"); errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	sweep(t, Jobs{Ranks: 1}, Options{}, 70)
	sweep(t, Jobs{Blocks: true}, Options{}, 130)
}

// TestOracleRanks compares jobs on 1 to 8 ranks with random block schedules with the reference.
func TestOracleRanks(t *testing.T) {
	t.Parallel()
	e := Jobs{Blocks: true, Target: spmd.Interpreter, Limits: true, Dir: t.TempDir()}
	caseFiles(t, e)
	sweep(t, e, Options{Follow: 0.25, Long: 0.2}, 250)
}

// TestBrute compares the reference evaluator with a second one, which visits every point of the
// dense space.
func TestBrute(t *testing.T) {
	t.Parallel()
	for _, ty := range []tensor.Type{tensor.Float64, tensor.Int64} {
		o := Options{MaxPoints: 200, Types: []tensor.Type{ty}}
		done := 0
		for k := uint64(0); done < 700; k++ {
			c := Generate(Rand(*seedFlag, k), o)
			p, err := c.Prepare()
			if err != nil {
				t.Fatal(err)
			}
			if !bruteCan(p, ty) {
				continue
			}
			done++
			if err := Check(context.Background(), bruteEngine{}, c); err != nil {
				small := Shrink(c, 500, func(s *Case) bool {
					p, err := s.Prepare()
					return err == nil && bruteCan(p, ty) && Check(context.Background(), bruteEngine{}, s) != nil
				})
				t.Fatalf("case %d of %v: %v\n%s", k, ty, Check(context.Background(), bruteEngine{}, small),
					small.Text())
			}
		}
	}
}

// bruteCan reports whether brute can evaluate the case: it has one type, one size for each name,
// and integers that float64 represents exactly.
func bruteCan(p *Prepared, ty tensor.Type) bool {
	if s := p.Normal.String(); ty.IsInt() && (strings.Contains(s, "stored(") ||
		strings.Contains(s, "min(") || strings.Contains(s, "max(")) {
		return false // the least of no integers is no float
	}
	sizes := map[string]int64{}
	for _, v := range p.Normal.Vars {
		name := v
		if user, ok := p.Normal.Source[v]; ok {
			name = user
		}
		if old, ok := sizes[name]; ok && old != p.Sizes.Vars[v] {
			return false
		}
		sizes[name] = p.Sizes.Vars[v]
	}
	for _, t := range p.Case.Tensors {
		for _, e := range t.Entries {
			if e.Value.I > 1<<20 || e.Value.I < -1<<20 {
				return false
			}
		}
	}
	return p.Compute == ty && p.Result == ty
}

// TestGenerateCovers checks that every feature occurs in the generated cases.
func TestGenerateCovers(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	note := func(is bool, what string) {
		if is {
			seen[what]++
		}
	}
	const n = 3000
	for k := range uint64(n) {
		c := Generate(Rand(3, k), Options{})
		p, err := c.Prepare()
		if err != nil {
			t.Fatalf("case %d: %v\n%s", k, err, c.Text())
		}
		note(strings.Contains(c.Stmt, "sum("), "sum()")
		note(strings.Contains(c.Stmt, "/"), "quotient")
		note(p.Parsed.Accumulate, "+=")
		note(len(p.Normal.Terms) > 2, "many terms")
		note(len(p.Parsed.LHS.Vars) == 0, "scalar result")
		note(len(p.Parsed.Accesses()) >= 5, "five operands")
		note(p.ForcedConversion(), "conflicting orders")
		names := map[string]bool{}
		for _, a := range p.Parsed.Accesses() {
			note(names[a.Name], "tensor twice")
			names[a.Name] = true
			vars := map[string]bool{}
			for _, v := range a.Vars {
				note(vars[v], "diagonal")
				vars[v] = true
			}
		}
		for _, size := range p.Sizes.Vars {
			note(size == 0, "size 0")
			note(size == 1, "size 1")
		}
		for _, x := range c.Tensors {
			note(true, "type "+x.Type.String())
			note(x.Input && len(x.Entries) == 0, "empty tensor")
			note(len(x.Dims) == 5, "order 5")
			for _, kind := range x.Format.Levels {
				note(true, "level "+kind.String())
			}
			for _, e := range x.Entries {
				note(e.Value.IsZero(), "stored zero")
				note(math.IsInf(real(e.Value.C), 0), "infinity")
				note(math.IsNaN(real(e.Value.C)), "NaN")
			}
		}
	}
	for _, what := range []string{"sum()", "quotient", "+=", "many terms", "scalar result",
		"five operands", "conflicting orders", "tensor twice", "diagonal", "size 0", "size 1",
		"type float64", "type float32", "type int64", "type int32", "type complex128", "type complex64",
		"type none", "empty tensor", "order 5",
		"level d", "level s", "level u", "level q", "level c", "level p", "stored zero", "infinity",
		"NaN"} {
		if seen[what] < n/300 {
			t.Errorf("%s: %d times in %d cases", what, seen[what], n)
		}
	}
}

func TestGenerateRepeats(t *testing.T) {
	for k := range uint64(50) {
		if a, b := Generate(Rand(9, k), Options{}).Text(),
			Generate(Rand(9, k), Options{}).Text(); a != b {
			t.Fatalf("case %d is not the same twice:\n%s\n%s", k, a, b)
		}
	}
}

func TestExactCases(t *testing.T) {
	for k := range uint64(500) {
		c := Generate(Rand(5, k), Options{Exact: true})
		p, err := c.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		w, err := p.Expect(context.Background())
		if err != nil || w.Err != nil {
			t.Fatal(err, w.Err)
		}
		for _, pt := range w.Points {
			if !pt.Exact {
				t.Fatalf("case %d may round:\n%s", k, c.Text())
			}
		}
	}
}

func TestTextReads(t *testing.T) {
	for k := range uint64(300) {
		c := Generate(Rand(4, k), Options{})
		back, err := ParseCase("# a comment\n\n" + c.Text())
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Text())
		}
		if back.Text() != c.Text() {
			t.Fatalf("%s came back as\n%s", c.Text(), back.Text())
		}
	}
	for _, bad := range []string{"", "a = ", "a(i) = b(i)\nresult a d - 2",
		"a(i) = b(i)\nresult a d - 2\ntensor b d float64 3", "a(i) = b(i)\n0 1",
		"a(i) = b(i)\nresult a d - 2\ntensor b d float64 2\n5 1"} {
		if _, err := ParseCase(bad); err == nil {
			t.Errorf("%q is no case", bad)
		}
	}
}

func TestStored(t *testing.T) {
	c,
		err := ParseCase(
		"A(i,j,k) = B(i,j,k)\nresult A ddd - 2x2x2\ntensor B sdd:1,0,2 float64 2x2x2\n0 1 1 5\n")
	if err != nil {
		t.Fatal(err)
	}
	b := c.Tensors[1]
	got := storedCoords(b.Format, b.Dims, [][]int64{{0, 1, 1}})
	if want := [][]int64{{0, 1, 0}, {0, 1, 1}, {1, 1, 0}, {1, 1, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if r := b.Reference(); r.Len() != 4 {
		t.Errorf("the block has %d entries, want 4", r.Len())
	}
}

func TestCompare(t *testing.T) {
	c,
		err := ParseCase("A(i,j) = B(i,j)*2\nresult A ds - 2x3\ntensor B ss float64 2x3\n0 1 4\n1 2 0\n")
	if err != nil {
		t.Fatal(err)
	}
	entry := func(v float64, coord ...int64) Entry { return Entry{coord, reference.Float(v)} }
	right := []Entry{entry(0, 1, 2), entry(8, 0, 1)}
	for _, tc := range []struct {
		why     string
		entries []Entry
		dense   bool
		err     error
		want    string
	}{
		{"right", right, false, nil, ""},
		{"a wrong value", []Entry{right[0], entry(7, 0, 1)}, false, nil, "at [0 1] got 7, want 8"},
		{"one missing", right[:1], false, nil, "nothing is stored at [0 1], want 8"},
		{"a stored zero missing", right[1:], false, nil, "nothing is stored at [1 2], want 0"},
		{"one too many", append([]Entry{entry(0, 0, 0)}, right...), false, nil, "[0 0] is stored"},
		{"one too many, with a value", append([]Entry{entry(3, 0, 0)}, right...), false, nil,
			"at [0 0] got 3, want it absent"},
		{"a dense array", append([]Entry{entry(0, 0, 0)}, right...), true, nil, ""},
		{"one twice", append([]Entry{right[0]}, right...), false, nil, "stored twice"},
		{"a refusal", nil, false, errors.New("no"), "refused or failed"},
	} {
		e := fixed{tc.entries, tc.dense, tc.err}
		err := Check(context.Background(), e, c)
		if tc.want == "" && err != nil ||
			tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", tc.why, err, tc.want)
		}
	}
}

// fixed is an engine that always returns the same output.
type fixed struct {
	entries []Entry
	dense   bool
	err     error
}

func (fixed) Name() string { return "fixed" }
func (f fixed) Run(context.Context, *Prepared) (*Output, error) {
	return &Output{Entries: f.entries, Dense: f.dense}, f.err
}

func TestForcedConversion(t *testing.T) {
	for _, c := range []struct {
		b, c, a string
		want    bool
	}{
		{"ds", "ds", "dd", false}, {"ds", "ds:1,0", "dd", true}, {"ds:1,0", "ds:1,0", "dd", false},
		{"dd:1,0", "ds", "dd", false}, {"ds:1,0", "ds:1,0", "ds", true}, {"sd", "ds", "dd", false},
		{"sd:1,0", "ds", "dd", false},
	} {
		k,
			err := ParseCase(fmt.Sprintf(
			"A(i,j) = B(i,j) + C(i,j)\nresult A %s - 2x2\ntensor B %s float64 2x2\ntensor C %s float64 2x2\n", c.a, c.b, c.c))
		if err != nil {
			t.Fatal(err)
		}
		p, _ := k.Prepare()
		if got := p.ForcedConversion(); got != c.want {
			t.Errorf("%+v: forced %v", c, got)
		}
	}
}

// TestSweepShrinks checks the report about an engine with a planted mistake.
func TestSweepShrinks(t *testing.T) {
	rep := Sweep(context.Background(), forgetful{},
		Options{MaxPoints: 200, Types: []tensor.Type{tensor.Float64}}, 1, 0, 300, 2)
	if len(rep.Failures) == 0 {
		t.Fatal("the mistake was not found")
	}
	f := rep.Failures[0]
	if n := len(f.Small.Text()); n > 270 || n > len(f.Case.Text()) {
		t.Errorf("not small:\n%s", f.Small.Text())
	}
	if !strings.Contains(f.String(), "-oracle.first=") ||
		!strings.Contains(f.String(), "distaff run '") {
		t.Errorf("does not say how to reproduce it:\n%s", f)
	}
	t.Logf("%v", f)
}

// forgetful is an engine with a mistake: it ignores a tensor that is read twice.
type forgetful struct{}

func (forgetful) Name() string { return "forgetful" }
func (forgetful) Run(ctx context.Context, p *Prepared) (*Output, error) {
	times := map[string]int{}
	for _, a := range p.Parsed.Accesses() {
		times[a.Name]++
	}
	c := p.Case.Clone()
	for _, t := range c.Tensors {
		if times[t.Name] > 1 && len(t.Dims) > 0 {
			t.Entries = nil
		}
	}
	q, err := c.Prepare()
	if err != nil {
		return nil, err
	}
	w, err := q.Expect(ctx)
	if err != nil || w.Err != nil {
		return nil, errors.Join(err, w.Err)
	}
	out := &Output{Dense: true}
	values := map[string]tensor.Value{}
	for k, c := range w.Coords {
		values[fmt.Sprint(c)] = w.Points[k].Value
	}
	for _, c := range storedCoords(w.Format, w.Dims, w.Coords) {
		out.Entries = append(out.Entries, Entry{c, values[fmt.Sprint(c)]})
	}
	return out, nil
}

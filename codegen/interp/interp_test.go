package interp_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
)

// TestCases runs every leaf in several orders of its parallel iterations and threads. The results
// must be equal, because all data are whole numbers.
func TestCases(t *testing.T) {
	for _, c := range irtest.All() {
		t.Run(c.Name, func(t *testing.T) {
			p, err := interp.Compile(c.Func())
			if err != nil {
				t.Fatal(err)
			}
			var first string
			for seed := range uint64(4) {
				args := c.Args()
				fail, err := p.Run(args, c.Bounds, interp.Env{Threads: 2, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				code := ir.OK
				if fail != nil {
					code = fail.Code
				}
				if code != c.Fail {
					t.Fatalf("got %v, want %v", code, c.Fail)
				}
				if fail != nil {
					continue
				}
				if got := fmt.Sprint(args); seed == 0 {
					first = got
				} else if got != first {
					t.Errorf("seed %d: got %s, want %s", seed, got, first)
				}
			}
		})
	}
}

func TestSpMV(t *testing.T) {
	f := find(t, "spmv")
	args := []interp.Arg{
		{Levels: []interp.Level{{Size: 3}}, Vals: interp.Array{Data: make([]float64, 3), Fresh: true}},
		{Levels: []interp.Level{{},
			{Pos: interp.Array{Data: []int32{0, 2, 2, 3}}, Crd: interp.Array{Data: []int32{0, 2, 1}}}},
			Vals: interp.Array{Data: []float64{1, 2, 3}}},
		{Vals: interp.Array{Data: []float64{10, 20, 30}}},
	}
	fail, err := interp.Run(f, args, [][2]int64{{0, 3}, {0, 0}}, 1)
	if fail != nil || err != nil {
		t.Fatal(fail, err)
	}
	if got, want := args[0].Vals.Data, []float64{70, 0, 60}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFailure(t *testing.T) {
	c := irtest.Cases()
	for _, c := range c {
		if c.Name != "divide" {
			continue
		}
		fail, err := interp.Run(c.Func(), c.Args(), c.Bounds, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int64{33, 34, -3}; fail == nil || !reflect.DeepEqual(fail.Coord, want) {
			t.Errorf("got %v, want divide at %v", fail, want)
		}
	}
}

func find(t *testing.T, name string) *ir.Func {
	for _, c := range irtest.Cases() {
		if c.Name == name {
			return c.Func()
		}
	}
	t.Fatalf("no case %s", name)
	return nil
}

// TestRules has a case for every rule that a run can break.
func TestRules(t *testing.T) {
	const head = "func f\n param x float64 = t0.vals\n param k int32 = t1.vals\n param y float64 = t2.vals\n param z float64 const = t4.vals\n bounds n _\n{\n"
	cases := []struct{ body, want string }{
		{"x[4] = 1.0", "x[4] is out of bounds [0, 4)"},
		{"x[-1] += 1.0", "x[-1] is out of bounds [0, 4)"},
		{"x[0] = z[5]", "z[5] is out of bounds [10, 12)"},
		{"x[0] = y[1]", "y[1] is read but was never written"},
		{"y[1] += 1.0", "y[1] is read but was never written"},
		{"alloc w float64[3]\n x[0] = w[2]\n free w", "w[2] is read but was never written"},
		{"alloc w float64[3] zero\n free w\n x[0] = w[2]", "w[2]: used after it is freed"},
		{"alloc w float64[3] zero\n free w\n free w", "free w: used after it is freed"},
		{"alloc w float64[3] zero\n publish t3.vals = w, 3\n w[0] = 1.0",
			"w[0]: used after it is published"},
		{"alloc w float64[3]\n publish t3.vals = w, 3", "w[0] is read but was never written"},
		{"alloc w float64[3] zero\n publish t3.vals = w, 4", "got 4 elements, want at most 3"},
		{"alloc w float64[3]", "leak: w"},
		{"for i in 0 : 2 {\n alloc w float64[3]\n }", "leak: w is allocated again"},
		{"alloc w float64[n - 1]\n free w", "allocation of -1 elements"},
		{
			"if n == 1 {\n alloc w float64[1]\n free w\n }\n if n == 1 {\n alloc w float64[1]\n free w\n }\n w[0] = 1.0", "used before it is allocated"},
		{"alloc w float64[3]\n var cap int64 = 2\n grow w, cap, 5\n free w", "its capacity is 3"},
		{"alloc w float64[1] zero\n var cap int64 = 1\n grow w, cap, 2\n x[0] = w[1]\n free w",
			"w[1] is read but was never written"},
		{"k[0] = 4294967296", "k[0] = 4294967296 does not fit"},
		{"k[0] = 2147483647\n k[0] += 1 + n", "does not fit"},
		{"fill k[0 : 2] = 2147483648", "does not fit"},
		{"k[0] = int32(n / n)", "division by zero"},
		{"while true {\n x[0] += 1.0\n }", "too many loop iterations"},
		{"for i in 0 : 3 parallel {\n x[0] = 1.0\n }", "race in a parallel loop: x[0] is written"},
		{"for i in 0 : 3 parallel {\n x[i] = x[0]\n }", "race in a parallel loop: x[0]"},
		{"for i in 0 : 3 vector {\n x[i + 1] = x[i]\n }",
			"race in a vector loop: x[1] is read by iteration 1 and written by iteration 0"},
		{"for i in 0 : 3 vector {\n x[0] += 1.0\n }", "race in a vector loop"},
		{"for i in 0 : 3 parallel {\n atomic x[0] += 1.0\n x[1] = x[0]\n }", "race"},
		{"for i in 0 : 3 parallel {\n atomic x[0] += 1.0\n if i == 1 {\n x[0] = 1.0\n }\n }", "race"},
		{"for i in 0 : 3 parallel {\n fill x[i : i + 2] = 0.0\n }", "race"},
		{"for i in 0 : 3 parallel(dynamic, 1) {\n x[0] = 1.0\n ordered {\n k[0] = i\n }\n }",
			"race in a parallel loop: x[0]"},
		{
			"for i in 0 : 3 parallel(dynamic, 1) {\n ordered {\n x[i] = 1.0\n x[i + 1] = x[i]\n }\n x[i + 1] = 2.0\n }", "race in a parallel loop: x[1] is written by iteration 1 and written by iteration 0"},
		{"for i in 0 : 2 parallel(dynamic, 1) {\n y[i] = x[i]\n ordered {\n x[i + 1] = x[i]\n }\n }",
			"race in a parallel loop: x[1] is "},
		{
			"for i in 0 : 3 parallel {\n for j in 0 : 2 parallel(dynamic, 1) {\n ordered {\n x[j] = 1.0\n }\n }\n }", "race in a parallel loop: x[0]"},
		{"for i in 0 : 3 parallel {\n for j in 0 : 2 vector {\n x[j] = 1.0\n }\n }",
			"race in a parallel loop"},
		{"for i in 0 : 2 parallel {\n for j in 0 : 2 vector {\n x[i] = 1.0\n }\n }",
			"race in a vector loop"},
		{"copy x[0] = x[1], 2", "the ranges overlap"},
		{"copy x[0] = z[9], 2", "z[9 : 11] is out of bounds"},
		{"x[0] = float64(search(k, 0, 9, 1))", "k[0 : 9] is out of bounds"},
		{"alloctable T float64[2]", "leak: table T"},
		{"alloctable T float64[2]\n take w float64 = T[1]\n free w\n freetable T",
			"the entry of table T is empty"},
		{"alloctable T float64[2]\n take w float64 = T[2]\n free w\n freetable T",
			"T[2] is out of bounds [0, 2)"},
		{"alloctable T float64[2]\n alloc w float64[1]\n keep T[0] = w\n w[0] = 1.0\n freetable T",
			"w[0]: used after it is kept"},
		{"alloctable T float64[2]\n for i in 0 : 2 {\n alloc w float64[1]\n keep T[0] = w\n }",
			"keep w: the entry of table T is in use (i=1)"},
		{"alloctable T float64[2]\n freetable T\n freetable T", "the table is not allocated"},
		{"alloc p int64[1] zero\n alloc q int64[1]\n sortby p[0 : 1] (q)",
			"q[0] is read but was never written"},
		{"alloc p int64[1]\n p[0] = 1\n alloc q int64[1] zero\n sortby p[0 : 1] (q)",
			"q[1] is out of bounds"},
		{"sort k[0 : 3]", "k[0 : 3] is out of bounds"},
		{"alloc b int64[1] zero\n alloc w int32[2]\n var m int64 = 0\n mark b[64], w, m",
			"b[1 : 2] is out of bounds"},
		{"alloc b int64[1] zero\n alloc w int32[1]\n var m int64 = 0\n mark b[63], w, m",
			"w[0 : 2] is out of bounds"},
		{
			"alloc b int64[1] zero\n alloc w int32[2]\n alloc f bool[64] zero\n alloc l int32[1]\n var m int64 = 0\n mark b[3], w, m\n collect l[0] = b[1], w, f, m", "l[0 : 2] is out of bounds"},
		{
			"alloc b int64[1] zero\n alloc w int32[2]\n alloc f bool[64] zero\n alloc l int32[9]\n var m int64 = 0\n mark b[3], w, m\n m = 0\n collect l[0] = b[1], w, f, m", "word 0 has bits, but is not in w"},
	}
	for _, c := range cases {
		f, err := ir.Parse(head + c.body + "\n}")
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		p, err := interp.Compile(f)
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		args := []interp.Arg{
			{Vals: interp.Array{Data: make([]float64, 4)}}, {Vals: interp.Array{Data: make([]int32, 2)}},
			{Vals: interp.Array{Data: make([]float64, 4), Fresh: true}}, {},
			{Vals: interp.Array{Data: make([]float64, 2), First: 10}},
		}
		fail, err := p.Run(args, [][2]int64{{0, 0}}, interp.Env{Steps: 1000})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want %q", c.body, fail, err, c.want)
		}
	}
}

// TestOrders checks which iteration of a loop is the first to reach a failing statement. It may be
// any iteration, but the first one if the statement is in an ordered section.
func TestOrders(t *testing.T) {
	for _, c := range []struct {
		loop string
		any  bool
	}{
		{"parallel {\n fail divide(i)\n }", true},
		{"{\n fail divide(i)\n }", false},
		{"parallel(dynamic, 1) {\n fail divide(i)\n ordered {\n }\n }", true},
		{"parallel(dynamic, 1) {\n ordered {\n fail divide(i)\n }\n }", false},
		{"parallel(dynamic, 1) {\n ordered {\n }\n fail divide(i)\n }", true},
		{"parallel(dynamic, 1) {\n ordered {\n }\n if i == 0 {\n fail divide(i)\n }\n }", false},
	} {
		f, err := ir.Parse("func f\n bounds n _\n{\n for i in 0 : n " + c.loop + "\n}")
		if err != nil {
			t.Fatal(err)
		}
		p, err := interp.Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		first := map[int64]bool{}
		for seed := range uint64(50) {
			fail, err := p.Run(nil, [][2]int64{{4, 0}}, interp.Env{Seed: seed})
			if fail == nil || err != nil {
				t.Fatalf("%s: got %v, %v", c.loop, fail, err)
			}
			first[fail.Coord[0]] = true
		}
		if !first[0] || (len(first) > 1) != c.any {
			t.Errorf("%s: iterations %v came first in 50 orders", c.loop, first)
		}
	}
}

// TestPartsAreHeld checks that the parts of an iteration see its own variables unchanged, whichever
// other iterations run in between, and that sums over all iterations are complete.
func TestPartsAreHeld(t *testing.T) {
	f, err := ir.Parse(`func f
 param x int64 = t0.vals
 param y float64 = t1.vals
 bounds n _
{
 var sum int64 = 0
 for i in 0 : n parallel(dynamic, 1) reduce(sum) {
  var a int64 = i * 2
  var b float64 = float64(i) / 2.0
  alloc w int64[i + 1] zero
  w[i] = a
  sum += i
  ordered {
   x[0] += 1
   a = a + x[0]
  }
  for k in 0 : 2 {
   sum += k
  }
  x[i + 1] = a + w[i]
  y[i] = b
  free w
 }
 x[n + 1] = sum
}`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := interp.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	const n = 6
	for seed := range uint64(50) {
		x, y := make([]int64, n+2), make([]float64, n)
		if fail, err := p.Run([]interp.Arg{{Vals: interp.Array{Data: x}}, {Vals: interp.Array{Data: y}}},
			[][2]int64{{n, 0}}, interp.Env{Seed: seed}); fail != nil || err != nil {
			t.Fatal(fail, err)
		}
		want := []int64{n, 1, 6, 11, 16, 21, 26, 15 + n}
		if !reflect.DeepEqual(x, want) || !reflect.DeepEqual(y, []float64{0, 0.5, 1, 1.5, 2, 2.5}) {
			t.Fatalf("seed %d: got %v and %v, want %v and halves", seed, x, y, want)
		}
	}
}

func TestArguments(t *testing.T) {
	f,
		err := ir.Parse(
		"func f\n param x float64 = t0.vals\n param y float64 const = t1.vals\n param p int32 const = t1.level0.pos\n bounds n _\n{\n x[n] = y[0]\n}")
	if err != nil {
		t.Fatal(err)
	}
	a, b := interp.Array{Data: make([]float64, 2)}, interp.Array{Data: make([]float64, 2)}
	levels := []interp.Level{{}}
	bounds := [][2]int64{{0, 1}}
	cases := []struct {
		args   []interp.Arg
		bounds [][2]int64
		want   string
	}{
		{[]interp.Arg{{Vals: a}}, bounds, "got 1 arguments"},
		{[]interp.Arg{{Vals: a}, {Vals: b}}, bounds, "0 levels"},
		{[]interp.Arg{{Vals: a}, {Vals: b, Levels: levels}}, nil, "got 0 bounds, want 1"},
		{[]interp.Arg{{Vals: a}, {Vals: a, Levels: levels}}, bounds, "x and y are the same memory"},
		{[]interp.Arg{{Vals: interp.Array{Data: make([]float32, 2)}}, {Vals: b, Levels: levels}}, bounds,
			"got an array of float32"},
		{[]interp.Arg{{Vals: a}, {Vals: b, Levels: levels}}, bounds, ""},
	}
	for _, c := range cases {
		_, err := interp.Run(f, c.args, c.bounds, 1)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	f,
		err := ir.Parse(
		"func f\n bounds n _\n{\n alloc w float64[n]\n free w\n alloc v float64[n]\n free v\n}")
	if err != nil {
		t.Fatal(err)
	}
	p, err := interp.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n    int64
		fail bool
	}{{100, false}, {101, true}, {math.MaxInt64, true}} {
		fail, err := p.Run(nil, [][2]int64{{c.n, 0}}, interp.Env{Memory: 800})
		if err != nil || (fail != nil) != c.fail || fail != nil && fail.Code != ir.FailMemory {
			t.Errorf("%d: got %v, %v", c.n, fail, err)
		}
	}
}

func BenchmarkSpMV(b *testing.B) { benchmark(b, "spmv") }

func benchmark(b *testing.B, name string) {
	for _, c := range irtest.All() {
		if c.Name == name {
			p, err := interp.Compile(c.Func())
			if err != nil {
				b.Fatal(err)
			}
			args := c.Args()
			for b.Loop() {
				if _, err := p.Run(args, c.Bounds, interp.Env{}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

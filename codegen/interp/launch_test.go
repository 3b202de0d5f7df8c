package interp_test

import (
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/interp"
)

// launched runs the given body in a launch of 2 blocks of 64 threads.
func launched(t *testing.T, body string, x []float64, k []int32, seed uint64) (*interp.Failure,
	error) {
	t.Helper()
	p := unitLeaf(t, "launch kernel[n, 64] b, t {\n"+body+"\n}")
	return p.Run([]interp.Arg{{Vals: interp.Array{Data: x}}, {Vals: interp.Array{Data: k}}},
		[][2]int64{{2, 0}}, interp.Env{Seed: seed, Steps: 1e5})
}

// TestLaunchRules checks that mistakes are found in every order of the threads.
func TestLaunchRules(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a store of two threads", "x[b] = 1.0", "race in launch kernel: x["},
		{"a store of two blocks", "if t == 3 {\n x[0] = 1.0\n }",
			"x[0] is written by thread 3 of block "},
		{"a store of two blocks around barriers", "barrier\n if t == 3 {\n x[0] = 1.0\n }\n barrier",
			"x[0] is written by thread 3 of block "},
		{"a sum without an atomic", "x[t % 2 + 2 * b] += 1.0", "race"},
		{"a store beside atomic ones", "atomic x[0] += 1.0\n if t == 0 {\n x[0] = 1.0\n }", "race"},
		{"a read beside atomic stores", "atomic x[b] += 1.0\n if t == 0 {\n x[b + 2] = x[b]\n }",
			"written atomically by"},
		{"a read of another block's", "if t == 0 {\n x[b] = 1.0\n }\n barrier\n x[t + 64 * b + 2] = x[0]",
			"race"},
		{"no barrier before a load", "shared u float64[64]\n u[t] = 1.0\n x[t + 64 * b] = u[0]", "u[0]"},
		{"a warp's barrier between warps",
			"shared u float64[64]\n u[t] = 1.0\n barrier warp\n x[t + 64 * b] = u[63 - t]", "u["},
		{"a shuffle is no barrier",
			"shared u float64[64]\n u[t] = 1.0\n var v int64 = 0\n shuffle v = t, 1\n x[t + 64 * b] = u[v]",
			"u["},
		{"no barrier at the loop's end",
			"shared u float64[64]\n for i in 0 : 2 {\n u[t] = 1.0\n barrier\n x[t + 64 * b] = u[63 - t]\n }",
			"race in launch kernel: u["},
		{"no barrier at the loop's end, declared in it",
			"for i in 0 : 2 {\n shared u float64[64]\n u[t] = 1.0\n barrier\n x[t + 64 * b] = u[63 - t]\n }",
			"race in launch kernel: u["},
		{"readers on both sides of a barrier",
			"shared u float64[64]\n u[t] = 1.0\n barrier\n var a float64 = u[0]\n barrier\n a += u[1]\n if t == 0 {\n u[1] = 3.0\n }\n x[t + 64 * b] = a", "race in launch kernel: u[1] is"},
		{"nothing written to shared memory", "shared u float64[64]\n x[t + 64 * b] = u[t]",
			"u[0] is read but was never written|is read but was never written"},
		{"nothing written in this iteration",
			"for i in 0 : 2 {\n shared u float64[64]\n if i == 0 {\n u[t] = 1.0\n }\n x[t + 64 * b] = u[t]\n }", "is read but was never written"},
		{"nothing written in this block",
			"shared u float64[64]\n if b == 0 {\n u[t] = 1.0\n }\n x[t + 64 * b] = u[t]",
			"is read but was never written"},
		{"a sum in shared memory", "shared u float64[64]\n atomic u[t] += 1.0",
			"is read but was never written"},
		{"a store behind the end", "x[t + 128 * b] = 1.0", "is out of bounds [0, 130)"},
		{"a load behind the end", "k[t + 64 * b] = int32(x[t + 128 * b])", "is out of bounds [0, 130)"},
		{"a load behind the end of shared memory",
			"shared u float64[63]\n if t < 63 {\n u[t] = 1.0\n }\n barrier\n x[t + 64 * b] = u[t]",
			"u[63] is out of bounds [0, 63)"},
		{"a wide integer", "k[t + 64 * b] = t * 4294967296", "does not fit into 32 bits"},
		{"a barrier of some threads", "if t < 7 {\n barrier\n }",
			"divergent barrier in launch kernel: in block "},
		{"a barrier of some warps", "if t < 32 {\n barrier\n }",
			"divergent barrier in launch kernel: in block "},
		{"two barriers", "if t < 7 {\n barrier\n }\n else {\n barrier\n }",
			"waits at `barrier` (number 1 of the kernel's barriers and shuffles), but thread 7 waits at `barrier` (number 2"},
		{"two warps' barriers", "if t < 7 {\n barrier warp\n }\n else {\n barrier warp\n }",
			"`barrier warp`"},
		{"a barrier beside a warp's", "if t < 32 {\n barrier\n }\n else {\n barrier warp\n }",
			"divergent barrier"},
		{"a shuffle of some lanes", "var v int64 = 0\n if t % 32 < 16 {\n shuffle v = t, 1\n }",
			"divergent shuffle in launch kernel: in block "},
		{"a shuffle of other trips", "var v int64 = 0\n for i in 0 : t {\n shuffle v = t, 1\n }",
			"divergent shuffle"},
		{"a barrier in other iterations",
			"for i in 0 : 2 {\n for j in 0 : select((i + t) % 2 == 0, 3, 2) {\n barrier\n }\n }",
			"in iteration 0 of the loop over i, but thread |in iteration 1 of the loop over i, but thread "},
		{"a barrier in loops of other lengths", "var i int64 = 0\n while i < t {\n i += 1\n barrier\n }",
			"divergent barrier"},
		{"an end", "while true {\n barrier\n }", "too many loop iterations"},
	} {
		for seed := range uint64(8) {
			_, err := launched(t, c.body, make([]float64, 130), make([]int32, 128), seed)
			want, other, _ := strings.Cut(c.want, "|")
			if err == nil || !strings.Contains(err.Error(), want) &&
				(other == "" || !strings.Contains(err.Error(), other)) {
				t.Errorf("%s, seed %d: got %v, want %q", c.name, seed, err, c.want)
				break
			}
		}
	}
}

// TestLaunches checks that correct programs run without an error in every order of the threads.
func TestLaunches(t *testing.T) {
	for _, c := range []struct {
		name, body string
		x          func(i int) float64 // the first 128, from x[i] = i
	}{
		{"a sum over a warp", `
 var s float64 = x[t + 64 * b]
 var o float64 = 0.0
 for i in 0 : 5 {
  if i == 0 {
   shuffle o = s, 16
  }
  else {
   if i == 1 {
    shuffle o = s, 8
   }
   else {
    shuffle o = s, 7
   }
  }
  if i < 3 {
   s += o
  }
 }
 x[t + 64 * b] = s`, func(i int) float64 {
			s := 0
			for _, m := range []int{0, 16, 8, 24, 7, 7 ^ 16, 7 ^ 8, 7 ^ 24} {
				s += i ^ m
			}
			return float64(s)
		}},
		{"a sum over a block by shuffles and shared memory", `
 shared part float64[2]
 var s float64 = x[t + 64 * b]
 var o float64 = 0.0
 shuffle o = s, 16
 s += o
 shuffle o = s, 8
 s += o
 shuffle o = s, 4
 s += o
 shuffle o = s, 2
 s += o
 shuffle o = s, 1
 s += o
 if t % 32 == 0 {
  part[t / 32] = s
 }
 barrier
 x[t + 64 * b] = part[0] + part[1]`, func(i int) float64 { return float64(32 * (63 + 128*(i/64))) }},
		{"sums from the first thread on", `
 shared u float64[64]
 u[t] = x[t + 64 * b]
 barrier
 var d int64 = 1
 while d < 64 {
  var a float64 = 0.0
  if d <= t {
   a = u[t - d]
  }
  barrier
  u[t] += a
  barrier
  d = d * 2
 }
 x[t + 64 * b] = u[t]`, func(i int) float64 { n := i % 64; return float64(n*(n+1)/2 + (n+1)*(i-n)) }},
		{"a histogram", `
 shared count int32[8]
 if t < 8 {
  count[t] = 0i32
 }
 barrier
 atomic count[t * t % 8] += 1i32
 barrier
 if t < 8 {
  atomic k[t] += count[t]
 }
 x[t + 64 * b] = float64(count[1])`, func(int) float64 { return 32 }},
		{"a warp's shared memory", `
 shared u float64[64]
 for i in 0 : 3 {
  u[t] = x[t + 64 * b]
  barrier warp
  var a float64 = u[t / 32 * 32 + (t + 1) % 32]
  barrier warp
  x[t + 64 * b] = a
 }`, func(i int) float64 { return float64(i/32*32 + (i+3)%32) }},
		{"what a shuffle does to other types", `
 var p complex64 = complex64(t) * complex64(0.0, 1.0)
 shuffle p = p, 1
 var q int32 = int32(t)
 shuffle q = q, 2
 var r float32 = float32(t)
 shuffle r = r, 4
 var e bool = t % 2 == 0
 shuffle e = e, 1
 var z complex128 = complex128(float64(t))
 shuffle z = z * z, 8
 x[t + 64 * b] = float64(p * p) + float64(q) + float64(r) + float64(z) + select(e, 0.5, 0.0)`, func(i int) float64 {
			n := i % 64
			f := float64(n ^ 1)
			return -f*f + float64(n^2) + float64(n^4) + float64(n^8)*float64(n^8) + float64(n%2)/2
		}},
		{"what a thread has of its own", `
 local w int64[2]
 var a int64 = t
 for i in 0 : 2 {
  w[i] = a
  barrier
  a = a + w[0]
 }
 x[t + 64 * b] = float64(a + w[1])`, func(i int) float64 { return float64(5 * (i % 64)) }},
		{"a read of what this thread stored", "x[t + 64 * b] = 1.0\n x[t + 64 * b] += x[t + 64 * b]",
			func(int) float64 { return 2 }},
	} {
		for seed := range uint64(40) {
			x, k := make([]float64, 128), make([]int32, 8)
			want := make([]float64, 128)
			for i := range x {
				x[i], want[i] = float64(i), c.x(i)
			}
			fail, err := launched(t, c.body, x, k, seed)
			if err != nil || fail != nil || !reflect.DeepEqual(x, want) {
				t.Errorf("%s, seed %d: got %v, %v and %v, want %v", c.name, seed, err, fail, x, want)
				break
			}
		}
	}
}

// TestThreadsFail checks that no thread waits for a failed thread, that the other threads run to
// their end, and that the leaf returns one of the failures.
func TestThreadsFail(t *testing.T) {
	body := `
 if t % 32 == 5 {
  fail divide(b, t)
 }
 var v int64 = 7
 shuffle v = t, 1
 if t % 32 == 4 {
  k[64 * b + t] = 1i32
 }
 barrier
 if t % 32 != 4 {
  x[64 * b + v] = 1.0
 }`
	seen := map[[2]int64]bool{}
	for seed := range uint64(60) {
		x, k := make([]float64, 130), make([]int32, 128)
		fail, err := launched(t, body, x, k, seed)
		if err != nil || fail == nil || len(fail.Coord) != 2 {
			t.Fatalf("got %v, %v", fail, err)
		}
		seen[[2]int64(fail.Coord)] = true
		sum := 0.0
		for i := range x {
			sum += x[i]
		}
		if sum != 120 || k[4] != 1 || k[100] != 1 {
			t.Fatalf("the other threads stored %v and %v", sum, k)
		}
	}
	if len(seen) != 4 {
		t.Errorf("got failures %v, want 4", seen)
	}
	// What comes from a thread that failed is undefined, and no place.
	if _, err := launched(t, strings.Replace(body, "t % 32 != 4", "true", 1), make([]float64, 130),
		make([]int32, 128), 1); err == nil || !strings.Contains(err.Error(), "out of bounds") {
		t.Errorf("got %v", err)
	}
}

// TestPartsLeftOut checks that other threads may read elements that a failed thread did not store.
// If a thread that did not fail left an element out, reading it is an error.
func TestPartsLeftOut(t *testing.T) {
	const body = "shared s float64[64]\nif t != 5 {\ns[t] = 1.0\n} else {\nfail divide(b, t)\n}\nbarrier\nx[64 * b + t] = s[63 - t]"
	for seed := range uint64(20) {
		x, k := make([]float64, 130), make([]int32, 128)
		if fail, err := launched(t, body, x, k, seed); err != nil || fail == nil {
			t.Errorf("seed %d: got %v, %v", seed, fail, err)
		}
		_, err := launched(t, strings.Replace(body, "fail divide(b, t)", "k[64 * b] = 1i32", 1), x, k,
			seed)
		if err == nil || !strings.Contains(err.Error(), "s[5] is read but was never written") {
			t.Errorf("seed %d: got %v", seed, err)
		}
	}
}

// TestGrids checks that a launch sees the stores of an earlier launch, and that a grid may be empty
// and must not have too many blocks.
func TestGrids(t *testing.T) {
	two :=
		"launch one[n, 64] b, t {\n atomic x[t] += 1.0\n }\n for i in 0 : 3 {\n launch two[n, 64] b2, t2 {\n if b2 == 0 {\n x[t2] += x[63 - t2 + 64] + float64(i)\n }\n }\n }"
	for _, c := range []struct {
		n    int64
		want string
	}{{0, ""}, {1, ""}, {3, ""}, {-1, "a grid of -1 blocks"},
		{1 << 40, "a grid of 1099511627776 blocks"}, {1 << 20, "too many threads of launch one"}} {
		x := make([]float64, 128)
		_, err := unitLeaf(t, two).Run(
			[]interp.Arg{{Vals: interp.Array{Data: x}}, {Vals: interp.Array{Data: []int32{}}}},
			[][2]int64{{c.n, 0}}, interp.Env{Seed: 3, Steps: 1e5})
		if c.want == "" {
			want := float64(c.n)
			if c.n > 0 {
				want += 3
			}
			if err != nil || x[0] != want || x[63] != want || x[64] != 0 {
				t.Errorf("%d blocks: got %v and %v, want %v", c.n, err, x, want)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d blocks: got %v, want %q", c.n, err, c.want)
		}
	}
}

// BenchmarkLaunch runs threads that meet often.
func BenchmarkLaunch(b *testing.B) {
	benchmark(b, "warprows")
}

package cuda_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/emit/cuda"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// parse parses a leaf with one launch of 64 threads in two blocks. The caller gives the launch's
// name and body.
func parse(t *testing.T, name, body string) *ir.Func {
	t.Helper()
	f,
		err := ir.Parse(fmt.Sprintf(
		"func leaf\n  param y float64 = t0.vals\n{\n  launch %s[2, 64] b, t {\n%s\n  }\n}\n", name, body))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDivergent checks that threads that do not reach a barrier or a shuffle of other threads are
// found and named.
func TestDivergent(t *testing.T) {
	cases := []struct{ name, body, want string }{
		{"half of the block at its barrier", "if t < 32 {\nbarrier\n}",
			"not all threads of the block come to its barrier: thread 32 is at the end"},
		{"half of a warp at its barrier", "if t % 32 < 16 {\nbarrier warp\n}",
			"not all lanes of the warp come to one place: thread 16 is at the end"},
		{"two kinds in a warp", "if t % 2 == 0 {\nbarrier warp\n} else {\nbarrier\n}",
			"lanes of one warp wait at a barrier of the block and at one of the warp"},
		{"a shuffle and a barrier of the warp",
			"var v float64 = 1.0\nif t < 7 {\nbarrier warp\n} else {\nshuffle v = v, 1\n}\ny[t] = v",
			"not all lanes of the warp come to one place"},
		{"a shuffle in a loop of different lengths",
			"var v float64 = 1.0\nfor k in 0 : t {\nshuffle v = v, 1\n}\ny[t] = v",
			"thread 0 is at the end"},
		{"warps at two barriers", "if t < 32 {\nbarrier\nbarrier\n} else {\nbarrier\n}",
			"block 0: divergent: not all threads of the block come to its barrier"},
	}
	var list []*ir.Func
	for k, x := range cases {
		list = append(list, parse(t, fmt.Sprintf("divergent_%d", k), x.body))
	}
	p := buildLeaves(t, list)
	for k, x := range cases {
		h := newHost(t, p, list[k], vals(make([]float64, 64)))
		h.block(list[k].Body)
		if h.err == nil || !strings.Contains(h.err.Error(), x.want) {
			t.Errorf("%s: got %v, want %q", x.name, h.err, x.want)
		}
		if _, err := interp.Run(list[k], vals(make([]float64, 64)), nil, 1); err == nil {
			t.Errorf("%s: interp finds nothing wrong", x.name)
		}
	}
}

// TestAggregated checks that additions of a whole warp to one place become one addition of their
// sum, that additions of a part of a warp are made one by one, and that both give the same result.
func TestAggregated(t *testing.T) {
	f := parse(t, "leaf_1",
		"atomic y[0] += 1.0\nif t % 3 == 0 {\natomic y[1] += 1.0\n}\natomic y[2 + t % 32] += 1.0\nbarrier")
	text := strings.Replace(cuda.Emulated(f), "static inline T atomicAdd(T *a, T x) {",
		"static inline T atomicAdd(T *a, T x) {\n    fprintf(stderr, \"+%d \", (int)x);", 1)
	p := build(t, text, []string{"leaf_1"})
	var said strings.Builder
	p.stderr = &said
	y := make([]float64, 34)
	if err := p.run("leaf_1", 2, y); err != nil {
		t.Fatal(err)
	}
	if y[0] != 128 || y[1] != 44 || y[2] != 4 || y[33] != 4 {
		t.Errorf("got sums %v, want 128, 44, and 4 of each lane", y)
	}
	if whole, single := strings.Count(said.String(), "+32 "),
		strings.Count(said.String(), "+1 "); whole != 4 || single != 44+128 {
		t.Errorf("got %d additions of a warp's sum and %d of single lanes, want 4 and %d", whole, single,
			44+128)
	}
}

// TestPortable runs fibers that switch with ucontext.
func TestPortable(t *testing.T) {
	f := leaf(t, "blocksums")
	args := leaves["blocksums"]()
	want := leaves["blocksums"]()
	if _, err := interp.Run(f, want, nil, 1); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, buildLeaves(t, []*ir.Func{f}, "-DDST_PORTABLE"), f, args)
	h.block(f.Body)
	if h.err != nil || !reflect.DeepEqual(args[0], want[0]) || !reflect.DeepEqual(args[1], want[1]) {
		t.Errorf("got %v, %v and error %v, want %v, %v", args[0], args[1], h.err, want[0], want[1])
	}
}

// TestPrelude fills and scans arrays of many lengths.
func TestPrelude(t *testing.T) {
	p := buildLeaves(t, nil)
	for _, n := range []int{1, 2, 31, 255, 256, 257, 4095, 4096, 4097, 10000} {
		scan(t, p, make([]int32, n))
		scan(t, p, make([]int64, n))
	}
	if err := call(p, cuda.Scan(tensor.Int64, 4096*300), make([]int64, 4096*300), nil,
		make([]int64, 300)); err != nil {
		t.Errorf("a scan of 300 tiles: %v", err)
	}
	for _, x := range []struct {
		t     tensor.Type
		value any
	}{{tensor.Bool, true}, {tensor.Int32, int32(-5)}, {tensor.Int64, int64(-1 << 50)},
		{tensor.Float32, float32(1.5)},
		{tensor.Float64, -0.1}, {tensor.Complex64, complex64(2 - 3i)}, {tensor.Complex128, 4 - 5i}} {
		whole := slice(x.t, 700)
		if err := call(p, cuda.Fill(x.t, 700), whole, x.value, nil); err != nil {
			t.Fatal(err)
		}
		for k := range 700 {
			if got := reflect.ValueOf(whole).Index(k).Interface(); got != x.value {
				t.Fatalf("filled with %v: got %v at %d", x.value, got, k)
			}
		}
	}
	if c := cuda.Scan(tensor.Int32, 0); len(c.Steps) > 0 {
		t.Errorf("a scan of nothing has steps %v", c.Steps)
	}
	if c := cuda.Fill(tensor.Int32, 1<<40); c.Steps[0].Grid > cuda.MaxGrid {
		t.Errorf("a fill has %d blocks", c.Steps[0].Grid)
	}
}

// scan compares a scan with sums in Go, which also wrap around.
func scan[T int32 | int64](t *testing.T, p *program, a []T) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(a)), 5))
	want := make([]T, len(a))
	var sum T
	for k := range a {
		a[k] = T(r.Uint64()) >> r.IntN(31)
		sum += a[k]
		want[k] = sum
	}
	typ := tensor.Int32
	if _, wide := any(sum).(int64); wide {
		typ = tensor.Int64
	}
	c := cuda.Scan(typ, int64(len(a)))
	if err := call(p, c, a, nil, make([]T, c.Sums)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("scan of %d elements of type %s: got %v..., want %v...", len(a), typ, a[:min(9, len(a))],
			want[:min(9, len(a))])
	}
}

// TestKernels checks that the parameters are exactly the variables and arrays that the body uses
// from outside.
func TestKernels(t *testing.T) {
	f := leaf(t, "fails")
	k := cuda.Kernels(f)[0]
	var got []string
	for _, a := range k.Arrays {
		got = append(got, a.Name)
	}
	for _, v := range k.Vars {
		got = append(got, v.Name)
	}
	if want := []string{"x", "y", "n"}; !reflect.DeepEqual(got, want) || !k.Fails ||
		k.Name != "fails_1" || k.SharedBytes != 0 {
		t.Errorf("got %s(%v), fails %v, %d shared bytes, want fails_1(%v), which fails, and none", k.Name,
			got, k.Fails, k.SharedBytes, want)
	}
	if x, y := k.Arrays[0], k.Arrays[1]; k.Stores[x] || !k.Stores[y] {
		t.Error("want y stored to, and x not")
	}
	if k := cuda.Kernels(leaf(t, "large"))[0]; k.SharedBytes != 16+6143*8+8 {
		t.Errorf("got %d bytes of dynamic shared memory, want %d", k.SharedBytes, 16+6143*8+8)
	}
	for i, want := range []string{"sin_kernel", "float2"} {
		if k := cuda.Kernels(leaf(t, "tiles"))[i]; k.Name != want {
			t.Errorf("got kernel %s, want %s", k.Name, want)
		}
	}
}

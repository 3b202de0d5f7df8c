package cuda

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
	_ "distaff/kernels/verified"
)

// The embedded testdata lets the test's binary run on machines that have a GPU and no sources.
//
//go:embed testdata
var testdata embed.FS

// cache is the cache of compiled leaves that the tests share.
var cache string

func TestMain(m *testing.M) {
	var err error
	if cache, err = os.MkdirTemp("", "distaff-cuda-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(cache)
	os.Exit(code)
}

// emulation returns a backend on the CPU with device memory of the given number of bytes.
func emulation(t *testing.T, memory int64) *Backend {
	t.Helper()
	b, err := EmulatedOf(cc.Config{Path: os.Getenv("PATH"), CPU: cc.NoCPU, Cache: cache}, memory)
	if err != nil {
		t.Skip(err)
	}
	return b
}

// handmade returns a unit whose leaf is in testdata.
func handmade(t *testing.T, name, stmt string, result codegen.Result) *codegen.Unit {
	t.Helper()
	text, err := testdata.ReadFile("testdata/" + name + ".ir")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ir.Parse(string(text))
	if err == nil {
		err = ir.Verify(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := notation.Parse(stmt)
	if err != nil {
		t.Fatal(err)
	}
	return &codegen.Unit{Request: codegen.Request{Statement: codegen.Statement{Stmt: s}}, Func: f, Result: result}
}

// build makes a leaf and closes it at the end of the test.
func build(t *testing.T, b *Backend, u *codegen.Unit) *Leaf {
	t.Helper()
	leaf, err := b.Build(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := leaf.Close(); err != nil {
			t.Error(err)
		}
	})
	return leaf.(*Leaf)
}

// matrix returns a matrix of n rows. Row i has entries in every (i%5+1)th column.
func matrix(n, m int64) *tcs.Tensor {
	pos, crd, vals := []int32{0}, []int32{}, []float64{}
	for i := range n {
		for j := i % 3; j < m; j += i%5 + 1 {
			crd, vals = append(crd, int32(j)), append(vals, float64(i-2*j))
		}
		pos = append(pos, int32(len(crd)))
	}
	return &tcs.Tensor{Header: tcs.Header{Dims: []int64{n, m}, Type: tensor.Float64},
		Vals: tcs.Of(vals),
		Levels: []tcs.Level{{Kind: 'd', Size: n},
			{Kind: 's', Mode: 1, Size: m, Pos: tcs.Of(pos), Crd: tcs.Of(crd)}}}
}

// vector returns a dense vector.
func vector[T float64 | int64](v ...T) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: []int64{int64(len(v))}, Type: tensor.Float64},
		Vals: tcs.Of(v), Levels: []tcs.Level{{Kind: 'd', Size: int64(len(v))}}}
	if _, ok := any(v).([]int64); ok {
		t.Header.Type = tensor.Int64
	}
	return t
}

func iota(n int64) *tcs.Tensor {
	v := make([]float64, n)
	for k := range v {
		v[k] = float64(k%7) - 3
	}
	return vector(v...)
}

// product returns A*x.
func product(a, x *tcs.Tensor) []float64 {
	pos, crd, vals, xs := tcs.Slice[int32](a.Levels[1].Pos), tcs.Slice[int32](a.Levels[1].Crd),
		tcs.Slice[float64](a.Vals), tcs.Slice[float64](x.Vals)
	y := make([]float64, a.Levels[0].Size)
	for i := range y {
		for p := pos[i]; p < pos[i+1]; p++ {
			y[i] += vals[p] * xs[crd[p]]
		}
	}
	return y
}

const spmv = "y(i) = A(i,j) * x(j)"

// each runs a test on the emulated device, on the stand-in for the driver, and on a GPU if there is
// one.
func each(t *testing.T, test func(t *testing.T, b *Backend)) {
	t.Run("emulated", func(t *testing.T) {
		b := emulation(t, 0)
		test(t, b)
		if n := len(b.dev.(*emulated).blocks); n != 0 {
			t.Errorf("%d arrays stay on the device", n)
		}
	})
	t.Run("stand-in", func(t *testing.T) { test(t, onStandIn(t)) })
	t.Run("GPU", func(t *testing.T) { test(t, onGPU(t)) })
}

// onGPU returns the backend of a GPU. Without a GPU it skips the test and says why.
func onGPU(t *testing.T) *Backend {
	t.Helper()
	b, err := New(Config{Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Skip(err)
	}
	if !b.Complete() {
		t.Skip(b.(*Backend).compiler.(*nvrtcCompiler).missing)
	}
	return b.(*Backend)
}

func TestDense(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
		a, x := matrix(37, 90), iota(90)
		want := fmt.Sprint(product(a, x))
		for range 2 {
			y := vector(make([]float64, 37)...)
			if err := leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, nil,
				kernels.Env{Threads: 1}); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(tcs.Slice[float64](y.Vals)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		ms, err := leaf.Time(t.Context(), []*tcs.Tensor{vector(make([]float64, 37)...), a, x}, nil,
			kernels.Env{Threads: 1}, 3)
		if err != nil || len(ms) != 3 || slices.Min(ms) < 0 {
			t.Errorf("got times %v, %v", ms, err)
		}
	})
}

// TestPublished runs two passes with a scan between them, and publishes arrays to the result.
func TestPublished(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		leaf := build(t, b, handmade(t, "evens", "C(i,j) = A(i,j)", codegen.Result{Shares: -1}))
		for _, n := range []int64{0, 1, 200, 9000} {
			a := matrix(n, 40)
			limit := tcs.NewLimit(1 << 26)
			for _, resident := range []bool{false, true} {
				c := empty(n, 40)
				if resident {
					b.Resident(c)
					b.Resident(a)
				}
				if err := leaf.Call(t.Context(), []*tcs.Tensor{c, a}, nil,
					kernels.Env{Threads: 1, Arena: kernels.NewArena(limit)}); err != nil {
					t.Fatal(err)
				}
				checkEvens(t, a, c)
				if resident {
					b.Forget(a)
					b.Forget(c)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			if limit.Used() != 0 {
				t.Errorf("%d bytes stay counted", limit.Used())
			}
		}
	})
}

// empty returns a result that no leaf has filled yet.
func empty(n, m int64) *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Dims: []int64{n, m}, Type: tensor.Float64},
		Vals: tcs.Array{Width: 8},
		Levels: []tcs.Level{{Kind: 'd', Size: n},
			{Kind: 's', Mode: 1, Size: m, Pos: tcs.Array{Width: 4}, Crd: tcs.Array{Width: 4}}}}
}

func checkEvens(t *testing.T, a, c *tcs.Tensor) {
	t.Helper()
	var crd []int32
	var vals []float64
	pos := []int32{0}
	from := tcs.Slice[int32](a.Levels[1].Pos)
	for i := range a.Levels[0].Size {
		for p := from[i]; p < from[i+1]; p++ {
			if j := tcs.Slice[int32](a.Levels[1].Crd)[p]; j%2 == 0 {
				crd, vals = append(crd, j), append(vals, 7.5+tcs.Slice[float64](a.Vals)[p])
			}
		}
		pos = append(pos, int32(len(crd)))
	}
	if !slices.Equal(tcs.Slice[int32](c.Levels[1].Pos), pos) ||
		!slices.Equal(tcs.Slice[int32](c.Levels[1].Crd), crd) ||
		!slices.Equal(tcs.Slice[float64](c.Vals), vals) {
		t.Errorf("%d rows: got pos %v..., %d entries, want pos %v..., %d", len(pos)-1,
			firstOf(tcs.Slice[int32](c.Levels[1].Pos)), c.Vals.Len, firstOf(pos), len(vals))
	}
}

func firstOf(v []int32) []int32 { return v[:min(len(v), 8)] }

// TestFailure checks that a failing thread ends the leaf with its coordinates, and that a later
// call succeeds.
func TestFailure(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		leaf := build(t, b, handmade(t, "divide", "q(i) = n(i) / d(i)", codegen.Result{Shares: -1}))
		call := func(d ...int64) ([]int64, error) {
			q := vector[int64](-9, -9, -9)
			err := leaf.Call(t.Context(), []*tcs.Tensor{q, vector[int64](6, 7, 8), vector(d...)},
				nil, kernels.Env{Threads: 1, Vars: []string{"i"}, What: "q"})
			return tcs.Slice[int64](q.Vals), err
		}
		_, err := call(3, 0, 2)
		var zero *kernels.DivideError
		if !errors.As(err, &zero) || !slices.Equal(zero.Coord, []int64{1}) || zero.What != "q" {
			t.Errorf("got %v, want a division by zero at 1", err)
		}
		if got, err := call(3, 1, 2); err != nil || !slices.Equal(got, []int64{2, 7, 4}) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// TestHost checks the host part: loops, conditions on elements, stores, and a result that is added
// to.
func TestHost(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		leaf := build(t, b, handmade(t, "accumulate", "y(i) = x(i)",
			codegen.Result{Shares: 0, Accumulate: true}))
		for _, c := range []struct {
			x    float64
			want string
		}{{2, "[1 4 10 4]"}, {-2, "[1 43 3 4]"}} {
			y := vector[float64](1, 2, 3, 4)
			if err := leaf.Call(t.Context(), []*tcs.Tensor{y, vector(0, c.x, 7, 0)},
				[][2]int64{{1, 3}}, kernels.Env{Threads: 1}); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(tcs.Slice[float64](y.Vals)); got != c.want {
				t.Errorf("x %g: got %s, want %s", c.x, got, c.want)
			}
		}
	})
}

// TestViews calls leaves on blocks of tensors whose arrays start at later positions.
func TestViews(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
		whole, x := matrix(20, 30), iota(30)
		want := product(whole, x)
		b.Resident(whole)
		defer b.Forget(whole)
		for _, rows := range [][2]int64{{0, 20}, {3, 11}, {11, 20}} {
			a := whole.Alias()
			pos := tcs.Slice[int32](whole.Levels[1].Pos)
			lo, hi := int64(pos[rows[0]]), int64(pos[rows[1]])
			a.Levels[0].Size = rows[1] - rows[0]
			a.Levels[1].Pos = tcs.Of(pos[rows[0] : rows[1]+1])
			a.Levels[1].Crd = tcs.Of(tcs.Slice[int32](whole.Levels[1].Crd)[lo:hi])
			a.Vals = tcs.Of(tcs.Slice[float64](whole.Vals)[lo:hi])
			a.Levels[1].Crd.First, a.Vals.First = lo, lo
			y := vector(make([]float64, rows[1]-rows[0])...)
			if err := leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, nil,
				kernels.Env{Threads: 1}); err != nil {
				t.Fatal(err)
			}
			if got := tcs.Slice[float64](y.Vals); !slices.Equal(got, want[rows[0]:rows[1]]) {
				t.Errorf("rows %v: got %v, want %v", rows, got, want[rows[0]:rows[1]])
			}
		}
	})
}

// TestCancelled checks that a call with a cancelled context does nothing.
func TestCancelled(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		y := vector[float64](5)
		err := leaf.Call(ctx, []*tcs.Tensor{y, matrix(1, 9), iota(9)}, nil, kernels.Env{Threads: 1})
		if !errors.Is(err, context.Canceled) || tcs.Slice[float64](y.Vals)[0] != 5 {
			t.Errorf("got %v, %v", err, tcs.Slice[float64](y.Vals))
		}
	})
}

// TestNotForGPU checks that a leaf for the CPU is refused.
func TestNotForGPU(t *testing.T) {
	f, err := ir.Parse(
		"func f\n param y float64 = t0.vals\n{\n for i in 0 : 3 parallel {\n y[i] = 1.0\n }\n}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newProgram(f, true, "y(i) = 1"); err == nil ||
		!strings.Contains(err.Error(),
			"the leaf of y(i) = 1 cannot run on a GPU: a parallel loop over i") {
		t.Errorf("got %v", err)
	}
}

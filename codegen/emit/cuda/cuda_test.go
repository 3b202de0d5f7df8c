package cuda_test

import (
	"embed"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/emit/cuda"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
	"distaff/io/tensor"
)

//go:embed testdata/*.ir
var files embed.FS

var update = flag.Bool("update", false, "write the kernels of testdata to golden files")

// leaf is a leaf of testdata.
func leaf(t *testing.T, name string) *ir.Func {
	t.Helper()
	text, err := files.ReadFile(path.Join("testdata", name+".ir"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ir.Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 18)) }

// edges returns numbers at the bounds of types, and small numbers.
var edges = []float64{0, math.Copysign(0, -1), 1, -1, 2.5, -7.75, 100, math.MaxInt32, math.MinInt32,
	1e19, -1e19, math.Inf(1), math.Inf(-1), math.NaN(), 3}

func numbersArgs() []interp.Arg {
	const n = 150
	r := random(1)
	x4, x8 := make([]int32, n), make([]int64, n)
	xf4, xf8 := make([]float32, n), make([]float64, n)
	xc8, xc16 := make([]complex64, n), make([]complex128, n)
	for k := range n {
		x4[k], x8[k] = int32(r.Uint32())>>r.IntN(32), int64(r.Uint64())>>r.IntN(64)
		xf8[k] = float64(r.IntN(33) - 16)
		if k%3 == 0 {
			xf8[k] = edges[r.IntN(len(edges))]
		}
		xf4[k] = float32(xf8[k])
		xc16[k] = complex(float64(r.IntN(9)-4), float64(r.IntN(5)-2))
		xc8[k] = complex64(xc16[(k+1)%n])
	}
	x4[0], x4[n-1], x8[0], x8[n-1] = math.MinInt32, -1, math.MinInt64, -1
	flags := make([]bool, 5000+16*n)
	for k := range n {
		flags[k] = k%5 == 0
	}
	args := []interp.Arg{}
	for _, x := range []any{make([]int32, 16*n), make([]int64, 16*n), make([]float32, 16*n),
		make([]float64, 16*n), make([]complex64, 16*n), make([]complex128, 16*n), flags, x4, x8, xf4, xf8,
		xc8, xc16} {
		args = append(args, interp.Arg{Vals: interp.Array{Data: x}})
	}
	return args
}

func vals(list ...any) (args []interp.Arg) {
	for _, x := range list {
		args = append(args, interp.Arg{Vals: interp.Array{Data: x}})
	}
	return args
}

func histogramArgs() []interp.Arg {
	const n = 1000
	r := random(2)
	bin, x := make([]int32, n), make([]float64, n)
	for k := range n {
		bin[k] = int32(k / 100) // whole warps add to one place, or parts of them
		if k > 600 {
			bin[k] = int32(r.IntN(15))
		}
		x[k] = float64(r.IntN(19) - 9)
	}
	args := vals(make([]int32, 16), make([]int64, 16), make([]float32, 21), make([]float64, 16),
		make([]complex64, 16), make([]complex128, 1), make([]bool, 16), x)
	args[7].Levels = []interp.Level{{Crd: interp.Array{Data: bin}}}
	return args
}

func searchArgs() []interp.Arg {
	const n, m = 77, 60
	r := random(3)
	pos, crd := make([]int32, m), make([]int64, m)
	for k := range m {
		pos[k], crd[k] = int32(r.IntN(2*n)), int64(r.IntN(3*n)-20)
	}
	slices.Sort(pos)
	slices.Sort(crd)
	args := vals(make([]int64, n), make([]int64, n), nil, make([]float64, m))
	args[2].Levels = []interp.Level{{Pos: interp.Array{Data: pos}, Crd: interp.Array{Data: crd}}}
	return args
}

func shufflesArgs() []interp.Arg {
	const n = 128
	i4, i8, f4, f8 := make([]int32, n), make([]int64, n), make([]float32, n), make([]float64, n)
	c8, c16, b1 := make([]complex64, n), make([]complex128, n), make([]bool, n)
	for k := range n {
		i4[k], i8[k], f4[k], f8[k] = int32(k)-40, int64(k)<<40, float32(k)/4, float64(k)*1e10
		c8[k], c16[k], b1[k] = complex(float32(k), -1), complex(1, float64(k)), k%3 == 0
	}
	return vals(i4, i8, f4, f8, c8, c16, b1)
}

func ramp(n int) []float64 {
	x := make([]float64, n)
	for k := range x {
		x[k] = float64(k%23 - 11)
	}
	return x
}

// mostly returns a slice of ones, with a different value at some places.
func mostly(n int, value int64, at ...int) []int64 {
	x := make([]int64, n)
	for k := range x {
		x[k] = 1
	}
	for _, k := range at {
		x[k] = value
	}
	return x
}

// leaves lists the leaves of testdata with arguments for them.
var leaves = map[string]func() []interp.Arg{
	"numbers": numbersArgs,
	"blocksums": func() []interp.Arg {
		return vals(make([]float64, 1), make([]float64, 4),
			ramp(1000))
	},
	"histogram": histogramArgs,
	"searches":  searchArgs,
	"streams": func() []interp.Arg {
		const n = 256
		crd := make([]int32, n)
		for k := range crd {
			crd[k] = int32(k * 7 % 50)
		}
		args := vals(make([]float64, n), make([]float64, n), ramp(n), ramp(50))
		args[2].Levels = []interp.Level{{Pos: interp.Array{Data: []int32{0, n}},
			Crd: interp.Array{Data: crd}}}
		return args
	},
	"tiles": func() []interp.Arg {
		return vals(make([]float64, 3000), ramp(3000),
			mostly(3000, 0, 0, 500, 2995))
	},
	"fails":    func() []interp.Arg { return vals(make([]int64, 5), mostly(300, -3, 130)) },
	"shuffles": shufflesArgs,
	"large":    func() []interp.Arg { return vals(make([]float64, 2*6143)) },
}

// TestCompiles compiles every kind of statement and expression for GPUs.
func TestCompiles(t *testing.T) {
	for name := range leaves {
		compileCUDA(t, name, cuda.File(leaf(t, name)))
	}
	for _, x := range irtest.Launches() {
		compileCUDA(t, x.Name, cuda.File(x.Func()))
	}
	compileCUDA(t, "the prelude", cuda.Prelude)
	for _, x := range []tensor.Type{tensor.Float32, tensor.Float64, tensor.Complex64,
		tensor.Complex128} {
		compileCUDA(t, "products of "+x.String(), cuda.Products(x, true))
	}
	compileCUDA(t, "products without tensor cores", cuda.Products(tensor.Float64, false))
}

// TestEmulated runs leaves on the CPU, and compares all arrays with the results of package interp.
func TestEmulated(t *testing.T) {
	type run struct {
		f    *ir.Func
		args func() []interp.Arg
	}
	var runs []run
	for name, args := range leaves {
		runs = append(runs, run{leaf(t, name), args})
	}
	for _, x := range irtest.Launches() {
		runs = append(runs, run{x.Func(), x.Args})
	}
	var funcs []*ir.Func
	for _, r := range runs {
		funcs = append(funcs, r.f)
	}
	p := buildLeaves(t, funcs, "-fsanitize=undefined", "-fno-sanitize=float-divide-by-zero",
		"-fno-sanitize-recover=all")
	for _, r := range runs {
		t.Run(r.f.Name, func(t *testing.T) { emulate(t, p, r.f, r.args) })
	}
}

// emulate runs a leaf twice. The first time, a loop runs the threads of a kernel if they do not
// wait for each other. The second time, all threads are fibers.
func emulate(t *testing.T, p *program, f *ir.Func, args func() []interp.Arg) {
	want := args()
	fail, err := interp.Run(f, want, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, p, f, args())
	for _, fibers := range []bool{false, true} {
		h.args, h.program.fibers, h.fail = args(), fibers, nil
		for _, p := range f.Params {
			h.param(p)
		}
		h.block(f.Body)
		if h.err != nil {
			t.Fatal(h.err)
		}
		if fail != nil {
			if h.fail == nil || h.fail.Code != fail.Code || len(h.fail.Coord) != len(fail.Coord) {
				t.Errorf("fibers %v: got failure %v, want %v", fibers, h.fail, fail)
			}
			continue
		}
		if h.fail != nil {
			t.Errorf("fibers %v: got failure %v, want none", fibers, h.fail)
		}
		for k := range want {
			differ(t, f.Name, k, "vals", h.args[k].Vals.Data, want[k].Vals.Data)
			for l := range want[k].Levels {
				differ(t, f.Name, k, "pos", h.args[k].Levels[l].Pos.Data, want[k].Levels[l].Pos.Data)
				differ(t, f.Name, k, "crd", h.args[k].Levels[l].Crd.Data, want[k].Levels[l].Crd.Data)
			}
		}
	}
}

// differ compares two slices by the bits of their elements. All NaNs are equal.
func differ(t *testing.T, leaf string, arg int, what string, got, want any) {
	t.Helper()
	if got == nil && want == nil {
		return
	}
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	if g.Type() != w.Type() || g.Len() != w.Len() {
		t.Errorf("%s: %s of argument %d: got %T of %d elements, want %T of %d", leaf, what, arg, got,
			g.Len(), want, w.Len())
		return
	}
	wrong := 0
	for k := range g.Len() {
		if a, b := g.Index(k), w.Index(k); !same(a, b) {
			if wrong++; wrong <= 5 {
				t.Errorf("%s: %s[%d] of argument %d: got %v, want %v", leaf, what, k, arg, a, b)
			}
		}
	}
}

func same(a, b reflect.Value) bool {
	float := func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	}
	switch {
	case a.CanFloat():
		return float(a.Float(), b.Float())
	case a.CanComplex():
		return float(real(a.Complex()), real(b.Complex())) && float(imag(a.Complex()), imag(b.Complex()))
	}
	return a.Interface() == b.Interface()
}

// TestGolden compares the text of kernels with golden files.
func TestGolden(t *testing.T) {
	for name := range leaves {
		got := cuda.File(leaf(t, name))
		file := filepath.Join("testdata", name+".cu")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf(
				"%s differs from what File prints; look at the difference after `go test ./codegen/emit/cuda -update`:\n%s", file, got)
		}
		if strings.Contains(got, "#include") {
			t.Errorf("%s includes a header", name)
		}
	}
}

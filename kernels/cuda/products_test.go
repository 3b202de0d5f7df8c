package cuda

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/backendtest"
	"distaff/kernels/interpret"
)

// standInMath returns the stand-ins for cuBLAS and cuSPARSE over the stand-in for the driver, and
// the file that lists their calls.
func standInMath(t *testing.T, driver string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	for variable, name := range map[string]string{"DISTAFF_CUBLAS": "libcublas",
		"DISTAFF_CUSPARSE": "libcusparse"} {
		made := filepath.Join(cache, name+".so")
		if _, err := os.Stat(made); err != nil {
			text, err := testdata.ReadFile("testdata/" + name + ".c")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("gcc", "-O1", "-fPIC", "-shared", "-o", made, "-x", "c", "-",
				"-ldl", "-lm")
			cmd.Stdin = bytes.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		t.Setenv(variable, made)
	}
	calls = filepath.Join(dir, "calls")
	t.Setenv("FAKE_CALLS", calls)
	t.Setenv("FAKE_DRIVER", driver)
	return calls
}

// withMath returns a backend over the stand-ins for the driver and the libraries.
func withMath(t *testing.T) (b *Backend, calls string) {
	t.Helper()
	names := standIn(t)
	calls = standInMath(t, names[0])
	lib, err := openDriver(names)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := openDevice(lib, 0)
	if err != nil {
		t.Fatal(err)
	}
	return newBackend(dev, emulation(t, 0).compiler), calls
}

var sizesOfProducts = map[string]int64{"i": 50, "j": 30, "k": 20, "b": 4, "h": 3}

// products lists statements that a library runs, each with the arguments of its first call.
var products = []struct {
	scheduled
	calls int
	first string
}{
	{scheduled{"rows times rows", "C(i,j) = A(i,k) * B(k,j)", nil, sizesOfProducts, 0,
		"substitute({i,j,k},cublas)", tensor.Float64}, 1, "dgemm NN 30 50 20 ld 30 20 30"},
	{scheduled{"of float32", "C(i,j) = A(i,k) * B(k,j)", nil, sizesOfProducts, 0,
		"substitute({i,j,k},cublas)", tensor.Float32}, 1, "sgemm NN 30 50 20 ld 30 20 30"},
	{scheduled{"of complex numbers", "C(i,j) = -2 * A(i,k) * B(j,k)", nil, sizesOfProducts, 0,
		"substitute({i,j,k},cublas)", tensor.Complex128}, 1, "zgemm TN 30 50 20 ld 20 20 30"},
	{scheduled{"columns times columns", "C(j,i) = A(k,i) * B(j,k)", nil, sizesOfProducts, 0,
		"substitute({i,j,k},cublas)", tensor.Float64}, 1, "dgemm NN 50 30 20 ld 50 20 50"},
	{scheduled{"rows of both", "C(i,j) = A(i,k) * B(j,k)", nil, sizesOfProducts, 0,
		"substitute({i,j,k},cublas)", tensor.Float64}, 1, "dgemm TN 30 50 20 ld 20 20 30"},
	{scheduled{"columns of both", "C(i,j) = A(k,i) * B(k,j)", nil, sizesOfProducts, 0,
		"substitute({i,j,k},cublas)", tensor.Float64}, 1, "dgemm NT 30 50 20 ld 30 50 30"},
	{scheduled{"a batch", "C(i,b,j) = A(i,b,k) * B(b,k,j)", nil, sizesOfProducts, 0,
		"reorder(b,i,j,k) substitute({i,j,k},cublas)", tensor.Float64}, 4,
		"dgemm NN 30 50 20 ld 30 80 120"},
	{scheduled{"a batch in one call", "C(i,b,j) = A(i,b,k) * B(b,k,j)", nil, sizesOfProducts, 0,
		"substitute({b,i,j,k},cublas)", tensor.Float64}, 4,
		"dgemms of 4: dgemm NN 30 50 20 ld 30 80 120"},
	{scheduled{"two variables as one", "C(i,b,j) = A(i,b,k) * B(k,j)", nil, sizesOfProducts, 0,
		"substitute({i,b,j,k},cublas)", tensor.Float64}, 1, "dgemm NN 30 200 20 ld 30 20 30"},
	{scheduled{"two variables apart", "C(b,i,j) = A(i,b,k) * B(k,j)", nil, sizesOfProducts, 0,
		"substitute({i,b,j,k},cublas)", tensor.Float64}, 4, "dgemms of 4: dgemm NN 30 50 20 ld 30 80 30"},
	{scheduled{"two sums", "C(i,j) = A(i,b,k) * B(k,b,j)", nil, sizesOfProducts, 0,
		"substitute({i,j,b,k},cublas)", tensor.Float64}, 4, "dgemm NN 30 50 20 ld 120 80 30"},
	{scheduled{"MTTKRP", "E(i,j) = A(i,b,k) * B(b,j) * D(k,j)", nil, sizesOfProducts, 0,
		"reorder(i,j,b,k) precompute(A(i,b,k)*D(k,j),{j,b},{jw,bw},T) " +
			"substitute({bw,jw,k},cublas) split(j,j0,j1,32) parallelize(j0,GPUBlock,NoRaces) " +
			"parallelize(j1,GPUThread,NoRaces)",
		tensor.Float64}, 50, "dgemm TT 4 30 20 ld 20 30 4"},
	{scheduled{"SpMV", spmv, map[string]string{"A": "ds"}, sizesOfProducts, 0.3,
		"substitute({i,j},cusparse)", tensor.Float64}, 1, "spmv type 1 index 2 50 x 30 nnz"},
	{scheduled{"SpMV of complex numbers", "y(i) = 3 * A(i,j) * x(j)", map[string]string{"A": "ds"},
		sizesOfProducts, 0.3, "substitute({j,i},cusparse)", tensor.Complex128}, 1,
		"spmv type 5 index 2 50 x 30 nnz"},
	{scheduled{"SpMM", "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"}, sizesOfProducts,
		0.3, "substitute({i,j,k},cusparse)", tensor.Float64}, 1, "op N cols 20 order 2 ld 20 20"},
	{scheduled{"SpMM, a dense matrix by columns", "C(i,k) = A(i,j) * B(k,j)",
		map[string]string{"A": "ds"}, sizesOfProducts, 0.3, "substitute({i,j,k},cusparse)",
		tensor.Float32}, 1, "op T cols 20 order 2 ld 30 20"},
	{scheduled{"SpMM, a result by columns", "C(k,i) = A(i,j) * B(j,k)",
		map[string]string{"A": "ds"}, sizesOfProducts, 0.3, "substitute({i,j,k},cusparse)",
		tensor.Float64}, 1, "op T cols 20 order 1 ld 20 50"},
	{scheduled{"SpMM by columns", "C(k,i) = A(i,j) * B(k,j)", map[string]string{"A": "ds"},
		sizesOfProducts, 0.3, "substitute({i,j,k},cusparse)", tensor.Float64}, 1,
		"op N cols 20 order 1 ld 30 50"},
	{scheduled{"SpMM, a column at a time", "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"},
		sizesOfProducts, 0.3, "reorder(k,i,j) substitute({i,j},cusparse)", tensor.Float64}, 20,
		"op N cols 1 order 2 ld 20 20"},
}

// TestProducts checks that products by libraries give the same results as the interpreter's plain
// loops. The stand-ins refuse calls that the libraries' documentation forbids.
func TestProducts(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc, which compiles the stand-ins")
	}
	emulated := emulation(t, 0)
	for n, s := range products {
		t.Run(s.name, func(t *testing.T) {
			s.check(t, emulated, uint64(n))
			b, calls := withMath(t)
			s.check(t, b, uint64(n))
			text, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			// the leaf is called twice
			if len(lines) != 2*s.calls || !strings.Contains(lines[0], s.first) {
				t.Errorf("got %d calls, the first %q, want %d with %q", len(lines), lines[0],
					2*s.calls, s.first)
			}
		})
	}
	t.Run("GPU", func(t *testing.T) {
		b := onGPU(t)
		for n, s := range products {
			t.Run(s.name, func(t *testing.T) { s.check(t, b, uint64(n)) })
		}
	})
}

// ownProducts lists products of dense matrices for the kernels of package emit/cuda.
var ownProducts = []struct {
	name, statement, schedule string
	sizes                     map[string]int64
}{
	{"one tile", "C(i,j) = A(i,k) * B(k,j)", "substitute({i,j,k},gemm)",
		map[string]int64{"i": 20, "j": 30, "k": 40}},
	{"several tiles", "C(i,j) = A(i,k) * B(k,j)", "substitute({i,j,k},gemm)",
		map[string]int64{"i": 129, "j": 140, "k": 33}},
	{"whole tiles", "C(i,j) = -3 * A(i,k) * B(k,j)", "substitute({i,j,k},gemm)",
		map[string]int64{"i": 256, "j": 128, "k": 64}},
	{"columns of both", "C(i,j) = A(k,i) * B(j,k)", "substitute({i,j,k},gemm)",
		map[string]int64{"i": 65, "j": 70, "k": 65}},
	{"columns of the result", "C(j,i) = A(i,k) * B(k,j)", "substitute({i,j,k},gemm)",
		map[string]int64{"i": 150, "j": 63, "k": 31}},
	{"many terms", "C(i,j) = A(i,k) * B(k,j)", "substitute({i,j,k},gemm)",
		map[string]int64{"i": 15, "j": 17, "k": 560}},
	{"no adjacent values", "C(i,j,b) = A(i,k,b) * B(k,j,b)", "reorder(b,i,j,k) substitute({i,j,k},gemm)",
		map[string]int64{"i": 15, "j": 17, "k": 20, "b": 3}},
	{"loops apart", "C(b,i,j) = A(i,b,k) * B(k,j)", "substitute({i,b,j,k},gemm)",
		map[string]int64{"i": 15, "j": 17, "k": 20, "b": 3}},
	{"a batch", "C(b,i,j) = A(b,i,k) * B(b,k,j)", "substitute({b,i,j,k},gemm)",
		map[string]int64{"i": 15, "j": 17, "k": 20, "b": 3}},
	{"a batch inside", "C(i,j,b) = A(i,k,b) * B(k,j,b)", "substitute({b,i,j,k},gemm)",
		map[string]int64{"i": 15, "j": 17, "k": 20, "b": 3}},
	{"two batches", "C(b,i,j,h) = A(i,b,k,h) * B(k,b,h,j)", "substitute({b,i,j,k,h},gemm)",
		map[string]int64{"i": 15, "j": 17, "k": 20, "b": 3, "h": 2}},
	{"two sums", "C(i,j) = A(i,b,k) * B(k,b,j)", "substitute({i,j,b,k},gemm)",
		map[string]int64{"i": 15, "j": 17, "k": 20, "b": 3}},
}

// TestOwnProducts checks products of dense matrices without cuBLAS, for each type.
func TestOwnProducts(t *testing.T) {
	t.Setenv("DISTAFF_CUBLAS", "none")
	check := func(t *testing.T, b *Backend) {
		for n, x := range ownProducts {
			for _, typ := range []tensor.Type{tensor.Float32, tensor.Float64, tensor.Complex64,
				tensor.Complex128} {
				t.Run(x.name+" of "+typ.String(), func(t *testing.T) {
					s := scheduled{x.name, x.statement, nil, x.sizes, 0, x.schedule, typ}
					s.check(t, b, uint64(n))
				})
			}
		}
	}
	t.Run("emulated", func(t *testing.T) { check(t, emulation(t, 0)) })
	t.Run("GPU", func(t *testing.T) { check(t, onGPU(t)) })
}

// TestProductOfRows computes a product with a part of a matrix's rows, whose positions do not start
// at 0.
func TestProductOfRows(t *testing.T) {
	b, calls := withMath(t)
	for _, back := range []*Backend{emulation(t, 0), b} {
		a, x := matrix(60, 40), iota(40)
		want := make([]float64, 60)
		var got []float64
		for _, target := range []struct {
			b        kernels.Backend
			target   codegen.Kind
			commands []string
		}{{interpret.Backend{}, codegen.CPU, []string{""}},
			{back, codegen.CUDA, []string{"substitute({i,j},cusparse)"}}} {
			u := backendtest.Compile(t, spmv, map[string]string{"A": "ds"}, tensor.Float64,
				codegen.Request{
					Tensors: codegen.Tensors{Sizes: map[string]int64{"i": 60, "j": 40}},
					Target:  codegen.Target{Kind: target.target},
					Ask:     codegen.Ask{Schedule: target.commands, Parts: []string{"i"}, Verify: true}})
			leaf, err := target.b.Build(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			y := vector(make([]float64, 60)...)
			if err := leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, [][2]int64{{17, 45}, {0, 40}},
				kernels.Env{Threads: 1, Vars: u.Vars, What: spmv}); err != nil {
				t.Fatal(err)
			}
			if got = tcs.Slice[float64](y.Vals); target.target == codegen.CPU {
				copy(want, got)
			}
			leaf.Close()
		}
		for i := 17; i < 45; i++ {
			if got[i] != want[i] {
				t.Errorf("row %d: got %v, want %v", i, got[i], want[i])
			}
		}
	}
	if text, err := os.ReadFile(calls); err != nil ||
		!strings.HasPrefix(string(text), "spmv type 1 index 2 28 x 40 nnz") {
		t.Errorf("got %q, %v, want 28 rows", text, err)
	}
}

// TestNoLibrary checks that the error names a missing or refusing library, and that nothing runs
// instead.
func TestNoLibrary(t *testing.T) {
	for _, c := range []struct{ name, variable, value, statement, schedule, want string }{
		{"no cuBLAS", "DISTAFF_CUBLAS", "/nowhere/libcublas.so.12", "C(i,j) = A(i,k) * B(k,j)",
			"substitute({i,j,k},cublas)",
			"substitute: no cuBLAS (libcublas.so.13) was found; either name it with DISTAFF_CUBLAS or " +
				"remove cublas from the schedule; tried /nowhere/libcublas.so.12 (cannot open shared " +
				"object file"},
		{"cuBLAS not used", "DISTAFF_CUBLAS", "none", "C(i,j) = A(i,k) * B(k,j)",
			"substitute({i,j,k},cublas)",
			"substitute: cuBLAS is not used, because DISTAFF_CUBLAS is none"},
		{"no cuBLAS, for gemm", "DISTAFF_CUBLAS", "/nowhere/libcublas.so.12",
			"C(i,j) = A(i,k) * B(k,j)", "substitute({i,j,k},gemm)",
			"substitute: no cuBLAS (libcublas.so.13) was found; either name it"},
		{"no cuSPARSE", "DISTAFF_CUSPARSE", "/nowhere/libcusparse.so.12", spmv,
			"substitute({i,j},cusparse)", "substitute: no cuSPARSE (libcusparse.so.13) was found"},
		{"another library", "DISTAFF_CUSPARSE", "libm.so.6", spmv, "substitute({i,j},cusparse)",
			"tried libm.so.6 (it must have the function cusparseCreate)"},
		{"refused", "FAKE_CUBLAS_FAIL", "13", "C(i,j) = A(i,k) * B(k,j)",
			"substitute({i,j,k},cublas)",
			"cuBLAS cannot compute the product of matrices in C(i,j) = A(i,k) * B(k,j): its kernel " +
				"failed (status 13)"},
		{"no memory", "FAKE_CUBLAS_FAIL", "3", "C(i,j) = A(i,k) * B(k,j)",
			"substitute({i,j,k},cublas)",
			"cuBLAS's own memory for a handle needs more GPU memory than is free, but Stand-in " +
				"0 has"},
		{"sparse, refused", "FAKE_CUSPARSE_FAIL", "10", spmv, "substitute({i,j},cusparse)",
			"cuSPARSE cannot compute the product with a sparse matrix in " + spmv +
				": it does not support this (status 10)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := withMath(t)
			t.Setenv(c.variable, c.value)
			s := scheduled{c.name, c.statement, map[string]string{}, sizesOfProducts, 0.3,
				c.schedule, tensor.Float64}
			if c.statement == spmv {
				s.levels["A"] = "ds"
			}
			u := s.compile(t, codegen.CUDA, []string{c.schedule})
			args := s.operands(u, map[string]*tcs.Tensor{}, rand.New(rand.NewPCG(1, 2)))
			leaf, err := b.Build(t.Context(), u)
			if err == nil {
				args[0] = s.result(u, args)
				bounds := make([][2]int64, len(u.Vars))
				for k, v := range u.Vars {
					bounds[k] = [2]int64{0, s.sizes[v]}
				}
				err = leaf.Call(t.Context(), args, bounds,
					kernels.Env{Threads: 1, Vars: u.Vars, What: c.statement})
				defer leaf.Close()
			}
			var setup *SetupError
			var memory *MemoryError
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				errors.As(err, &setup) == errors.As(err, &memory) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

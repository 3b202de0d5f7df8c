package kernels

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels/blas"
	"distaff/kernels/cc"

	"golang.org/x/sys/unix"
)

// TestBLAS computes products by every possible BLAS, each in a process of its own.
func TestBLAS(t *testing.T) {
	if os.Getenv("DISTAFF_BLAS") != "" {
		t.Skip("in such a process")
	}
	for name, want := range map[string]string{"gonum": "gonum", "none": "DISTAFF_BLAS is none",
		"/none.so": "/none.so"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProducts$", "-test.v")
		cmd.Env = append(os.Environ(), "DISTAFF_BLAS="+name)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("DISTAFF_BLAS=%s: %v\n%s", name, err, out)
		}
	}
}

// roomVar is a variable that makes TestProducts limit its process's address space to this many MiB
// more than it uses.
const roomVar = "TEST_ROOM"

// TestBLASUnderLimit checks that a BLAS is not loaded if its buffers may not fit, because OpenBLAS
// retries forever, and that it works under a limit with room for a call on each CPU and for each
// thread.
func TestBLASUnderLimit(t *testing.T) {
	if _, _, err := BLAS(); err != nil || os.Getenv(roomVar) != "" {
		t.Skip(err)
	}
	for room, want := range map[int]string{400: "ulimit -v",
		150 + 128*2*runtime.NumCPU(): "ulimit -v", 900 + 128*(2*runtime.NumCPU()+2): ".so"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProducts$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", roomVar, room), "DISTAFF_BLAS=")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%d MiB: %v\n%s", room, err, out)
		}
	}
}

// TestProducts compares products by this process's BLAS, in every layout and type, with plain sums.
func TestProducts(t *testing.T) {
	threads := []int{1, 3}
	if room, err := strconv.Atoi(os.Getenv(roomVar)); err == nil {
		limitSpace(t, room)
		threads = threads[:1]
	}
	path, _, err := BLAS()
	t.Log(path, err)
	list := slices.Concat(productsOf[float32]("float32", "2.0f"),
		productsOf[float64]("float64", "2.0"),
		productsOf[complex64]("complex64", "complex64(2.0, 0.0)"),
		productsOf[complex128]("complex128", "complex128(2.0, 0.0)"))
	if len(threads) == 1 {
		list = productsOf[float64]("float64", "2.0")[:20] // little memory
	}
	var funcs []*ir.Func
	for k, x := range list {
		f, err := ir.Parse(x.text)
		if err != nil {
			t.Fatal(err)
		}
		f.Name = fmt.Sprint("product", k)
		funcs = append(funcs, f)
	}
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	b, err := cc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.Build(context.Background(), cc.Source{Text: c.File(funcs...), Label: "products"})
	if err != nil {
		t.Skip(err)
	}
	lib, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	for k, x := range list {
		leaf, err := lib.Leaf(funcs[k].Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, threads := range threads {
			x.check(t, leaf, threads)
		}
		leaf.Close()
	}
}

func limitSpace(t *testing.T, more int) {
	var pages int
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(text), &pages)
	}
	if err != nil {
		t.Fatal(err)
	}
	most := uint64(pages*os.Getpagesize() + more<<20)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		t.Fatal(err)
	}
}

// product is a leaf that adds a matrix product to a matrix, and the check of a call against plain
// sums.
type product struct {
	text  string
	check func(t *testing.T, leaf Leaf, threads int)
}

// productsOf returns the products of a type, whose number 2 is two.
func productsOf[T blas.Scalar](typ, two string) (list []product) {
	for _, size := range [][3]int{{1, 1, 1}, {1, 40, 9}, {3, 70, 40}, {247, 5, 300},
		{130, 90, 70}, {2, 4200, 3}} {
		for layout := range 4 {
			m, n, k := size[0], size[1], size[2]
			a, b := [2]int{k + 1, 1}, [2]int{n + 2, 1}
			if layout&1 != 0 {
				a = [2]int{1, m + 2}
				if m == 1 { // the stride of the only row does not matter
					a[1] = 1
				}
			}
			if layout&2 != 0 {
				b = [2]int{1, k}
			}
			text := fmt.Sprintf(
				"func product\n param c %[1]s = t0.vals\n param a %[1]s const = t1.vals\n param "+
					"b %[1]s const = t2.vals\n"+
					"{\n gemm(%[2]d, %[3]d, %[4]d) c[1, %[5]d, 1] += a[2, %[6]d, %[7]d] * b[0, "+
					"%[8]d, %[9]d] * %[10]s\n}\n",
				typ, m, n, k, n+1, a[0], a[1], b[0], b[1], two)
			check := func(t *testing.T, leaf Leaf, threads int) {
				t.Helper()
				av, bv, cv := integers[T](2+(m+2)*(k+1), 1), integers[T]((k+1)*(n+2), 2),
					integers[T](1+m*(n+1), 3)
				want := slices.Clone(cv)
				for i := range m {
					for j := range n {
						for l := range k {
							want[1+i*(n+1)+j] += 2 * av[2+i*a[0]+l*a[1]] * bv[l*b[0]+j*b[1]]
						}
					}
				}
				args := []*tcs.Tensor{{Vals: tcs.Of(cv)}, {Vals: tcs.Of(av)}, {Vals: tcs.Of(bv)}}
				if err := leaf.Call(context.Background(), args, nil,
					Env{Threads: threads}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(cv, want) {
					t.Errorf("%d threads:\n%s", threads, text)
				}
			}
			list = append(list, product{text, check})
		}
	}
	for _, size := range [][6]int{{2, 600, 2, 3, 3, 200}, {30, 40, 25, 43, 2, 5},
		{2, 3, 3, 2, 20, 30}, {2, 3, 2, 1100, 3, 2}, {3, 2, 2, 5, 3, 700}, {1, 7, 3, 1, 2, 2}} {
		list = append(list, groupedProduct[T](typ, two, size))
	}
	return list
}

// groupedProduct is a product whose rows, columns and terms have two variables each, so that no two
// strides describe it: c(u,q,v,p) += 2 * a(p,s,q,t) * b(u,s,v,t).
func groupedProduct[T blas.Scalar](typ, two string, size [6]int) product {
	np, nq, nu, nv, ns, nt := size[0], size[1], size[2], size[3], size[4], size[5]
	text := fmt.Sprintf(
		"func product\n param c %[1]s = t0.vals\n param a %[1]s const = t1.vals\n param b %[1]s "+
			"const = t2.vals\n{\n"+
			" gemm({%[3]d, %[4]d}, {%[5]d, %[6]d}, {%[7]d, %[8]d}) c[0, {1, %[9]d}, {%[10]d, "+
			"%[3]d}] += a[0, {%[11]d, %[8]d}, {%[12]d, 1}] * b[0, {%[13]d, 1}, {%[14]d, %[8]d}] "+
			"* %[2]s\n}\n",
		typ, two, np, nq, nu, nv, ns, nt, nv*np, nq*nv*np, ns*nq*nt, nq*nt, nv*nt, ns*nv*nt)
	return product{text, func(t *testing.T, leaf Leaf, threads int) {
		t.Helper()
		av, bv, cv := integers[T](np*ns*nq*nt, 1), integers[T](nu*ns*nv*nt, 2),
			integers[T](nu*nq*nv*np, 3)
		want := slices.Clone(cv)
		for row := range np * nq {
			for col := range nu * nv {
				p, q, u, v := row/nq, row%nq, col/nv, col%nv
				sum := T(0)
				for s := range ns {
					for k := range nt {
						sum += av[((p*ns+s)*nq+q)*nt+k] * bv[((u*ns+s)*nv+v)*nt+k]
					}
				}
				want[((u*nq+q)*nv+v)*np+p] += 2 * sum
			}
		}
		args := []*tcs.Tensor{{Vals: tcs.Of(cv)}, {Vals: tcs.Of(av)}, {Vals: tcs.Of(bv)}}
		if err := leaf.Call(context.Background(), args, nil, Env{Threads: threads}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(cv, want) {
			t.Errorf("%d threads:\n%s", threads, text)
		}
	}}
}

// integers returns small whole numbers, so sums are exact in any order.
func integers[T blas.Scalar](n int, seed int) []T {
	s := make([]T, n)
	for i := range s {
		for range (i*7 + seed*13) % 6 {
			s[i]++
		}
	}
	return s
}

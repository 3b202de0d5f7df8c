package oracle

import (
	"context"
	"os"
	"slices"
	"testing"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// khatriRao is MTTKRP. Its matrix products read a workspace with a Khatri-Rao product, or fill one.
const khatriRao = "A(i,j) = B(i,k,l)*C(k,j)*D(l,j); A:dd/dd:1,0 B:ddd/ddd:1,0,2/ddd:0,2,1 C:dd/dd:1,0 D:dd/dd:1,0"

// products contains schedules that replace loops by calls of a BLAS, with the required formats.
var products = []struct{ line, schedule string }{
	{"C(i,j) = A(i,k)*B(k,j); C:dd/dd:1,0 A:dd/dd:1,0 B:dd/dd:1,0", "substitute({i,j,k},gemm)"},
	{"C(i,j) += -A(i,k)*B(k,j)*2; C:dd/dd:1,0 A:dd/dd:1,0 B:dd/dd:1,0", "substitute({k,i,j},gemm)"},
	{"C(i,j) = A(i,k)*B(k,j); C:dd/dd:1,0 A:dd/dd:1,0 B:dd/dd:1,0",
		"split(i,i0,i1,2),split(k,k0,k1,3),reorder(k0,i0,i1,j,k1),substitute({i1,j,k1},gemm)"},
	{"C(i,j) = A(i,k)*B(k,j); C:dd A:dd/dd:1,0 B:dd/dd:1,0",
		"split(i,i0,i1,2),reorder(i1,i0,j,k),substitute({i0,j,k},gemm)"},
	{"C(i,j) = A(i,k)*B(k,j); C:dd A:dd/dd:1,0 B:dd/dd:1,0",
		"split(i,i0,i1,2),reorder(i0,i1,j,k),parallelize(i0,CPUThread,NoRaces),substitute({i1,j,k},gemm)"},
	{"C(i,j) = A(b,i,k)*B(k,j)*v(b); C:dd A:ddd/sdd/ddd:0,2,1 B:dd v:d/s",
		"reorder(b,i,j,k),substitute({i,j,k},gemm)"},
	{"C(b,i,j) = A(b,i,k)*B(k,b,j); C:ddd/ddd:0,2,1/sdd A:sdd/ddd:0,2,1 B:ddd/ddd:1,0,2",
		"substitute({i,j,k},gemm)"},
	{khatriRao, "reorder(k,i,l,j),precompute(C(k,j)*D(l,j),{l,j},{l,j},W),substitute({i,l,j},gemm)"},
	{khatriRao,
		"reorder(k,i,l,j),precompute(C(k,j)*D(l,j),{k,l,j},{kw,lw,jw},W),split(i,i0,i1,2),reorder(i0,k,i1,l,j),substitute({i1,l,j},gemm)"},
	{khatriRao,
		"precompute(B(i,k,l)*D(l,j),{k,j},{k,j},T),parallelize(i,CPUThread,NoRaces),substitute({k,j,l},gemm)"},
	{khatriRao, "precompute(B(i,k,l)*D(l,j),{k,j},{kw,jw},T),substitute({kw,jw,l},gemm)"},
	{"A(i,j,l) = B(i,j,k)*C(k,l); A:ddd/ddd:0,2,1 B:ddd/sdd C:dd/dd:1,0",
		"parallelize(i,CPUThread,NoRaces),substitute({j,l,k},gemm)"},
}

// defaultProducts contains statements whose default schedule uses matrix products if even small
// products count.
var defaultProducts = []string{
	"C(i,j) = A(i,k)*B(k,j); C:dd/dd:1,0 A:dd/dd:1,0 B:dd/dd:1,0",
	"C(i,j) += -A(i,k)*B(k,j)*2; C:dd/dd:1,0 A:dd/dd:1,0 B:dd/dd:1,0",
	"C(i,j) = D(i,j) - A(k,i)*B(j,k)*3 + A(k,i)*E(k,j); C:dd A:dd B:dd D:dd/ds E:dd/dd:1,0",
	"C(i,j) = A(i,k)*A(j,k); C:dd A:dd/dd:1,0",
	"C(b,i,j) = A(b,i,k)*B(k,b,j)*v(b); C:ddd/ddd:2,0,1/sdd A:sdd/ddd:0,2,1 B:ddd/ddd:1,0,2 v:d/s",
	"C(i,b,j) = A(i,k,b)*B(k,j,b); C:ddd A:ddd B:ddd",
	"A(i,j,l) = B(i,j,k)*C(k,l); A:ddd/ddd:0,2,1/sdd/ssd B:ddd/sdd C:dd/dd:1,0",
	"A(i,j,k,l) = B(i,m,k,n)*C(n,j,m,l); A:dddd/dddd:1,3,0,2 B:dddd C:dddd/dddd:3,2,0,1",
	"A(a,b,c) = B(a,d,b)*C(d,c); A:ddd/ddd:2,0,1 B:ddd C:dd/dd:1,0",
	"C(i,a,l) = B(i,j,a,b)*D(j,b,l); C:ddd B:dsdd/ssdd D:ddd",
	"C(a,l) = B(j,a,b)*D(j,b,l); C:dd/dd:1,0 B:sdd/ddd D:ddd",
	"A(i,l) = B(i,j,k)*C(j,l)*D(k,l); A:dd/dd:1,0 B:ddd/sdd/ddd:2,0,1 C:dd D:dd/dd:1,0",
	"A(k,l) += B(i,j,k)*C(i,l)*D(j,l)*2; A:dd B:ddd C:dd/dd:1,0 D:dd",
	"A(i,l) = -B(i,j)*C(j,k)*D(k,l); A:dd/dd:1,0/sd B:dd/dd:1,0/sd C:dd/dd:1,0 D:dd",
	"A(i,m) = B(i,j)*C(j,k)*D(k,l)*E(l,m)*v(i); A:dd B:dd C:dd/dd:1,0 D:dd E:dd/dd:1,0 v:d/s",
	"A(i,l,m) = B(i,j,k)*C(j,l)*D(k,m); A:ddd/sdd B:ddd/sdd C:dd D:dd/dd:1,0",
}

// productTypes are the types of the cases. Consecutive cases have different types.
var productTypes = [4]tensor.Type{tensor.Float64, tensor.Float32, tensor.Complex128,
	tensor.Complex64}

// TestDefaultProducts checks the results of the default schedule's matrix products, interpreted and
// compiled, on several threads. Most of these statements must have a matrix product.
func TestDefaultProducts(t *testing.T) {
	t.Parallel()
	c, err := NewC(os.Getenv, "-O1")
	if err != nil {
		t.Skip(err)
	}
	n := uint64(4)
	if *nFlag > 0 {
		n = max(*nFlag/uint64(len(defaultProducts)), 1)
	}
	made := 0
	var cases []*Case
	for m, line := range defaultProducts {
		for k := *firstFlag; k < *firstFlag+n; k++ {
			p, err := kernelCaseOf(line, Rand(*seedFlag+uint64(m)<<32, k), productTypes[k%4])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			p.Case.Variant &^= 512 // use matrix products of any size
			made += productsIn(t, p)
			cases = append(cases, p.Case)
		}
	}
	all := len(cases)
	var gpu gpuCounts
	for _, e := range []Engine{Interp{}, c, defaultUnits{seen: &gpu}} {
		for k, err := range checkAll(t, e, cases) {
			if err != nil {
				t.Fatalf("seed %d, case %d: %s: %v\n%s", *seedFlag, *firstFlag+uint64(k)%n, e.Name(), err,
					cases[k].Text())
			}
		}
	}
	t.Logf("%d cases, %d with a default schedule of a GPU, %d of them with a product of matrices", all,
		gpu.taken.Load(), gpu.products.Load())
	if 2*gpu.products.Load() < int64(all) {
		t.Errorf("%d of %d leaves of a GPU have a product of matrices", gpu.products.Load(), all)
	}
	if 4*made < 3*all {
		t.Errorf("%d of %d leaves have a product of matrices", made, all)
	}
}

// productsIn returns 1 if the leaf of a case has a matrix product, and 0 otherwise.
func productsIn(t *testing.T, p *Prepared) (found int) {
	t.Helper()
	made, err := compile(p, "leaf")
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Case.Text())
	}
	defer made.close()
	ir.Walk(made.unit.Func.Body, func(s ir.Stmt) {
		if _, ok := s.(*ir.Gemm); ok {
			found = 1
		}
	})
	return found
}

// TestProducts checks the results of loops that a BLAS computes, for every type that it supports,
// interpreted and compiled, on several threads and on several ranks.
func TestProducts(t *testing.T) {
	t.Parallel()
	c, err := NewC(os.Getenv, "-O1")
	if err != nil {
		t.Skip(err)
	}
	n := uint64(4)
	if *nFlag > 0 {
		n = max(*nFlag/uint64(len(products)), 1)
	}
	ctx := context.Background()
	var cases []*Prepared
	for m, x := range products {
		for k := *firstFlag; k < *firstFlag+n; k++ {
			p, err := kernelCaseOf(x.line, Rand(*seedFlag+uint64(m)<<32, k), productTypes[k%4])
			if err != nil {
				t.Fatalf("%s: %v", x.line, err)
			}
			if slices.ContainsFunc(p.Case.Tensors,
				func(t *Tensor) bool { return slices.Contains(t.Dims, 0) }) {
				continue
			}
			p.Case.Schedule = []string{x.schedule}
			cases = append(cases, p)
		}
	}
	compiled := scheduledC{c, drawer{}}.batch(ctx, cases)
	for k, p := range cases {
		w, err := p.Expect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		interpreted := func(ctx context.Context) (*Output, error) { return scheduleEngine{}.Run(ctx, p) }
		for what, run := range map[string]func(context.Context) (*Output, error){
			"interpreted": interpreted, "compiled": compiled[k]} {
			out, err := run(ctx)
			if err == nil {
				err = w.Compare(out, nil)
			}
			if err != nil {
				t.Fatalf("seed %d, -s=%s, %s: %v\n%s", *seedFlag, p.Case.Schedule[0], what, err, p.Case.Text())
			}
		}
	}
}

package oracle

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// kernelLines contains statements for which the default schedule uses special methods: rows summed
// in tiles, long rows distributed over threads, partial sums, shared patterns, and pieces of sparse
// results. Slashes separate the alternative formats of each tensor.
var kernelLines = []string{
	"y(i) = B(i,j)*x(j); y:d B:ds/ss/uq/us x:d/s",
	"y(i) += B(i,j)*x(j) + z(i); y:d B:ds/ss x:d z:d/s",
	"y(i) = B(i,j)*x(j)*z(i); y:d/s B:ds/ss x:d z:d/s",
	"y(j) = B(i,j)*x(i); y:d/s B:ds/ss/dd x:d",
	"a = B(i,j)*x(j)*y(i); a: B:ds/ss/dd/uc x:d/s y:d",
	"a = x(i)*y(i) + z(i); a: x:d/s y:d/s z:d/s",
	"A(i,k) = B(i,j)*C(j,k); A:dd/ds/ss/sd B:ds/ss/dd C:dd/ds/ss",
	"A(i,k) = B(i,j)*C(j,k) + D(i,k); A:dd/ds/sd B:ds/ss C:dd D:dd/ds",
	"A(i,k) = B(j,i)*C(j,k); A:dd/ds B:ds/ss C:dd/ds",
	"A(i,j) = B(i,j)*C(i,k)*D(j,k); A:dd/ds/ss B:ds/ss C:dd D:dd",
	"A(i,j) = B(i,j) + C(i,j); A:dd/ds/ss/sd B:ds/ss/dd/uq C:ds/ss/uq",
	"A(i,j) = B(i,j) + C(i,j) + D(i,j); A:ds/ss B:ds C:ds D:ds/ss",
	"A(i,j) = B(i,j,k)*c(k); A:ds/ss/dd B:sss/dss/ucq c:d/s",
	"A(i,j,l) = B(i,j,k)*C(k,l); A:ssd/ddd/dsd B:sss/dss C:dd/ds",
	"A(i,l) = B(i,j,k)*C(j,l)*D(k,l); A:dd/sd/ds B:sss/dss/ucq C:dd D:dd",
	"A(j,l) = B(i,j,k)*C(i,l)*D(k,l); A:dd/ds B:sss/dss C:dd D:dd",
	"A(k,l) = B(i,j,k)*C(i,l)*D(j,l); A:dd/ds B:sss/dss C:dd D:dd",
	"A(i,j) = B(i,j)*x(j); A:ds/ss B:ds/ss/sd x:d/s",
	"A(i,j,k) = 2*B(i,j,k); A:sss/dss/ssd B:sss/dss/ssd",
	"A(i,j,k) = B(i,j,k) + C(i,j,k); A:sss/dss/dds/sds/ssd/sdd B:sss/dss C:sss/dds",
	"A(i,j,k) = B(k,j,i); A:sss/dds/sds B:sss/dss/sdd",
}

// kernelCase generates a case of a line.
func kernelCase(line string, r *rand.Rand) (*Prepared, error) {
	return kernelCaseOf(line, r, tensor.Float64)
}

// kernelCaseOf does what kernelCase does, with tensors of the given types.
func kernelCaseOf(line string, r *rand.Rand, types ...tensor.Type) (*Prepared, error) {
	src, tensors, _ := strings.Cut(line, ";")
	s, err := notation.Parse(src)
	if err != nil {
		return nil, err
	}
	g := &generator{rand: r, o: Options{Exact: true, Types: types}.withDefaults(),
		formats: map[string]tensor.Format{}}
	for _, f := range strings.Fields(tensors) {
		name, kinds, _ := strings.Cut(f, ":")
		list := strings.Split(kinds, "/")
		if g.formats[name], err = notation.ParseFormat(list[r.IntN(len(list))]); err != nil {
			return nil, err
		}
	}
	return g.data(s).Prepare()
}

// TestKernels compares these statements with the reference: with long rows and many chunks, and as
// they are otherwise compiled. With enough cases it tests every alternative.
func TestKernels(t *testing.T) {
	t.Parallel()
	n := uint64(40)
	if *nFlag > 0 {
		n = max(*nFlag/uint64(len(kernelLines)), 1)
	}
	shared, total := 0, 0
	for k := *firstFlag; k < *firstFlag+n; k++ {
		for m, line := range kernelLines {
			p, err := kernelCase(line, Rand(*seedFlag+uint64(m)<<32, k))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if err := Check(context.Background(), Interp{}, p.Case); err != nil {
				t.Fatalf("seed %d, case %d: %v\n%s", *seedFlag, k, err, p.Case.Text())
			}
			c, err := compile(p, "leaf")
			if err != nil {
				t.Fatal(err)
			}
			if total++; c.unit.Result.Shares >= 0 {
				shared++
			}
			c.close()
		}
	}
	t.Logf("%d cases, %d of them with an operand's level arrays", total, shared)
	if shared == 0 {
		t.Errorf("no result of %d has an operand's level arrays", total)
	}
}

// TestSameBits checks that the bits of a result do not depend on the number of threads.
func TestSameBits(t *testing.T) {
	t.Parallel()
	for m, line := range kernelLines {
		for k := range uint64(6) {
			r := Rand(*seedFlag+uint64(m)<<32, 1000+k)
			p, err := kernelCase(line, r)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range p.Case.Tensors {
				for e := range x.Entries {
					x.Entries[e].Value = reference.Float(r.NormFloat64())
				}
			}
			var bits [][]uint64
			for _, threads := range []int{1, 2, 5} {
				vals, err := valuesOn(p, threads)
				if err != nil {
					t.Fatalf("%d threads: %v\n%s", threads, err, p.Case.Text())
				}
				bits = append(bits, vals)
			}
			for _, b := range bits[1:] {
				if !slices.Equal(b, bits[0]) {
					t.Errorf("got %x on several threads, want %x\n%s", b, bits[0], p.Case.Text())
				}
			}
		}
	}
}

// valuesOn returns the bits of the float64 values that the leaf of a case computes on the given
// number of threads.
func valuesOn(p *Prepared, threads int) ([]uint64, error) {
	c, err := compile(p, "leaf")
	if err != nil {
		return nil, err
	}
	defer c.close()
	prog, err := interp.Compile(c.unit.Func)
	if err != nil {
		return nil, err
	}
	err = interpret(prog, c.args, c.bounds,
		interp.Env{Threads: threads, Seed: uint64(threads), Steps: 2e7},
		c.unit.Result.Format.AllDense() || c.unit.Result.Shares >= 0)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, c.stages())
	}
	var bits []uint64
	for _, v := range tcs.Slice[float64](c.args[0].Vals) {
		bits = append(bits, math.Float64bits(v))
	}
	return bits, nil
}

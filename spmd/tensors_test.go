package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd"
)

// value is n in type V.
func value[V spmd.Value](n int) (v V) {
	switch r := reflect.ValueOf(&v).Elem(); {
	case r.CanInt():
		r.SetInt(int64(n))
	case r.CanFloat():
		r.SetFloat(float64(n))
	default:
		r.SetComplex(complex(float64(n), float64(-n)))
	}
	return v
}

// sizes3 are the sizes of the tensor whose values cell returns.
var sizes3 = i8{5, 4, 3}

// cell returns the value at a coordinate, or 0 if the tensor has no entry there.
func cell(i, j, k int) int {
	if n := (7*i + 5*j + 3*k) % 11; n < 4 && i != 2 {
		return n - 5
	}
	return 0
}

// tensors makes one tensor with each constructor, with values of type V and indices of types P and
// C.
func tensors[V spmd.Value, P, C spmd.Index](t *testing.T) map[string]*tcs.Tensor {
	t.Helper()
	out := map[string]*tcs.Tensor{}
	add := func(name string, x *tcs.Tensor, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s of %T, %T and %T: %v", name, *new(V), *new(P), *new(C), err)
		}
		out[name] = x
	}
	var all []V
	for i := range 5 {
		for j := range 4 {
			for k := range 3 {
				all = append(all, value[V](cell(i, j, k)))
			}
		}
	}
	x, err := spmd.Dense(all, sizes3...)
	add("Dense", x, err)

	compress := func(outer, inner int, at func(a, b int) int) (pos []P, crd []C, values []V) {
		pos = []P{0}
		for a := range outer {
			for b := range inner {
				if v := at(a, b); v != 0 {
					crd, values = append(crd, C(b)), append(values, value[V](v))
				}
			}
			pos = append(pos, P(len(crd)))
		}
		return pos, crd, values
	}
	pos, crd, values := compress(5, 4, func(i, j int) int { return cell(i, j, 0) })
	x, err = spmd.CSR(5, 4, pos, crd, values)
	add("CSR", x, err)
	pos, crd, values = compress(4, 5, func(j, i int) int { return cell(i, j, 0) })
	x, err = spmd.CSC(5, 4, pos, crd, values)
	add("CSC", x, err)

	coords := make([][]C, 3)
	values = nil
	for i := range 5 {
		for j := range 4 {
			for k := range 3 {
				if v := cell(i, j, k); v != 0 {
					for m, c := range []int{i, j, k} {
						coords[m] = append(coords[m], C(c))
					}
					values = append(values, value[V](v))
				}
			}
		}
	}
	x, err = spmd.COO(sizes3, coords, values)
	add("COO", x, err)

	// Modes 2, 0, 1.
	p3, c3 := [][]P{{0}, {0}, {0}}, make([][]C, 3)
	values = nil
	for k := range 3 {
		before := len(c3[1])
		for i := range 5 {
			first := len(c3[2])
			for j := range 4 {
				if v := cell(i, j, k); v != 0 {
					c3[2], values = append(c3[2], C(j)), append(values, value[V](v))
				}
			}
			if len(c3[2]) > first {
				c3[1], p3[2] = append(c3[1], C(i)), append(p3[2], P(len(c3[2])))
			}
		}
		if len(c3[1]) > before {
			c3[0], p3[1] = append(c3[0], C(k)), append(p3[1], P(len(c3[1])))
		}
	}
	p3[0] = append(p3[0], P(len(c3[0])))
	x, err = spmd.CSF(sizes3, []int{2, 0, 1}, p3, c3, values)
	add("CSF", x, err)
	return out
}

// sums runs a job over each of the tensors and compares its result with the known result and with
// the reference.
func sums[V spmd.Value](t *testing.T, list map[string]*tcs.Tensor, set func(*spmd.Job)) {
	t.Helper()
	for name, x := range list {
		j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j) * s", Keep: true}
		depth := 1
		if x.Order() == 3 {
			j.Statement, depth = "y(i) = A(i,j,k) * x(j) * s", 3
		}
		weights, err := spmd.Dense([]V{value[V](1), value[V](2), value[V](3), value[V](4)}, 4)
		if err != nil {
			t.Fatal(err)
		}
		two := value[V](2)
		scale, err := spmd.Dense([]V{two})
		if err != nil {
			t.Fatal(err)
		}
		j.Inputs = map[string]spmd.Input{"A": spmd.InMemory(x), "x": spmd.InMemory(weights),
			"s": spmd.InMemory(scale)}
		j.Check, j.Threads = true, 2
		set(j)
		r, err := j.Run(context.Background())
		if errors.Is(err, cc.ErrNoCompiler) {
			t.Skip(err)
		}
		if err != nil {
			t.Errorf("%s of %v: %v", name, x.Header.Type, err)
			continue
		}
		want := make([]V, 5)
		for i := range want {
			for j := range 4 {
				for k := range depth {
					want[i] += value[V](cell(i, j, k)) * value[V](j+1) * two
				}
			}
		}
		got, err := spmd.Values[V](r.Result)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s of %v: got %v, %v, want %v", name, x.Header.Type, got, err, want)
		}
		r.Result.Close()
	}
}

func everyWidth[V spmd.Value](t *testing.T, set func(*spmd.Job)) {
	t.Helper()
	sums[V](t, tensors[V, int32, int32](t), set)
	sums[V](t, tensors[V, int64, int64](t), set)
	sums[V](t, tensors[V, int64, int32](t), set)
	sums[V](t, tensors[V, int32, int](t), set)
}

type (
	length float32
	vertex int32
)

// Jobs over tensors of slices agree with the reference, for every constructor, type of values and
// width of indices.
func TestTensorsOfSlices(t *testing.T) {
	interpret := func(j *spmd.Job) { j.Target = spmd.Interpreter }
	everyWidth[float64](t, interpret)
	everyWidth[float32](t, interpret)
	everyWidth[int64](t, interpret)
	everyWidth[int32](t, interpret)
	everyWidth[complex128](t, interpret)
	everyWidth[complex64](t, interpret)
	sums[length](t, tensors[length, int32, vertex](t), interpret)
	sums[float64](t, tensors[float64, int32, int32](t),
		func(j *spmd.Job) { j.Target, j.Ranks = spmd.Interpreter, 3 })
	sums[complex64](t, tensors[complex64, int, int](t),
		func(j *spmd.Job) { j.Target, j.Ranks, j.Splits = spmd.Interpreter, 2, []string{"j:3"} })
}

// Compiled leaves read the same memory.
func TestTensorsOfSlicesInC(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles leaves")
	}
	if _, err := cc.FromEnv(os.Getenv); err != nil {
		t.Skip(err)
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O1")
	sums[float64](t, tensors[float64, int32, int32](t), func(*spmd.Job) {})
	sums[int32](t, tensors[int32, int64, int64](t), func(*spmd.Job) {})
	sums[complex64](t, tensors[complex64, int64, int32](t), func(j *spmd.Job) { j.Ranks = 2 })
}

// Tensors without entries, and without coordinates, are tensors.
func TestEmptyTensorsOfSlices(t *testing.T) {
	must := func(x *tcs.Tensor, err error) *tcs.Tensor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for k, c := range []struct {
		statement string
		a         *tcs.Tensor
		entries   int
	}{
		{"y(i) = A(i,j)", must(spmd.Dense(f8(nil), 0, 5)), 0},
		{"y(i) = A(i,j)", must(spmd.Dense(f8(nil), 5, 0)), 5},
		{"y(i) = A(i,j)", must(spmd.CSR(0, 0, i4(nil), i4(nil), f8(nil))), 0},
		{"y(i) = A(i,j)", must(spmd.CSR(0, 3, i4{0}, i4{}, f8{})), 0},
		{"y(i) = A(i,j)", must(spmd.CSR(3, 0, i4{0, 0, 0, 0}, i4(nil), f8(nil))), 3},
		{"y(i) = A(i,j)", must(spmd.CSR(3, 4, i8{0, 0, 0, 0}, i4(nil), f8(nil))), 3},
		{"y(i) = A(i,j)", must(spmd.CSC(3, 0, i4(nil), i4(nil), f8(nil))), 3},
		{"y(i) = A(i,j)", must(spmd.COO(i8{3, 4}, []i4{nil, nil}, f8(nil))), 3},
		{"y(i) = A(i)", must(spmd.COO(i8{3}, []i8{nil}, f8(nil))), 3},
		{"y(i) = A(i,j)", must(spmd.COO(i8{0, 4}, []i4{nil, nil}, f8(nil))), 0},
		{"y(i) = A(i,j)", must(spmd.CSF(i8{3, 4}, nil, []i4{{0, 0}, {0}}, []i4{nil, nil}, f8(nil))), 3},
		{"y(i) = A(i,j)",
			must(spmd.CSF(i8{3, 4}, []int{1, 0}, []i4{{0, 0}, nil}, []i4{nil, nil}, f8(nil))), 3},
	} {
		for _, ranks := range []int{1, 2} {
			j := &spmd.Job{Statement: c.statement, Inputs: map[string]spmd.Input{"A": spmd.InMemory(c.a)},
				Keep: true}
			j.Target, j.Threads, j.Check, j.Ranks = spmd.Interpreter, 1, true, ranks
			r, err := j.Run(context.Background())
			if err != nil {
				t.Errorf("case %d on %d ranks: %v", k, ranks, err)
				continue
			}
			got, err := spmd.Values[float64](r.Result)
			if err != nil || !slices.Equal(got, make(f8, c.entries)) {
				t.Errorf("case %d on %d ranks: got %v, %v, want %d zeros", k, ranks, got, err, c.entries)
			}
			r.Result.Close()
		}
	}
}

// A tensor uses the slices that it was made from: nothing is copied, changed values count in the
// next run, and the same slices are returned.
func TestTensorsShareSlices(t *testing.T) {
	pos, crd, values := i4{0, 1, 3}, i8{1, 0, 1}, f8{1, 2, 3}
	a, err := spmd.CSR(2, 2, pos, crd, values)
	if err != nil {
		t.Fatal(err)
	}
	p, perr := spmd.Pos[int32](a, 1)
	c, cerr := spmd.Crd[int](a, 1)
	v, verr := spmd.Values[float64](a)
	if err := errors.Join(perr, cerr, verr); err != nil {
		t.Fatal(err)
	}
	if &p[0] != &pos[0] || unsafe.Pointer(&c[0]) != unsafe.Pointer(&crd[0]) || &v[0] != &values[0] ||
		len(p) != 3 || len(c) != 3 || len(v) != 3 {
		t.Error("the slices of the tensor are not those it was made of")
	}
	run := func() string {
		j := &spmd.Job{Statement: "C(i,j) = 2 * A(i,j)", Formats: map[string]string{"C": "ds"},
			Inputs: map[string]spmd.Input{"A": spmd.InMemory(a)}, Keep: true}
		j.Target, j.Threads = spmd.Interpreter, 1
		r, err := j.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Result.Close()
		got, err := spmd.Values[float64](r.Result)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got)
	}
	if got := run(); got != "[2 4 6]" {
		t.Errorf("got %s, want [2 4 6]", got)
	}
	values[1] = 10
	if got := run(); got != "[2 20 6]" {
		t.Errorf("got %s, want [2 20 6]", got)
	}
	a.Close()
	if !slices.Equal(values, f8{1, 10, 3}) || !slices.Equal(crd, i8{1, 0, 1}) {
		t.Errorf("the slices are %v and %v after Close", values, crd)
	}
}

// Coordinates are checked once, and trusted coordinates never.
func TestCoordinatesAreCheckedOnce(t *testing.T) {
	pos, crd, values := i4{0, 2, 3}, i4{0, 1, 1}, f8{1, 2, 3}
	byHand := func() *tcs.Tensor {
		return &tcs.Tensor{Header: tcs.Header{Dims: i8{2, 2}, Type: tensor.Float64}, Vals: tcs.Of(values),
			Levels: []tcs.Level{{Kind: 'd', Size: 2},
				{Kind: 's', Mode: 1, Size: 2, Pos: tcs.Of(pos), Crd: tcs.Of(crd)}}}
	}
	run := func(x *tcs.Tensor, trust bool) error {
		j := &spmd.Job{Statement: "y(i) = A(i,j)", Inputs: map[string]spmd.Input{"A": spmd.InMemory(x)}}
		j.Target, j.Threads, j.Ranks, j.TrustInput = spmd.Interpreter, 1, 2, trust
		return of(j.Run(context.Background()))
	}
	seen := byHand()
	if err := run(seen, false); err != nil {
		t.Fatal(err)
	}
	crd[0], crd[1] = 1, 0 // not sorted, which this statement does not need
	if err := run(seen, false); err != nil {
		t.Errorf("a tensor that passed is looked at again: %v", err)
	}
	if err := run(byHand(), false); err == nil {
		t.Error("coordinates that are not sorted pass")
	}
	seen.Levels[1].Crd = tcs.Of(slices.Clone(crd))
	if err := run(seen, false); err == nil {
		t.Error("other coordinates than those that passed are not looked at")
	}
	if err := run(byHand(), true); err != nil {
		t.Errorf("coordinates are looked at with TrustInput: %v", err)
	}
	if err := of(spmd.CSR(2, 2, pos, crd, values)); err == nil {
		t.Error("CSR: coordinates that are not sorted pass")
	}
	x, err := spmd.CSR(2, 2, pos, crd, values, spmd.Trusted())
	if err != nil {
		t.Fatalf("trusted coordinates are looked at: %v", err)
	}
	if err := run(x, false); err != nil {
		t.Errorf("trusted coordinates are looked at by a job: %v", err)
	}
}

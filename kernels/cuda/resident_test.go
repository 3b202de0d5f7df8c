package cuda

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels"
)

// counting is a device that counts uploaded bytes.
type counting struct {
	*emulated
	up int64
}

func (d *counting) upload(dst pointer, src unsafe.Pointer, bytes int64) error {
	d.up += bytes
	return d.emulated.upload(dst, src, bytes)
}

// counted returns an emulated backend that counts uploads.
func counted(t *testing.T) (*Backend, *counting) {
	e := emulation(t, 0)
	d := &counting{emulated: e.dev.(*emulated)}
	return newBackend(d, e.compiler), d
}

// TestResident checks that a resident tensor is uploaded once, and any other tensor at every call.
// Values that a leaf stores to a resident tensor are on the device and on the host.
func TestResident(t *testing.T) {
	b, d := counted(t)
	leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
	a, x, y := matrix(30, 30), iota(30), vector(make([]float64, 30)...)
	call := func(y, x *tcs.Tensor, want int64) {
		t.Helper()
		d.up = 0
		if err := leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, nil,
			kernels.Env{Threads: 1}); err != nil {
			t.Fatal(err)
		}
		if d.up != want {
			t.Errorf("%d bytes went up, want %d", d.up, want)
		}
		if got := tcs.Slice[float64](y.Vals); !slices.Equal(got, product(a, x)) {
			t.Errorf("got %v, want %v", got, product(a, x))
		}
	}
	matrixBytes := a.Bytes()
	call(y, x, matrixBytes+x.Bytes())
	b.Resident(a)
	b.Resident(a)
	call(y, x, matrixBytes+x.Bytes())
	call(y, x, x.Bytes())
	tcs.Slice[float64](x.Vals)[3] = 50 // x is not resident
	call(y, x, x.Bytes())
	b.Resident(y)
	call(y, x, x.Bytes())
	z := vector(make([]float64, 30)...)
	call(z, y, 0) // y is on the device from the call before
	b.Forget(y)
	tcs.Slice[float64](y.Vals)[0] = 8
	call(z, y, y.Bytes())
	b.Forget(a)
	call(z, y, y.Bytes()) // Resident was called twice
	b.Forget(a)
	tcs.Slice[float64](a.Vals)[0] = 1000
	call(z, y, matrixBytes+y.Bytes())
	b.Forget(a) // once too often, so nothing happens
	b.Resident(a)
	call(z, y, matrixBytes+y.Bytes())
	tcs.Slice[float64](a.Vals)[1] = 2000
	b.Changed(a.Alias()) // another tensor over the same memory
	call(z, y, matrixBytes+y.Bytes())
	b.Forget(a)
	if n := len(d.blocks); n != 0 {
		t.Errorf("%d arrays stay on the device", n)
	}
}

// TestResidentResult checks that arrays that a leaf makes for a resident result are on the device
// for the next leaf.
func TestResidentResult(t *testing.T) {
	b, d := counted(t)
	evens := build(t, b, handmade(t, "evens", "C(i,j) = A(i,j)", codegen.Result{Shares: -1}))
	multiply := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
	a, x := matrix(40, 30), iota(30)
	c := empty(40, 30)
	b.Resident(c)
	for range 2 { // the second time, with new arrays for it
		if err := evens.Call(t.Context(), []*tcs.Tensor{c, a}, nil,
			kernels.Env{Threads: 1}); err != nil {
			t.Fatal(err)
		}
		checkEvens(t, a, c)
		y := vector(make([]float64, 40)...)
		d.up = 0
		if err := multiply.Call(t.Context(), []*tcs.Tensor{y, c, x}, nil,
			kernels.Env{Threads: 1}); err != nil {
			t.Fatal(err)
		}
		if d.up != x.Bytes() || !slices.Equal(tcs.Slice[float64](y.Vals), product(c, x)) {
			t.Errorf("%d bytes went up, want %d; got %v", d.up, x.Bytes(),
				tcs.Slice[float64](y.Vals))
		}
	}
	b.Forget(c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := len(d.blocks); n != 0 {
		t.Errorf("%d arrays stay on the device", n)
	}
}

// TestResidentFailure checks that after a leaf fails, its resident result is not taken for the
// host's data.
func TestResidentFailure(t *testing.T) {
	b, _ := counted(t)
	divide := build(t, b, handmade(t, "divide", "q(i) = n(i) / d(i)", codegen.Result{Shares: -1}))
	q, n := vector[int64](-9, -9, -9), vector[int64](6, 7, 8)
	b.Resident(q)
	defer b.Forget(q)
	if err := divide.Call(t.Context(), []*tcs.Tensor{q, n, vector[int64](1, 0, 1)}, nil,
		kernels.Env{Threads: 1}); err == nil {
		t.Fatal("no error")
	}
	copy(tcs.Slice[int64](q.Vals), []int64{2, 1, 4})
	r := vector[int64](0, 0, 0)
	if err := divide.Call(t.Context(), []*tcs.Tensor{r, n, q}, nil,
		kernels.Env{Threads: 1}); err != nil ||
		!slices.Equal(tcs.Slice[int64](r.Vals), []int64{3, 7, 2}) {
		t.Errorf("got %v, %v", tcs.Slice[int64](r.Vals), err)
	}
}

// TestNeed checks the memory of a call computed from sizes alone.
func TestNeed(t *testing.T) {
	elements := map[ir.Slot]int64{
		{Arg: 1, Level: 1, Field: ir.Pos}: 101, {Arg: 1, Level: 1, Field: ir.Crd}: 5000,
		{Arg: 1, Field: ir.Vals}: 5000,
		{Arg: 2, Field: ir.Vals}: 40, {Arg: 0, Field: ir.Vals}: 100,
	}
	sizes := Sizes{Elements: func(s ir.Slot) int64 { return elements[s] },
		Size: func(ir.Slot) int64 { return 100 }}
	spmv := Memory(handmade(t, "spmv", spmv, codegen.Result{}).Func, sizes)
	if want := int64(101*4 + 5000*12 + 40*8 + 100*8); spmv.Arguments != want || spmv.Peak != want ||
		spmv.Unknown != nil {
		t.Errorf("got %+v, want %d", spmv, want)
	}
	evens := Memory(handmade(t, "evens", "C(i,j) = A(i,j)", codegen.Result{}).Func, sizes)
	if want := int64(101*4 + 5000*12); evens.Arguments != want || evens.Peak != want+101*4 ||
		!slices.Equal(evens.Unknown, []string{"crd", "vals"}) {
		t.Errorf("got %+v, want %d and %d more", evens, want, 101*4)
	}
}

// TestPinned checks that pinned arrays stay on the device when memory is short, while other
// resident arrays are evicted.
func TestPinned(t *testing.T) {
	const memory = 1 << 20
	for _, pinned := range []bool{false, true} {
		b := emulation(t, memory)
		leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
		a, x, y := matrix(100, 100), iota(100), vector(make([]float64, 100)...)
		b.Resident(a)
		if pinned {
			b.Pin(a)
		}
		if err := leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, nil,
			kernels.Env{Threads: 1}); err != nil {
			t.Fatal(err)
		}
		all := func() (err error) {
			p, err := b.dev.alloc(memory, "a test")
			if err == nil {
				err = b.dev.free(p)
			}
			return err
		}
		var short *MemoryError
		if err := b.dev.do(all); errors.As(err, &short) != pinned {
			t.Errorf("pinned %v: got %v for all of the memory", pinned, err)
		}
		b.Forget(a)
		if err := b.dev.do(all); err != nil {
			t.Errorf("pinned %v: got %v for all of the memory, of which nothing is in use", pinned,
				err)
		}
	}
}

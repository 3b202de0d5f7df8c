package cuda

import (
	"errors"
	"math"
	"slices"
	"testing"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/kernels"
)

// TestLeft checks values that are left on the device (Backend.Leave). Fetch copies them to the host
// for any tensor over the same memory. Leaves read them on the device. Before they leave the device
// they are copied as well, unless nobody reads them.
func TestLeft(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		b.store.spoils = true
		leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
		a, x := matrix(30, 30), iota(30)
		longer := make([]float64, 40)
		y, z, around := vector(longer[3:33]...), vector(make([]float64, 30)...), vector(longer...)
		want := product(a, x)
		values := func(t *tcs.Tensor) []float64 { return tcs.Slice[float64](t.Vals) }
		down := int64(0)
		call := func(y, x *tcs.Tensor, bytes int64) {
			t.Helper()
			down = b.Downloaded()
			if err := leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, nil,
				kernels.Env{Threads: 1, What: spmv}); err != nil {
				t.Fatal(err)
			}
			if got := b.Downloaded() - down; got != bytes {
				t.Errorf("%d bytes came down, want %d", got, bytes)
			}
		}
		away := func(what string) {
			t.Helper()
			if slices.Equal(values(y), want) {
				t.Errorf("%s: the values are the host's already", what)
			}
		}
		here := func(what string) {
			t.Helper()
			if !slices.Equal(values(y), want) {
				t.Errorf("%s: got %v, want %v", what, values(y), want)
			}
		}

		b.Leave(y) // y is not resident, so nothing happens
		call(y, x, 240)
		here("not kept")
		b.Resident(y)
		b.Leave(y)
		for range 2 {
			call(y, x, 0)
			away("left")
			call(z, y, 240) // z's leaf reads y on the device
			other := y.Alias()
			for range 2 {
				if err := b.Fetch(other); err != nil {
					t.Fatal(err)
				}
			}
			other.Close()
			here("fetched")
			if !slices.Equal(values(z), product(a, y)) {
				t.Errorf("got %v, want %v", values(z), product(a, y))
			}
		}
		// An argument that is not resident and includes more of the memory.
		call(y, x, 0)
		call(z, around, 480)
		here("around it")
		if !slices.Equal(values(z), product(a, around)) {
			t.Errorf("got %v, want %v", values(z), product(a, around))
		}
		call(y, x, 0)
		if !b.evictAll(t) {
			t.Error("nothing leaves the device")
		}
		here("evicted")
		call(y, x, 0)
		away("left again")
		b.Forget(y)
		here("forgotten")
		call(y, x, 240)

		b.Resident(y)
		b.Leave(y)
		call(y, x, 0)
		down = b.Downloaded()
		b.Drop(y)
		if got := b.Downloaded() - down; got != 0 {
			t.Errorf("%d bytes of a tensor that nobody reads came down", got)
		}
	})
}

// evictAll evicts all resident arrays, as if memory were short.
func (b *Backend) evictAll(t *testing.T) (some bool) {
	t.Helper()
	if err := b.dev.do(func() error {
		for b.store.evict() {
			some = true
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return some
}

// TestLeftResult checks a result that gets new arrays: the values stay on the device, and the other
// arrays are copied to the host.
func TestLeftResult(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		b.store.spoils = true
		evens := build(t, b, handmade(t, "evens", "C(i,j) = A(i,j)", codegen.Result{Shares: -1}))
		multiply := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
		a, x := matrix(40, 30), iota(30)
		c := empty(40, 30)
		b.Resident(c)
		b.Leave(c)
		for range 2 { // the second time, with new arrays for it
			down := b.Downloaded()
			if err := evens.Call(t.Context(), []*tcs.Tensor{c, a}, nil,
				kernels.Env{Threads: 1}); err != nil {
				t.Fatal(err)
			}
			if got, want := b.Downloaded()-down,
				4*(c.Levels[1].Pos.Len+c.Levels[1].Crd.Len); got != want {
				t.Errorf("%d bytes came down, want %d", got, want)
			}
			y := vector(make([]float64, 40)...)
			up := b.Uploaded()
			if err := multiply.Call(t.Context(), []*tcs.Tensor{y, c, x}, nil,
				kernels.Env{Threads: 1}); err != nil {
				t.Fatal(err)
			}
			if b.Uploaded()-up != x.Bytes() {
				t.Errorf("%d bytes went up, want %d", b.Uploaded()-up, x.Bytes())
			}
			if err := b.Fetch(c); err != nil {
				t.Fatal(err)
			}
			checkEvens(t, a, c)
			if !slices.Equal(tcs.Slice[float64](y.Vals), product(c, x)) {
				t.Errorf("got %v, want %v", tcs.Slice[float64](y.Vals), product(c, x))
			}
		}
		b.Drop(c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLeftFailure checks that values left on the device are lost with the device and that an error
// says so. If a leaf fails, its partial values do not overwrite the host's.
func TestLeftFailure(t *testing.T) {
	b := onStandIn(t)
	leaf := build(t, b, handmade(t, "spmv", spmv, codegen.Result{Shares: -1}))
	a, x, y := matrix(5, 9), iota(9), vector(make([]float64, 5)...)
	b.Resident(y)
	b.Leave(y)
	call := func() error {
		return leaf.Call(t.Context(), []*tcs.Tensor{y, a, x}, nil,
			kernels.Env{Threads: 1, What: spmv})
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_FAIL", "cuMemcpyDtoHAsync_v2 1")
	var refused *DriverError
	if err := b.Fetch(y); !errors.As(err, &refused) {
		t.Errorf("got %v of a copy that is refused", err)
	}
	t.Setenv("FAKE_FAIL", "")
	if err := b.Fetch(y); err != nil || !slices.Equal(tcs.Slice[float64](y.Vals), product(a, x)) {
		t.Errorf("got %v, %v", tcs.Slice[float64](y.Vals), err)
	}
	t.Setenv("FAKE_FAIL", "cuStreamSynchronize 1")
	if err := call(); !errors.As(err, &refused) {
		t.Errorf("got %v of a call that is refused", err)
	}
	t.Setenv("FAKE_FAIL", "")
	tcs.Slice[float64](y.Vals)[0] = math.Pi
	if err := b.Fetch(y); err != nil || tcs.Slice[float64](y.Vals)[0] != math.Pi {
		t.Errorf("got %v, %v after a call that failed", tcs.Slice[float64](y.Vals), err)
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_FAIL", "cuEventSynchronize 700")
	var fault *FaultError
	if err := b.Fetch(y); !errors.As(err, &fault) {
		t.Errorf("got %v of a device that is lost", err)
	}
	t.Setenv("FAKE_FAIL", "")
	if err := b.Fetch(y); !errors.As(err, &fault) || !fault.Later {
		t.Errorf("got %v afterwards", err)
	}
	b.Drop(y)
}

package text

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"unsafe"

	"distaff/io/tensor"
)

func TestAppendValue(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "-0"}, {1, "1"}, {-2.5, "-2.5"}, {1e6, "1000000"},
		{1234567.5, "1234567.5"}, {1e15, "1000000000000000"},
		{1 << 53, "9007199254740992"}, {1e16, "1e+16"}, {0.001, "0.001"}, {1e-5, "1e-05"},
		{math.Inf(1), "inf"}, {math.Inf(-1), "-inf"}, {math.NaN(), "nan"}, {0.1, "0.1"},
	} {
		if got := string(appendFloat(nil, c.v, 64)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := string(appendFloat(nil, float64(float32(0.1)), 32)); got != "0.1" {
		t.Errorf("got %s, want 0.1", got)
	}
	if got := string(appendFloat(nil, float64(float32(123456790000)), 32)); got != "123456790000" {
		t.Errorf("got %s, want 123456790000", got)
	}
	z := []complex128{complex(1, -0.5)}
	if got := string(AppendValue(nil, unsafe.Slice((*byte)(unsafe.Pointer(&z[0])), 16),
		tensor.Complex128, 0)); got != "1 -0.5" {
		t.Errorf("got %s, want 1 -0.5", got)
	}
}

func TestFloatsReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 40000 {
		f := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 {
			f = float64(r.Int64N(1<<60)) / float64(r.Int64N(1<<20)+1)
		}
		s := string(appendFloat(nil, f, 64))
		if g, err := strconv.ParseFloat(s, 64); err != nil ||
			math.Float64bits(f) != math.Float64bits(g) && f == f {
			t.Fatalf("%v is written %s, which reads as %v, %v", f, s, g, err)
		}
		h := math.Float32frombits(r.Uint32())
		s = string(appendFloat(nil, float64(h), 32))
		if g, err := strconv.ParseFloat(s, 32); err != nil ||
			math.Float32bits(h) != math.Float32bits(float32(g)) && h == h {
			t.Fatalf("float32 %v is written %s, which reads as %v, %v", h, s, g, err)
		}
	}
}

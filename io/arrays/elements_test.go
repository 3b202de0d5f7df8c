package arrays

import (
	"math"
	"testing"
)

func TestHalf(t *testing.T) {
	for _, c := range []struct {
		bits uint16
		want float64
	}{{0, 0}, {0x3c00, 1}, {0xc000, -2}, {1, 0x1p-24}, {0x3ff, 1023 * 0x1p-24}, {0x400, 0x1p-14},
		{0x7bff, 65504}, {0x7c00, math.Inf(1)}, {0xfc00, math.Inf(-1)}} {
		if got := float64(half(c.bits)); got != c.want {
			t.Errorf("%#x: got %v, want %v", c.bits, got, c.want)
		}
	}
	if f := half(0x7e00); f == f {
		t.Errorf("got %v, want NaN", f)
	}
	if f := half(0x8000); f != 0 || !math.Signbit(float64(f)) {
		t.Errorf("got %v, want -0", f)
	}
}

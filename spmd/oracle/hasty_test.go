package oracle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	emitc "distaff/codegen/emit/c"
	"distaff/io/tensor"
	"distaff/kernels/cc"
)

// rounding generates a case whose sums and products round. It has more points than other cases, so
// that vector loops are executed.
func rounding(seed, k uint64) *Case {
	r := Rand(seed, k)
	types := [][]tensor.Type{{tensor.Float64}, {tensor.Float32}, {tensor.Complex128}}[r.IntN(8)/3]
	c := Generate(r, Options{MaxPoints: 30_000, MaxOrder: 3, MaxOperands: 4, Types: types,
		Denser: true})
	for _, t := range c.Tensors {
		for n := range t.Entries {
			x := &t.Entries[n].Value.C
			*x = complex(r.NormFloat64(), 0)
			switch {
			case t.Type == tensor.Float32:
				*x = complex(float64(float32(real(*x))), 0)
			case t.Type.IsComplex():
				*x += complex(0, r.NormFloat64())
			}
		}
	}
	return c
}

// lanes reports whether the leaf of a case sums in vector lanes. Leaves that do are compiled with
// other options if they must be compiled quickly.
func lanes(t *testing.T, c *Case) bool {
	p, err := c.Prepare()
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Text())
	}
	made, err := compile(p, "leaf")
	if err != nil {
		return false
	}
	defer made.close()
	return strings.Contains(emitc.Unnamed(made.unit.Func), "omp simd reduction") ||
		made.values != nil && strings.Contains(emitc.Unnamed(made.values.Func), "omp simd reduction")
}

// TestHastyBits checks that leaves that are compiled quickly, or again after a crash of the
// compiler, give the same bits as leaves that are compiled for speed.
func TestHastyBits(t *testing.T) {
	full, err := NewC(os.Getenv, "-O3")
	if errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	hasty := *full
	hasty.hasty = true
	n := uint64(40)
	if *nFlag > 0 {
		n = *nFlag
	}
	groups := map[bool][]*Case{} // by lanes, because all leaves of a file have the same options
	for k := range n {
		c := rounding(*seedFlag, *firstFlag+k)
		in := lanes(t, c)
		groups[in] = append(groups[in], c)
	}
	if len(groups) < 2 {
		t.Errorf("got cases that sum in lanes, and others that do not: %v", len(groups) == 2)
	}
	ctx := context.Background()
	for _, list := range groups {
		compareBits(ctx, t, full, &hasty, list, "in haste")
	}
	for _, flags := range cc.LessOptimized() {
		less, err := NewC(os.Getenv, "-O3", flags...)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range groups {
			compareBits(ctx, t, full, less, list, fmt.Sprint("with ", flags))
		}
	}
}

// compareBits runs cases with two engines, and requires results with equal bits. what names the
// second engine.
func compareBits(ctx context.Context, t *testing.T, one, other *C, list []*Case, what string) {
	for cases := range slices.Chunk(list, 20) {
		var runs [2][]func(context.Context) (*Output, error)
		for w, e := range []*C{one, other} {
			var made []*Prepared
			for _, c := range cases {
				p, err := c.Prepare()
				if err != nil {
					t.Fatal(err)
				}
				made = append(made, p)
			}
			runs[w] = e.batch(ctx, made)
		}
		for k, c := range cases {
			x, err := runs[0][k](ctx)
			y, err2 := runs[1][k](ctx)
			switch {
			case (err == nil) != (err2 == nil):
				t.Errorf("%s: got %v %s, want %v", c.Stmt, err2, what, err)
			case err != nil && !isRefused(err) && exitCode(err) != 3:
				t.Errorf("%s: %v", c.Stmt, err)
			case err == nil && !sameBits(x.Entries, y.Entries):
				t.Errorf("other bits %s:\n%s", what, c.Text())
			}
		}
	}
}

// sameBits reports whether two results have the same bits. All NaNs count as equal.
func sameBits(a, b []Entry) bool {
	same := func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) ||
			x != x && y != y
	}
	for _, list := range [][]Entry{a, b} {
		slices.SortFunc(list, func(x, y Entry) int { return slices.Compare(x.Coord, y.Coord) })
	}
	return slices.EqualFunc(a, b, func(x, y Entry) bool {
		return slices.Equal(x.Coord, y.Coord) && x.Value.I == y.Value.I &&
			same(real(x.Value.C), real(y.Value.C)) && same(imag(x.Value.C), imag(y.Value.C))
	})
}

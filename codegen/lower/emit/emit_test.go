package emit_test

import (
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/io/tensor"
)

// run interprets the code that body emits, and returns the n numbers that it stores in out.
func run(t *testing.T, n int, body func(b *emit.Builder, out *ir.Array)) []int64 {
	t.Helper()
	b := emit.New()
	out := b.Array("out", tensor.Int64)
	f := &ir.Func{Name: "leaf", Params: []ir.Param{{Slot: ir.Slot{Field: ir.Vals}, A: out}}}
	f.Body = b.Func(func() { body(b, out) })
	if err := ir.Verify(f); err != nil {
		t.Fatalf("%v, in\n%s", err, ir.Print(f))
	}
	args := []interp.Arg{{Vals: interp.Array{Data: make([]int64, n)}}}
	if fail, err := interp.Run(f, args, nil, 2); fail != nil || err != nil {
		t.Fatalf("%v, %v, in\n%s", fail, err, ir.Print(f))
	}
	return args[0].Vals.Data.([]int64)
}

func TestFresh(t *testing.T) {
	b := emit.New()
	for _, want := range []string{"x", "x_1", "x_2"} {
		if got := b.Fresh("x"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := b.Fresh("x_1"); got == "x_1" {
		t.Error("x_1 is used twice")
	}
}

// TestScope checks that a scope's memory is allocated before its code and freed after it, and that
// an inner scope does not have what an outer one keeps.
func TestScope(t *testing.T) {
	b := emit.New()
	made := 0
	space := func() *ir.Array {
		return emit.ScopeValue(b, "space", func() *ir.Array {
			made++
			return b.AllocInScope(b.Array("a", tensor.Int64), ir.Int(3), true)
		})
	}
	body := b.InScope(func() {
		b.Store(space(), ir.Int(0), ir.Int(1))
		b.Append(b.InScope(func() { b.Store(space(), ir.Int(1), ir.Int(2)) }))
		b.Store(space(), ir.Int(2), ir.Int(3))
	})
	const want = `alloc a int64[3] zero
a[0] = 1
alloc a_1 int64[3] zero
a_1[1] = 2
free a_1
a[2] = 3
free a
`
	got := ""
	for _, s := range body.List {
		got += ir.PrintStmt(s)
	}
	if got != want || made != 2 {
		t.Errorf("got %d arrays and\n%s\nwant 2 and\n%s", made, got, want)
	}
}

// TestBisect searches for numbers in the range [3, 10).
func TestBisect(t *testing.T) {
	got := run(t, 12, func(b *emit.Builder, out *ir.Array) {
		b.Loop("key", ir.Int(0), ir.Int(12), func(key *ir.Var) {
			x, y := b.Declare("x", ir.Int(3)), b.Declare("y", ir.Int(10))
			b.Bisect(x, y, func(mid ir.Expr) ir.Expr { return ir.Less(mid, key) })
			b.Store(out, key, ir.Plus(ir.Times(x, ir.Int(100)), y))
		})
	})
	for key, xy := range got {
		if want := int64(101 * min(max(key, 3), 10)); xy != want {
			t.Errorf("key %d: got %d, want %d", key, xy, want)
		}
	}
}

func TestChunks(t *testing.T) {
	got := run(t, 5, func(b *emit.Builder, out *ir.Array) {
		b.Chunks("chunk", ir.Int(1), ir.Int(4), func(c *ir.Var) { b.AddTo(out, c, c) })
	})
	for k, want := range []int64{0, 1, 2, 3, 0} {
		if got[k] != want {
			t.Errorf("element %d: got %d, want %d", k, got[k], want)
		}
	}
}

// TestPart checks that parts follow one another and that no product overflows.
func TestPart(t *testing.T) {
	for _, hi := range []int64{7, 8, 9, 1000, 1 << 61} {
		last := int64(7)
		for k := range int64(5) {
			at := emit.Part(ir.Int(7), ir.Int(hi), ir.Int(k), ir.Int(4)).(*ir.Lit).I
			if at < last || k == 0 && at != 7 || k == 4 && at != hi {
				t.Errorf("part %d of [7, %d) starts at %d, after %d", k, hi, at, last)
			}
			last = at
		}
	}
}

func TestCapped(t *testing.T) {
	for _, c := range []struct{ x, y, want int64 }{
		{0, 5, 0}, {5, 0, 0}, {3, 4, 12}, {1 << 31, 1 << 31, 1 << 62}, {1 << 40, 1 << 40, 1 << 62},
	} {
		if got := emit.Capped(ir.Int(c.x), ir.Int(c.y)).(*ir.Lit).I; got != c.want {
			t.Errorf("%d * %d: got %d, want %d", c.x, c.y, got, c.want)
		}
	}
}

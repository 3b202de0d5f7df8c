package bridge

import (
	"testing"

	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/io/tcs"
)

// TestTypes checks that every type of files corresponds to one type of statements with the same
// size and name, and to one type of leaves.
func TestTypes(t *testing.T) {
	n, leaves := 0, map[ir.Type]bool{}
	for x := tcs.Type(1); x.Valid(); x++ {
		d := Type(x)
		if TCS(d) != x {
			t.Errorf("%v: it is %v in statements, which is %v in files", x, d, TCS(d))
		}
		if d.Size() != x.Size() || d.String() != x.String() {
			t.Errorf("%v of %d bytes in files is %v of %d in statements", x, x.Size(), d, d.Size())
		}
		if y := IR(d); leaves[y] || y.IsInt() != d.IsInt() || y.IsComplex() != d.IsComplex() {
			t.Errorf("%v is %v in leaves", d, y)
		} else {
			leaves[y] = true
		}
		n++
	}
	if n != len(irTypes) {
		t.Errorf("files have %d types, leaves %d", n, len(irTypes))
	}
	if TCS(dtype.None) != tcs.Invalid {
		t.Errorf("no type is %v in files", TCS(dtype.None))
	}
}

// TestFormats checks that a format of files corresponds to the format with the same letters and
// order.
func TestFormats(t *testing.T) {
	for _, text := range []string{"d", "ds", "ds:1,0", "ucq", "dsdd:2,0,1,3", "up"} {
		f, err := format.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatOf(f.Letters(), f.Order); !got.Equal(f) || got.String() != f.String() {
			t.Errorf("%s: got %v, want %v", text, got, f)
		}
	}
}

package tensor

import (
	"strings"
	"testing"
)

// TestPromote compares Promote with NumPy's complete table (np.promote_types).
func TestPromote(t *testing.T) {
	i4, i8, f4, f8, c8, c16 := Int32, Int64, Float32, Float64, Complex64, Complex128
	table := [][]Type{
		{i4, i8, f8, f8, c16, c16},
		{i8, i8, f8, f8, c16, c16},
		{f8, f8, f4, f8, c8, c16},
		{f8, f8, f8, f8, c16, c16},
		{c16, c16, c8, c16, c8, c16},
		{c16, c16, c16, c16, c16, c16},
	}
	for x, a := range ValueTypes {
		for y, b := range ValueTypes {
			if got := Promote(a, b); got != table[x][y] {
				t.Errorf("Promote(%v, %v) = %v, want %v", a, b, got, table[x][y])
			}
		}
		if Promote(a, None) != a || Promote(None, a) != a {
			t.Errorf("None changes %v", a)
		}
	}
}

func TestParseType(t *testing.T) {
	for _, ty := range ValueTypes {
		if got, ok := ParseType(ty.String()); !ok || got != ty {
			t.Errorf("ParseType(%q) = %v, %v", ty.String(), got, ok)
		}
	}
	for s, want := range map[string]Type{"double": Float64, "float": Float32, "long": Int64,
		"int": Int32, "complexdouble": Complex128, "complexfloat": Complex64, "bool": Int32,
		"uint8": Int32, "ushort": Int32, "uint32": Int64, "uint": Int64, "ulonglong": Int64,
		"longlong": Int64} {
		if got, ok := ParseType(s); !ok || got != want {
			t.Errorf("ParseType(%q) = %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "none", "float16", "Float64", "int128", "boolean"} {
		if got, ok := ParseType(s); ok {
			t.Errorf("ParseType(%q) = %v", s, got)
		}
	}
}

func TestCanNarrow(t *testing.T) {
	for _, c := range []struct {
		from, to Type
		want     bool
	}{
		{Complex128, Float64, false}, {Complex64, Int32, false}, {Float64, Int64, false},
		{Float32, Int32, false},
		{Float64, Float32, true}, {Int64, Int32, true}, {Int64, Float32, true},
		{Complex128, Complex64, true}, {Int32, Complex64, true},
	} {
		if got := CanNarrow(c.from, c.to); got != c.want {
			t.Errorf("CanNarrow(%v, %v) = %v", c.from, c.to, got)
		}
	}
}

// TestWireCodes checks the numbers of types in .tcs files.
func TestWireCodes(t *testing.T) {
	for k, typ := range []Type{None, Float64, Float32, Int64, Int32, Complex128, Complex64} {
		if int(typ) != k || typ.IsNumber() != (k > 0) {
			t.Errorf("%v is %d, want %d", typ, typ, k)
		}
	}
}

// TestTACOTypes checks that each of TACO's 23 names is a type.
func TestTACOTypes(t *testing.T) {
	names := strings.Fields("bool char uchar short ushort int uint long ulong longlong ulonglong " +
		"float double complexfloat complexdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64")
	if len(names) != 23 {
		t.Fatalf("TACO has %d names", len(names))
	}
	for _, name := range names {
		if _, ok := ParseType(name); !ok {
			t.Errorf("%s is no type", name)
		}
	}
}

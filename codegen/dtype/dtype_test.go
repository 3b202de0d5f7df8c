package dtype

import "testing"

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
	for x, a := range All {
		for y, b := range All {
			if got := Promote(a, b); got != table[x][y] {
				t.Errorf("Promote(%v, %v) = %v, want %v", a, b, got, table[x][y])
			}
		}
		if Promote(a, None) != a || Promote(None, a) != a {
			t.Errorf("None changes %v", a)
		}
	}
}

func TestParse(t *testing.T) {
	for _, ty := range All {
		if got, err := Parse(ty.String()); err != nil || got != ty {
			t.Errorf("Parse(%q) = %v, %v", ty.String(), got, err)
		}
	}
	for s, want := range map[string]Type{"double": Float64, "float": Float32, "long": Int64,
		"int": Int32, "complexdouble": Complex128, "complexfloat": Complex64, "bool": Int32,
		"uint8": Int32, "ushort": Int32, "uint32": Int64, "uint": Int64, "ulonglong": Int64,
		"longlong": Int64} {
		if got, err := Parse(s); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "none", "float16", "Float64", "int128", "boolean"} {
		if _, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) gave no error", s)
		}
	}
}

func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		from, to Type
		want     bool
	}{
		{Complex128, Float64, false}, {Complex64, Int32, false}, {Float64, Int64, false},
		{Float32, Int32, false},
		{Float64, Float32, true}, {Int64, Int32, true}, {Int64, Float32, true},
		{Complex128, Complex64, true}, {Int32, Complex64, true},
	} {
		if got := Narrow(c.from, c.to); got != c.want {
			t.Errorf("Narrow(%v, %v) = %v", c.from, c.to, got)
		}
	}
}

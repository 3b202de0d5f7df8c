package tensor

import (
	"strings"
	"testing"
)

// TestPromote compares Promote with NumPy's complete table (np.promote_types). Row and column k
// belong to type k of ValueTypes. The letter is the kind, and the digits are the bytes.
func TestPromote(t *testing.T) {
	short := map[string]Type{"b1": Bool, "i1": Int8, "u1": Uint8, "i2": Int16, "u2": Uint16,
		"i4": Int32, "u4": Uint32, "i8": Int64, "u8": Uint64, "f4": Float32, "f8": Float64,
		"c8": Complex64, "c16": Complex128}
	table := strings.Split(strings.TrimSpace(`
b1 i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 c8 c16
i1 i1 i2 i2 i4 i4 i8 i8 f8 f4 f8 c8 c16
u1 i2 u1 i2 u2 i4 u4 i8 u8 f4 f8 c8 c16
i2 i2 i2 i2 i4 i4 i8 i8 f8 f4 f8 c8 c16
u2 i4 u2 i4 u2 i4 u4 i8 u8 f4 f8 c8 c16
i4 i4 i4 i4 i4 i4 i8 i8 f8 f8 f8 c16 c16
u4 i8 u4 i8 u4 i8 u4 i8 u8 f8 f8 c16 c16
i8 i8 i8 i8 i8 i8 i8 i8 f8 f8 f8 c16 c16
u8 f8 u8 f8 u8 f8 u8 f8 u8 f8 f8 c16 c16
f4 f4 f4 f4 f4 f8 f8 f8 f8 f4 f8 c8 c16
f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 c16 c16
c8 c8 c8 c8 c8 c16 c16 c16 c16 c8 c16 c8 c16
c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16`), "\n")
	for x, a := range ValueTypes {
		row := strings.Fields(table[x])
		for y, b := range ValueTypes {
			if got := Promote(a, b); got != short[row[y]] {
				t.Errorf("Promote(%v, %v) = %v, want %v", a, b, got, short[row[y]])
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
		"int": Int32, "complexdouble": Complex128, "complexfloat": Complex64, "bool": Bool,
		"uint8": Uint8, "ushort": Uint16, "uint32": Uint32, "uint": Uint32, "ulonglong": Uint64,
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
		{Float32, Int32, false}, {Int64, Bool, false}, {Bool, Int8, true},
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
	for k, typ := range []Type{None, Float64, Float32, Int64, Int32, Complex128, Complex64, Bool,
		Int8, Int16, Uint8, Uint16, Uint32, Uint64} {
		if int(typ) != k || typ.IsValue() != (k > 0) || typ.IsNumber() != (k > 0 && typ != Bool) {
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

// TestIntegers checks the ranges of integer types, and which values fit them.
func TestIntegers(t *testing.T) {
	for typ, want := range map[Type][2]int64{Bool: {0, 1}, Int8: {-128, 127}, Uint8: {0, 255},
		Int16: {-1 << 15, 1<<15 - 1}, Uint16: {0, 1<<16 - 1}, Int32: {-1 << 31, 1<<31 - 1},
		Uint32: {0, 1<<32 - 1}, Int64: {-1 << 63, 1<<63 - 1}, Uint64: {0, -1}} {
		lo, hi := typ.IntRange()
		if lo != want[0] || hi != want[1] {
			t.Errorf("%v: got the range %d to %d, want %v", typ, lo, hi, want)
		}
		for _, v := range []Value{{Type: Int64, I: lo}, {Type: typ, I: hi}, {Type: Float64}} {
			if !v.FitsInt(typ) {
				t.Errorf("%v of type %v does not fit %v", v, v.Type, typ)
			}
		}
		below, above := Value{Type: Float64, C: complex(typ.ExactMax()*2+3, 0)},
			Value{Type: Float64, C: -0x1p70}
		if below.FitsInt(typ) || above.FitsInt(typ) || (Value{Type: Float64, C: 0.5}).FitsInt(typ) {
			t.Errorf("a float outside its range fits %v", typ)
		}
		if typ != Bool && typ.Size() < 8 && typ.Wrap(hi+1) != lo {
			t.Errorf("%v: the largest value and 1 make %d, want %d", typ, typ.Wrap(hi+1), lo)
		}
	}
	if !(Value{Type: Uint64, I: -1}).FitsInt(Uint64) || (Value{Type: Uint64, I: -1}).FitsInt(Int64) ||
		(Value{Type: Int8, I: -1}).FitsInt(Uint64) {
		t.Error("uint64 and int64 are confused")
	}
}

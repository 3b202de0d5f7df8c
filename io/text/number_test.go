package text

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"distaff/io/tensor"
)

// TestStoreLargeIntegers checks that an integer outside int64 is rounded once, to the type of the
// values.
func TestStoreLargeIntegers(t *testing.T) {
	// 2^64 + 2^40 + 1 rounds up to a float32, but its float64 is halfway and rounds down.
	const tok = "18446745173221179393"
	vals := make([]byte, 8)
	if err := StoreNumber(vals, tensor.Float32, true, 0, 0, []byte(tok), 0, len(tok)); err != nil {
		t.Fatal(err)
	}
	want, _ := strconv.ParseFloat(tok, 32)
	if got := math.Float32frombits(binary.LittleEndian.Uint32(vals)); got != float32(want) {
		t.Errorf("got %v, want %v", got, float32(want))
	}
}

// fastFloat64 parses s by the fast path alone; false where it passes.
func fastFloat64(s string) (float64, bool) {
	b := []byte(s + "\n12345678")
	man, exp, neg, next, ok := scanDecimal(b, 0)
	if !ok || next != len(s) {
		return 0, false
	}
	return makeFloat64(man, exp, neg)
}

func fastFloat32(s string) (float32, bool) {
	b := []byte(s + "\n12345678")
	man, exp, neg, next, ok := scanDecimal(b, 0)
	if !ok || next != len(s) {
		return 0, false
	}
	return makeFloat32(man, exp, neg)
}

func checkFloat(t *testing.T, s string) (fast bool) {
	t.Helper()
	want, err := strconv.ParseFloat(s, 64)
	got, ok := fastFloat64(s)
	if ok && (err != nil || math.Float64bits(got) != math.Float64bits(want)) {
		t.Errorf("%s: got %v, strconv gives %v, %v", s, got, want, err)
	}
	want32, err := strconv.ParseFloat(s, 32)
	got32, ok32 := fastFloat32(s)
	if ok32 && (err != nil || math.Float32bits(got32) != math.Float32bits(float32(want32))) {
		t.Errorf("%s: got float32 %v, strconv gives %v, %v", s, got32, want32, err)
	}
	return ok
}

func TestFloatsAsStrconv(t *testing.T) {
	for _, s := range []string{"0", "-0", "0.0", "-0e5", "1", "+1", "-1", ".5", "5.", "1e5", "1E-5",
		"1e+05", "9007199254740993", "9007199254740992.5",
		"18446744073709551615", "9999999999999999999", "18446744073709551616",
		"0.000000000000000000000000000012345678901234567",
		"1.7976931348623157e308", "4.9e-324", "2.2250738585072011e-308", "1e22", "1e23", "8.5e27",
		"123456789012345678e27", "16777217", "16777216.0000001",
		"16777217.0000000000", "0000000000000000000000001.5", "3.4028235677973366e38",
		"9223372036854775808e19", "1e-27", "1e-28", "1e28"} {
		checkFloat(t, s)
	}
	for _, s := range []string{"1.0D+03", "1d-3", "-5.D2", ".5d0", "1D400",
		"123456789012345678901d-5", "1d-400"} {
		e := strings.NewReplacer("D", "e", "d", "e").Replace(s)
		want, wantErr := strconv.ParseFloat(e, 64)
		got, err := slowFloat([]byte(s), 64)
		if fast, ok := fastFloat64(s); ok && fast != want || got != want && err == nil ||
			(err == nil) != (wantErr == nil) {
			t.Errorf("%s: got %v, %v by the fast path, and %v, %v, want %v, %v", s, fast, ok, got,
				err, want, wantErr)
		}
	}
	for _, s := range []string{"d5", "1d", "1dd5", "1d5e3", "1e5d3", "0x1dp", "1_0d3", "D", "1d5d3",
		"-d"} {
		if f, err := slowFloat([]byte(s), 64); err != errSyntax {
			t.Errorf("%s: got %v, %v, want no number", s, f, err)
		}
		if f, ok := fastFloat64(s); ok {
			t.Errorf("%q: got %v, want the fast path to pass", s, f)
		}
	}
	for _, s := range []string{"", ".", "-", "e5", "1e", "1e+", "inf", "nan", "0x1p3",
		"12345678901234567890", "1e123456789"} {
		if f, ok := fastFloat64(s); ok {
			t.Errorf("%q: got %v, want the fast path to pass", s, f)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	fast, n := 0, 100000
	for range n {
		var s string
		switch r.IntN(6) {
		case 0: // any bits, shortest
			s = strconv.FormatFloat(math.Float64frombits(r.Uint64()), 'g', -1, 64)
		case 1: // 17 digits, as C prints them
			s = fmt.Sprintf("%.16e", r.NormFloat64()*math.Pow(10, float64(r.IntN(20)-10)))
		case 2: // halfway between two floats
			f := math.Float64frombits(uint64(r.IntN(60)+1023)<<52 | r.Uint64()>>12)
			s = strconv.FormatUint(uint64(f)|uint64(r.IntN(2)), 10)
		case 3:
			s = strconv.FormatUint(r.Uint64()>>r.IntN(64), 10) + "e" + strconv.Itoa(r.IntN(60)-30)
		case 4: // a float32 and halfway to the next
			f := float64(math.Float32frombits(r.Uint32()))
			s = strconv.FormatFloat(f, 'e', 18, 64)
		default:
			d := strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)
			p := r.IntN(len(d) + 1)
			s = d[:p] + "." + d[p:]
		}
		if checkFloat(t, s) {
			fast++
		}
	}
	if fast < n/2 {
		t.Errorf("the fast path took %d of %d numbers", fast, n)
	}
}

// The tie breaks of the 128-bit path: exact halves, and a hair to either side.
func TestHalfway(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 15000 {
		m := 1<<52 | r.Uint64()>>12
		half := m<<1 | 1 // 54 bits: halfway between two float64
		for _, s := range []string{
			strconv.FormatUint(half, 10), strconv.FormatUint(half, 10) + ".0",
			strconv.FormatUint(half, 10) + ".1",
			strconv.FormatUint(half<<3, 10) + "e3", strconv.FormatUint(half*5, 10) + "e-1",
			strconv.FormatUint(half*5+1, 10) + "e-1", strconv.FormatUint(half*5-1, 10) + "e-1",
			strconv.FormatUint(half*125, 10) + "e-3", strconv.FormatUint(half*125+1, 10) + "e-3",
			strconv.FormatUint(half*625-1, 10) + "e-4",
			strconv.FormatUint(half*625, 10) + "e-4", strconv.FormatUint(half*625, 10) + "e-9"} {
			checkFloat(t, s)
		}
	}
}

func TestWholeInt64(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
		err  error
	}{
		{"3", 3, nil}, {"-3.0", -3, nil}, {"3.5", 0, errWhole}, {"30e-1", 3, nil},
		{"31e-1", 0, errWhole}, {"3e2", 300, nil}, {"0.5e1", 5, nil},
		{"9007199254740993.0", 9007199254740993, nil}, {"9223372036854775807", math.MaxInt64, nil},
		{"9223372036854775808", 0, errRange},
		{"-9223372036854775808.0", math.MinInt64, nil}, {"1e18", 1e18, nil}, {"1e19", 0, errRange},
		{"3d2", 300, nil}, {"31D-1", 0, errWhole}, {"0xdp3", 0, errWhole},
		{"1e300", 0, errRange}, {"0e300", 0, nil}, {"0.000", 0, nil},
		{"inf", 0, errWhole}, {"nan", 0, errWhole}, {"x", 0, errSyntax}, {"1e", 0, errSyntax},
		{"0x1p3", 0, errWhole}, {"", 0, errSyntax},
		{"1" + strings.Repeat("0", 30) + "e-30", 1, nil},
	} {
		if got, err := Integer([]byte(c.in)); got != c.want && c.err == nil || err != c.err {
			t.Errorf("%s: got %d, %v; want %d, %v", c.in, got, err, c.want, c.err)
		}
	}
}

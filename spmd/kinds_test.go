package spmd_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/io/tcs"
	"distaff/spmd"
	"distaff/spmd/bridge"
)

// The letter of a level kind has the same meaning in the compiler and in files.
func TestLevelKindsAgree(t *testing.T) {
	for k := range 256 {
		if letter := byte(k); format.Kind(letter).Valid() != containsByte(tcs.LevelLetters, letter) {
			t.Errorf("%q is a level kind to one of the compiler and files only", letter)
		}
	}
	for _, letter := range []byte(tcs.LevelLetters) {
		c, k := format.Kind(letter).Caps(), tcs.KindOf(letter)
		if c.HasPos != k.HasPos() || c.HasCrd != k.HasCrd() || c.Unique == k.Repeats ||
			c.Padded != k.Padded ||
			c.Locate != (k.Form == tcs.Full) || c.Branchless != (k.Form == tcs.Single) {
			t.Errorf("%c: the compiler has %+v, files have %+v", letter, c, k)
		}
	}
}

// The name of a type has the same meaning in the compiler and in files: our names, NumPy's and
// TACO's.
func TestTypeNamesAgree(t *testing.T) {
	taco :=
		"bool char uchar short ushort int uint long ulong longlong ulonglong float double complexfloat complexdouble " +
			"int8 int16 int32 int64 uint8 uint16 uint32 uint64"
	if n := len(strings.Fields(taco)); n != 23 {
		t.Fatalf("TACO has %d names", n)
	}
	for _, name := range strings.Fields(
		taco + " float32 float64 complex64 complex128 int128 float16 Double") {
		d, err := dtype.Parse(name)
		f, ok := tcs.ParseType(name)
		if ok != (err == nil) || ok && bridge.TCS(d) != f {
			t.Errorf("%s is %v, %v to the compiler and %v, %v to files", name, d, err, f, ok)
		}
		if !ok && strings.Contains(" "+taco+" ", " "+name+" ") {
			t.Errorf("%s is no type", name)
		}
	}
}

// TestWiderTypes reads integers as each of TACO's types, compares sums with the reference, and
// requires a note for each type that is stored as another one.
func TestWiderTypes(t *testing.T) {
	for name, want := range map[string]string{
		"bool":   "A: bool is kept as int32: sums count",
		"char":   "A: char is kept as int32, in which sums wrap later",
		"uint8":  "A: uint8 is kept as int32",
		"ushort": "A: ushort is kept as int32", "uint": "A: uint is kept as int64, in which",
		"ulonglong": "A: ulonglong is kept as int64: values from 2^63 on are refused",
		"uint64":    "A: uint64 is kept as int64", "longlong": "", "int": "", "double": "",
		"complexfloat": "",
	} {
		var notes []string
		j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)", Formats: map[string]string{"A": "ds"},
			Types: map[string]string{"A": name},
			Sizes: map[string][]int64{"A": {41, 23}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:150:int"),
				"x": spmd.Generated("dense:int")}}
		j.Target, j.Check, j.Note = spmd.Interpreter, true, func(s string) { notes = append(notes, s) }
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(notes, "\n"); !strings.Contains(got, want) ||
			want == "" && strings.Contains(got, "kept as") {
			t.Errorf("%s: got the notes %q, want %q", name, got, want)
		}
	}
}

// TestQuotientsOfIntegersNoted checks the note that "/" of integers drops the remainder. There is
// no note if a given type makes the statement one of floats, or says that integers are intended.
func TestQuotientsOfIntegersNoted(t *testing.T) {
	for _, c := range []struct {
		stmt, typ, result string
		want              bool
	}{
		{"y(i) = 1/2*x(i)", "int32", "", true}, {"y(i) = 1/2*x(i)", "bool", "", true},
		{"y(i) = x(i)/3", "int64", "", true}, {"y(i) = 2*x(i)", "int32", "", false},
		{"y(i) = 1/2*x(i)", "float32", "", false}, {"y(i) = 1/2*x(i)", "int32", "float64", false},
		{"y(i) = 1.0/2*x(i)", "int32", "", false},
		{"y(i) = x(i)/x(i)", "int32", "", false}, {"y(i) = x(i)/3", "int64", "int64", false},
		{"y(i) = x(i)/(x(i)+1)", "int64", "", true},
	} {
		var notes []string
		j := &spmd.Job{Statement: c.stmt, Types: map[string]string{"x": c.typ},
			Sizes:  map[string][]int64{"i": {9}},
			Inputs: map[string]spmd.Input{"x": spmd.Generated("dense:int")}}
		if c.result != "" {
			j.Types["y"] = c.result
		}
		j.Target, j.Check, j.Note = spmd.Interpreter, true, func(s string) { notes = append(notes, s) }
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s: %v", c.stmt, err)
		}
		if got := strings.Contains(strings.Join(notes, "\n"),
			`where "/" drops the remainder: 1/2 is 0; -t=y:float64 divides as floats do`); got != c.want {
			t.Errorf("%s of %s, -t=y:%s: a note is %v, want %v: %q", c.stmt, c.typ, c.result, got, c.want,
				notes)
		}
	}
}

// The pages about the format and the flags have a row for each letter.
func TestLevelKindsDocumented(t *testing.T) {
	for page, row := range map[string]string{"../docs/tcs.md": "\n| `%c` ",
		"../docs/reference.md": "\n| `%c` | "} {
		doc, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, letter := range []byte(tcs.LevelLetters) {
			if !strings.Contains(string(doc), fmt.Sprintf(row, letter)) {
				t.Errorf("%s has no row for level kind %c", page, letter)
			}
		}
	}
}

func containsByte(s string, b byte) bool {
	for i := range len(s) {
		if s[i] == b {
			return true
		}
	}
	return false
}

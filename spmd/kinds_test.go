package spmd_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"distaff/io/tensor"
	"distaff/spmd"
)

// TestTypeNames reads integers as each of TACO's types, and compares sums with the reference.
func TestTypeNames(t *testing.T) {
	for _, name := range tensor.TypeNames() {
		j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)", Formats: map[string]string{"A": "ds"},
			Types: map[string]string{"A": name},
			Sizes: map[string][]int64{"A": {41, 23}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:150:int"),
				"x": spmd.Generated("dense:int")}}
		j.Target, j.Check = spmd.Interpreter, true
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
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
		{"y(i) = 1/2*x(i)", "int32", "", true}, {"y(i) = 1/2*x(i)", "int8", "", true},
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
			`where "/" rounds toward 0, so that 1/2 is 0; for fractions use -t=y:float64`); got != c.want {
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
		for _, letter := range tensor.Kinds {
			if !strings.Contains(string(doc), fmt.Sprintf(row, letter)) {
				t.Errorf("%s has no row for level kind %c", page, letter)
			}
		}
	}
}

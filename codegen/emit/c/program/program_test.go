package program_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/emit/c/program"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
)

const leaf = `func int
  param y float64 = t0.vals
  param crd int32 const = t1.level0.crd
{
  alloc made int64[2] zero
  publish t0.level0.pos = made, 2
  y[0] = 1.5
}
`

func parsed(t *testing.T) *ir.Func {
	t.Helper()
	f, err := ir.Parse(leaf)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSources checks that the program's table has each leaf, with the name of its C function.
func TestSources(t *testing.T) {
	files := program.Sources(parsed(t))
	for name, holds := range map[string]string{"main.c": "leaves.h",
		"leaves.h": `{"int_leaf", int_leaf},`, "leaves.c": "int int_leaf("} {
		if !strings.Contains(files[name], holds) {
			t.Errorf("%s does not hold %s", name, holds)
		}
	}
	if len(files) != 3 {
		t.Errorf("got %d files", len(files))
	}
}

func args() []interp.Arg {
	return []interp.Arg{
		{Levels: make([]interp.Level, 1), Vals: interp.Array{Data: []float64{7, 8}}},
		{Levels: []interp.Level{{Size: 5, Offset: 6, Crd: interp.Array{Data: []int32{3}, First: 40}}}},
	}
}

// numbers returns values in the form that the program reads and writes.
func numbers(list ...any) []byte {
	var b bytes.Buffer
	for _, x := range list {
		if err := binary.Write(&b, binary.LittleEndian, x); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// TestInput checks the bytes of the input. An argument is its levels and its values. A level is its
// size, its offset and its arrays. An array is the size of an element in bytes, the number of
// elements, the index of the first one, and the elements. An array that the leaf publishes has the
// element type of the published array.
func TestInput(t *testing.T) {
	none := []int64{1, 0, 0} // an empty array of bools
	want := numbers(int64(2),
		int64(1), int64(0), int64(0), []int64{8, 0, 0}, none, []int64{8, 2, 0}, []float64{7, 8},
		int64(1), int64(5), int64(6), none, []int64{4, 1, 40}, int32(3), none,
		int64(1), []int64{2, 9})
	if got := program.Input(parsed(t), args(), [][2]int64{{2, 9}}); !bytes.Equal(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

// TestOutput checks that Output reads how the leaf ended and the arrays that it left, and that
// output of the wrong length is an error.
func TestOutput(t *testing.T) {
	text := numbers(int64(ir.FailDivide), int64(2), []int64{4, -1}, int64(3),
		int64(2), []int64{0, 11}, int64(0), int64(2), []float64{1.5, 8},
		int64(0), int64(1), int32(3), int64(0))
	got := args()
	o, err := program.Output(text, parsed(t), got)
	if err != nil {
		t.Fatal(err)
	}
	if want := (program.Outcome{Code: ir.FailDivide, Coord: []int64{4, -1},
		Allocs: 3}); !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v, want %+v", o, want)
	}
	want := args()
	want[0].Levels[0].Pos.Data, want[0].Vals.Data = []int64{0, 11}, []float64{1.5, 8}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for n := 4 * 8; n < len(text); n++ {
		if _, err := program.Output(text[:n], parsed(t), args()); err == nil {
			t.Errorf("no error for %d bytes of %d", n, len(text))
		}
	}
	if _, err := program.Output(append(text, 0), parsed(t), args()); err == nil ||
		!strings.Contains(err.Error(), "1 bytes too many") {
		t.Errorf("got %v of a byte too many", err)
	}
}

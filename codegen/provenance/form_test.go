package provenance

import (
	"fmt"
	"testing"
)

// unnamed is a Namer that leaves forms as they are, for evaluation.
func unnamed(_ string, f Form) Form { return f }

type named string

func (n named) String() string { return string(n) }

// TestForms checks a form's text, and its value for i = 17 and j = 5.
func TestForms(t *testing.T) {
	i, j := Of(named("i")), Of(named("j"))
	values := map[Symbol]int64{named("i"): 17, named("j"): 5}
	for _, c := range []struct {
		f    Form
		text string
		want int64
	}{
		{Const(7), "7", 7},
		{i, "i", 17},
		{Bin(Add, i, Bin(Mul, j, Const(3))), "(i + (j * 3))", 32},
		{Bin(Sub, i, j), "(i - j)", 12},
		{Bin(Div, i, Const(4)), "(i / 4)", 4},
		{Bin(Rem, i, Const(4)), "(i % 4)", 1},
		{Bin(Min, i, j), "min(i, j)", 5},
		{Bin(Max, i, Const(20)), "max(i, 20)", 20},
		{Bin(Add, Const(2), Const(3)), "5", 5}, // constants are folded
		{Bin(Max, Const(2), Const(3)), "3", 3},
		{roundedUp(i, 8), "((i + 7) / 8)", 3},
		{Pieces(i, 4), "4", 4},
		{Pieces(i, 300), "min(300, max(i, 1))", 17},
	} {
		if c.f.String() != c.text {
			t.Errorf("got %s, want %s", c.f, c.text)
		}
		if got := Eval(c.f, func(s Symbol) int64 { return values[s] }); got != c.want {
			t.Errorf("%s: got %d, want %d", c.text, got, c.want)
		}
	}
}

// TestTiles checks how many tiles a range has, the range of each tile, and which sizes are known
// constants.
func TestTiles(t *testing.T) {
	for _, c := range []struct {
		kind  Kind
		n     int64
		of    Range
		tiles string
	}{
		{Split, 4, Range{Const(3), Const(13), -1}, "3 of -1: 3:7 7:11 11:13"},
		{Split, 4, Range{Const(0), Const(12), 12}, "3 of 3: 0:4(4) 4:8(4) 8:12(4)"},
		{Split, 5, Range{Const(0), Const(12), 12}, "3 of 3: 0:5 5:10 10:12"},
		{Split, 4, Range{Const(2), Const(2), -1}, "0 of -1:"},
		{Divide, 3, Range{Const(0), Const(10), -1}, "3 of 3: 0:4 4:8 8:10"},
		{Divide, 3, Range{Const(0), Const(12), 12}, "3 of 3: 0:4(4) 4:8(4) 8:12(4)"},
		{Divide, 4, Range{Const(0), Const(2), -1}, "4 of 4: 0:1 1:2 2:2 2:2"},
		{Divide, 300, Range{Const(0), Const(2), 2}, "2 of 2: 0:1 1:2"},
	} {
		r := &Relation{Kind: c.kind, From: []string{"i"}, To: []string{"i0", "i1"}, N: c.n}
		tiling, numbers := r.Tile(c.of, TileOptions{}, unnamed)
		none := func(Symbol) int64 { t.Fatal("a symbol"); return 0 }
		got := fmt.Sprintf("%d of %d:", Eval(numbers.Hi, none), numbers.Size)
		for k := range Eval(numbers.Hi, none) {
			in := tiling.At(Const(k), unnamed)
			lo, hi := Eval(in.Lo, none), Eval(in.Hi, none)
			if edge := Eval(tiling.Edge(Const(k)), none); edge != lo {
				t.Errorf("%v of %v: tile %d begins at %d, and its edge is %d", r, c.of, k, lo, edge)
			}
			got += fmt.Sprintf(" %d:%d", lo, hi)
			if in.Size >= 0 {
				got += fmt.Sprintf("(%d)", in.Size)
			}
		}
		if got != c.tiles {
			t.Errorf("%v of %v: got %s, want %s", r, c.of, got, c.tiles)
		}
	}
}

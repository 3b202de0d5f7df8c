package place

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"distaff/codegen/diag"
)

// TestOrdered checks which modes a placement cuts by stored entries, and along which dimensions of
// the machine.
func TestOrdered(t *testing.T) {
	for _, c := range []struct {
		machine, placement string
		order              []int
		want               string // modes, cuts as {N level}
		kinds              []DimKind
	}{
		{"4", "(x,y) -> M(x)", []int{0, 1}, "<nil>", []DimKind{Cut}},
		{"4", "(x,y) -> M(~x)", []int{0, 1}, "&{[0] [{4 0}]}", []DimKind{Nonzeros}},
		{"4", "(x,y) -> M(~y)", []int{1, 0}, "&{[1] [{4 0}]}", []DimKind{Nonzeros}},
		{"4", "(x,y) -> M(~(x,y))", []int{0, 1}, "&{[0 1] [{4 1}]}", []DimKind{Nonzeros}},
		{"4", "(x,y) -> M(~(x,y))", []int{1, 0}, "&{[1 0] [{4 1}]}", []DimKind{Nonzeros}},
		{"4", "(x,y,z) -> M(~(x,y))", []int{0, 1, 2}, "&{[0 1] [{4 1}]}", []DimKind{Nonzeros}},
		{"4", "(x,y,z) -> M(~(y,x,z))", []int{0, 1, 2}, "&{[0 1 2] [{4 2}]}", []DimKind{Nonzeros}},
		{"2x3", "(x,y) -> M(x,~y)", []int{0, 1}, "&{[0 1] [{2 -1} {3 1}]}",
			[]DimKind{Nonzeros, Nonzeros}},
		{"2x3", "(x,y) -> M(~x,~y)", []int{0, 1}, "&{[0 1] [{2 0} {3 1}]}",
			[]DimKind{Nonzeros, Nonzeros}},
		{"2x3", "(x,y,z) -> M(~x,z)", []int{0, 1, 2}, "&{[0] [{2 0}]}", []DimKind{Nonzeros, Cut}},
		{"2x3", "(x,y,z) -> M(z,~x)", []int{0, 1, 2}, "&{[0] [{3 0}]}", []DimKind{Cut, Nonzeros}},
		{"2x3", "(x,y) -> M(*,~(x,y))", []int{0, 1}, "&{[0 1] [{3 1}]}", []DimKind{Copy, Nonzeros}},
		{"2x3", "(x,y) -> M(~(x,y),1)", []int{0, 1}, "&{[0 1] [{2 1}]}", []DimKind{Nonzeros, Fix}},
		{"2x3x2", "(x,y,z) -> M(x,~y,~z)", []int{0, 1, 2}, "&{[0 1 2] [{2 -1} {3 1} {2 2}]}",
			[]DimKind{Nonzeros, Nonzeros, Nonzeros}},
		{"nodes=2;gpus=3", "(x,y) -> nodes(~(x,y)); (u,v) -> gpus(~(u,v))", []int{0, 1},
			"&{[0 1] [{2 1} {3 1}]}", []DimKind{Nonzeros, Nonzeros}},
		{"nodes=2;gpus=3", "(x,y) -> nodes(~x); (x,y) -> gpus(~(x,y))", []int{0, 1},
			"&{[0 1] [{2 0} {3 1}]}", []DimKind{Nonzeros, Nonzeros}},
		{"nodes=2;gpus=3", "(x,y) -> nodes(x); (x,y) -> gpus(~(x,y))", []int{0, 1},
			"&{[0 1] [{2 -1} {3 1}]}", []DimKind{Nonzeros, Nonzeros}},
		{"a=2;b=3;c=4", "(x,y) -> a(x); (x,y) -> b(x); (x,y) -> c(~y)", []int{0, 1},
			"&{[0 1] [{2 -1} {3 -1} {4 1}]}", []DimKind{Nonzeros, Nonzeros, Nonzeros}},
	} {
		h, err := home(t, c.machine, c.placement, c.order)
		if err != nil {
			t.Errorf("%s on %s: %v", c.placement, c.machine, err)
			continue
		}
		var kinds []DimKind
		for _, d := range h.Dims {
			kinds = append(kinds, d.Kind)
		}
		if got := fmt.Sprint(h.Ordered()); got != c.want || !slices.Equal(kinds, c.kinds) {
			t.Errorf("%s on %s stored by %v: got %s over %v, want %s over %v", c.placement, c.machine,
				c.order, got, kinds, c.want, c.kinds)
		}
		if o := h.Ordered(); o != nil {
			n := int64(1)
			for k, d := range h.Dims {
				if d.Kind == Nonzeros {
					n *= h.Machine.Dims()[k]
				}
			}
			if o.Ranges() != n {
				t.Errorf("%s on %s: %d ranges, want %d", c.placement, c.machine, o.Ranges(), n)
			}
		}
	}
}

func TestOrderedErrors(t *testing.T) {
	for _, c := range []struct {
		machine, placement string
		order              []int
		want               string
	}{
		{"2", "(x,y) -> M(~y)", []int{0, 1},
			"the placement partitions the stored entries of y but not x, which is stored outside it; want ~(x,y)"},
		{"2", "(x,y) -> M(~x)", []int{1, 0},
			"the placement partitions the stored entries of x but not y, which is stored outside it; want ~(y,x)"},
		{"2", "(x,y,z) -> M(~(x,z))", []int{0, 1, 2},
			"the placement partitions the stored entries of z but not y, which is stored outside it; want ~(x,y,z)"},
		{"2x2", "(x,y) -> M(~y,x)", []int{0, 1},
			"the placement partitions the stored entries of y but not x, which is stored outside it; want ~(x,y)"},
		{"2x2x2", "(x,y,z) -> M(x,y,~z)", []int{0, 1, 2},
			"the placement partitions the coordinates of y before the stored entries of z; of the modes whose entries are partitioned, only the outermost stored one, x, may come first"},
		{"nodes=2;gpus=2", "(x,y) -> nodes(y); (x,y) -> gpus(~(x,y))", []int{0, 1},
			"the placement partitions the coordinates of y before the stored entries of y; of the modes whose entries are partitioned, only the outermost stored one, x, may come first"},
		{"nodes=2;gpus=2", "(x,y) -> nodes(~x); (x,y) -> gpus(x)", []int{0, 1},
			"the placement partitions the coordinates of x after its stored entries; want them before"},
		{"nodes=2;gpus=2", "(x,y) -> nodes(~(x,y)); (u,v) -> gpus(v)", []int{0, 1},
			"the placement partitions the coordinates of v after its stored entries; want them before"},
		{"nodes=2;gpus=2", "(x,y) -> nodes(~(x,y)); (x,y) -> gpus(~x)", []int{0, 1},
			"the placement partitions the stored entries of x after those of y, which is stored inside it; want the order in which they are stored"},
	} {
		_, err := home(t, c.machine, c.placement, c.order)
		var e *diag.Error
		if want := "got the placement " + c.placement + ": " + c.want; !errors.As(err, &e) ||
			e.Code != "placement" || e.Msg != want {
			t.Errorf("%s on %s: got %v, want %s", c.placement, c.machine, err, want)
		}
	}
}

func TestChunksN(t *testing.T) {
	c := Chunks{Positions: &Positions{Tensor: "B", Vars: []string{"i", "j"}},
		Digits: []Digit{{N: 2}, {N: 5}}}
	if n := c.N(); n != 10 {
		t.Errorf("got %d chunks, want 10", n)
	}
}

// TestEvenKeys checks where ranges of evenly spread entries begin: at their share of the
// coordinates, and within a row if positions have several coordinates.
func TestEvenKeys(t *testing.T) {
	for _, c := range []struct {
		name  string
		cuts  []OrderedCut
		sizes []int64
		want  string
	}{
		{"rows", []OrderedCut{{4, 0}}, []int64{10}, "[[] [2] [5] [7] []]"},
		{"entries at the beginning of rows", []OrderedCut{{4, 1}}, []int64{8, 6},
			"[[] [2 1] [4 1] [6 1] []]"},
		{"entries", []OrderedCut{{4, 1}}, []int64{10, 6}, "[[] [2 3] [5 1] [7 3] []]"},
		{"a column", []OrderedCut{{2, 1}}, []int64{8, 1}, "[[] [4 0] []]"},
		{"one row", []OrderedCut{{4, 1}}, []int64{1, 8}, "[[] [0 2] [0 4] [0 6] []]"},
		{"fewer coordinates than ranges", []OrderedCut{{4, 1}}, []int64{1, 2},
			"[[] [0 1] [0 1] [0 1] []]"},
		{"three levels", []OrderedCut{{3, 2}}, []int64{4, 4, 9}, "[[] [1 1 3] [2 2 6] []]"},
		{"levels of cuts", []OrderedCut{{2, 1}, {2, 1}}, []int64{10, 6}, "[[] [2 3] [5 1] [7 3] []]"},
		{"entries of ranges of rows", []OrderedCut{{2, -1}, {2, 1}}, []int64{7, 6},
			"[[] [1 3] [3 0] [5 1] []]"},
		{"entries of as many rows", []OrderedCut{{2, 0}, {2, 1}}, []int64{7, 6},
			"[[] [1 3] [3 0] [5 1] []]"},
		{"more ranges than rows", []OrderedCut{{3, -1}, {2, 1}}, []int64{1, 6},
			"[[] [0 0] [0 0] [0 0] [0 0] [0 3] []]"},
		{"nothing", []OrderedCut{{2, 1}}, []int64{0, 6}, "[[] [0 0] []]"},
		{"large", []OrderedCut{{3, 1}}, []int64{1 << 30, 1 << 31},
			"[[] [357913941 715827882] [715827882 1431655765] []]"},
	} {
		o := &Ordered{Modes: []int{0, 1, 2}[:len(c.sizes)], Cuts: c.cuts}
		keys := o.Even(c.sizes)
		if got := fmt.Sprint(keys); got != c.want || int64(len(keys)) != o.Ranges()+1 {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

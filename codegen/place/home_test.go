package place

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"distaff/codegen/diag"
)

// home resolves a placement on a machine.
func home(t *testing.T, machine, placement string, order []int) (*Home, error) {
	t.Helper()
	m, err := ParseMachine(machine)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := ParsePlacement(placement, 0, len(placement))
	if err != nil {
		t.Fatal(err)
	}
	return p.Resolve(m, order)
}

func TestHome(t *testing.T) {
	for _, c := range []struct {
		machine, placement string
		sizes              []int64
		cuts               string
	}{
		{"4", "(x,y) -> M(x)", []int64{10, 6}, "[[0 2 5 7 10] []]"},
		{"4", "(x,y) -> M(y)", []int64{10, 6}, "[[] [0 1 3 4 6]]"},
		{"2x2", "(x,y) -> M(y,x)", []int64{10, 6}, "[[0 5 10] [0 3 6]]"},
		{"2x3", "(x,y) -> M(x,*)", []int64{4, 4}, "[[0 2 4] []]"},
		{"2x2x2", "(x,y) -> M(x,y,0)", []int64{4, 4}, "[[0 2 4] [0 2 4]]"},
		{"2x2", "() -> M(1,*)", nil, "[]"},
		// A hierarchy: the inner grid cuts the outer one's pieces, of 5 and of 6.
		{"nodes=2;gpus=2", "(x,y) -> nodes(x); (x,y) -> gpus(x)", []int64{11, 3}, "[[0 2 5 8 11] []]"},
		{"nodes=2;gpus=2", "(x,y) -> nodes(x); (u,v) -> gpus(v)", []int64{11, 3}, "[[0 5 11] [0 1 3]]"},
		{"nodes=2;gpus=2", "(x) -> nodes(*); (x) -> gpus(x)", []int64{3}, "[[0 1 3]]"},
		{"nodes=2", "(x) -> M(x)", []int64{3}, "[[0 1 3]]"},
		{"5", "(x) -> M(x)", []int64{2}, "[[0 0 0 1 1 2]]"},
		{"3", "(x) -> M(x)", []int64{0}, "[[0 0 0 0]]"},
		{"2x2", "(x,y,z) -> M(~(x,y),z)", []int64{4, 4, 4}, "[[] [] [0 2 4]]"},
	} {
		h, err := home(t, c.machine, c.placement, identity(len(c.sizes)))
		if err != nil {
			t.Errorf("%s on %s: %v", c.placement, c.machine, err)
			continue
		}
		if got := fmt.Sprint(h.Cuts(c.sizes)); got != c.cuts {
			t.Errorf("%s on %s: cuts %s, want %s", c.placement, c.machine, got, c.cuts)
		}
	}
}

func identity(n int) []int {
	order := make([]int, n)
	for k := range order {
		order[k] = k
	}
	return order
}

// TestHomePieces checks that nested cuts have as many ranges as the product of the extents, and
// that the ranges of the outer grid contain them.
func TestHomePieces(t *testing.T) {
	for nodes := int64(1); nodes < 5; nodes++ {
		for gpus := int64(1); gpus < 4; gpus++ {
			for size := int64(1); size < 23; size++ {
				h, err := home(t, fmt.Sprintf("nodes=%d;gpus=%d", nodes, gpus),
					"(x) -> nodes(x); (x) -> gpus(x)", []int{0})
				if err != nil {
					t.Fatal(err)
				}
				cuts := h.Cuts([]int64{size})[0]
				if int64(len(cuts)) != nodes*gpus+1 || cuts[0] != 0 || cuts[len(cuts)-1] != size ||
					!slices.IsSorted(cuts) {
					t.Fatalf("%s: %d is cut at %v", h.Machine, size, cuts)
				}
				for k, outer := range EvenCuts(size, nodes) {
					if cuts[int64(k)*gpus] != outer {
						t.Fatalf("%s: %d is cut at %v, want %d at node %d", h.Machine, size, cuts, outer, k)
					}
				}
			}
		}
	}
}

func TestHomeErrors(t *testing.T) {
	for _, c := range []struct{ machine, placement, want string }{
		{"2", "(x,y) -> N(x)", "the placement names machine N, want M"},
		{"nodes=2", "(x,y) -> gpus(x)", "the placement names machine gpus, want M or nodes"},
		{"nodes=2;gpus=2", "(x,y) -> nodes(x); (x,y) -> M(x)",
			"the placement names machine M, want gpus"},
		{"nodes=2;gpus=2", "(x,y) -> nodes(x)",
			"the placement has 1 level, want 2: one for each grid of the machine nodes=2;gpus=2"},
		{"2", "(x,y) -> M(x); (x,y) -> M(x)",
			"the placement has 2 levels, want 1: one for each grid of the machine 2"},
		{"2", "(x) -> M(x)", "the placement names 1 mode, want 2: one for each mode of the tensor"},
		{"2", "(x,y) -> M(x,y)", "the placement has 2 dimensions of M, want 1: one for each dimension of the grid"},
		{"2x2", "(x,y) -> M(x)", "the placement has 1 dimension of M, want 2: one for each dimension of the grid"},
		{"2x2", "(x,y) -> M(x,2)", "got coordinate 2 of M, want less than its extent, 2"},
	} {
		_, err := home(t, c.machine, c.placement, []int{0, 1})
		var e *diag.Error
		if want := "got the placement " + c.placement + ": " + c.want; !errors.As(err, &e) ||
			e.Code != "placement" || e.Msg != want {
			t.Errorf("%s on %s: got %v, want %s", c.placement, c.machine, err, want)
		}
	}
}

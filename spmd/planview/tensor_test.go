package planview

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"distaff/spmd"
)

// cells prints the position, the size and the label of each block of a panel.
func cells(g panel) string {
	var b strings.Builder
	for _, c := range g.Blocks {
		fmt.Fprintf(&b, "%.0f,%.0f %.0fx%.0f %s;", c.X, c.Y, c.W, c.H, c.Label)
	}
	return b.String()
}

// TestPanels checks that a picture shows modes to scale, as rows and columns whichever of them are
// cut, and each block with its owner.
func TestPanels(t *testing.T) {
	for _, c := range []struct {
		statement  string
		sizes      []int64
		options    spmd.Options
		tensor     int
		want, note string
	}{
		{"y(j) = A(i,j)*x(i)", []int64{8, 4}, spmd.Options{Ranks: 2, Splits: []string{"j:1,"}}, 0,
			"0,0 40x320 0;40,0 120x320 1;", "2 blocks"},
		{"y(j) = A(i,j)*x(i)", []int64{8, 4}, spmd.Options{Ranks: 2, Splits: []string{"j:1,"}}, 2,
			"0,0 80x28 0;80,0 240x28 1;", "2 blocks"},
		{"y(i) = A(i,j)*x(j)", []int64{8, 4000}, spmd.Options{Ranks: 2}, 0, "0,0 320x14 0;0,14 320x14 1;",
			"2 blocks; its short side is not to scale"},
		{"y(i) = A(i,i)*x(i)", []int64{8, 8}, spmd.Options{Ranks: 2, Splits: []string{"i:2"}}, 0,
			"0,0 160x160 0;160,160 160x160 1;", "2 blocks"},
		{"y(k) = A(i,j,k)*x(i)", []int64{8, 8, 8}, spmd.Options{Ranks: 2, Splits: []string{"k:2"}}, 0,
			"0,0 160x320 0;160,0 160x320 1;", "2 blocks; a projection along j"},
		{"s = A(i,j)", []int64{8, 8}, spmd.Options{Ranks: 2, Splits: []string{"i:2"}}, 1, "0,0 28x28 0;",
			"1 block"},
		{"y(i) = A(i,j)*x(j)", []int64{8, 8}, spmd.Options{Ranks: 2}, 1, "0,0 320x28 0;",
			"1 block, broadcast to all ranks"},
	} {
		p := planOf(t, c.statement, map[string][]int64{"A": c.sizes}, c.options)
		g := draw(p, p.Tensors[c.tensor], 1000)
		if got := cells(g.Panels[0]); len(g.Panels) != 1 || got != c.want || g.Note != c.note {
			t.Errorf("%s: tensor %d of %d panels is %s, %q, want %s, %q", c.statement, c.tensor,
				len(g.Panels), got, g.Note, c.want, c.note)
		}
	}
}

// TestSlices checks that a tensor with three cut modes is drawn as slices, in the colors of the
// owners.
func TestSlices(t *testing.T) {
	p := planOf(t, "s = A(i,j,k)", map[string][]int64{"A": {8, 8, 16}},
		spmd.Options{Ranks: 8, Splits: []string{"i:2", "j:2", "k:8"}, Map: "k"})
	g := draw(p, p.Tensors[0], 1000)
	if len(g.Panels) != drawnPanels || g.Note != "32 blocks; drawn: the first 6 of 8 slices" {
		t.Fatalf("%d slices, %q", len(g.Panels), g.Note)
	}
	for n, x := range g.Panels {
		want := fmt.Sprintf(
			"0,0 160x160 %d;160,0 160x160 %[1]d;0,160 160x160 %[1]d;160,160 160x160 %[1]d;", n)
		if got := cells(x); got != want || x.Slice != fmt.Sprintf("k %d:%d", 2*n, 2*n+2) ||
			x.Down != "i" || x.Across != "j" {
			t.Errorf("slice %s of %s and %s: got %s, want %s", x.Slice, x.Down, x.Across, got, want)
		}
	}
}

// TestManyBlocks checks that some blocks at equal distances, from all ranks, are drawn if there are
// too many.
func TestManyBlocks(t *testing.T) {
	p := planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {1000, 1000}},
		spmd.Options{Ranks: 1000, Splits: []string{"i:250", "j:160"}, Map: "i,j"})
	g := draw(p, p.Tensors[0], 4096)
	x := g.Panels[0]
	if n := len(x.Blocks); n > 4096 || n < 2048 || x.Outlined ||
		!regexp.MustCompile(`^40,000 blocks; drawn: [0-9,]+, at even distances$`).MatchString(g.Note) {
		t.Errorf("%d blocks, outlined %v, %q", n, x.Outlined, g.Note)
	}
	colors := map[string]bool{}
	for _, c := range x.Blocks {
		colors[hex(rankColor(c.Owner, 1000))] = true
	}
	if len(colors) < 100 {
		t.Errorf("many blocks: %d colors", len(colors))
	}
}

// TestNotDrawn checks that a tensor without coordinates is described but not drawn.
func TestNotDrawn(t *testing.T) {
	p := planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {0, 7}}, spmd.Options{Ranks: 2})
	if g := draw(p, p.Tensors[0], 1000); len(g.Panels) != 0 || !strings.HasSuffix(g.Note, ", empty") {
		t.Errorf("an empty tensor: %+v", g)
	}
}

// TestProfile checks that the bars of a profile are as high as the values, and show the smallest
// and largest values of several ranks.
func TestProfile(t *testing.T) {
	bars := profile([]int64{0, 5, 10}, profileBars)
	if len(bars) != 3 || bars[0].most != 0 || bars[1].most != profileHeight/2 ||
		bars[2].least != profileHeight ||
		bars[2].fill != rankColor(2, 3) {
		t.Errorf("got %+v", bars)
	}
	values := make([]int64, 2*profileBars)
	values[3] = 8
	bars = profile(values, profileBars)
	if len(bars) != profileBars || bars[1].most != profileHeight || bars[1].least != 0 ||
		bars[0].most != 0 {
		t.Errorf("got %+v", bars[:2])
	}
	paths := parse(t, []byte(drawProfile("sent", bars))).find("<path")
	if len(paths) != 1 || paths[0].attrs["d"] != "M1,0L3,0L3,32L1,32Z" &&
		paths[0].attrs["d"] != "M1,32L3,32L3,0L1,0Z" {
		t.Errorf("the profile has %d paths, and the first is %+v", len(paths), paths[0])
	}
	if got := profile(make([]int64, 4), profileBars); got[0].most != 0 {
		t.Errorf("all zero: %+v", got)
	}
}

// TestTotal checks the ratio of maximum and mean, which is left out if both are zero.
func TestTotal(t *testing.T) {
	got := Quantity{"sent", []int64{0, 1024, 3072}, true}.Total(Compact)
	if want := (Total{"sent", "4 KiB", "0 bytes", "1.333 KiB", "3 KiB", "2.25", "2"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (Quantity{"steps", []int64{0, 0}, false}).Total(Compact); got.Ratio != "" ||
		got.At != "all" {
		t.Errorf("nothing: %+v", got)
	}
}

package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"distaff/spmd"
)

// planOf plans a statement over dense tensors.
func planOf(t *testing.T, statement string, sizes map[string][]int64, o spmd.Options) *spmd.Planned {
	t.Helper()
	p, err := (&spmd.Job{Statement: statement, Sizes: sizes, Options: o}).Plan(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanPage: at any number of ranks the legend has the colors of the picture, and the
// page has what a reader looks for.
func TestPlanPage(t *testing.T) {
	for _, ranks := range []int{1, 4, 9, 1024} {
		p := planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {100000, 20000}}, spmd.Options{Ranks: ranks})
		page, err := planPage(p)
		if err != nil {
			t.Fatal(err)
		}
		text := string(page)
		for _, want := range []string{"100,000 x 20,000", "entries read of A", "by rank", "max at rank"} {
			if strings.Contains(text, want) == (ranks == 1 && strings.Contains(want, " rank")) {
				t.Errorf("%d ranks: %q is there or not, against what is right", ranks, want)
			}
		}
		if strings.Contains(text, "Zgotmpl") || strings.Contains(text, "[100000") || strings.Contains(text, "1 ranks") {
			t.Errorf("%d ranks:\n%s", ranks, text)
		}
		if open := strings.Contains(text, "<details open>"); open != (ranks <= openRanks) {
			t.Errorf("%d ranks: the table is open: %v", ranks, open)
		}
		first, last := newRankColors(ranks).at(0), newRankColors(ranks).at(ranks-1)
		start := strings.Index(text, `<svg id="legend"`)
		end := start + strings.Index(text[start:], "</svg>")
		figure := text[end:]
		for _, c := range []rgb{first, last} {
			fill := fmt.Sprintf(`fill="%s"`, c)
			if !strings.Contains(text[start:end], fill) || ranks <= 9 && !strings.Contains(figure[:strings.Index(figure, "</figure>")], fill) {
				t.Errorf("%d ranks: color %s is not in the legend, or not in the picture", ranks, c)
			}
		}
		if rows := strings.Count(text, `<svg width="12"`); rows != ranks {
			t.Errorf("%d ranks: %d rows of ranks", ranks, rows)
		}
	}
}

// Ranks have colors of their own, as many as there are.
func TestRankColors(t *testing.T) {
	for _, ranks := range []int{1, 2, 8, 9, 64, 200} {
		seen := map[rgb]int{}
		for r := range ranks {
			c := newRankColors(ranks).at(r)
			if other, ok := seen[c]; ok {
				t.Errorf("%d ranks: %d and %d are both %v", ranks, other, r, c)
			}
			seen[c] = r
			if c == (rgb{255, 255, 255}) {
				t.Errorf("rank %d is as white as the page", r)
			}
		}
		keys := legend(ranks)
		if last := keys[len(keys)-1]; last.Label != fmt.Sprint(ranks-1) || last.Fill != newRankColors(ranks).at(ranks-1).String() {
			t.Errorf("%d ranks: the legend ends with %+v", ranks, last)
		}
	}
}

// TestGrid: a picture shows modes as rows and columns whichever of them are cut, and each block
// in its owner's color.
func TestGrid(t *testing.T) {
	cells := func(g blockGrid) string {
		var b strings.Builder
		for _, c := range g.Cells {
			fmt.Fprintf(&b, "%.0f,%.0f %.0fx%.0f %s;", c.X, c.Y, c.W, c.H, c.Label)
		}
		return b.String()
	}
	p := planOf(t, "y(j) = A(i,j)*x(i)", map[string][]int64{"A": {8, 4}}, spmd.Options{Ranks: 2, Splits: []string{"j:1,"}})
	if got, want := cells(grid(p, p.Tensors[0])), "0,0 80x320 0;80,0 240x320 1;"; got != want {
		t.Errorf("cut columns: got %s, want %s", got, want)
	}
	p = planOf(t, "y(i) = A(i,i)*x(i)", map[string][]int64{"A": {8, 8}}, spmd.Options{Ranks: 2, Splits: []string{"i:2"}})
	if got, want := cells(grid(p, p.Tensors[0])), "0,0 160x160 0;160,160 160x160 1;"; got != want {
		t.Errorf("a diagonal: got %s, want %s", got, want)
	}
	p = planOf(t, "y(k) = A(i,j,k)*x(i)", map[string][]int64{"A": {8, 8, 9}}, spmd.Options{Ranks: 3, Splits: []string{"k:3"}})
	g := grid(p, p.Tensors[0])
	if got, want := cells(g), "0,0 107x320 0;107,0 107x320 1;213,0 107x320 2;"; got != want || g.Rows != "i" || g.Cols != "k" {
		t.Errorf("three modes: got %s of %s and %s, want %s of i and k", got, g.Rows, g.Cols, want)
	}
	p = planOf(t, "s = A(i,j,k)", map[string][]int64{"A": {8, 8, 8}}, spmd.Options{Ranks: 3, Splits: []string{"i:2", "j:2", "k:4"}, Map: "k"})
	if g := grid(p, p.Tensors[0]); len(g.Cells) != 4 || g.Note != "16 blocks; drawn: those of k 0:2" {
		t.Errorf("layers: %d cells, %q", len(g.Cells), g.Note)
	}
	if g := grid(p, p.Tensors[1]); len(g.Cells) != 1 || g.Rows != "" || g.Sizes != "scalar" {
		t.Errorf("a scalar: %+v", g)
	}
	p = planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {1000, 1000}}, spmd.Options{Ranks: 1000, Splits: []string{"i:500", "j:400"}, Map: "i,j"})
	g = grid(p, p.Tensors[0])
	if len(g.Cells) > drawnCells || len(g.Cells) < drawnCells/2 || g.Outlined || !regexp.MustCompile(`^200,000 blocks; drawn: [0-9,]+, at even distances$`).MatchString(g.Note) {
		t.Errorf("many blocks: %d cells, outlined %v, %q", len(g.Cells), g.Outlined, g.Note)
	}
	p = planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {0, 7}}, spmd.Options{Ranks: 2})
	if g := grid(p, p.Tensors[0]); len(g.Cells) != 0 || g.Height != 0 || !strings.HasSuffix(g.Note, ", empty") {
		t.Errorf("an empty tensor: %+v", g)
	}
	colors := map[string]bool{}
	for _, c := range g.Cells {
		colors[c.Fill] = true
	}
	if len(colors) < 100 {
		t.Errorf("many blocks: %d colors", len(colors))
	}
}

// A profile's bars are as high as values are, and of many ranks show the least and the most.
func TestProfile(t *testing.T) {
	show := func(n int64) string { return fmt.Sprint(n) }
	bars := profile([]int64{0, 5, 10}, show)
	if len(bars) != 3 || bars[0].Most != 0 || bars[1].Most != profileHeight/2 || bars[2].Least != profileHeight || bars[2].Title != "rank 2: 10" {
		t.Errorf("got %+v", bars)
	}
	values := make([]int64, 2*profileBars)
	values[3] = 8
	bars = profile(values, show)
	if len(bars) != profileBars || bars[1].Most != profileHeight || bars[1].Least != 0 || bars[1].Title != "ranks 2 to 3: 0 to 8" {
		t.Errorf("got %+v", bars[:2])
	}
	if got := profile(make([]int64, 4), show); got[0].Most != 0 {
		t.Errorf("all zero: %+v", got)
	}
}

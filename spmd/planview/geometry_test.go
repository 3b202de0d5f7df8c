package planview

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"distaff/io/picture"
)

// box is a rectangle of a drawing.
type box struct{ x0, y0, x1, y1 float64 }

// disjoint checks that rectangles lie in a frame and do not overlap by more than is lost in
// rounding.
func disjoint(t *testing.T, what string, frame box, list []box) {
	t.Helper()
	const lost = .03
	for k, b := range list {
		if b.x0 < frame.x0-lost || b.y0 < frame.y0-lost || b.x1 > frame.x1+lost || b.y1 > frame.y1+lost ||
			b.x1 <= b.x0 || b.y1 <= b.y0 {
			t.Errorf("%s: rectangle %d %v is empty, or passes the frame %v", what, k, b, frame)
		}
		for _, c := range list[:k] {
			if min(b.x1, c.x1)-max(b.x0, c.x0) > lost && min(b.y1, c.y1)-max(b.y0, c.y0) > lost {
				t.Errorf("%s: rectangles %v and %v overlap", what, b, c)
			}
		}
	}
}

// TestGeometry: blocks lie inside their tensor's frame, cells of ranks on the stage, and none over
// another; arrows begin and end on the stage.
func TestGeometry(t *testing.T) {
	for name, p := range plans(t) {
		t.Run(name, func(t *testing.T) {
			root := pageOf(t, p)
			for _, svg := range root.find("blocks") {
				frame, list := svg.size(t), svg.boxes(t)
				area, title := 0.0, svg.find("<title")[0].text
				for _, x := range list {
					area += (x.x1 - x.x0) * (x.y1 - x.y0)
				}
				disjoint(t, title, frame, list)
				if all := frame.x1 * frame.y1; name != "a diagonal" && math.Abs(area-all) > .01*all {
					t.Errorf("%s: blocks fill %v of %v", title, area, all)
				}
			}
			checkStages(t, root)
		})
	}
}

// checkArrow checks that an arrow's ends lie on the stage, outside of all cells but near one.
func checkArrow(t *testing.T, path string, frame box, cells []box) {
	t.Helper()
	var x0, y0, cx, cy, x1, y1 float64
	if _, err := fmt.Sscanf(path, "M%g,%gQ%g,%g,%g,%g", &x0, &y0, &cx, &cy, &x1, &y1); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, p := range []picture.Point{{X: x0, Y: y0}, {X: x1, Y: y1}} {
		if p.X < frame.x0 || p.X > frame.x1 || p.Y < frame.y0 || p.Y > frame.y1 {
			t.Errorf("%s leaves the stage %v", path, frame)
		}
		if !slices.ContainsFunc(cells,
			func(b box) bool { return p.X > b.x0-5 && p.X < b.x1+5 && p.Y > b.y0-5 && p.Y < b.y1+5 }) {
			t.Errorf("%s begins or ends at no rank", path)
		}
	}
}

// TestMoments: each moment has its lines, and a drawing where something travels.
func TestMoments(t *testing.T) {
	p := plans(t)["sums"]
	root, x := pageOf(t, p), newFlow(p, share(1).arrows)
	moments := root.find("moment")
	if len(moments) != len(x.moments) || len(moments) < 2 {
		t.Fatalf("%d moments, want %d", len(moments), len(x.moments))
	}
	for k, m := range x.moments {
		list, _ := moments[k].arrows()
		if name := moments[k].find("<h4")[0].text; name != m.name || len(list) != len(m.moves) ||
			len(moments[k].find("stage")) != min(len(m.moves), 1) ||
			len(moments[k].find("<li")) != len(m.lines) {
			t.Errorf("moment %d, %q, has %d arrows, want %q with %d", k, name, len(list), m.name,
				len(m.moves))
		}
	}
	text := root.find("flow")[0].all()
	for _, want := range []string{"step 0", "4 ranks of 4 run; nothing is sent",
		"sums: partial results are added",
		"C[0:60,0:50], 23.44 KiB, of rank 1 is added to the block of rank 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the flow does not say %q:\n%s", want, text)
		}
	}
}

package planview

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/jobfile"
	_ "distaff/kernels/verified"
	"distaff/spmd"
	"distaff/spmd/forecast"
	"distaff/spmd/jobs"
)

// fileOf plans a job file for ranks, with values of its params.
func fileOf(t *testing.T, text string, ranks int, params map[string]string) *jobs.Planned {
	t.Helper()
	f, err := jobfile.Parse("a.dst", text)
	if err == nil {
		err = f.Bind(params)
	}
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&spmd.FileJob{File: f, Options: spmd.Options{Ranks: ranks}}).Plan(context.Background(),
		DrawnRanks)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// algorithm plans a job file of testdata/jobs on a square of g x g ranks.
func algorithm(t *testing.T, name string, g int) *jobs.Planned {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "jobs", name+".dst"))
	if err != nil {
		t.Fatal(err)
	}
	return fileOf(t, string(text), g*g, map[string]string{"g": fmt.Sprint(g), "n": fmt.Sprint(16 * g)})
}

// drawn returns the page of a job file.
func drawn(t *testing.T, p *jobs.Planned) *node {
	t.Helper()
	text, err := FilePage("a.dst", p)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// TestAlgorithmArrows checks the pages of Cannon's algorithm and SUMMA. Each message is an arrow; a
// broadcast, which counts as one message, has an arrow for each receiver. Every arrow ends near a
// rank, and no cell overlaps another.
func TestAlgorithmArrows(t *testing.T) {
	for _, g := range []int{2, 4, 8} {
		for _, name := range []string{"cannon", "summa"} {
			p := algorithm(t, name, g)
			plan := p.Items[0].Plan
			want, messages := 0, int64(0)
			for _, d := range plan.PerRank {
				for _, s := range d.Sends {
					if want++; !s.Forwarded {
						messages++
					}
				}
			}
			root := drawn(t, p)
			sent := int64(0)
			for _, n := range p.Comm.MessagesSent {
				sent += n
			}
			for _, m := range p.Items[0].Moves { // chunks that lie in two tiles
				want += len(m.Routes)
				messages += m.Messages
			}
			arrows, _ := root.arrows()
			n := len(arrows)
			if n != want || want == 0 || messages != sent ||
				name == "cannon" != (int64(n) == sent) && g > 2 {
				t.Errorf("%s on %d ranks: %d arrows, want %d, of %d messages", name, g*g, n, want, sent)
			}
			checkStages(t, root)
		}
	}
}

// arrows lists the curves below n, one for each arrow. sums is the number of dashed ones.
func (n *node) arrows() (list []string, sums int) {
	for _, p := range n.find("<path") {
		if strings.Contains(p.attrs["d"], "Q") {
			list = append(list, p.attrs["d"])
			if strings.Contains(p.attrs["style"], "dasharray") {
				sums++
			}
		}
	}
	return list, sums
}

// rectangles lists the rectangles below n whose path ends with a text.
func (n *node) rectangles(t *testing.T, end string, is func(style string) bool) (list []box) {
	t.Helper()
	for _, p := range n.find("<path") {
		d := p.attrs["d"]
		if strings.Contains(d, "Q") || strings.HasSuffix(d, "Z") != (end == "Z") ||
			!is(p.attrs["style"]) {
			continue
		}
		var x, y [4]float64
		if _, err := fmt.Sscanf(d, "M%g,%gL%g,%gL%g,%gL%g,%g"+end,
			&x[0], &y[0], &x[1], &y[1], &x[2], &y[2], &x[3], &y[3]); err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		list = append(list, box{slices.Min(x[:]), slices.Min(y[:]), slices.Max(x[:]), slices.Max(y[:])})
	}
	return list
}

// boxes lists the rectangles below n that have a color.
func (n *node) boxes(t *testing.T) []box {
	t.Helper()
	return n.rectangles(t, "Z", func(string) bool { return true })
}

// idle lists the frames with dashes below n, one for each rank that is idle.
func (n *node) idle(t *testing.T) []box {
	t.Helper()
	return n.rectangles(t, "L",
		func(style string) bool { return strings.Contains(style, "dasharray") })
}

// size returns the frame of the only drawing below n.
func (n *node) size(t *testing.T) box {
	t.Helper()
	svg := n.find("<svg")
	if len(svg) != 1 {
		t.Fatalf("%d drawings, want 1", len(svg))
	}
	return box{0, 0, svg[0].num(t, "width"), svg[0].num(t, "height")}
}

// checkStages checks that cells of ranks do not overlap, and that each arrow leads from one cell to
// another.
func checkStages(t *testing.T, root *node) {
	t.Helper()
	for _, svg := range root.find("stage") {
		frame, cells := svg.size(t), append(svg.boxes(t), svg.idle(t)...)
		disjoint(t, "the stage", frame, cells)
		list, _ := svg.arrows()
		for _, a := range list {
			checkArrow(t, a, frame, cells)
		}
	}
}

// TestPlacedArrows checks that there is an arrow for each block that is moved from a placement,
// gathered, or moved to a placement, with the bytes that ranks count.
func TestPlacedArrows(t *testing.T) {
	vector := map[string][]int64{"A": {64, 32}}
	rows := []string{"divide(i,io,ii,M.x),distribute(io)"}
	for name, p := range map[string]*forecast.Planned{
		"an operand": planOf(t, "y(i) = A(i,j)*x(j)", vector,
			spmd.Options{Ranks: 4, Schedule: rows, Placements: []string{"A(i,j) -> M(j)", "x(j) -> M(0)"}}),
		"a result": planOf(t, "y(i) = x(i)", map[string][]int64{"x": {64}},
			spmd.Options{Ranks: 4, Schedule: []string{"divide(i,io,ii,2),distribute(io)"},
				Placements: []string{"y(i) -> M(i)"}}),
		"a gather": planOf(t, "y(i) = A(i,j)*x(j)", vector,
			spmd.Options{Ranks: 4, Schedule: rows, Placements: []string{"A(i,j) -> M(i)", "x(j) -> M(j)"}}),
		"a square": planOf(t, "y(i) = A(i,j)*x(j)", vector,
			spmd.Options{Ranks: 9, Machine: "3x3", Schedule: []string{"divide(i,io,ii,M.x),distribute(io)"},
				Placements: []string{"A(i,j) -> M(j,i)", "x(j) -> M(0,j)"}}),
		"as it is wanted": planOf(t, "y(i) = A(i,j)*x(j)", vector,
			spmd.Options{Ranks: 4, Schedule: rows,
				Placements: []string{"A(i,j) -> M(i)", "x(j) -> M(*)", "y(i) -> M(i)"}}),
	} {
		received := make([]int64, p.Ranks)
		arrows := 0
		for _, m := range newFlow(p, math.MaxInt32).moments {
			for _, v := range m.moves {
				received[v.to] += v.block.Bytes
				arrows++
			}
		}
		if !slices.Equal(received, p.Comm.BytesReceived) || (arrows > 0) == (name == "as it is wanted") {
			t.Errorf("%s: %d arrows bring %d, and ranks receive %d", name, arrows, received,
				p.Comm.BytesReceived)
		}
		root := pageOf(t, p)
		if list, _ := root.arrows(); len(list) != arrows {
			t.Errorf("%s: %d arrows are drawn, want %d", name, len(list), arrows)
		}
		checkStages(t, root)
	}
}

// TestTransferArrows checks that the moves of place, and moves between statements, have arrows on
// the machine of the nearest statement.
func TestTransferArrows(t *testing.T) {
	p := fileOf(t, `machine M(2, 2)
tensor B(16, 16): dd place (x,y) -> M(x,y) from dense
tensor c(16): d place (x) -> M(0,0) from dense
place B (x,y) -> M(y,x)
repeat 3 {
  a(i) = B(i,j) * c(j)
    distribute({i,j}, {io,jo}, {ii,ji}, M)
    communicate({a,B,c}, jo)
  place B (x,y) -> M(x,y)
}
print a
`, 4, nil)
	root := drawn(t, p)
	moved := 0
	for k, s := range root.find("<section") {
		it := p.Items[k]
		want := 0
		for _, m := range it.Moves {
			bytes := int64(0)
			for _, r := range m.Routes {
				bytes += r.Bytes
				want++
			}
			if bytes != m.Bytes {
				t.Errorf("line %d: the routes of %s have %d bytes, want %d", it.Line, m.Tensor, bytes, m.Bytes)
			}
		}
		moved += want
		if it.Plan != nil {
			continue
		}
		if list, _ := s.arrows(); len(list) != want || want == 0 {
			t.Errorf("line %d: %d arrows, want %d", it.Line, len(list), want)
		}
		if cells := s.find("stage")[0].boxes(t); len(cells) != 4 || cells[0].x0 != cells[2].x0 {
			t.Errorf("line %d: the ranks are not drawn as a grid", it.Line)
		}
		if !strings.Contains(s.all(), "tensors are moved to the ranks that need them") {
			t.Errorf("line %d: the arrows have no name", it.Line)
		}
	}
	if moved < 4 {
		t.Errorf("%d routes, which say nothing", moved)
	}
	checkStages(t, root)
}

// TestTransferOthers checks that routes to the drawn ranks are listed if there are more ranks, and
// that the routes from all other ranks are combined.
func TestTransferOthers(t *testing.T) {
	p := fileOf(t, `tensor B(200, 200): dd place (x,y) -> M(x) from dense
place B (x,y) -> M(y)
s = B(i,j)
print s
`, 100, nil)
	received := make([]int64, 100)
	others := 0
	for _, r := range p.Items[0].Moves[0].Routes {
		if received[r.To] += r.Bytes; r.From == jobs.Others {
			others++
		}
	}
	if !slices.Equal(received[:DrawnRanks], p.Items[0].Comm.BytesReceived[:DrawnRanks]) ||
		others != DrawnRanks || slices.Max(received[DrawnRanks:]) != 0 {
		t.Errorf("the routes bring %d, %d of them from others; ranks receive %d", received, others,
			p.Items[0].Comm.BytesReceived)
	}
	root := drawn(t, p)
	list, _ := root.find("<section")[0].arrows()
	if want := min(DrawnRanks*DrawnRanks, momentArrows); len(list) != want {
		t.Errorf("%d arrows, want %d", len(list), want)
	}
	if !strings.Contains(root.all(), "from ranks that are not drawn") {
		t.Error("no line tells of the ranks that are not drawn")
	}
}

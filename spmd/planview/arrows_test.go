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
	"distaff/spmd"
	"distaff/spmd/forecast"
	"distaff/spmd/jobs"
)

// fileOf plans a job file on so many ranks, with values of its params.
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

// algorithm is a job file of testdata/jobs on a square of g x g ranks.
func algorithm(t *testing.T, name string, g int) *jobs.Planned {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "jobs", name+".dst"))
	if err != nil {
		t.Fatal(err)
	}
	return fileOf(t, string(text), g*g, map[string]string{"g": fmt.Sprint(g), "n": fmt.Sprint(16 * g)})
}

// drawn is the page of a job file.
func drawn(t *testing.T, p *jobs.Planned) *node {
	t.Helper()
	text, err := FilePage("a.dst", p)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// TestAlgorithmArrows: on the pages of Cannon's algorithm and SUMMA each message is an arrow, where
// a broadcast, which counts as one, has an arrow for each rank that it comes to. No arrow is near
// no rank, and no cell under another.
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
			if n := len(root.find("arrow")); n != want || want == 0 || messages != sent ||
				name == "cannon" != (int64(n) == sent) && g > 2 {
				t.Errorf("%s on %d ranks: %d arrows, want %d, of %d messages", name, g*g, n, want, sent)
			}
			checkStages(t, root)
		}
	}
}

// TestLabels: the labels of a moment lie over no cell, on the stage, and are as many as there is
// room for.
func TestLabels(t *testing.T) {
	p := algorithm(t, "cannon", 2).Items[0].Plan
	s := newStage(newFlow(p, math.MaxInt32))
	for _, m := range s.Moments {
		labels := 0
		for _, a := range m.Arrows {
			if a.Label == "" {
				continue
			}
			labels++
			w := letterWidth * float64(len(a.Label))
			c := stageCell{X: a.LX - w/2, Y: a.LY - labelHeight + 3, W: w, H: labelHeight}
			if slices.ContainsFunc(s.Cells, c.over) || c.X < s.Left || c.Y < s.Top ||
				c.X+c.W > s.Left+s.Width || c.Y+c.H > s.Top+s.Height {
				t.Errorf("%s: the label %q lies over a cell, or leaves the stage", m.Name, a.Label)
			}
		}
		if want := len(m.Arrows); labels < want-1 {
			t.Errorf("%s: %d labels of %d arrows", m.Name, labels, want)
		}
	}
}

// TestBroadcastLabel: of the arrows of a block that goes to several ranks one has a label, which
// does not hide it.
func TestBroadcastLabel(t *testing.T) {
	f := fileOf(t,
		"tensor A(64, 64): ds from uniform:100\ntensor x(64): d from dense\ny(i) = A(i,j) * x(j)\n", 4,
		nil)
	s := newStage(newFlow(f.Items[0].Plan, math.MaxInt32))
	m := s.Moments[0]
	var labels []string
	for _, a := range m.Arrows {
		if a.Label != "" {
			labels = append(labels, a.Title+": "+a.Label)
		}
	}
	if want := []string{"x[0:64], 512 bytes, from rank 0 to rank 3: x 512 bytes"}; len(m.Arrows) !=
		3 || !slices.Equal(labels, want) {
		t.Errorf("got %d arrows with the labels %q, want 3 with %q", len(m.Arrows), labels, want)
	}
}

// checkStages checks that cells of ranks do not overlap, and that each arrow leads from one to
// another.
func checkStages(t *testing.T, root *node) {
	t.Helper()
	for _, svg := range root.find("stage") {
		view := make([]float64, 4)
		if n, err := fmt.Sscan(svg.attrs["viewBox"], &view[0], &view[1], &view[2], &view[3]); n != 4 {
			t.Fatal(err)
		}
		frame := box{view[0], view[1], view[0] + view[2], view[1] + view[3]}
		var cells []box
		for _, c := range svg.find("cell") {
			cells = append(cells, boxOf(t, c))
		}
		disjoint(t, "the stage", frame, cells)
		for _, a := range svg.find("arrow") {
			checkArrow(t, a.attrs["d"], frame, cells)
		}
	}
}

// TestPlacedArrows: what comes from placements, is gathered, or goes to a placement has arrows,
// with the bytes that ranks count.
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
		if n := len(root.find("arrow")); n != arrows {
			t.Errorf("%s: %d arrows are drawn, want %d", name, n, arrows)
		}
		checkStages(t, root)
	}
}

// TestTransferArrows: what place moves, and what comes to a statement from where another left it,
// has arrows of its own, on the machine of the nearest statement.
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
		if n := len(s.find("arrow")); n != want || want == 0 {
			t.Errorf("line %d: %d arrows, want %d", it.Line, n, want)
		}
		if cells := s.find("cell"); len(cells) != 4 || cells[0].attrs["x"] != cells[2].attrs["x"] {
			t.Errorf("line %d: the ranks are not drawn as a grid", it.Line)
		}
		if !strings.Contains(s.all(), "tensors come to where the item wants them") {
			t.Errorf("line %d: the arrows have no name", it.Line)
		}
	}
	if moved < 4 {
		t.Errorf("%d routes, which say nothing", moved)
	}
	checkStages(t, root)
}

// TestTransferOthers: of more ranks than are drawn the routes to the first ones are told, those
// from all others as one.
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
	if n, want := len(root.find("<section")[0].find("arrow")),
		min(DrawnRanks*DrawnRanks, momentArrows); n != want {
		t.Errorf("%d arrows, want %d", n, want)
	}
	if !strings.Contains(root.all(), "from ranks that are not drawn") {
		t.Error("no line tells of the ranks that are not drawn")
	}
}

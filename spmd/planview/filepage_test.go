package planview

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"distaff/codegen/jobfile"
	"distaff/spmd"
	"distaff/spmd/forecast"
	"distaff/spmd/jobs"
)

// TestFileSize: the statements of a job file share the room of a page.
func TestFileSize(t *testing.T) {
	p,
		err := (&spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {100000, 1000}},
		Options: spmd.Options{Ranks: 1000, Splits: []string{"i:1000", "j:4"}, Map: "i"}}).Plan(
		context.Background(), DrawnRanks)
	if err != nil {
		t.Fatal(err)
	}
	file := &jobs.Planned{Comm: p.Comm}
	for range 30 {
		file.Items = append(file.Items, jobs.PlannedItem{Runs: 1, Comm: p.Comm, Plan: p})
	}
	text, err := FilePage("a.dst", file)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 8<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
	if n := len(parse(t, text).find("flow")); n != 30 {
		t.Errorf("the page has %d stages, want 30", n)
	}
}

// TestManyMoves: a moment of more moves than are drawn says so.
func TestManyMoves(t *testing.T) {
	p := planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {8, 6}}, spmd.Options{Ranks: 2})
	b := forecast.PlannedBlock{Tensor: "y", Box: [][2]int64{{0, 8}}, Bytes: 1}
	for range 2 * momentArrows {
		p.PerRank[1].Sums = append(p.PerRank[1].Sums,
			forecast.PlannedSum{PlannedMove: forecast.PlannedMove{PlannedBlock: b, From: 0, To: 1}})
	}
	root := pageOf(t, p)
	_, drawn := root.arrows()
	if drawn != momentArrows ||
		!strings.Contains(root.all(), "2,048 blocks travel, 2 KiB; the first 1,024 have arrows") {
		t.Errorf("%d arrows of sums:\n%s", drawn, root.find("flow")[0].all())
	}
}

// TestFilePage: a job file has a section for each of its statements, with its moves, and totals.
func TestFilePage(t *testing.T) {
	f, err := jobfile.Parse("a.dst",
		"tensor A(8, 6): dd from dense\nrepeat 3 {\n  x(j) = A(i,j)\n  y(i) = A(i,j) * x(j)\n}\nprint y\n")
	if err == nil {
		err = f.Bind(nil)
	}
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&spmd.FileJob{File: f, Options: spmd.Options{Ranks: 2}}).Plan(context.Background(),
		DrawnRanks)
	if err != nil {
		t.Fatal(err)
	}
	text, err := FilePage("a<b>.dst", p)
	if err != nil {
		t.Fatal(err)
	}
	root := parse(t, text)
	sections := root.find("<section")
	if len(sections) != len(p.Items) || len(sections) != 2 || root.find("<h1")[0].text != "a<b>.dst" {
		t.Fatalf("%d sections of %d items, under %q", len(sections), len(p.Items),
			root.find("<h1")[0].text)
	}
	for k, s := range sections {
		it := p.Items[k]
		if got := len(s.find("move")); got != len(it.Moves) {
			t.Errorf("section %d has %d moves, want %d", k, got, len(it.Moves))
		}
		if got := len(s.find("rankrow")); got != 2 {
			t.Errorf("section %d has %d ranks", k, got)
		}
		if !strings.Contains(s.all(), fmt.Sprintf("line %d, 3 runs", it.Line)) {
			t.Errorf("section %d does not say where it stands", k)
		}
		if links := root.find("<nav")[0].find("<a"); links[k].attrs["href"] != "#"+s.attrs["id"] {
			t.Errorf("link %d goes to %s, want %s", k, links[k].attrs["href"], s.attrs["id"])
		}
	}
	scrolled := 0
	for _, n := range root.find("wide") {
		scrolled += len(n.find("<table"))
	}
	if got := len(root.find("<table")); got != scrolled || got < 5 {
		t.Errorf("%d of %d tables scroll if they are wider than the page", scrolled, got)
	}
	if !strings.Contains(root.all(), "Totals over all runs of all statements") {
		t.Error("the page has no totals of the file")
	}
	p.AtMost, p.Items[0].Plan = true, nil
	if text, err = FilePage("a.dst", p); err != nil ||
		!bytes.Contains(text, []byte("If conditions leave items out")) ||
		len(parse(t, text).find("flow")) != 1 {
		t.Errorf("a file with a place and a condition: %v", err)
	}
}

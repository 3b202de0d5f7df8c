package planview

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"distaff/spmd"
	"distaff/spmd/forecast"
)

// planOf plans a statement, with the steps of all ranks.
func planOf(t *testing.T, statement string, sizes map[string][]int64,
	o spmd.Options) *forecast.Planned {
	t.Helper()

	p, err := (&spmd.Job{Statement: statement, Sizes: sizes, Options: o}).Plan(context.Background(),
		-1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// node is an element of a page.
type node struct {
	name  string
	attrs map[string]string
	text  string
	under []*node
}

// parse reads a page as XML.
func parse(t *testing.T, text []byte) *node {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	root := &node{}
	open := []*node{root}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return root
		}
		if err != nil {
			t.Fatalf("the page is no XML: %v", err)
		}
		top := open[len(open)-1]
		switch x := token.(type) {
		case xml.StartElement:
			n := &node{name: x.Name.Local, attrs: map[string]string{}}
			for _, a := range x.Attr {
				if _, twice := n.attrs[a.Name.Local]; twice {
					t.Errorf("<%s> has two attributes %s", n.name, a.Name.Local)
				}
				n.attrs[a.Name.Local] = a.Value
			}
			top.under = append(top.under, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.text += string(x)
		}
	}
}

// find lists the elements below n that have a class, or that have a name if what begins with <.
func (n *node) find(what string) (list []*node) {
	for _, c := range n.under {
		if "<"+c.name == what || slices.Contains(strings.Fields(c.attrs["class"]), what) {
			list = append(list, c)
		}
		list = append(list, c.find(what)...)
	}
	return list
}

// all returns the text of n and of everything below n.
func (n *node) all() string {
	s := n.text
	for _, c := range n.under {
		s += " " + c.all()
	}
	return s
}

// num returns the value of a numeric attribute.
func (n *node) num(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(n.attrs[name], 64)
	if err != nil {
		t.Fatalf("<%s %s=%q>: %v", n.name, name, n.attrs[name], err)
	}
	return v
}

// pageOf parses the page of a plan.
func pageOf(t *testing.T, p *forecast.Planned) *node {
	t.Helper()
	text, err := Page(p)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("<!DOCTYPE html>")) || bytes.Contains(text, []byte("Zgotmpl")) {
		t.Errorf("the page begins with %.40q, or a value has no place in it", text)
	}
	return parse(t, text)
}

// plans returns the plans that pages are checked with.
func plans(t *testing.T) map[string]*forecast.Planned {
	matrices := map[string][]int64{"A": {60, 40}, "B": {40, 50}}
	list := map[string]*forecast.Planned{
		"one rank": planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {8, 6}}, spmd.Options{}),
		"rows": planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {80, 60}},
			spmd.Options{Ranks: 4}),
		"a product": planOf(t, "C(i,j) = A(i,k)*B(k,j)", matrices,
			spmd.Options{Ranks: 4, Splits: []string{"i:2", "j:2", "k:3"}, Map: "i,j"}),
		"sums": planOf(t, "C(i,j) = A(i,k)*B(k,j)", matrices,
			spmd.Options{Ranks: 4, Splits: []string{"k:4"}, Extend: []string{"k"}, Map: "k"}),
		"a diagonal": planOf(t, "y(i) = A(i,i)*x(i)", map[string][]int64{"A": {8, 8}},
			spmd.Options{Ranks: 2, Splits: []string{"i:2"}}),
		"a number": planOf(t, "s = A(i,j,k)", map[string][]int64{"A": {8, 9, 10}},
			spmd.Options{Ranks: 3, Splits: []string{"i:2", "j:2", "k:2"}, Map: "k"}),
		"idle ranks": planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {8, 6}},
			spmd.Options{Ranks: 9, Splits: []string{"i:4"}}),
		"many ranks": planOf(t, "C(i,j) = A(i,k)*B(k,j)", matrices,
			spmd.Options{Ranks: 100, Splits: []string{"i:10", "j:10", "k:5"}, Map: "i,j"}),
	}
	for name, machine := range map[string][]int64{"a product": {2, 2}, "sums": {2, 1, 2},
		"many ranks": {10, 10}, "idle ranks": {3, 3}, "a number": {2, 2}} {
		list[name].Machine = machine
	}
	return list
}

// TestElements checks that the page has a row for each rank, a cell for each rank at each moment
// with transfers, a rectangle for each block of each tensor, and an arrow for each block that is
// received or added.
func TestElements(t *testing.T) {
	for name, p := range plans(t) {
		t.Run(name, func(t *testing.T) {
			root := pageOf(t, p)
			for _, m := range root.find("stage") {
				want := min(p.Ranks, DrawnRanks+1) // the last for all others
				if n := len(m.boxes(t)) + len(m.idle(t)); n != want {
					t.Errorf("%d cells of ranks, want %d", n, want)
				}
			}
			if n := len(root.find("rankrow")); n != p.Ranks {
				t.Errorf("%d rows of ranks, want %d", n, p.Ranks)
			}
			if n := len(root.find("tensor")); n != len(p.Tensors) {
				t.Errorf("%d rows of tensors, want %d", n, len(p.Tensors))
			}
			pictures := root.find("picture")
			for k, x := range p.Tensors {
				if n := len(pictures[k].boxes(t)); int64(n) != x.Blocks {
					t.Errorf("%s: %d blocks are drawn, want %d", x.Name, n, x.Blocks)
				}
			}
			want := 0
			for r, d := range p.PerRank[:min(p.Ranks, DrawnRanks)] {
				for _, x := range p.Tensors {
					if x.Broadcast && p.Ranks > 1 && x.Owners[0] != r {
						want++
					}
				}
				for _, s := range d.Steps {
					for _, f := range s.Fetches {
						if !f.All && f.From != r {
							want++
						}
					}
				}
				for _, s := range d.Sums {
					if s.From != s.To && (s.To == r || s.To >= DrawnRanks) {
						want++
					}
				}
			}
			if list, _ := root.arrows(); len(list) != want {
				t.Errorf("%d arrows, want %d", len(list), want)
			}
		})
	}
}

// TestTravel compares the bytes that each rank receives and sends in a flow with the plan's counts.
// A broadcast counts once.
func TestTravel(t *testing.T) {
	for name, p := range plans(t) {
		if p.Ranks > DrawnRanks {
			continue
		}
		sent, received := make([]int64, p.Ranks), make([]int64, p.Ranks)
		for _, m := range newFlow(p, math.MaxInt32).moments {
			once := map[string]bool{}
			for _, v := range m.moves {
				received[v.to] += v.block.Bytes
				if key := v.block.String(); m.name != "before the steps" || !once[key] {
					once[key] = true
					sent[v.from] += v.block.Bytes
				}
			}
		}
		if !slices.Equal(sent, p.Comm.BytesSent) || !slices.Equal(received, p.Comm.BytesReceived) {
			t.Errorf("%s: the moves send %d and bring %d, want %d and %d", name, sent, received,
				p.Comm.BytesSent, p.Comm.BytesReceived)
		}
	}
}

// TestEscaped checks that names and files with characters that are special in HTML remain text.
func TestEscaped(t *testing.T) {
	p := planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {8, 6}}, spmd.Options{Ranks: 2})
	const bad = `<script>alert("&amp;'")</script>`
	p.Statement = bad
	p.Tensors[0].Name, p.Tensors[0].Source, p.Tensors[0].Vars = bad, bad+"\x1b", []string{bad, "<&>"}
	p.Largest = bad
	p.Loops[0].Var = bad
	for k := range p.PerRank {
		for s := range p.PerRank[k].Steps {
			p.PerRank[k].Steps[s].Fetches[0].Tensor = bad
		}
	}
	root := pageOf(t, p)
	if n := len(root.find("<script")); n != 0 {
		t.Errorf("the page has %d scripts, want none", n)
	}
	if h := root.find("<h1")[0].text; h != bad {
		t.Errorf("the title is %q, want %q", h, bad)
	}
	if !strings.Contains(root.find("picture")[0].all(), bad+"("+bad+",<&>)") {
		t.Errorf("the tensor's picture has another name: %s", root.find("picture")[0].all())
	}
	if strings.Contains(root.all(), "\x1b") {
		t.Error("a control character of a file's name is in the page")
	}
}

// TestSelfContained checks that the page refers to no other file, and that every drawing has a text
// alternative.
func TestSelfContained(t *testing.T) {
	root := pageOf(t, plans(t)["many ranks"])
	var walk func(n *node)
	walk = func(n *node) {
		for _, a := range []string{"src", "href", "srcset", "data", "action"} {
			if v, ok := n.attrs[a]; ok && !strings.HasPrefix(v, "#") {
				t.Errorf("<%s %s=%q> names another file", n.name, a, v)
			}
		}
		if n.name == "svg" && (n.attrs["role"] != "img" || len(n.find("<title")) != 1 ||
			n.find("<title")[0].text == "") {
			t.Error("a drawing has no text alternative")
		}
		if n.name == "link" || n.name == "img" || n.name == "iframe" {
			t.Errorf("the page has <%s>", n.name)
		}
		for _, c := range n.under {
			walk(c)
		}
	}
	walk(root)
	if style := root.find("<style")[0].text; strings.Contains(style, "url(") ||
		strings.Contains(style, "@import") || !strings.Contains(style, "prefers-color-scheme: dark") {
		t.Error("the style names another file, or has no dark colors")
	}
}

// TestWords checks that the page contains the words that a reader looks for.
func TestWords(t *testing.T) {
	for _, ranks := range []int{1, 4, 9, 1024} {
		p := planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {100000, 20000}},
			spmd.Options{Ranks: ranks})
		root := pageOf(t, p)
		text := root.all()
		for _, want := range []string{"100,000 x 20,000", "entries read of A", "by rank", "max/mean",
			"max at rank"} {
			several := want == "by rank" || strings.HasPrefix(want, "max")
			if strings.Contains(text, want) == (ranks == 1 && several) {
				t.Errorf("%d ranks: %q is there or not, against what is right", ranks, want)
			}
		}
		if strings.Contains(text, "[100000") || strings.Contains(text, "1 ranks") {
			t.Errorf("%d ranks:\n%s", ranks, text)
		}
		if _, open := root.find("<details")[0].attrs["open"]; open != (ranks <= openRanks) {
			t.Errorf("%d ranks: the table is open: %v", ranks, open)
		}
		if drawn := strings.Contains(text,
			"The pictures show the first 64 of 1,024 ranks"); drawn != (ranks > DrawnRanks) {
			t.Errorf("%d ranks: the page says that it leaves out ranks: %v", ranks, drawn)
		}
		if stages := len(root.find("flow")); (stages == 1) != (ranks > 1) {
			t.Errorf("%d ranks: %d stages", ranks, stages)
		}
	}
}

// TestLies checks the words about where each placed tensor is, and how much of it moves.
func TestLies(t *testing.T) {
	p := planOf(t, "y(i) = A(i,j)*x(j)", map[string][]int64{"A": {64, 32}},
		spmd.Options{Ranks: 4, Schedule: []string{"divide(i,io,ii,M.x),distribute(io)"},
			Placements: []string{"x(j) -> M(0)", "y(i) -> M(0)", "A(i,j) -> M(j)"}})
	for k, want := range []string{
		"at (i,j) -> M(j)",
		"at (j) -> M(0)",
		"at (i) -> M(0)",
	} {
		if got := WherePlaced(p, p.Tensors[k]); got != want {
			t.Errorf("%s lies %q, want %q", p.Tensors[k].Name, got, want)
		}
	}
	sparse := spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Formats: map[string]string{"A": "ds"},
		Sizes:  map[string][]int64{"A": {64, 32}},
		Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:100")}}
	sparse.Ranks, sparse.Schedule, sparse.Placements = 4,
		[]string{"divide(i,io,ii,M.x),distribute(io)"}, []string{"A(i,j) -> M(j)"}
	p, err := sparse.Plan(context.Background(), 4)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := WherePlaced(p, p.Tensors[0]),
		"at (i,j) -> M(j), and moved from there to its blocks before the first step, "; !strings.HasPrefix(got, want) {
		t.Errorf("A lies %q, want %q", got, want)
	}
	p = planOf(t, "y(i) = x(i)", map[string][]int64{"x": {64}},
		spmd.Options{Ranks: 4, Schedule: []string{"divide(i,io,ii,2),distribute(io)"},
			Placements: []string{"y(i) -> M(i)"}})
	if got, want := WherePlaced(p, p.Tensors[1]),
		"at (i) -> M(i), where its blocks are moved after the last step, 384 bytes"; p.Tensors[1].Name != "y" || got != want {
		t.Errorf("%s lies %q, want %q", p.Tensors[1].Name, got, want)
	}
}

// TestIdle checks that ranks without a step are faint and counted.
func TestIdle(t *testing.T) {
	p := plans(t)["idle ranks"]
	root := pageOf(t, p)
	if n := len(root.idle(t)); n != 5 || !strings.Contains(root.all(), "4 ranks of 9 run") {
		t.Errorf("%d ranks are idle, want 5:\n%s", n, root.find("flow")[0].all())
	}
}

// TestMemoryNotes checks the notes about the memory that ranks certainly need, and about exceeding
// the limit.
func TestMemoryNotes(t *testing.T) {
	p := plans(t)["rows"]
	p.Least, p.Memory[2], p.MemoryLimit = 2048, 8192, 4096
	text := pageOf(t, p).all()
	for _, want := range []string{
		"A rank needs at least 2 KiB of memory: a run with a lower limit is refused.",
		"but --memory-limit is 4 KiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestSize checks that a page of many ranks and blocks has at most a few megabytes, and says what
// it leaves out.
func TestSize(t *testing.T) {
	p,
		err := (&spmd.Job{Statement: "y(i) = A(i,j)*x(j)",
		Sizes:   map[string][]int64{"A": {1000000, 10000}},
		Options: spmd.Options{Ranks: 10000, Splits: []string{"i:10000", "j:4"}, Map: "i"}}).Plan(
		context.Background(), DrawnRanks)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Page(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 4<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
	root := parse(t, text)
	for _, want := range []string{"The first 1,024 of 10,000 ranks; --json has all.",
		"at even distances", "The pictures show the first 64 of 10,000 ranks"} {
		if !strings.Contains(root.all(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	list, _ := root.arrows()
	if n := len(list) + len(root.find("<li")); n > share(1).arrows {
		t.Errorf("%d arrows and lines, want %d at most", n, share(1).arrows)
	}
	blocks := 0
	for _, p := range root.find("picture") {
		blocks += len(p.boxes(t))
	}
	if blocks > share(1).blocks {
		t.Errorf("%d blocks, want %d at most", blocks, share(1).blocks)
	}
}

// TestManySteps checks that only the first steps are drawn if there are too many, followed by the
// sums.
func TestManySteps(t *testing.T) {
	p := planOf(t, "C(i,j) = A(i,k)*B(k,j)", map[string][]int64{"A": {60, 40}, "B": {40, 50}},
		spmd.Options{Ranks: 4, Splits: []string{"i:20", "k:4"}, Extend: []string{"k"}, Map: "k"})
	x := newFlow(p, 200)
	if x.steps != 20 || x.shown < 1 || x.shown > 19 ||
		x.says() != fmt.Sprintf("The pictures show the first %d of 20 steps.", x.shown) {
		t.Errorf("%d of %d steps are drawn: %q", x.shown, x.steps, x.says())
	}
	if last := x.moments[len(x.moments)-1]; len(x.moments) != x.shown+1 ||
		last.name != "sums: partial results are added" || len(last.moves) != 60 {
		t.Errorf("the last of %d moments is %q, with %d moves", len(x.moments), last.name,
			len(last.moves))
	}
}

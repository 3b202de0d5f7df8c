package spy

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"distaff/io/bins"
)

// grid is a grid of modes 0 and 1 with bins of one coordinate.
func grid(rows ...[]int64) *bins.Grid {
	g := &bins.Grid{Modes: [2]int{0, 1}, Width: [2]int64{1, 1}, Bins: [2]int{len(rows), len(rows[0])}}
	for side, n := range g.Bins {
		g.Size[side] = int64(n)
	}
	g.Counts = slices.Concat(rows...)
	return g
}

// random is a grid of n bins down and across in which that share of the bins has entries, up to
// most.
func random(n int, share float64, most int64) *bins.Grid {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	rows := make([][]int64, n)
	for i := range rows {
		rows[i] = make([]int64, n)
		for j := range rows[i] {
			if r.Float64() < share {
				rows[i][j] = 1 + r.Int64N(most)
			}
		}
	}
	return grid(rows...)
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		most   int
		want   string
	}{
		{[]int64{0, 0}, 4, ""},
		{[]int64{0, 1, 1}, 4, "1"},
		{[]int64{6, 6}, 9, "6"},
		{[]int64{1, 2, 4}, 4, "1 2 3 4"},
		{[]int64{1, 100}, 4, "1-49 50-99 100"},
		{[]int64{1, 101}, 4, "log 1-9 10-99 100-101"},
		{[]int64{1, 5000}, 9, "log 1-2 3-9 10-29 30-99 100-299 300-999 1000-2999 3000-5000"},
		{[]int64{1, 500}, 9, "log 1 2-4 5-9 10-19 20-49 50-99 100-199 200-499 500"},
		{[]int64{2, 1<<60 - 1}, 4,
			"log 2-99999 100000-9999999999 10000000000-999999999999999 1000000000000000-1152921504606846975"},
		{[]int64{3893, 4330}, 4, "3893-3999 4000-4330"},
		{[]int64{1<<60 - 1}, 4, "1152921504606846975"},
	} {
		g := grid(c.counts)
		s := newScale(g, c.most)
		var text []string
		if s.log {
			text = append(text, "log")
		}
		for _, k := range s.classes {
			text = append(text, k.text("-"))
		}
		if got := strings.Join(text, " "); got != c.want {
			t.Errorf("%v in %d: got %q, want %q", c.counts, c.most, got, c.want)
		}
	}
	r := rand.New(rand.NewPCG(4, 5))
	for range 20000 {
		counts := make([]int64, 1+r.IntN(6))
		for k := range counts {
			counts[k] = r.Int64N(1 << r.IntN(61))
		}
		most := 1 + r.IntN(9)
		g := grid(counts)
		s := newScale(g, most)
		if len(s.classes) > most {
			t.Fatalf("%v: got %d classes, want at most %d: %v", counts, len(s.classes), most, s.classes)
		}
		for _, n := range counts {
			k := s.of(n)
			if (k < 0) != (n == 0) || k >= 0 && (n < s.classes[k].low || n > s.classes[k].high) {
				t.Fatalf("%v in %v: %d is in class %d", counts, s.classes, n, k)
			}
			if k >= 0 && (s.at(k) < 0 || s.at(k) > 1 || k > 0 && s.at(k) <= s.at(k-1)) {
				t.Fatalf("%v: class %d is at %v", counts, k, s.at(k))
			}
		}
	}
}

// TestWidth: bins fit the room of a view, are square where it is proportional, and none is wider
// than it must be.
func TestWidth(t *testing.T) {
	for _, c := range []struct {
		size    [2]int64
		longest int
		want    [2]int64
	}{
		{[2]int64{100, 100}, 100, [2]int64{1, 1}},
		{[2]int64{101, 101}, 100, [2]int64{2, 2}},
		{[2]int64{1000, 500}, 100, [2]int64{10, 10}},
		{[2]int64{1000, 350}, 100, [2]int64{10, 10}},
		{[2]int64{1000000, 3}, 512, [2]int64{1954, 1}},
		{[2]int64{3, 1000000}, 512, [2]int64{1, 1954}},
		{[2]int64{1 << 61, 1 << 61}, 512, [2]int64{1 << 52, 1 << 52}},
		{[2]int64{0, 5}, 10, [2]int64{1, 1}},
	} {
		if got := width(c.size, c.longest); got != c.want {
			t.Errorf("%v in %d: got %v, want %v", c.size, c.longest, got, c.want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		size        int64
		length, gap float64
		want        string
	}{
		{0, 100, 20, ""}, {1, 32, 20, "1"}, {3, 90, 20, "1 2 3"}, {1138, 400, 40, "200 400 600 800 1000"},
		{1000000, 512, 42, "100k 200k 300k 400k 500k 600k 700k 800k 900k 1M"},
		{1 << 61, 100, 40, "1E 2E"}, {250000, 100, 30, "100k 200k"},
	} {
		var got []string
		last := math.Inf(-1)
		for _, k := range ticks(c.size, c.length, c.gap) {
			got = append(got, k.text)
			if k.at-last < c.gap-1e-6 || k.at > c.length {
				t.Errorf("size %d: a tick at %v after %v", c.size, k.at, last)
			}
			last = k.at
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("size %d: got %q, want %q", c.size, s, c.want)
		}
	}
}

func text(t *testing.T, g *bins.Grid, page Page) string {
	t.Helper()
	var b strings.Builder
	p := &Picture{Name: "a.mtx", Dims: g.Size[:], Entries: 1, Grids: []*bins.Grid{g}}
	if err := p.Text(&b, page); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	g := grid([]int64{1, 0, 0}, []int64{0, 3, 0})
	want := `a.mtx: 2 x 3, 1 entry (16.7% of all coordinates)
mode 0 down, mode 1 across
 +------+
1|..    |
2|  @@  |
 +------+
  1    3
. 1 * 2 @ 3 entries in a bin of 1 x 1 coordinates
`
	if got := text(t, g, Page{Columns: 80}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = strings.NewReplacer("..  ", "░░  ", "@@", "██", ". 1", "░ 1", "* 2", "▓ 2", "@ 3", "█ 3",
		"+------+", "┌──────┐", "|", "│").Replace(want)
	head, tail, _ := strings.Cut(want, "2│")
	want = head + "2│" + strings.Replace(tail, "┌──────┐", "└──────┘", 1)
	if got := text(t, g, Page{Columns: 80, Unicode: true}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDots: the dots of a Braille character are where Unicode has them.
func TestDots(t *testing.T) {
	for i, row := range []string{"⠁⠈", "⠂⠐", "⠄⠠", "⡀⢀"} {
		for j, want := range []rune(row) {
			rows := [][]int64{{0, 0}, {0, 0}, {0, 0}, {0, 0}}
			rows[i][j] = 1
			if got := braille(grid(rows...), [2]int{1, 1}); len(got) != 1 || got[0] != string(want) {
				t.Errorf("dot %d,%d: got %q, want %q", i, j, got, want)
			}
		}
	}
}

// TestBraille: each dot of a sparse picture is a bin, and stands where the bin is.
func TestBraille(t *testing.T) {
	g := random(131, 0.2, 5)
	lines := strings.Split(text(t, g, Page{Columns: 80, Unicode: true}), "\n")
	dots, rows := 0, 0
	for _, l := range lines {
		_, inside, ok := strings.Cut(l, "│")
		if !ok {
			continue
		}
		for c, r := range []rune(strings.TrimSuffix(inside, "│")) {
			for i := range dotsDown {
				for j := range dotsAcross {
					on := r != ' ' && (r-'⠀')&dotBits[i][j] != 0
					if i, j := dotsDown*rows+i, dotsAcross*c+j; i < 131 && j < 131 {
						if on != (g.Row(i)[j] > 0) {
							t.Fatalf("bin %d,%d: a dot is %v, and the bin has %d entries", i, j, on, g.Row(i)[j])
						}
						dots++
					} else if on {
						t.Fatalf("a dot at %d,%d, past the last bin", i, j)
					}
				}
			}
		}
		rows++
	}
	if dots != 131*131 {
		t.Fatalf("got %d bins, want %d", dots, 131*131)
	}
	if !strings.Contains(strings.Join(lines, "\n"),
		"a dot: a bin of 1 x 1 coordinates with 1–5 entries") {
		t.Errorf("no legend in %s", strings.Join(lines, "\n"))
	}
	if dense := text(t, random(131, 0.9, 5),
		Page{Columns: 80, Unicode: true}); strings.ContainsAny(dense, "⣿⣾") ||
		!strings.Contains(dense, "▓") {
		t.Errorf("a dense picture is not made of shades:\n%s", dense)
	}
}

// TestTextWidth: no line is wider than the page, whatever the sizes and the number of views; ASCII
// is ASCII; every grid is drawn.
func TestTextWidth(t *testing.T) {
	for _, columns := range []int{24, 40, 79, 80, 133, 400} {
		for order := 1; order < 6; order++ {
			for _, size := range []int64{0, 1, 3, 33, 500, 1 << 61} {
				page := Page{Columns: columns, Unicode: order%2 == 0}
				modes := Modes(order)
				p := &Picture{Name: "a.tns"}
				for range order {
					p.Dims = append(p.Dims, size)
				}
				for _, v := range Views(modes, page.Longest(len(modes))) {
					sizes := [2]int64{max(1, size/3), size}
					if v.Modes[0] < 0 {
						sizes[0] = 1
					}
					g := &bins.Grid{Modes: v.Modes, Size: sizes, Width: v.Width(sizes)}
					for side := range g.Bins {
						g.Bins[side] = int((g.Size[side] + g.Width[side] - 1) / g.Width[side])
					}
					g.Counts = make([]int64, g.Bins[0]*g.Bins[1])
					for k := range g.Counts {
						g.Counts[k] = int64(k % 7)
					}
					p.Grids = append(p.Grids, g)
				}
				var b strings.Builder
				if err := p.Text(&b, page); err != nil {
					t.Fatal(err)
				}
				for n, l := range strings.Split(b.String(), "\n") {
					if w := utf8.RuneCountInString(l); w > columns && n > 2 && size < 1000 {
						t.Errorf("order %d, size %d: a line of %d characters on a page of %d: %q", order, size, w,
							columns, l)
					}
				}
				if !page.Unicode && strings.ContainsFunc(b.String(), func(r rune) bool { return r > '~' }) {
					t.Errorf("more than ASCII: %s", b.String())
				}
				if got := strings.Count(b.String(), "across"); got != len(modes) {
					t.Errorf("order %d: got %d panels, want %d:\n%s", order, got, len(modes), b.String())
				}
			}
		}
	}
}

// element is what these tests read of an SVG file.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Inside  []element  `xml:",any"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// cells counts, for each color, in which bins the paths of a view draw: row, column.
func cells(t *testing.T, group element) map[[2]int]string {
	t.Helper()
	out := map[[2]int]string{}
	for _, p := range group.Inside {
		d := p.attr("d")
		var x, y int
		number := func() int {
			n := 0
			for n < len(d) && (d[n] >= '0' && d[n] <= '9' || d[n] == '-') {
				n++
			}
			v, err := strconv.Atoi(d[:n])
			if err != nil {
				t.Fatalf("a path goes on with %.20q", d)
			}
			d = strings.TrimPrefix(d[n:], " ")
			return v
		}
		for d != "" {
			c := d[0]
			d = d[1:]
			switch c {
			case 'M':
				x, y = number(), number()
			case 'm':
				x, y = x+number(), y+number()
			case 'h':
				for n := number(); n > 0; n-- {
					if out[[2]int{y, x}] != "" {
						t.Fatalf("bin %d,%d is drawn twice", y, x)
					}
					out[[2]int{y, x}] = p.attr("stroke")
					x++
				}
			default:
				t.Fatalf("a path has %q", c)
			}
		}
	}
	return out
}

// drawn is an SVG file of one grid.
func drawn(t *testing.T, p *Picture) ([]byte, element) {
	t.Helper()
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	var root element
	if err := xml.Unmarshal(b.Bytes(), &root); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	return b.Bytes(), root
}

// TestSVG: a file draws each bin that has entries, once, in the color of its class, and holds
// nothing that runs or is fetched.
func TestSVG(t *testing.T) {
	for _, g := range []*bins.Grid{random(57, 0.4, 300), random(40, 1, 3), grid([]int64{5}),
		grid([]int64{0, 0}), grid([]int64{1, 1, 0, 2, 2, 1})} {
		name := `a<b>&"c".mtx`
		text, root := drawn(t, &Picture{Name: name, Dims: g.Size[:], Grids: []*bins.Grid{g}})
		s := newScale(g, mostNamed)
		want := map[[2]int]string{}
		for i := range g.Bins[0] {
			for j, n := range g.Row(i) {
				if n > 0 {
					want[[2]int{i, j}] = hex(light.color(s.at(s.of(n))))
				}
			}
		}
		k := slices.IndexFunc(root.Inside,
			func(e element) bool { return e.attr("shape-rendering") != "" })
		got := cells(t, root.Inside[k])
		if len(got) != len(want) {
			t.Fatalf("got %d bins, want %d", len(got), len(want))
		}
		for at, c := range want {
			if got[at] != c {
				t.Fatalf("bin %v: got color %q, want %q", at, got[at], c)
			}
		}
		if root.Inside[0].Text != name {
			t.Errorf("got the title %q, want %q", root.Inside[0].Text, name)
		}
		for _, no := range []string{"<script", "href", "url(", "@import", "onload"} {
			if bytes.Contains(text, []byte(no)) {
				t.Errorf("the file has %q", no)
			}
		}
	}
}

// TestSVGSize: neighbors of one color are one line, so that a full grid of the largest size is
// small, and one of noise a few MB.
func TestSVGSize(t *testing.T) {
	for _, c := range []struct {
		g    *bins.Grid
		most int
	}{{random(largest, 1, 1), 20 << 10}, {random(largest, 0.9, 100000), 3 << 20}} {
		text, _ := drawn(t, &Picture{Grids: []*bins.Grid{c.g}})
		if len(text) > c.most {
			t.Errorf("got %d bytes, want at most %d", len(text), c.most)
		}
	}
}

// TestPNG: the middle of each bin has the color of its class, and labels are on the page, also the
// one that goes up.
func TestPNG(t *testing.T) {
	for _, g := range []*bins.Grid{random(57, 0.4, 300), random(310, 0.4, 300), grid([]int64{5}),
		grid([]int64{1, 2, 0})} {
		p := &Picture{Name: "a.mtx", Dims: g.Size[:], Grids: []*bins.Grid{g}}
		var b bytes.Buffer
		if err := p.PNG(&b); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		d := p.newScene().panels[0]
		at := func(x, y float64) color.RGBA {
			return color.RGBAModel.Convert(img.At(int(x*pixels), int(y*pixels))).(color.RGBA)
		}
		for i := range g.Bins[0] {
			for j, n := range g.Row(i) {
				want := light.page
				if k := d.scale.of(n); k >= 0 {
					want = light.color(d.scale.at(k))
				}
				if got := at(d.x+(float64(j)+0.5)*d.sx, d.y+(float64(i)+0.5)*d.sy); got != want {
					t.Fatalf("bin %d,%d of %v: got %v, want %v", i, j, g.Bins, got, want)
				}
			}
		}
		ink := 0
		for x := page * pixels; x < (page+textSize)*pixels; x++ {
			for y := int(d.y) * pixels; y < int(d.y+60)*pixels && y < img.Bounds().Dy(); y++ {
				if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
					ink++
				}
			}
		}
		if ink < 50 && g.Size[0] == 1 {
			t.Errorf("no label goes up beside the grid: %d dark pixels", ink)
		}
	}
}

// TestScene: all of a drawing is on its page, and views do not overlap.
func TestScene(t *testing.T) {
	for order := 1; order < 8; order++ {
		for _, sizes := range [][2]int64{{1, 1}, {500, 500}, {1, 500}, {500, 2}} {
			p := &Picture{Name: strings.Repeat("long", 50)}
			for _, m := range Modes(order) {
				g := &bins.Grid{Modes: m, Size: sizes, Width: [2]int64{1, 1},
					Bins: [2]int{int(sizes[0]), int(sizes[1])}}
				g.Counts = make([]int64, sizes[0]*sizes[1])
				p.Grids = append(p.Grids, g.Coarsen([2]int{6, 6}))
			}
			s := p.newScene()
			for k, d := range s.panels {
				if d.x < page || d.y < page || d.x+d.w > s.w-page || d.y+d.h > s.h-page {
					t.Errorf("order %d, sizes %v: view %d is at %v,%v and %v x %v on a page of %v x %v", order,
						sizes, k, d.x, d.y, d.w, d.h, s.w, s.h)
				}
				for _, e := range s.panels[:k] {
					if d.x < e.x+e.w && e.x < d.x+d.w && d.y < e.y+e.h && e.y < d.y+d.h {
						t.Errorf("order %d, sizes %v: two views overlap", order, sizes)
					}
				}
			}
			for _, l := range s.labels {
				if n := textWidth(l.text, l.size); !l.up &&
					(l.x-n*float64(l.anchor)/2 < 0 || l.x+n*(1-float64(l.anchor)/2) > s.w) ||
					l.up && l.y-n*float64(2-l.anchor)/2 < 0 || l.y > s.h {
					t.Errorf("order %d, sizes %v: %q is outside the page", order, sizes, l.text)
				}
			}
		}
	}
}

func TestFailedWrite(t *testing.T) {
	p := &Picture{Grids: []*bins.Grid{random(300, 0.5, 9)}}
	for name, draw := range map[string]func(io.Writer) error{"SVG": p.SVG, "PNG": p.PNG,
		"text": func(w io.Writer) error { return p.Text(w, Page{Columns: 80}) }} {
		if err := draw(full{}); err != io.ErrShortWrite {
			t.Errorf("%s: got %v, want the writer's error", name, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

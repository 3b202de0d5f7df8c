package spy

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"image"
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
	"distaff/io/picture"
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

// random returns a grid of n bins down and across. About the given share of the bins has entries,
// up to most each.
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

// TestWidth checks that bins fit into a view, are square if the view is proportional, and are not
// wider than necessary.
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

// TestDots checks that the dots of a Braille character have the order of Unicode.
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

// TestBraille checks that each dot of a sparse picture represents one bin at the position of the
// bin.
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

// TestTextWidth checks that no line is wider than the page for any sizes and number of views, that
// an ASCII picture is ASCII, and that every grid is drawn.
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

// element is the part of an SVG file that these tests read.
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

// images returns the images in an element, and the position of each: x, y, width and height.
func (e *element) images(t *testing.T) (list []image.Image, at [][4]float64) {
	t.Helper()
	for k := range e.Inside {
		m, places := e.Inside[k].images(t)
		list, at = append(list, m...), append(at, places...)
	}
	if e.XMLName.Local != "image" {
		return list, at
	}
	data, ok := strings.CutPrefix(e.attr("href"), "data:image/png;base64,")
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !ok {
		t.Fatalf("an image is %.40q: %v", e.attr("href"), err)
	}
	m, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var place [4]float64
	for k, name := range []string{"x", "y", "width", "height"} {
		if place[k], err = strconv.ParseFloat(e.attr(name), 64); err != nil {
			t.Fatal(err)
		}
	}
	return append(list, m), append(at, place)
}

// drawn returns an SVG file of one grid.
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

// checkBins checks that all pixels of an image have the colors of a grid's classes. Its first bin
// is at x, y, and each bin is w pixels wide and h pixels high.
func checkBins(t *testing.T, m image.Image, x, y, w, h int, g *bins.Grid) {
	t.Helper()
	s := newScale(g, maxClasses)
	for i := range g.Bins[0] {
		for j, n := range g.Row(i) {
			want := picture.Paper
			if k := s.of(n); k >= 0 {
				want = tint(s.at(k))
			}
			for _, at := range [][2]int{{0, 0}, {w - 1, h - 1}, {w / 2, h / 2}} {
				got := color.RGBAModel.Convert(m.At(x+j*w+at[0], y+i*h+at[1]))
				if got != want {
					t.Fatalf("bin %d,%d of %v: got color %v, want %v", i, j, g.Bins, got, want)
				}
			}
		}
	}
}

var drawnGrids = []*bins.Grid{random(57, 0.4, 300), random(310, 0.4, 300), random(40, 1, 3),
	grid([]int64{5}),
	grid([]int64{0, 0}), grid([]int64{1, 1, 0, 2, 2, 1}), grid([]int64{1, 2, 0})}

// TestSVG checks that an SVG file draws each bin that has entries in the color of its class, at its
// place in the frame, that the file has a title for screen readers, and that it contains no scripts
// and no links.
func TestSVG(t *testing.T) {
	for _, g := range drawnGrids {
		name := `a<b>&"c".mtx`
		text, root := drawn(t, &Picture{Name: name, Dims: g.Size[:], Grids: []*bins.Grid{g}})
		images, at := root.images(t)
		if want := min(g.Filled(), 1); len(images) != want {
			t.Fatalf("%v: got %d images, want %d", g.Bins, len(images), want)
		}
		for k, m := range images {
			size := m.Bounds().Size()
			if at[k][2]*picture.Pixels != float64(size.X) || at[k][3]*picture.Pixels != float64(size.Y) {
				t.Errorf("an image of %v pixels is drawn as %v", size, at[k])
			}
			checkBins(t, m, 0, 0, size.X/g.Bins[1], size.Y/g.Bins[0], g)
		}
		if root.Inside[0].Text != name {
			t.Errorf("got the title %q, want %q", root.Inside[0].Text, name)
		}
		plain := strings.ReplaceAll(string(text), `xlink:href="data:image/png;base64,`, "")
		for _, no := range []string{"<script", "href=", "url(", "@import", "onload", "image/jpg"} {
			if strings.Contains(plain, no) {
				t.Errorf("the file has %q", no)
			}
		}
		if !strings.Contains(plain, "prefers-color-scheme: dark") {
			t.Error("the file has no colors for a dark screen")
		}
	}
}

// TestSVGSize checks that a full grid of the largest size makes a small file, and a random one a
// moderate file.
func TestSVGSize(t *testing.T) {
	for _, c := range []struct {
		g    *bins.Grid
		most int
	}{{random(maxSide, 1, 1), 20 << 10}, {random(maxSide, 0.9, 100000), 3 << 20}} {
		text, _ := drawn(t, &Picture{Grids: []*bins.Grid{c.g}})
		if len(text) > c.most {
			t.Errorf("got %d bytes, want at most %d", len(text), c.most)
		}
	}
}

// TestPNG checks that each bin has the color of its class, and that all labels are on the page,
// including the vertical one.
func TestPNG(t *testing.T) {
	for _, g := range drawnGrids {
		p := &Picture{Name: "a.mtx", Dims: g.Size[:], Grids: []*bins.Grid{g}}
		var b bytes.Buffer
		if err := p.PNG(&b); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, root := drawn(t, p)
		s := p.scene()
		if got := img.Bounds().Size(); got != image.Pt(int(s.W)*picture.Pixels, int(s.H)*picture.Pixels) {
			t.Errorf("the file has %v pixels, and the drawing is %v x %v", got, s.W, s.H)
		}
		_, at := root.images(t)
		for _, a := range at { // the canvas counts from below and draws images upside down
			w, h := int(a[2]*picture.Pixels)/g.Bins[1], int(a[3]*picture.Pixels)/g.Bins[0]
			checkBins(t, img, int(a[0])*picture.Pixels, int(s.H+a[1])*picture.Pixels, w, h, g)
		}
		ups := 0
		for _, l := range s.Texts {
			from, to := l.Box()
			ink := 0
			for x := int(from.X * picture.Pixels); x < int(to.X*picture.Pixels); x++ {
				for y := int(from.Y * picture.Pixels); y < int(to.Y*picture.Pixels); y++ {
					if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
						ink++
					}
				}
			}
			if ink < 8 {
				t.Errorf("%q is not at %v to %v: %d dark pixels", l.Text, from, to, ink)
			}
			if l.Up {
				ups++
			}
		}
		if ups != 1 {
			t.Errorf("%d labels go up, want 1", ups)
		}
	}
}

// TestScene checks that all texts of a drawing are on its page and do not overlap, even if a font
// is wider than the one of this package.
func TestScene(t *testing.T) {
	for order := 1; order < 8; order++ {
		for _, sizes := range [][2]int64{{1, 1}, {500, 500}, {1, 500}, {500, 2}} {
			p := &Picture{Name: strings.Repeat("long", 50)}
			for _, m := range Modes(order) {
				g := &bins.Grid{Modes: m, Size: sizes, Width: [2]int64{1, 1},
					Bins: [2]int{int(sizes[0]), int(sizes[1])}}
				g.Counts = make([]int64, sizes[0]*sizes[1])
				for k := range g.Counts {
					g.Counts[k] = int64(k % 9)
				}
				p.Grids = append(p.Grids, g.Coarsen([2]int{6, 6}))
			}
			_, root := drawn(t, p)
			s := p.scene()
			if _, at := root.images(t); sizes[1] > 1 {
				if len(at) != len(p.Grids) {
					t.Fatalf("order %d: %d views are drawn, want %d", order, len(at), len(p.Grids))
				}
				for k, a := range at {
					if a[0] < page || a[0]+a[2] > s.W-page || s.H+a[1] < page || s.H+a[1]+a[3] > s.H-page {
						t.Errorf("order %d, sizes %v: view %d is at %v on a page of %v x %v", order, sizes, k, a, s.W,
							s.H)
					}
					for _, b := range at[:k] {
						if a[0] < b[0]+b[2] && b[0] < a[0]+a[2] && a[1] < b[1]+b[3] && b[1] < a[1]+a[3] {
							t.Errorf("order %d, sizes %v: two views overlap", order, sizes)
						}
					}
				}
			}
			for k, l := range s.Texts {
				from, to := l.Box()
				if from.X < 0 || to.X > s.W || from.Y < 0 || to.Y > s.H {
					t.Errorf("order %d, sizes %v: %q is outside the page", order, sizes, l.Text)
				}
				for _, o := range s.Texts[:k] {
					if a, b := o.Box(); from.X < b.X && a.X < to.X && from.Y < b.Y && a.Y < to.Y {
						t.Errorf("order %d, sizes %v: %q lies over %q", order, sizes, l.Text, o.Text)
					}
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

package picture

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// TestPicture: a PNG file has what was drawn where it was drawn, with y going down, and an SVG file
// is XML whose texts are what was written, whatever the canvas's own words are.
func TestPicture(t *testing.T) {
	red, blue := color.RGBA{0xff, 0, 0, 0xff}, color.RGBA{0, 0, 0xff, 0xff}
	p := &Picture{W: 200, H: 100, Title: `a<b>&"c"`}
	p.Rect(10, 20, 30, 5, red)
	p.Path(blue, 2, nil, Point{50, 30}, Point{50, 60})
	p.Curve(blue, 4, nil, Point{100, 80}, Point{120, 20}, Point{140, 80})
	p.Path(blue, 2, []float64{10, 10}, Point{150, 10}, Point{190, 10})
	said := []string{`style="font-family:Go;font-variant:none;<&>`, `"data:image/jpg;`}
	p.Write(Text{X: 100, Y: 50, Size: 12, Anchor: 0.5, Text: said[0]})
	p.Write(Text{X: 20, Y: 90, Size: 12, Up: true, Bold: true, Color: red, Text: said[1]})
	var b bytes.Buffer
	if err := p.PNG(&b); err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Bounds().Size(); s.X != 200*Pixels || s.Y != 100*Pixels {
		t.Fatalf("the file has %v pixels", s)
	}
	for _, c := range []struct {
		x, y int
		want color.RGBA
	}{
		{10, 20, red}, {39, 24, red}, {9, 20, Paper}, {10, 25, Paper}, {40, 20, Paper}, {50, 31, blue},
		{50, 61, Paper},
		{120, 50, blue}, {120, 56, Paper}, {155, 10, blue}, {165, 10, Paper}, {175, 10, blue},
	} {
		if got := color.RGBAModel.Convert(m.At(c.x*Pixels, c.y*Pixels)); got != c.want {
			t.Errorf("%d,%d: got %v, want %v", c.x, c.y, got, c.want)
		}
	}
	b.Reset()
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	var root struct {
		Title string `xml:"title"`
		G     struct {
			G []struct {
				Texts []string `xml:"text"`
				Inner []struct {
					Texts []string `xml:"text"`
				} `xml:"g"`
			} `xml:"g"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(b.Bytes(), &root); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	if root.Title != p.Title || len(root.G.G) != 2 || root.G.G[0].Texts[0] != said[0] ||
		root.G.G[1].Inner[0].Texts[0] != said[1] {
		t.Errorf("got %+v from %s", root, b.Bytes())
	}
	if strings.Contains(p.Inline(), "<style") || !strings.Contains(p.Inline(), `font-weight:bold`) {
		t.Errorf("an element of a page is %s", p.Inline())
	}
}

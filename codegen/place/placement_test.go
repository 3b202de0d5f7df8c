package place

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlacement(t *testing.T) {
	for text, even := range map[string]string{
		"(x,y) -> M(x)":                "0 true",
		"(x,y) -> M(y)":                "1 true",
		"() -> M(*)":                   "-1 true",
		"(x,y) -> M(*)":                "-1 true",
		"(x) -> M(~x)":                 "0 false",
		"(x,y) -> M(~(x,y))":           "0 false",
		"(x,y) -> M(x,*)":              "0 false",
		"(x,y) -> M(3)":                "0 false",
		"(x,y) -> M(x); (x,y) -> N(y)": "0 false",
	} {
		for _, written := range []string{text,
			strings.NewReplacer("(", " ( ", "->", " ->\t", ",", " ,").Replace(text)} {
			p, end, err := ParsePlacement("place "+written+" to", 6, 6+len(written))
			if err != nil || end != 6+len(strings.TrimRight(written, " ")) || p.String() != text {
				t.Errorf("%s: got %s up to %d, %v", written, p, end, err)
				continue
			}
			if mode, ok := p.Even(); fmt.Sprint(mode, ok) != even {
				t.Errorf("%s: cuts mode %d evenly, %v, want %s", written, mode, ok, even)
			}
		}
	}
}

func TestPlacementErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                               `got the end of the placement, want "(" and the tensor's modes, as in (x,y) -> M(x)`,
		"(x":                             `got the end of the placement, want "," or ")"`,
		"(x,)":                           `got ")", want the name of a mode`,
		"(x) M(x)":                       `got "M", want "->" and a machine, as in (x,y) -> M(x)`,
		"(x) -> M(x,":                    `got the end of the placement, want a mode of the tensor, *, a number or ~`,
		"(x) -> M(3x)":                   `got 3x, want a coordinate of the machine: a whole number`,
		"(x) -> M(99999999999999999999)": `got 99999999999999999999, want a coordinate of the machine: a whole number`,
		"(x) -> M(~())":                  `got no modes after ~, want at least one`,
		"(x) -> M(~(y))":                 `got y, want a mode from the left of ->: x`,
		"(x) -> M(x,~x)":                 `got mode x twice on the right of ->, want each mode only once`,
		"(x) -> M(x);":                   `got the end of the placement, want "(" and the tensor's modes, as in (x,y) -> M(x)`,
		"(x) -> \x07(x)":                 `got "\a", want the name of a machine, as in (x,y) -> M(x)`,
	} {
		_, _, err := ParsePlacement(text, 0, len(text))
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if got, _, _ := strings.Cut(err.Error(), "\n"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestParsePlaced(t *testing.T) {
	name, p, err := ParsePlaced(" B (x, y) -> nodes(x,*); (x,y) -> gpus(0) ")
	if err != nil || name != "B" || p.String() != "(x,y) -> nodes(x,*); (x,y) -> gpus(0)" {
		t.Errorf("got %s %s, %v", name, p, err)
	}
	for text, want := range map[string]string{
		"":                    "got the end of the placement, want the name of a tensor and its placement, as in B(x,y) -> M(x)",
		"(x) -> M(x)":         `got "(", want the name of a tensor and its placement, as in B(x,y) -> M(x)`,
		"B(x) -> M(x), C":     `got ",", want ";" and the placement on another level, or the end`,
		"B(x) -> M":           `got the end of the placement, want "(" after the machine's name M`,
		"B(x) -> M(x) (x) ->": `got "(", want ";" and the placement on another level, or the end`,
	} {
		if _, _, err := ParsePlaced(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestOver(t *testing.T) {
	for _, c := range []struct {
		machine, placement string
		want               bool
	}{
		{"4", "B(x) -> M(x)", true},
		{"2x2", "B(x) -> M(x,*)", true},
		{"4", "B(x) -> N(x)", false},
		{"nodes=4", "B(x) -> nodes(x)", true},
		{"nodes=4", "B(x) -> M(x)", true},
		{"nodes=2;gpus=2", "B(x) -> M(x)", false},
		{"nodes=2;gpus=2", "B(x) -> nodes(x)", false},
		{"nodes=2;gpus=2", "B(x) -> M(x); (x) -> gpus(*)", false},
		{"nodes=2;gpus=2", "B(x) -> nodes(x); (x) -> gpus(*)", true},
		{"nodes=2;gpus=2", "B(x) -> gpus(x); (x) -> nodes(*)", false},
	} {
		m, err := ParseMachine(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		_, p, err := ParsePlaced(c.placement)
		if err != nil || p.Over(m) != c.want {
			t.Errorf("%s over %s: got %v, %v", c.placement, c.machine, p.Over(m), err)
		}
	}
}

package place

import (
	"errors"
	"fmt"
	"testing"

	"distaff/codegen/diag"
)

func TestMachine(t *testing.T) {
	for _, c := range []struct {
		text, printed, dims string
		points              int64
	}{
		{"4", "4", "[4]", 4},
		{"2x3", "2x3", "[2 3]", 6},
		{" 2 x 3 ", "2x3", "[2 3]", 6},
		{"nodes=2x2;gpus=4", "nodes=2x2;gpus=4", "[2 2 4]", 16},
		{"nodes = 3 ; gpus=1", "nodes=3;gpus=1", "[3 1]", 3},
		{"Grid(2,3)", "2x3", "[2 3]", 6},
		{" Grid( 2 , 3 ) ", "2x3", "[2 3]", 6},
		{"nodes=Grid(2,2);gpus=4", "nodes=2x2;gpus=4", "[2 2 4]", 16},
		{"nodes=5", "nodes=5", "[5]", 5},
		{"46340x46340", "46340x46340", "[46340 46340]", 46340 * 46340},
	} {
		m, err := ParseMachine(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if m.String() != c.printed || fmt.Sprint(m.Dims()) != c.dims || m.Points() != c.points ||
			m.Name != "M" {
			t.Errorf("%s: got %s %s of dimensions %v and %d points", c.text, m.Name, m, m.Dims(), m.Points())
		}
	}
	if m := Line(7); m.String() != "7" || m.Points() != 7 {
		t.Errorf("a line of 7 is %s", m)
	}
}

func TestMachineErrors(t *testing.T) {
	for _, c := range []struct{ text, want, at string }{
		{"", `got "", want an extent of 1 or more, as in 2x2 or nodes=2x2;gpus=4`, ""},
		{"2x0", `got "0", want an extent of 1 or more, as in 2x2 or nodes=2x2;gpus=4`, "0"},
		{"Grid(2,0)", `got "0", want an extent of 1 or more, as in 2x2 or nodes=2x2;gpus=4`, "0"},
		{"Grid(2,2", `got "Grid(2,2", want an extent of 1 or more, as in 2x2 or nodes=2x2;gpus=4`,
			"Grid(2,2"},
		{"2xx2", `got "", want an extent of 1 or more, as in 2x2 or nodes=2x2;gpus=4`, "x"},
		{"a=2;b=3xy", `got "y", want an extent of 1 or more, as in 2x2 or nodes=2x2;gpus=4`, "y"},
		{"2;3", `got "2", want NAME=EXTENTxEXTENT..., as in nodes=2x2;gpus=4`, "2"},
		{"a=2;3", `got "3", want NAME=EXTENTxEXTENT..., as in nodes=2x2;gpus=4`, "3"},
		{"2a=2", `got "2a", want the name of a level, as in nodes=2x2;gpus=4`, "2a"},
		{"a=2;a=3", `got a twice, want a different name for each level`, "a=3"},
		{"a=65536;b=32768", `got a machine with too many points, want at most 2147483647`, "a=65536;b=32768"},
	} {
		_, err := ParseMachine(c.text)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != "machine" || e.Msg != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
			continue
		}
		if got := c.text[e.Pos:min(e.End, len(c.text))]; got != c.at {
			t.Errorf("%q: the error is at %q, want %q", c.text, got, c.at)
		}
	}
}

func TestMachineDim(t *testing.T) {
	for _, c := range []struct {
		machine, name string
		want          int
	}{
		{"2x3", "x", 0}, {"2x3", "y", 1}, {"2x3", "1", 1}, {"2x3", "z", -1}, {"2x3", "2", -1},
		{"2x3", "", -1}, {"2x3", "xy", -1}, {"2x3", "+1", -1}, {"2x3", "01", -1}, {"2x3", "-1", -1},
		{"2x3x4x5", "3", 3},
		{"nodes=2x2;gpus=4", "nodes.y", 1}, {"nodes=2x2;gpus=4", "gpus.x", 2},
		{"nodes=2x2;gpus=4", "gpus.0", 2},
		{"nodes=2x2;gpus=4", "gpus.y", -1}, {"nodes=2x2;gpus=4", "x", -1},
		{"nodes=2x2;gpus=4", "nodes", -1},
		{"nodes=5", "x", 0}, {"nodes=5", "nodes.x", 0}, {"nodes=5", "gpus.x", -1},
	} {
		m, err := ParseMachine(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := m.Dim(c.name); ok != (c.want >= 0) || ok && k != c.want {
			t.Errorf("%s: dimension %q is %d, %v, want %d", m, c.name, k, ok, c.want)
		}
	}
}

package place

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// normal returns the normal form of a statement.
func normal(t *testing.T, statement string) *notation.Normal {
	t.Helper()
	s, err := notation.Parse(statement)
	if err != nil {
		t.Fatal(err)
	}
	return notation.Normalize(s)
}

// TestBlockingNest checks that the points of a block schedule's nest are its blocks, and that the
// values of the distributed loops are the number that the mapping gives to the block.
func TestBlockingNest(t *testing.T) {
	for _, c := range []struct {
		splits, order, mapping string
		loops, machine         string
	}{
		{"i:4", "", "", "i", "4"},
		{"i:4 j:3", "", "", "i j", "4"},
		{"i:4 j:3", "j i", "", "j i", "4"},
		{"i:4 j:3", "", "j i", "i j", "3x4"},
		{"i:4 j:3", "j i", "i j", "j i", "4x3"},
		{"j:3", "", "", "j", ""},
	} {
		n := normal(t, "y(i) = A(i,j)*x(j)")
		spec := &BlockSpec{Order: strings.Fields(c.order), Map: strings.Fields(c.mapping)}
		if c.mapping == "" {
			spec.Map = nil
		}
		for _, text := range strings.Fields(c.splits) {
			s, err := ParseSplit(text)
			if err != nil {
				t.Fatal(err)
			}
			spec.Splits = append(spec.Splits, s)
		}
		b, err := Resolve(spec, n, map[string]int64{"i": 10, "j": 7})
		if err != nil {
			t.Fatal(err)
		}
		nest := b.Nest()
		var loops []string
		for k, l := range nest.Loops {
			loops = append(loops, l.Var)
			if l.N != b.Vars[k].Ranges() || l.Dim != slices.Index(b.Map, k) ||
				l.Dim >= 0 && nest.Machine.Dims()[l.Dim] != l.N {
				t.Errorf("%+v: got loop %+v over %v", c, l, nest.Machine.Dims())
			}
			if nest.Spread(k) != (l.Dim >= 0) || nest.Rotating(k) != nil {
				t.Errorf("%+v: %s is spread %v, rotated by %v", c, l.Var, nest.Spread(k), nest.Rotating(k))
			}
		}
		if got := strings.Join(loops, " "); got != c.loops || nest.Machine.String() != c.machine {
			t.Errorf("%+v: got loops %s over %q", c, got, nest.Machine)
		}
	}
}

// TestNestBlocking checks that a nest cuts variables of the result and sums, and groups the terms
// by the cut sums that they contain.
func TestNestBlocking(t *testing.T) {
	n := normal(t, "y(i) = d(i) + A(i,j)*x(j)")
	nest := &Nest{Machine: Line(2),
		Loops: []Loop{{Var: "jo", N: 2, Dim: 0}, {Var: "io", N: 3, Dim: -1}}, Chunks: []Chunks{
			{Var: "j", Digits: []Digit{{Loop: 0, N: 2, Plus: []int{1}}}, Cuts: []int64{0, 3, 7}},
			{Var: "i", Digits: []Digit{{Loop: 1, N: 3}}, Cuts: []int64{0, 3, 6, 10}},
		}}
	b, err := nest.Blocking(n)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Vars[0].Reduction || b.Vars[1].Reduction || b.Vars[0].Name != "j" || b.Map != nil {
		t.Errorf("got %+v", b)
	}
	if len(b.Groups) != 2 || !slices.Equal(b.Groups[0].Terms, []int{0}) || b.Groups[0].Held != nil ||
		!slices.Equal(b.Groups[1].Held, []int{0}) {
		t.Errorf("got groups %+v", b.Groups)
	}
	if !nest.Spread(0) || nest.Spread(1) || !slices.Equal(nest.Rotating(0), []int{1}) ||
		nest.Rotating(1) != nil {
		t.Errorf("j is spread %v and rotated by %v, i %v and by %v", nest.Spread(0), nest.Rotating(0),
			nest.Spread(1), nest.Rotating(1))
	}
}

// TestNestBlockingRefused checks that a nest cannot cut a sum inside a quotient.
func TestNestBlockingRefused(t *testing.T) {
	n := normal(t, "y(i) = b(i) / sum(j, A(i,j))")
	nest := &Nest{Machine: Line(2), Loops: []Loop{{Var: "jo", N: 2, Dim: 0}},
		Chunks: []Chunks{{Var: "j", Digits: []Digit{{Loop: 0, N: 2}}, Cuts: []int64{0, 3, 7}}}}
	_, err := nest.Blocking(n)
	var e *diag.Error
	want :=
		"distribute: the sum over j is inside a product or quotient, so its blocks cannot be summed separately"
	if !errors.As(err, &e) || e.Code != diag.ScheduleRefused || e.Msg != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestDimName checks that Dim finds each dimension by its DimName.
func TestDimName(t *testing.T) {
	for text, want := range map[string]string{
		"4": "M.x", "2x3": "M.x M.y", "2x3x4": "M.x M.y M.z", "1x2x3x4": "M.0 M.1 M.2 M.3",
		"nodes=2x2;gpus=4": "M.nodes.x M.nodes.y M.gpus.x", "nodes=5": "M.x",
	} {
		m, err := ParseMachine(text)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for d := range m.Dims() {
			name := m.DimName(d)
			names = append(names, name)
			if got, ok := m.Dim(strings.TrimPrefix(name, "M.")); !ok || got != d {
				t.Errorf("%s: %s is dimension %d, %v, want %d", text, name, got, ok, d)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

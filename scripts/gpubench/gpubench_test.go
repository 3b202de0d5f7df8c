package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	_ "distaff/kernels/verified"
)

func TestInputs(t *testing.T) {
	for _, s := range []shape{
		{"uniform", uniform(5000, 5000, 10)}, {"power law", powerLaw(5000, 50000)},
		{"banded", bands(5000)},
		{"huge row", hugeRow(5000, 30000, 5)}, {"skewed", skewed(2000, 40000, 200000, 1.1)},
		{"even", skewed(2000, 40000, 200000, 1)},
	} {
		m, err := s.make(s.name, 1)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(m.pos)) != m.rows+1 || len(m.crd) != len(m.vals) ||
			int(m.pos[m.rows]) != len(m.crd) {
			t.Errorf("%s: %d positions and %d coordinates of %d values", s.name, len(m.pos),
				len(m.crd), len(m.vals))
		}
		most := int64(0)
		for r := range m.rows {
			most = max(most, int64(m.pos[r+1]-m.pos[r]))
			increasing(t, s.name, m.crd[m.pos[r]:m.pos[r+1]], m.cols)
		}
		if most != m.most {
			t.Errorf("%s: the longest row has %d entries, not %d", s.name, most, m.most)
		}
	}
	if m, err := skewed(2000, 40000, 200000, 1.1)("", 1); err != nil || m.nnz() < 199000 ||
		m.nnz() > 201000 {
		t.Errorf("a skewed matrix of 200000 entries has %d (%v)", m.nnz(), err)
	}
}

func increasing(t *testing.T, name string, crd []int32, size int64) {
	t.Helper()
	for k, c := range crd {
		if c < 0 || int64(c) >= size || k > 0 && c <= crd[k-1] {
			t.Fatalf("%s: coordinate %d, behind others, of a size of %d", name, c, size)
		}
	}
}

func TestTensor(t *testing.T) {
	x, err := newTensor3("half", [3]int64{20, 1000, 500}, 10, 12, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if x.widest != 100 || x.nnz() != 12*x.fibres || x.fibres != 19*5+100 {
		t.Errorf("%d fibres, %d of them in one slice, %d entries", x.fibres, x.widest, x.nnz())
	}
	for f := range x.fibres {
		increasing(t, "fibre", x.crd2[x.pos2[f]:x.pos2[f+1]], 500)
	}
	if _, err := newTensor3("many", [3]int64{1 << 20, 1 << 20, 1 << 20}, 1000, 1000,
		0); err == nil {
		t.Error("10^12 entries are counted in 32 bits")
	}
}

// Compiles every statement for a GPU under every schedule, for an input of each section, and checks
// its result with the interpreter.
func TestDry(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	var out bytes.Buffer
	b := &bench{ctx: context.Background(), out: &out, dry: true, scale: 0.0002, rounds: 1}
	if err := run(b, "", `^(uniform 1M x 10|uniform 400k x 10|c = 1.1|power law 2M, K 32)$`,
		""); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, s := range names() {
		if !strings.Contains(out.String(), "\n"+s+" took ") {
			t.Errorf("section %s did not run:\n%s", s, &out)
		}
	}
}

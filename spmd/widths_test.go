package spmd

import (
	"context"
	"slices"
	"testing"

	"distaff/codegen"
	"distaff/spmd/comm/local"
	"distaff/spmd/input"
)

// A block that several leaves or steps add to has positions that are wide enough for all of them
// together.
func TestWidthsOfJointBlocks(t *testing.T) {
	const product = "A(i,j) = B(i,j) + C(i,k)*D(k,j)"
	for _, c := range []struct {
		stmt    string
		a       string // the result's format
		split   []string
		entries map[string]int64 // of operands; 1000 for others
		want    uint8            // bytes of the result's positions
		shares  bool             // the first leaf's result has an operand's arrays
	}{
		{product, "ss", []string{"k:2"}, nil, 4, true},
		{product, "ss", []string{"k:2"}, map[string]int64{"C": 1e6, "D": 1e6}, 8, false},
		{product, "ds", []string{"k:2"}, map[string]int64{"C": 1e6, "D": 1e6}, 8, false},
		{"A(i,j) = B(i,j) + F(i,j)*x(k)", "ss", []string{"k:2"}, map[string]int64{"B": 15e8, "F": 15e8},
			8, false},
		{"A(i,j) = B(i,j) + F(i,j)*x(k)", "ss", []string{"k:2"}, map[string]int64{"B": 10e8, "F": 10e8},
			4, true},
		{"A(i,j) = T(i,j,k)*x(k)", "ss", []string{"k:2"}, map[string]int64{"T": 3e9}, 8, false},
		{"A(i,j) = T(i,j,k)*x(k)", "ss", []string{"k:2"}, map[string]int64{"T": 2e9}, 4, true},
		// blocks of their own
		{"A(i,j) = F(i,j)*2", "ss", []string{"i:2"}, map[string]int64{"F": 3e9}, 4, true},
	} {
		j := &Job{Statement: c.stmt, Formats: map[string]string{"A": c.a}, Inputs: map[string]Input{},
			Sizes: map[string][]int64{}}
		j.Splits, j.Ranks = c.split, 2
		all := map[string]string{"B": "ss", "C": "ss", "D": "ss", "F": "ss", "T": "sss", "x": "d"}
		if c.a == "ds" {
			all["B"] = "ds"
		}
		p, err := j.parse(false)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Names {
			if name == "A" {
				continue
			}
			j.Formats[name] = all[name]
			for range all[name] {
				j.Sizes[name] = append(j.Sizes[name], 1e6)
			}
			j.Inputs[name] = Generated("uniform:1000")
			if name == "x" {
				j.Inputs[name] = Generated("dense")
			}
		}
		units := unitsOf(t, j, c.entries)
		for g, u := range units {
			if got := u.Result.PosWidth[1]; got != c.want {
				t.Errorf("%s, %v: group %d of %d has positions of %d bytes, want %d", c.stmt, c.entries, g,
					len(units), got, c.want)
			}
			if !slices.Equal(u.Result.PosWidth, units[0].Result.PosWidth) ||
				!slices.Equal(u.Result.CrdWidth, units[0].Result.CrdWidth) {
				t.Errorf("%s: group %d has other widths than the first", c.stmt, g)
			}
		}
		if got := units[0].Result.Shares >= 0; got != c.shares {
			t.Errorf("%s, %v: the first result has an operand's arrays: %v, want %v", c.stmt, c.entries, got,
				c.shares)
		}
	}
}

// unitsOf compiles a job for its ranks over operands with the given numbers of entries, whose
// blocks count them in 32 bits.
func unitsOf(t *testing.T, j *Job, entries map[string]int64) []*codegen.Unit {
	t.Helper()
	p, err := j.parse(true)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := j.blockSpec()
	if err != nil {
		t.Fatal(err)
	}
	c, end := local.Alone(context.Background())
	defer end()
	r, err := j.rankJob(p, c, 1, 1, input.Dense)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Plan(j.Ranks, spec); err != nil {
		t.Fatal(err)
	}
	like := map[string]codegen.Tensor{}
	for _, o := range r.Prepared().Planned.Problem.Operands {
		f := r.Reader.Formats[o.Tensor]
		n := int64(1000)
		if entries[o.Tensor] > 0 {
			n = entries[o.Tensor]
		}
		x := codegen.Tensor{Format: f, Type: r.Reader.Types[o.Tensor],
			Dims: r.Reader.Sizes.Dims[o.Tensor], NNZ: n,
			PosWidth: make([]uint8, len(f.Levels)), CrdWidth: make([]uint8, len(f.Levels))}
		for l, kind := range f.Levels {
			if kind.HasPos() {
				x.PosWidth[l], x.CrdWidth[l] = 4, 4
			}
		}
		like[o.Name] = x
	}
	units, _, err := r.Prepared().Code.Units(like, true)
	if err != nil {
		t.Fatal(err)
	}
	return units
}

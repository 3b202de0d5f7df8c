package plan

import (
	"slices"
	"testing"

	"distaff/codegen/notation"
	"distaff/codegen/place"
)

// TestBetterMapping checks that a mapping is found that gives work to idle ranks, and that none is
// found if all ranks work or if there are no more blocks.
func TestBetterMapping(t *testing.T) {
	for _, c := range []struct {
		statement    string
		splits       []string
		extend, maps []string
		ranks        int
		working      int      // with the schedule's own map
		better       []string // nil if there is no better mapping
		then         int
	}{
		{"y(i) = A(i,j)*x(j)", []string{"j:4"}, []string{"j"}, nil, 4, 1, []string{"j"}, 4},
		{"y(i) = A(i,j)*x(j)", []string{"j:4"}, nil, nil, 4, 1, []string{"j"}, 4},
		{"y(i) = A(i,j)*x(j)", []string{"j:4"}, []string{"j"}, []string{"j"}, 4, 4, nil, 4},
		{"y(i) = A(i,j)*x(j)", []string{"i:4"}, nil, nil, 4, 4, nil, 4},
		{"y(i) = A(i,j)*x(j)", []string{"i:3"}, nil, nil, 4, 3, nil, 3},
		{"y(i) = A(i,j)*x(j)", []string{"i:2", "j:3"}, []string{"j"}, nil, 6, 2, []string{"i", "j"}, 6},
		{"y(i) = A(i,j)*x(j)", []string{"i:2", "j:3"}, nil, []string{"j"}, 4, 3, []string{"j", "i"}, 4},
		{"y(i) = A(i,j)*x(j)", []string{"i:8", "j:2"}, nil, []string{"j"}, 4, 2, []string{"j", "i"}, 4},
		{"A(i,j) = B(i,k,l)*C(k,j)*D(l,j)", []string{"k:2", "l:2"}, nil, nil, 4, 1, []string{"k", "l"},
			4},
		{"s = sum(j, x(j)) + sum(j, z(j))", []string{"j:2"}, nil, nil, 2, 1, []string{"j"}, 2},
	} {
		s, err := notation.Parse(c.statement)
		if err != nil {
			t.Fatal(err)
		}
		n := notation.Normalize(s)
		sizes := map[string]int64{}
		for _, v := range n.Vars {
			sizes[v] = 100
		}
		spec := &place.BlockSpec{Extend: c.extend, Map: c.maps}
		for _, text := range c.splits {
			split, err := place.ParseSplit(text)
			if err != nil {
				t.Fatal(err)
			}
			spec.Splits = append(spec.Splits, split)
		}
		b, err := place.Resolve(spec, n, sizes)
		if err != nil {
			t.Fatal(err)
		}
		p := &Problem{Blocking: b, Nest: b.Nest(), Ranks: c.ranks, Norm: n}
		before := slices.Clone(b.Map)
		if got := p.Mapping().Working; got != c.working {
			t.Errorf("%s %v: %d ranks work, want %d", c.statement, c.splits, got, c.working)
		}
		m, ok := p.BetterMapping()
		if ok != (c.better != nil) || ok && !slices.Equal(m.Vars, c.better) || m.Working != c.then {
			t.Errorf("%s %v on %d ranks: got %+v, %v, want %v, by which %d work", c.statement, c.splits,
				c.ranks, m, ok, c.better, c.then)
		}
		if !slices.Equal(b.Map, before) {
			t.Errorf("%s %v: the problem's own map has changed", c.statement, c.splits)
		}
	}
}

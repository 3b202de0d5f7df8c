package provenance

import "testing"

func TestMost(t *testing.T) {
	g := &Graph{}
	for _, r := range []Relation{
		{Kind: Fuse, From: []string{"i", "j"}, To: []string{"f"}},
		{Kind: Pos, From: []string{"f"}, To: []string{"p"}, Access: "A(i,j)"},
		{Kind: Split, From: []string{"p"}, To: []string{"block", "p1"}, N: 3584},
		{Kind: Split, From: []string{"p1"}, To: []string{"warp", "p2"}, N: 224},
		{Kind: Divide, From: []string{"p2"}, To: []string{"thread", "nz"}, N: 32},
		{Kind: Split, From: []string{"k"}, To: []string{"k0", "k1"}, N: 32},
		{Kind: Bound, From: []string{"k0"}, To: []string{"kb"}, N: 4, Bound: MaxExact},
		{Kind: Fuse, From: []string{"kb", "k1"}, To: []string{"kk"}},
		{Kind: Split, From: []string{"l"}, To: []string{"l0", "l1"}, N: 8},
		{Kind: Pos, From: []string{"l1"}, To: []string{"lp"}, Access: "B(l)"},
		{Kind: Coord, From: []string{"lp"}, To: []string{"lc"}},
	} {
		var err error
		if g, err = g.With(r); err != nil {
			t.Fatal(err)
		}
	}
	for v, want := range map[string]int64{"i": 0, "p": 0, "block": 0, "p1": 3584, "warp": 16,
		"p2": 224, "thread": 32, "nz": 7,
		"k0": 0, "kb": 4, "kk": 128, "l0": 0, "lp": 8, "lc": 0} {
		if got := g.MaxValues(v); got != want {
			t.Errorf("%s has %d values at most, want %d", v, got, want)
		}
	}
}

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
)

// given returns a statement with index variables of size 8 on 4 ranks in a grid of two by two.
func given(t *testing.T, statement, schedule string, placements ...string) Given {
	t.Helper()
	s, err := notation.Parse(statement)
	if err != nil {
		t.Fatal(err)
	}
	n := notation.Normalize(s)
	g := Given{Norm: n, Sizes: map[string]int64{}, Ranks: 4, Placements: map[string]place.Placement{},
		Blocks:  &place.BlockSpec{},
		Entries: func(string) float64 { return 1 }}
	formats := map[string]tensor.Format{}
	g.Format = func(tensor string) tensor.Format { return formats[tensor] }
	for k, a := range s.Tensors() {
		var f tensor.Format
		for m := range a.Order {
			f.Levels, f.Order = append(f.Levels, tensor.Compressed), append(f.Order, m)
		}
		formats[a.Name] = f
		g.Names = append(g.Names, a.Name)
		if k > 0 {
			g.Read = append(g.Read, a.Name)
		}
	}
	for _, v := range n.Vars {
		g.Sizes[v] = 8
	}
	if g.Machine, err = place.ParseMachine("2x2"); err != nil {
		t.Fatal(err)
	}
	if schedule != "" {
		g.Schedule = []string{schedule}
	}
	for _, text := range placements {
		name, p, err := place.ParsePlaced(text)
		if err != nil {
			t.Fatal(err)
		}
		g.Placements[name] = p
	}
	return g
}

const (
	product = "A(i,j) = B(i,k)*C(k,j)"
	grid    = "distribute({i,j},{io,jo},{ii,ji},M), split(k,ko,ki,2), reorder(io,jo,ko,ii,ji,ki), communicate(C,ko)"
)

// TestLeafSchedule checks that the leaf of a distributed schedule has the commands for the loops
// inside the nest, and that any other leaf has the user's schedule.
func TestLeafSchedule(t *testing.T) {
	for _, c := range []struct {
		schedule string
		want     []string
		given    bool
	}{
		{"", nil, false},
		{"parallelize(i,CPUThread,NoRaces)", []string{"parallelize(i,CPUThread,NoRaces)"}, true},
		{grid, nil, false},
		{grid + ", parallelize(ii,CPUThread,NoRaces)", []string{"parallelize(i,CPUThread,NoRaces)"},
			true},
	} {
		p, err := New(given(t, product, c.schedule))
		if err != nil {
			t.Fatal(err)
		}
		list, said := p.LeafSchedule()
		if said != c.given || c.given && !slices.Equal(list, c.want) {
			t.Errorf("-s=%q: got %q, %v, want %q, %v", c.schedule, list, said, c.want, c.given)
		}
	}
}

// TestHomes checks the owners of blocks with and without placements.
func TestHomes(t *testing.T) {
	for _, c := range []struct {
		schedule, placement string
		holds               bool
		want                string // the ranks of each block of B
	}{
		// There are four panels of k with two rows each, owned like the placement's two pieces of a
		// row.
		{grid, "B(x,y) -> M(x,y)", true, "[0] [0] [1] [1] [2] [2] [3] [3]"},
		{grid, "B(x,y) -> M(x,*)", true, "[0 1] [0 1] [0 1] [0 1] [2 3] [2 3] [2 3] [2 3]"},
		// Without a placement, or if a row overlaps two of its pieces, the owner is the first rank
		// that reads the block.
		{grid, "", false, "[0] [0] [0] [0] [2] [2] [2] [2]"},
		{"distribute(i)", "B(x,y) -> M(x,y)", false, "[0] [2] [0] [2] [0] [2] [0] [2]"},
		// The default schedule has four ranges of i.
		{"", "B(x,y) -> M(x,1)", true, "[1] [1] [3] [3]"},
		{"", "B(x,y) -> M(1,y)", false, "[0] [1] [2] [3]"},
	} {
		var list []string
		if c.placement != "" {
			list = append(list, c.placement)
		}
		p, err := New(given(t, product, c.schedule, list...))
		if err != nil {
			t.Fatal(err)
		}
		o := p.Operands[0]
		var ranks []string
		for b := range Block(o.Partition.Pieces()) {
			ranks = append(ranks, fmt.Sprint(o.Partition.Ranks(b)))
		}
		if got := strings.Join(ranks, " "); got != c.want || o.Home.MatchesBlocks != c.holds ||
			(o.Home.Placement == nil) != (c.placement == "") {
			t.Errorf("-s=%q %s: %s lives at %s, %+v, want %s", c.schedule, c.placement, o.Tensor, got,
				o.Home, c.want)
		}
	}
}

// TestScopes checks that an operand's blocks arrive in the loop that communicates it, and otherwise
// in the innermost loop.
func TestScopes(t *testing.T) {
	p, err := New(given(t, product, grid+", communicate(B,jo)"))
	if err != nil {
		t.Fatal(err)
	}
	if b, c := p.Operands[0].Scope, p.Operands[1].Scope; b != 2 || c != 3 {
		t.Errorf("the scopes are %d and %d loops, want 2 and 3", b, c)
	}
}

// TestDistributedRefused checks that schedules and placements without a valid plan are refused.
func TestDistributedRefused(t *testing.T) {
	for _, c := range []struct {
		statement, schedule, placement string
		want                           string
	}{
		{"s = sum(j, x(j)) + sum(j, z(j)*x(j))", "distribute(j)", "",
			"distribute: j is the variable of 2 sums, each with its own range; rename it so that each has its own name"},
		{"y(i) = b(i) / sum(j, B(i,j))", "reorder(j,i), distribute(j)", "",
			"the sum over j is inside a product or quotient, so its blocks cannot be summed separately"},
		{product, "distribute(i)", "B(x,y) -> M(x,2)", "got coordinate 2 of M, want less than its extent, 2"},
		{product, "", "A(x,y) -> M(x,2)", "got coordinate 2 of M, want less than its extent, 2"},
		{product, "distribute(i", "", "got the end of the schedule"},
	} {
		var list []string
		if c.placement != "" {
			list = append(list, c.placement)
		}
		_, err := New(given(t, c.statement, c.schedule, list...))
		var e *diag.Error
		if !errors.As(err, &e) || !strings.Contains(e.Msg, c.want) {
			t.Errorf("%s -s=%q: got %v, want %s", c.statement, c.schedule, err, c.want)
		}
	}
}

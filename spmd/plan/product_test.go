package plan

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
)

// productGiven returns a statement of dense tensors on a machine of COSMA, with variables of size
// 64.
func productGiven(t *testing.T, statement string, ranks int, limit int64,
	commands ...string) *Given {
	s, err := notation.Parse(statement)
	if err != nil {
		t.Fatal(err)
	}
	m, err := place.ParseMachine("cosma")
	if err != nil {
		t.Fatal(err)
	}
	g := &Given{Norm: notation.Normalize(s), Sizes: map[string]int64{}, Ranks: ranks, Machine: m,
		Schedule: commands, Limit: limit, ValueBytes: 8,
		Format: func(name string) tensor.Format {
			if name == "S" {
				return tensor.Format{Levels: []tensor.Kind{tensor.Dense, tensor.Compressed}, Order: []int{0, 1}}
			}
			return tensor.Format{Levels: []tensor.Kind{tensor.Dense, tensor.Dense}, Order: []int{0, 1}}
		}}
	for _, v := range g.Norm.Vars {
		g.Sizes[v] = 64
	}
	for _, a := range s.Tensors() {
		g.Names = append(g.Names, a.Name)
		g.Read = append(g.Read, a.Name)
	}
	return g
}

func TestComputedMachine(t *testing.T) {
	const product = "A(i,j) = B(i,k) * C(k,j)"
	for _, c := range []struct {
		statement string
		ranks     int
		limit     int64
		commands  []string
		want      []string
	}{
		{product, 8, 0, nil, []string{"distribute({i,j,k},{io,jo,ko},{ii,ji,ki},M)",
			"communicate({B,C},ko)", "communicate(A,ko)"}},
		{"A(i,j) = C(k,j) * B(i,k)", 4, 5632 * 8, nil,
			[]string{"distribute({i,j,k},{io,jo,ko},{ii,ji,ki},M)", "divide(ki,ks,kr,M.steps)",
				"reorder(ks,ii,ji,kr)", "communicate({B,C},ks)", "communicate(A,ko)"}},
		{"io(i,j) = B(k,i) * C(k,j)", 4, 0, nil,
			[]string{"distribute({i,j,k},{io_,jo,ko},{ii,ji,ki},M)", "communicate({B,C},ko)",
				"communicate(io,ko)"}},
		{product, 8, 0, []string{"distribute({i,j,k},{io,jo,ko},{ii,ji,ki},M)"},
			[]string{"distribute({i,j,k},{io,jo,ko},{ii,ji,ki},M)"}},
	} {
		g := productGiven(t, c.statement, c.ranks, c.limit, c.commands...)
		p, err := New(*g)
		if err != nil {
			t.Errorf("%s: %v", c.statement, err)
			continue
		}
		if err := g.compute(); err != nil || !slices.Equal(g.Schedule, c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.statement, g.Schedule, err, c.want)
		}
		if !p.Distributed || len(p.Walk().Nest.Loops) < 3 {
			t.Errorf("%s: got the nest %+v", c.statement, p.Nest)
		}
	}
}

func TestComputedMachineRefused(t *testing.T) {
	for _, c := range []struct {
		statement string
		limit     int64
		commands  []string
		want      string
	}{
		{"a(i) = B(i,k) * c(k)", 0, nil, "a is not a matrix"},
		{"A(i,j) = B(i,j)", 0, nil,
			"the right side is not a product of two tensors that is summed over one variable"},
		{"A(i,j) += B(i,k) * C(k,j)", 0, nil, "the right side is not a product"},
		{"A(i,j) = B(i,j) * c(k)", 0, nil, "a factor is not a matrix"},
		{"A(i,j) = S(i,k) * C(k,j)", 0, nil, "S has levels that are not dense"},
		{"A(i,j) = B(i,k) * C(k,j)", 800, nil, "elements needs more memory than 4 ranks with 100 elements each have; want more ranks or more memory"},
		{"A(i,j) = B(i,k) * C(k,j)", 0, []string{"split(i,i0,i1,4)"},
			"the grid of COSMA needs either distribute({i,j,k},...,M) in the schedule, or no schedule"},
	} {
		_, err := New(*productGiven(t, c.statement, 4, c.limit, c.commands...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.statement, err, c.want)
		}
	}
}
